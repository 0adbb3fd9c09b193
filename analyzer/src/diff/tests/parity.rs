//! Checks of recordings of other lengths, and of groups.

use crate::diff::Check;
use crate::diff::Level;
use crate::diff::sides::{options::Recording, parity};
use crate::facts::Facts;

/// So long, with so many sockets opened in it, and so many older ones.
fn recorded(seconds: i64, opened: u32, stood: u32) -> Facts {
    let mut f = Facts::empty();
    f.capture.total_events = 1_000;
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(seconds * 1_000_000_000 - 1));
    for c in 0..opened + stood {
        let mut row = crate::testing::tcp::connection(c);
        row.born = (c < opened).then_some(2);
        f.connections.push(row);
    }
    f
}

fn check(what: &str, before: &[&Facts], after: &[&Facts]) -> Check {
    let side = |of| Recording::all(of, &[], None);
    let all = parity::checks(&side(before), &side(after));
    all.into_iter().find(|c| c.what == what).unwrap()
}

#[test]
fn times_that_no_recording_has_are_no_overflow() {
    let mut f = recorded(10, 20, 0);
    f.capture.end_ns = Some(i64::MAX);
    let d = crate::diff::compare(&[&f, &f], &[&f, &f], &crate::diff::DiffOptions::groups());
    assert_eq!(d.before[0].duration_ns, i64::MAX);
}

#[test]
fn a_longer_recording_is_no_other_load() {
    let load = |b: &Facts, a: &Facts| check("load", &[b], &[a]).level;
    assert_eq!(load(&recorded(10, 20, 0), &recorded(30, 60, 0)), Level::Same);
    assert_eq!(load(&recorded(10, 20, 0), &recorded(10, 60, 0)), Level::Differs);
    assert_eq!(load(&recorded(10, 0, 20), &recorded(30, 0, 60)), Level::Same);
    assert_eq!(load(&recorded(10, 0, 20), &recorded(10, 0, 60)), Level::Differs);
    let time = |b: &[&Facts], a: &[&Facts]| check("time compared", b, a);
    let (short, long) = (recorded(10, 0, 0), recorded(30, 0, 0));
    assert_eq!(time(&[&short], &[&short]).level, Level::Same);
    let told = time(&[&short], &[&long]);
    assert!(
        told.level == Level::Differs && told.sentence.contains("more than twice as long"),
        "{told:?}"
    );
    // Of groups each recording's.
    assert_eq!(time(&[&short], &[&short, &short, &short]).level, Level::Same);
}

#[test]
fn a_recording_that_lost_much_is_not_made_up_for_by_others() {
    let (mut lost, mut large) = (recorded(10, 0, 0), recorded(10, 0, 0));
    lost.capture.lost_events = 50;
    large.capture.total_events = 1_000_000;
    let c = check("events lost", &[&lost, &large], &[&large]);
    assert_eq!(
        (c.level, c.before.as_str()),
        (Level::Prevents, "50 lost (at most 4.762 % of a recording)")
    );
    assert_eq!(check("events lost", &[&large], &[&large]).before, "0 lost (0.000 %)");
    // That a slice lost none is not known, however much it is alike.
    let mut slice = recorded(10, 0, 0);
    slice.capture.lost_at_unknown_time = 7;
    for (b, a) in [(&slice, &large), (&large, &slice)] {
        let c = check("events lost", &[b], &[a]);
        assert_eq!(c.level, Level::Differs);
        assert!(
            c.sentence.starts_with("Whether a slice lost events is not known"),
            "{}",
            c.sentence
        );
        let said = "not known: 7 lost at a time that nothing tells";
        assert!(c.before == said || c.after == said, "{c:?}");
    }
}

