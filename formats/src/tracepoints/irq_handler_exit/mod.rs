//! `irq:irq_handler_exit`: A handler of a hardware interrupt returned: `__handle_irq_event_percpu`
//! (kernel/irq/handle.c). Since 2.6.x, fields unchanged.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A hard interrupt handler that ended.
    pub struct IrqHandlerExit: "irq" "irq_handler_exit" {
        /// Linux interrupt number.
        irq: i32,
        /// `irqreturn_t`: `IRQ_NONE` 0, `IRQ_HANDLED` 1, `IRQ_WAKE_THREAD` 2.
        ret: i32,
    }
}

#[cfg(test)]
mod tests;
