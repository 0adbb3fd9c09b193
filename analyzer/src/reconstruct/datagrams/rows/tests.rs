use super::*;

#[test]
fn who_came_over_loopback_asked_for_no_address_of_others() {
    let line = Line {
        local: "0.0.0.0:53".into(),
        only: Some("10.9.3.2:53".into()),
        remote: String::new(),
        grown: 0,
        rcvbuf: None,
        pids: vec![7],
    };
    let named = |looped: &[u32]| {
        let mut s = SocketRow::begin(0xff00, 0);
        s.pid = 7;
        let mut all = [s];
        let looped = looped.iter().copied().collect();
        name(
            &mut all,
            &[],
            &looped,
            std::slice::from_ref(&line),
            &FxHashMap::default(),
        );
        let [s] = all;
        (s.local, s.holder, s.named_by)
    };
    assert_eq!(named(&[]), ("10.9.3.2:53".into(), 7, "task"));
    assert_eq!(named(&[0]), ("0.0.0.0:53".into(), 7, "task"));
}

/// Two questions of one `sendmmsg` that waited for their neighbour: each is its own datagram's, as long as they are two of those lengths.
#[test]
fn what_waited_for_its_neighbour_is_of_its_own_call() {
    let of = crate::tests::facts("rpc/rpc.nmb").tx[0].clone();
    let tx = |skb: u32, bytes: u32| {
        let mut p = of.clone();
        (p.skb_id, p.kind, p.start, p.pid) = (SkbId(skb), TxKind::Udp, TxStart::Sendmsg, 7);
        (p.start_ns, p.t_sched_ns, p.bytes) = (110, 900 + i64::from(skb), Some(bytes));
        p
    };
    let send = |begin: i64, bytes: u32| SendCall {
        pid: 7,
        begin,
        end: 200,
        turn: 0,
        bytes,
        to: None,
    };
    let sends = [send(100, 35), send(105, 36)];
    let told = |rows: &[TxRow]| {
        let by = packets(&sends, rows);
        [0, 1].map(|call| {
            by.get(&call)
                .map(|of| of.iter().map(|p| p.skb_id.0).collect::<Vec<_>>())
        })
    };
    assert_eq!(told(&[tx(2, 36), tx(1, 35)]), [Some(vec![1]), Some(vec![2])]);
    assert_eq!(told(&[tx(1, 36), tx(2, 35)]), [None, None]);
    assert_eq!(told(&[tx(1, 35)]), [None, None]);
}
