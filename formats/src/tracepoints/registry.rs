//! The list of the tracepoints that this crate has a typed view of.

use crate::endian::Endian;
use crate::event_format::EventFormat;
use crate::tracepoints::*;

/// One known tracepoint.
#[derive(Debug, Clone, Copy)]
pub struct TracepointInfo {
    /// Tracing system (`net`).
    pub system: &'static str,
    /// Event name (`net_dev_queue`); a trailing `*` stands for any rest (`sys_enter_*`).
    pub name: &'static str,
    /// Whether that format has all required fields; the error names the first that is absent.
    pub bind_check: fn(&EventFormat, Endian) -> Result<(), MissingField>,
}

impl TracepointInfo {
    /// Whether this view is meant for that event.
    pub fn is_of(&self, format: &EventFormat) -> bool {
        self.system == format.group()
            && match self.name.strip_suffix('*') {
                Some(prefix) => format.name.starts_with(prefix),
                None => self.name == format.name,
            }
    }
}

fn check<T: Tracepoint>(format: &EventFormat, endian: Endian) -> Result<(), MissingField> {
    T::bind(format, endian).map(|_| ())
}

const fn info<T: Tracepoint>() -> TracepointInfo {
    TracepointInfo {
        system: T::SYSTEM,
        name: T::NAME,
        bind_check: check::<T>,
    }
}

/// Every tracepoint folder, by system and name.
pub const ALL: &[TracepointInfo] = &[
    info::<accept_queue::AcceptQueue>(),
    info::<backlog::Backlog>(),
    info::<getaddrinfo::Getaddrinfo>(),
    info::<getaddrinfo_return::GetaddrinfoReturn>(),
    info::<fib_table_lookup::FibTableLookup>(),
    info::<fib6_table_lookup::Fib6TableLookup>(),
    info::<icmp_send::IcmpSend>(),
    info::<irq_handler_entry::IrqHandlerEntry>(),
    info::<irq_handler_exit::IrqHandlerExit>(),
    info::<softirq_entry::SoftirqEntry>(),
    info::<softirq_exit::SoftirqExit>(),
    info::<softirq_raise::SoftirqRaise>(),
    info::<tasklet_entry::TaskletEntry>(),
    info::<tasklet_exit::TaskletExit>(),
    info::<kmem_cache_alloc::KmemCacheAlloc>(),
    info::<kmem_cache_free::KmemCacheFree>(),
    info::<dql_stall_detected::DqlStallDetected>(),
    info::<napi_poll::NapiPoll>(),
    info::<neigh_cleanup_and_release::NeighCleanupAndRelease>(),
    info::<neigh_create::NeighCreate>(),
    info::<neigh_event_send_dead::NeighEventSendDead>(),
    info::<neigh_event_send_done::NeighEventSendDone>(),
    info::<neigh_timer_handler::NeighTimerHandler>(),
    info::<neigh_update::NeighUpdate>(),
    info::<neigh_update_done::NeighUpdateDone>(),
    info::<napi_gro_frags_entry::NapiGroFragsEntry>(),
    info::<napi_gro_frags_exit::NapiGroFragsExit>(),
    info::<napi_gro_receive_entry::NapiGroReceiveEntry>(),
    info::<napi_gro_receive_exit::NapiGroReceiveExit>(),
    info::<net_dev_queue::NetDevQueue>(),
    info::<net_dev_start_xmit::NetDevStartXmit>(),
    info::<net_dev_xmit::NetDevXmit>(),
    info::<net_dev_xmit_timeout::NetDevXmitTimeout>(),
    info::<netif_receive_skb::NetifReceiveSkb>(),
    info::<netif_receive_skb_entry::NetifReceiveSkbEntry>(),
    info::<netif_receive_skb_exit::NetifReceiveSkbExit>(),
    info::<netif_receive_skb_list_entry::NetifReceiveSkbListEntry>(),
    info::<netif_receive_skb_list_exit::NetifReceiveSkbListExit>(),
    info::<netif_rx::NetifRx>(),
    info::<netif_rx_entry::NetifRxEntry>(),
    info::<netif_rx_exit::NetifRxExit>(),
    info::<netif_rx_ni_entry::NetifRxNiEntry>(),
    info::<qdisc_create::QdiscCreate>(),
    info::<qdisc_dequeue::QdiscDequeue>(),
    info::<qdisc_destroy::QdiscDestroy>(),
    info::<qdisc_enqueue::QdiscEnqueue>(),
    info::<qdisc_reset::QdiscReset>(),
    info::<raw_sys_enter::RawSysEnter>(),
    info::<raw_sys_exit::RawSysExit>(),
    info::<sched_migrate_task::SchedMigrateTask>(),
    info::<sched_switch::SchedSwitch>(),
    info::<sched_wakeup::SchedWakeup>(),
    info::<sched_wakeup_new::SchedWakeupNew>(),
    info::<sched_waking::SchedWaking>(),
    info::<consume_skb::ConsumeSkb>(),
    info::<kfree_skb::KfreeSkb>(),
    info::<skb_copy_datagram_iovec::SkbCopyDatagramIovec>(),
    info::<inet_sk_error_report::InetSkErrorReport>(),
    info::<inet_sock_set_state::InetSockSetState>(),
    info::<sk_data_ready::SkDataReady>(),
    info::<sock_exceed_buf_limit::SockExceedBufLimit>(),
    info::<sock_rcvqueue_full::SockRcvqueueFull>(),
    info::<sock_recv_length::SockRecvLength>(),
    info::<sock_send_length::SockSendLength>(),
    info::<sys_enter::SysEnter>(),
    info::<sys_exit::SysExit>(),
    info::<tcp_bad_csum::TcpBadCsum>(),
    info::<tcp_cong_state_set::TcpCongStateSet>(),
    info::<tcp_destroy_sock::TcpDestroySock>(),
    info::<tcp_probe::TcpProbe>(),
    info::<tcp_rcv_space_adjust::TcpRcvSpaceAdjust>(),
    info::<tcp_rcvbuf_grow::TcpRcvbufGrow>(),
    info::<tcp_receive_reset::TcpReceiveReset>(),
    info::<tcp_retransmit_skb::TcpRetransmitSkb>(),
    info::<tcp_retransmit_synack::TcpRetransmitSynack>(),
    info::<tcp_send_reset::TcpSendReset>(),
    info::<tcp_sendmsg_locked::TcpSendmsgLocked>(),
    info::<tcp_set_state::TcpSetState>(),
    info::<hrtimer_cancel::HrtimerCancel>(),
    info::<hrtimer_expire_entry::HrtimerExpireEntry>(),
    info::<hrtimer_expire_exit::HrtimerExpireExit>(),
    info::<hrtimer_start::HrtimerStart>(),
    info::<timer_cancel::TimerCancel>(),
    info::<timer_expire_entry::TimerExpireEntry>(),
    info::<timer_expire_exit::TimerExpireExit>(),
    info::<timer_start::TimerStart>(),
    info::<udp_fail_queue_rcv_skb::UdpFailQueueRcvSkb>(),
    info::<workqueue_execute_end::WorkqueueExecuteEnd>(),
    info::<workqueue_execute_start::WorkqueueExecuteStart>(),
];
