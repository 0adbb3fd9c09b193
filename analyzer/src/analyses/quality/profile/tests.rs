use crate::analyses::{not_recorded, reasons};
use crate::facts::{Facts, Reason};

/// A recording of profile `drops` that has one kind of events.
fn of_drops() -> Facts {
    let mut f = Facts::empty();
    f.capture.total_events = 1;
    f.capture.profile = "drops".into();
    f.capture.enabled_events = Some(vec!["skb:kfree_skb".into()]);
    f.capture.absent = vec!["irq:tasklet_entry".into()];
    let because = |key: &str| format!("{key} has no format in this capture");
    f.unknown = ["net:net_dev_queue", "net:net_dev_xmit", "irq:tasklet_entry"]
        .map(|key| Reason {
            subject: "tx",
            because: because(key),
        })
        .to_vec();
    f
}

#[test]
fn what_was_not_asked_for_is_told_by_the_profile() {
    let mut f = of_drops();
    let said = not_recorded(&f, &["skb:kfree_skb", "tcp:tcp_probe"]).unwrap();
    assert_eq!(
        said,
        "profile drops does not record tcp:tcp_probe; --profile full does, where the kernel has it"
    );
    let all: Vec<String> = reasons(&f, "tx", "?").into_iter().map(|r| r.because).collect();
    assert_eq!(
        all,
        [
            "profile drops does not record net:net_dev_queue and 1 other kind of events that it takes; --profile full does, where the kernel has it",
            // That one this kernel has not.
            "irq:tasklet_entry has no format in this capture"
        ]
    );
    assert_eq!(reasons(&f, "rx", "nothing came")[0].because, "nothing came");
    // The whole profile, none that is known, a recording that does not say what was enabled: as it is.
    let plain = "there is no tcp:tcp_probe in the recording, and nothing says that it was recorded";
    for profile in ["full", ""] {
        f.capture.profile = profile.into();
        assert_eq!(not_recorded(&f, &["tcp:tcp_probe"]).unwrap(), plain);
        assert_eq!(reasons(&f, "tx", "?").len(), 3);
    }
    f.capture.profile = "drops".into();
    f.capture.enabled_events = None;
    assert_eq!(not_recorded(&f, &["tcp:tcp_probe"]).unwrap(), plain);
}
