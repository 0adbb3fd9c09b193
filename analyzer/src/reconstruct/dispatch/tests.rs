use netmortem_formats::tracepoints::consume_skb::ConsumeSkb;
use netmortem_formats::tracepoints::napi_poll::NapiPoll;
use netmortem_formats::tracepoints::sk_data_ready::SkDataReady;

use super::{Routes, Tracker};
use crate::ingest::{GapRow, Trace};
use crate::testing::{Ctx, N, Script};

#[derive(Default)]
struct Log(Vec<String>);

impl Tracker for Log {
    fn gap(&mut self, g: &GapRow) {
        self.0.push(format!("gap {}", g.cpu));
    }
}

fn log(s: &Script) -> (Vec<String>, Vec<String>) {
    let c = s.capture();
    let t = Trace::read(&c, &Default::default());
    let mut r = Routes::<Log>::new("log");
    r.on::<NapiPoll<'static>>(&t.schema, |l, e, p| {
        l.0.push(format!("poll {} {}", e.ts, p.work.unwrap_or(-1)));
    });
    r.on::<ConsumeSkb<'static>>(&t.schema, |l, e, p| l.0.push(format!("free {} {:x}", e.ts, p.skbaddr)));
    r.on::<SkDataReady<'static>>(&t.schema, |_, _, _| {});
    let mut l = Log::default();
    r.run(&t, &mut l);
    (l.0, r.missing)
}

/// Only what was asked for, each event once, in time order, with its gap before what follows it.
#[test]
fn events_go_to_their_handlers_in_order_and_gaps_lie_between() {
    let mut s = Script::new("6.18.44", &[]);
    s.ev(10, 0, Ctx::Task(1), "napi:napi_poll", &[("work", N(1))]);
    s.ev(20, 1, Ctx::Task(1), "skb:consume_skb", &[("skbaddr", N(0xab))]);
    s.ev(25, 1, Ctx::Task(1), "net:netif_rx", &[]);
    s.lost(0, None);
    s.ev(30, 0, Ctx::Task(1), "napi:napi_poll", &[("work", N(2))]);
    let (log, missing) = log(&s);
    // The loss began after 10: whatever is seen from then on may miss something of CPU 0, and again at its end.
    assert_eq!(log, ["poll 10 1", "gap 0", "free 20 ab", "gap 0", "poll 30 2"]);
    assert!(missing.is_empty());
}

#[test]
fn a_loss_at_the_end_and_one_at_the_start_are_told_too() {
    let mut s = Script::new("6.18.44", &[]);
    s.lost(0, Some(3));
    s.ev(10, 0, Ctx::Task(1), "napi:napi_poll", &[("work", N(1))]);
    s.ev(10, 1, Ctx::Task(1), "napi:napi_poll", &[("work", N(5))]);
    s.lost(1, Some(3));
    let (log, _) = log(&s);
    assert_eq!(log, ["gap 0", "gap 0", "poll 10 1", "poll 10 5", "gap 1"]);
}

/// The capture has no such event: said once, and nothing breaks.
#[test]
fn what_cannot_be_bound_is_missing() {
    let mut s = Script::new("6.1.192", &[]);
    s.drop_field("skb:consume_skb", "skbaddr");
    s.ev(20, 1, Ctx::Task(1), "skb:consume_skb", &[]);
    let (log, missing) = log(&s);
    assert!(log.is_empty());
    assert_eq!(missing.len(), 2, "{missing:?}");
    assert!(missing[0].contains("skbaddr") && missing[1].contains("sk_data_ready"));
}

/// A payload shorter than its format (a damaged record) is passed over.
#[test]
fn a_short_payload_reaches_no_handler() {
    let mut s = Script::new("6.18.44", &[]);
    s.ev(10, 0, Ctx::Task(1), "napi:napi_poll", &[("work", N(1))]);
    let c = s.capture();
    let mut t = Trace::read(&c, &Default::default());
    t.recs.get_mut(0).unwrap().len = 6;
    let mut r = Routes::<Log>::new("log");
    r.on::<NapiPoll<'static>>(&t.schema, |l, _, _| l.0.push("poll".into()));
    let mut l = Log::default();
    r.run(&t, &mut l);
    assert!(l.0.is_empty());
}
