//! `irq:irq_handler_entry`: A handler of a hardware interrupt begins: `__handle_irq_event_percpu`
//! (kernel/irq/handle.c). Since 2.6.x, fields unchanged.
//!
//! Traps: one event per handler, so a shared line gives several. Interrupts of the local APIC (timer, IPI) are not
//! here.

use crate::tracepoints::{Text, tracepoint};

tracepoint! {
    /// A hard interrupt handler that begins.
    pub struct IrqHandlerEntry: "irq" "irq_handler_entry" {
        /// Linux interrupt number.
        irq: i32,
        /// Name given at `request_irq`, often device and queue.
        name: Text,
    }
}

#[cfg(test)]
mod tests;