/// Two parts of one recording are not as many events each as the whole has: what is told is told of the whole.
#[test]
fn a_part_says_of_what_its_events_are() {
    let f = recorded(10, 20, 0);
    let window = |from_ns, to_ns| Some(crate::diff::Window { from_ns, to_ns });
    let options = crate::diff::DiffOptions {
        before_window: window(0, 4_000_000_000),
        after_window: window(4_000_000_000, i64::MAX),
        ..crate::diff::DiffOptions::default()
    };
    let d = crate::diff::compare(&[&f], &[&f], &options);
    let told = |s: &crate::diff::Side| (s.duration_ns, s.whole_ns, s.events);
    assert_eq!(told(&d.before[0]), (4_000_000_000, Some(10_000_000_000), 1_000));
    assert_eq!(told(&d.after[0]), (6_000_000_000, Some(10_000_000_000), 1_000));
    let lost = d.parity.iter().find(|c| c.what == "events lost").unwrap();
    assert_eq!(lost.before, "0 lost (0.000 %) in the whole recording");
    let d = crate::diff::compare(&[&f], &[&f], &crate::diff::DiffOptions::default());
    assert_eq!(told(&d.before[0]), (10_000_000_000, None, 1_000));
}

#[test]
fn bytes_that_are_twice_as_many_are_not_alike() {
    let sent = |units: i64, bytes: u32| {
        let mut f = recorded(10, 0, 0);
        f.tx = (0..units)
            .map(|n| crate::reconstruct::transmit::tables::TxRow {
                bytes: Some(bytes),
                start_ns: n * 1_000_000,
                ..crate::testing::sent()
            })
            .collect();
        f
    };
    let load = |b: &Facts, a: &Facts| check("load", &[b], &[a]).sentence;
    assert_eq!(
        load(&sent(200, 1_000), &sent(440, 885)),
        "The load differs, units more than twofold and bytes by 95 %: it may be the cause of a change, or its effect."
    );
    assert_eq!(
        load(&sent(200, 1_000), &sent(440, 450)),
        "The bytes are alike, but units differ more than twofold: the same load comes in another shape."
    );
    assert_eq!(load(&sent(200, 1_000), &sent(300, 1_200)), "");
}

/// A part within which a host is changed is of two states; one that begins with the change, or ends before it, is of one.
#[test]
fn a_host_that_is_changed_meanwhile_is_of_two_states() {
    const S: i64 = 1_000_000_000;
    let mut f = recorded(10, 0, 0);
    f.announced.heard = true;
    let quiet = f.clone();
    let row = |at_ns, says: &str| crate::announced::tables::ChangeRow {
        at_ns,
        host: "web".into(),
        says: says.into(),
        program: Some("tc".into()),
        ..Default::default()
    };
    f.announced.rows = vec![row(5 * S, "qdisc added"), row(6 * S, "b"), row(7 * S, "c")];
    fn of<'f>((b, from, to): (&'f Facts, i64, i64), (a, a_from, a_to): (&'f Facts, i64, i64)) -> Option<Check> {
        let window = |from, to| {
            Some(crate::diff::Window {
                from_ns: from * S,
                to_ns: to * S,
            })
        };
        let b = Recording::all(&[b], &[], window(from, to));
        let all = parity::checks(&b, &Recording::all(&[a], &[], window(a_from, a_to)));
        all.into_iter().find(|c| c.what == "changed meanwhile")
    }
    let whole = of((&quiet, 0, 10), (&f, 0, 10)).unwrap();
    assert_eq!((whole.level, whole.before.as_str()), (Level::Differs, "nothing"));
    assert_eq!(
        whole.after,
        "5.000 s in web qdisc added (by tc); 6.000 s in web b (by tc); 1 more"
    );
    assert_eq!(of((&f, 0, 5), (&f, 7, 10)).unwrap().level, Level::Same);
    // What was lost may have been one.
    let mut lossy = quiet.clone();
    lossy.announced.lost = 1;
    let told = of((&quiet, 0, 10), (&lossy, 0, 10)).unwrap();
    assert_eq!(
        (told.level, told.after.as_str()),
        (Level::Unknown, "nothing that was heard; some was lost")
    );
    // A recorder that did not listen.
    let old = recorded(10, 0, 0);
    let told = of((&old, 0, 10), (&quiet, 0, 10)).unwrap();
    assert_eq!((told.level, told.before.as_str()), (Level::Unknown, "not known"));
    assert_eq!(of((&old, 0, 10), (&old, 0, 10)), None);
}
