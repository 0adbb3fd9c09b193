//! Typed views of kernel tracepoints: one folder each, bound by field name from the recording's own format texts.
//!
//! ```text
//! EventFormat -> Bound (offset, width, sign of each field; once per capture) -> read(payload) -> struct
//! ```
//! A required field that is absent makes the tracepoint unbindable (its name is reported); an `Option` field is `None`.

mod binding;
mod registry;
mod states;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use binding::tracepoint;
pub use binding::{FieldType, MissingField, Raw, Text, Tracepoint};
pub use registry::{ALL, TracepointInfo};
pub use words::{Words, WordsAccess};

pub mod accept_queue;
pub mod backlog;
pub mod common;
pub mod consume_skb;
pub mod dql_stall_detected;
pub mod fib6_table_lookup;
pub mod fib_table_lookup;
pub mod getaddrinfo;
pub mod getaddrinfo_return;
pub mod hrtimer_cancel;
pub mod hrtimer_expire_entry;
pub mod hrtimer_expire_exit;
pub mod hrtimer_start;
pub mod icmp_send;
pub mod inet_sk_error_report;
pub mod inet_sock_set_state;
pub mod irq_handler_entry;
pub mod irq_handler_exit;
pub mod kfree_skb;
pub mod kmem_cache_alloc;
pub mod kmem_cache_free;
pub mod napi_gro_frags_entry;
pub mod napi_gro_frags_exit;
pub mod napi_gro_receive_entry;
pub mod napi_gro_receive_exit;
pub mod napi_poll;
pub mod neigh_cleanup_and_release;
pub mod neigh_create;
pub mod neigh_event_send_dead;
pub mod neigh_event_send_done;
pub mod neigh_timer_handler;
pub mod neigh_update;
pub mod neigh_update_done;
pub mod net_dev_queue;
pub mod net_dev_start_xmit;
pub mod net_dev_xmit;
pub mod net_dev_xmit_timeout;
pub mod netif_receive_skb;
pub mod netif_receive_skb_entry;
pub mod netif_receive_skb_exit;
pub mod netif_receive_skb_list_entry;
pub mod netif_receive_skb_list_exit;
pub mod netif_rx;
pub mod netif_rx_entry;
pub mod netif_rx_exit;
pub mod netif_rx_ni_entry;
pub mod qdisc_create;
pub mod qdisc_dequeue;
pub mod qdisc_destroy;
pub mod qdisc_enqueue;
pub mod qdisc_reset;
pub mod raw_sys_enter;
pub mod raw_sys_exit;
pub mod sched_migrate_task;
pub mod sched_switch;
pub mod sched_wakeup;
pub mod sched_wakeup_new;
pub mod sched_waking;
pub mod sk_data_ready;
pub mod skb_copy_datagram_iovec;
pub mod sock_exceed_buf_limit;
pub mod sock_rcvqueue_full;
pub mod sock_recv_length;
pub mod sock_send_length;
pub mod softirq_entry;
pub mod softirq_exit;
pub mod softirq_raise;
pub mod sys_enter;
pub mod sys_exit;
pub mod tasklet_entry;
pub mod tasklet_exit;
pub mod tcp_bad_csum;
pub mod tcp_cong_state_set;
pub mod tcp_destroy_sock;
pub mod tcp_probe;
pub mod tcp_rcv_space_adjust;
pub mod tcp_rcvbuf_grow;
pub mod tcp_receive_reset;
pub mod tcp_retransmit_skb;
pub mod tcp_retransmit_synack;
pub mod tcp_send_reset;
pub mod tcp_sendmsg_locked;
pub mod tcp_set_state;
pub mod timer_cancel;
pub mod timer_expire_entry;
pub mod timer_expire_exit;
pub mod timer_start;
pub mod udp_fail_queue_rcv_skb;
pub mod workqueue_execute_end;
pub mod workqueue_execute_start;
