//! The pure parts of a flight.

mod history;

use netmortem_formats::bundle::Second;
use netmortem_formats::sub_buffer::PageLayout;
use netmortem_formats::{ClockPair, Endian};

use super::counters::Counters;
use super::drop_watch::number_of;
use super::{Cut, DelayOf, On, OnKind, Rate, names};
use crate::hist::{Hist, Max, file, remove_all};

#[test]
fn every_form_of_a_trigger_parses_and_others_are_refused() {
    let kind = |s: &str| On::parse(s).unwrap().kind;
    let rate = |of, per_s| OnKind::Rate { of, per_s, own: false };
    assert_eq!(kind("signal"), OnKind::Signal);
    assert_eq!(kind("retransmits>100/s"), rate(Rate::Retransmits, 100));
    assert_eq!(kind("drops > 7"), rate(Rate::Drops, 7));
    assert_eq!(kind("rto"), rate(Rate::Rto, 0));
    assert_eq!(kind("zero-window>2/s"), rate(Rate::ZeroWindow, 2));
    assert_eq!(kind("time-squeeze"), rate(Rate::TimeSqueeze, 0));
    let counter = rate(Rate::Counter("TcpExt.TCPTimeouts".into()), 3);
    assert_eq!(kind("counter:TcpExt.TCPTimeouts>3/s"), counter);
    let drop = OnKind::Drop {
        reason: "SOCKET_RCVBUFF".into(),
    };
    assert_eq!(kind("drop:SOCKET_RCVBUFF"), drop);
    assert_eq!(kind("drop:SKB_DROP_REASON_SOCKET_RCVBUFF"), drop);
    assert_eq!(kind("exit:3"), OnKind::Exit { code: Some(3) });
    assert_eq!(kind("exit:nonzero"), OnKind::Exit { code: None });
    let delay = |of, at_least_us| OnKind::Delay { of, at_least_us };
    assert_eq!(kind("softirq-delay=1ms"), delay(DelayOf::Softirq, 1_000));
    assert_eq!(kind("softirq-delay=250us"), delay(DelayOf::Softirq, 250));
    assert_eq!(kind("read-wait=1.5s"), delay(DelayOf::Read, 1_500_000));
    let own = OnKind::Rate {
        of: Rate::Retransmits,
        per_s: 5,
        own: true,
    };
    assert_eq!(kind("own:retransmits>5/s"), own);
    for bad in [
        "own:signal",
        "own:drop:SOCKET_RCVBUFF",
        "own:read-wait=1ms",
        "own:time-squeeze",
        "own:counter:softnet.dropped>1/s",
        "softirq-delay",
        "softirq-delay=",
        "softirq-delay=0",
        "read-wait=5 weeks",
        "read-wait=1ms>2/s",
        "write-wait=1ms",
        "",
        "retransmits",
        "drops>x/s",
        "drops>-1/s",
        "signal>3/s",
        "drop:",
        "drop:A || 1",
        "exit:",
        "exit:bad",
        "exit:1>2/s",
        "counter:>1/s",
        "counter:X",
        "softirq-delay>1ms",
    ] {
        assert!(On::parse(bad).is_err_and(|e| e.contains("one of: signal")), "{bad}");
    }
}

fn second(at_s: i64, retransmitted: u64, dropped: &str, rx_drop: u64, qdisc: u64) -> Second {
    let text = |what: &str, t: String| (what.to_owned(), t.into_bytes());
    Second {
        clock: ClockPair {
            monotonic_ns: at_s * 1_000_000_000,
            ..Default::default()
        },
        texts: vec![
            text(
                "net/snmp",
                format!(
                    "Tcp: MaxConn InSegs RetransSegs\nTcp: -1 5 {retransmitted}\nUdp: InErrors RcvbufErrors\nUdp: 9 4\n"
                ),
            ),
            text("net/snmp6", "Udp6RcvbufErrors                \t2\n".into()),
            text(
                "net/softnet_stat",
                format!("000000ff {dropped} 00000002\n00000001 00000001 00000010\n"),
            ),
            text(
                "net/dev",
                format!("Inter-| Receive\n face |bytes\n  eth0: 1 2 3 {rx_drop} 5 6 7 8 9 10 11 12 13 14 15 16\n"),
            ),
            text(
                "qdiscs",
                format!(
                    "netns=1 ifindex=2 kind=mq handle=0x00010000 parent=0xffffffff refcnt=1 drops={qdisc}\n\
                     netns=1 ifindex=2 kind=tbf handle=0x00020000 parent=0x00010001 refcnt=1 drops=1000\n"
                ),
            ),
        ],
    }
}

#[test]
fn counters_grow_by_what_the_texts_say() {
    let before = Counters::of(&second(1, 10, "0000000a", 100, 7));
    let now = Counters::of(&second(2, 35, "0000001a", 103, 9));
    assert_eq!(now.at_ns, 2_000_000_000);
    assert_eq!(now.growth(&before, &Rate::Retransmits), [("Tcp.RetransSegs", 25)]);
    // Not the qdisc below the root, nor Udp.InErrors, nor what stalled.
    assert_eq!(
        now.growth(&before, &Rate::Drops),
        [("dev.eth0.rx_drop", 3), ("qdisc.2.drops", 2), ("softnet.dropped", 16)]
    );
    for name in ["dev.eth0.rx_drop", "eth0.rx_drop"] {
        let rate = Rate::Counter(name.into());
        assert!(now.knows(&rate));
        assert_eq!(now.growth(&before, &rate), [("dev.eth0.rx_drop", 3)]);
    }
    // Those of another namespace have its name.
    let (mut a, mut b) = (before.clone(), now.clone());
    for (c, n) in [(&mut a, 1), (&mut b, 9)] {
        let text = format!("Tcp: RetransSegs\nTcp: {n}\n");
        c.add("net/snmp", text.as_bytes(), "netns:web in it");
    }
    let both = [("Tcp.RetransSegs", 25), ("Tcp.RetransSegs in netns:web in it", 8)];
    assert_eq!(b.growth(&a, &Rate::Retransmits), both);
    // A counter that went back (an interface that was replaced) and one that is new count nothing.
    assert_eq!(before.growth(&now, &Rate::Drops), []);
    assert_eq!(now.growth(&Counters::default(), &Rate::Retransmits), []);
    assert!(!now.knows(&Rate::Rto) && now.knows(&Rate::TimeSqueeze));
    assert!(!now.knows(&Rate::Counter("Tcp.MaxConn".into())), "-1 is no counter");
}

/// A sub-buffer of 64 bytes with events at these times: each a record of one word.
fn page(times: &[u64]) -> Vec<u8> {
    let mut p = times[0].to_le_bytes().to_vec();
    p.extend((8 * times.len() as u64).to_le_bytes());
    let mut last = times[0];
    for t in times {
        p.extend((u32::try_from(t - last).unwrap() << 5 | 1).to_le_bytes());
        p.extend(7u32.to_le_bytes());
        last = *t;
    }
    p.resize(64, 0);
    p
}

#[test]
fn only_sub_buffers_that_are_older_than_the_window_are_cut() {
    let layout = PageLayout {
        endian: Endian::Little,
        timestamp_offset: 0,
        commit_offset: 8,
        commit_size: 8,
        data_offset: 16,
        size: 64,
    };
    let pages = [page(&[10, 20, 30]), page(&[40, 50]), page(&[60, 110]), page(&[120])];
    let mut cut = Cut::new(layout, 100);
    // In two batches, the border inside the old part.
    let mut first = pages[..1].concat();
    cut.apply(&mut first);
    assert!(first.is_empty());
    let mut rest = pages[1..].concat();
    cut.apply(&mut rest);
    // The third begins before the window and ends inside: kept whole.
    assert_eq!(rest, pages[2..].concat());
    assert_eq!((cut.sub_buffers, cut.events, cut.first_ts), (2, 5, Some(60)));
    assert!(cut.starts_before);
    // Old events after the first that was kept are none of the front: nothing is cut there.
    let mut later = page(&[1]);
    cut.apply(&mut later);
    assert_eq!(later, page(&[1]));
    // A ring that begins inside the window.
    let mut young = Cut::new(layout, 5);
    let mut all = pages.concat();
    young.apply(&mut all);
    assert_eq!((all, young.first_ts), (pages.concat(), Some(10)));
    assert!(!young.starts_before && young.events == 0);
    // One that is damaged is kept: a commit larger than the sub-buffer.
    let mut damaged = page(&[1, 2]);
    damaged[8] = 200;
    let mut cut = Cut::new(layout, 100);
    let whole = damaged.clone();
    cut.apply(&mut damaged);
    assert_eq!(damaged, whole);
}

#[test]
fn a_name_is_never_taken_twice() {
    let folder = std::env::temp_dir().join(format!("netmortem-flight-names-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let base = folder.join("web.01.nmb");
    std::fs::write(folder.join("web.01-000002.nmb"), "old").unwrap();
    let taken = [(); 2].map(|()| names::take(&base).unwrap().file_name().unwrap().to_owned());
    assert_eq!(taken, ["web.01-000001.nmb", "web.01-000003.nmb"]);
    assert_eq!(std::fs::read(folder.join("web.01-000002.nmb")).unwrap(), b"old");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_reason_has_the_number_of_this_kernel() {
    let format =
        r#"print fmt: "x %s", REC->p, __print_symbolic(REC->reason, { 2, "NOT_SPECIFIED" }, { 6, "SOCKET_RCVBUFF" })"#;
    assert_eq!(number_of(format, "SOCKET_RCVBUFF"), Some(6));
    assert_eq!(number_of(format, "SOCKET"), None);
    assert_eq!(number_of("print fmt: \"x\", REC->reason", "SOCKET_RCVBUFF"), None);
}

#[test]
fn a_histogram_says_the_longest_of_each_key() {
    // As Linux 6.12 prints two histograms of one event.
    let text = "# event histogram
#
# trigger info: hist:keys=sk:vals=hitcount:nm_read=common_timestamp.usecs:sort=hitcount:size=2048:clock=mono if protocol==6 [active]
#

{ sk: 18394490452576820288 } hitcount:          1
{ sk: 18394490452576924160 } hitcount:         25

Totals:
    Hits: 26
    Entries: 2
    Dropped: 3


# event histogram
#
# trigger info: hist:keys=sk:vals=hitcount:nm_wait=common_timestamp.usecs-$nm_ready:sort=hitcount:size=2048:clock=mono:onmax($nm_wait).save(common_pid) if protocol==6 [active]
#

{ sk: 18394490452576924160 } hitcount:          3
\tmax:     124159  common_pid:        212
{ sk: 18394490452576924161 } hitcount:          1
\tmax:         12  common_pid:          0

Totals:
    Hits: 3
    Entries: 1
    Dropped: 4
";
    let max = |key, max, pid| Max {
        key,
        max,
        pid: Some(pid),
    };
    let maxima = vec![
        max(18394490452576924160, 124_159, 212),
        max(18394490452576924161, 12, 0),
    ];
    assert_eq!(Hist::parse(text), Hist { maxima, dropped: 7 });
    assert_eq!(Hist::parse("max: 7\nDropped: x\n{ broken"), Hist::default());
}

#[test]
fn histogram_triggers_that_stay_are_told() {
    let folder = std::env::temp_dir().join(format!("netmortem-hist-left-{}", std::process::id()));
    // No event at all: nothing of ours.
    assert!(remove_all(&folder));
    let path = file(&folder, "irq/softirq_raise", "trigger");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "# Available triggers:\n# hist stacktrace\n").unwrap();
    assert!(remove_all(&folder));
    // A file that only takes what is written to it, as a kernel does that refuses.
    std::fs::write(
        &path,
        "hist:keys=common_cpu:nm_raised=common_timestamp.usecs [active]\n",
    )
    .unwrap();
    assert!(!remove_all(&folder));
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(
        text.contains("\n!hist:keys=common_cpu:nm_raised=common_timestamp.usecs!"),
        "{text}"
    );
    // So is the one that sets others going.
    std::fs::remove_file(&path).unwrap();
    let starter = file(&folder, "sched/sched_switch", "trigger");
    std::fs::create_dir_all(starter.parent().unwrap()).unwrap();
    std::fs::write(&starter, "enable_hist:sock:sock_recv_length:count=0\n").unwrap();
    assert!(!remove_all(&folder));
    let text = std::fs::read_to_string(&starter).unwrap();
    assert!(text.contains("\n!enable_hist:sock:sock_recv_length!"), "{text}");
    std::fs::remove_dir_all(folder).unwrap();
}
