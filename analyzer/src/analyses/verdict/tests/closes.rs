//! What is said of connections that ended late, or by the kernel itself.

use crate::analyses::opens::{Inherited, Opens, Orphans};
use crate::analyses::verdict::closes::causes;

#[test]
fn who_kept_connections_open_is_named_with_the_time() {
    let inherited = Inherited {
        at: "10.0.0.1:8000".into(),
        task: "python3".into(),
        by: "archiver".into(),
        connections: 45,
        held_ns: 2_570_000_000,
        longest_ns: 3_156_000_000,
        waited: 45,
        clients: 45,
    };
    let of = |inherited| {
        causes(&Opens {
            inherited: Some(inherited),
            ..Opens::default()
        })
    };
    let said = of(inherited.clone());
    let expect = "45 connections of 10.0.0.1:8000 (python3) got no FIN until 2.570 s (p50, max 3.156 s) after their last byte, when archiver, \
                  which neither read nor sent on them, closed them, most likely by exiting, and all their clients closed at once then";
    assert!(said.len() == 1 && said[0].starts_with(expect), "{said:?}");
    let some = of(Inherited {
        waited: 30,
        ..inherited
    });
    assert!(some[0].contains("and 30 of 45 clients closed at once then"), "{some:?}");
}

#[test]
fn a_limit_of_orphans_is_inferred() {
    let orphans = Orphans {
        at: "10.0.0.1:80".into(),
        task: "nginx".into(),
        connections: 16,
        all: 36,
        setting: "net.ipv4.tcp_max_orphans = 2".into(),
        short_of_memory: false,
        roomy: false,
        first_ns: 7_130_000_000,
    };
    let of = |orphans| {
        causes(&Opens {
            orphans: Some(orphans),
            ..Opens::default()
        })
        .concat()
    };
    let said = of(orphans.clone());
    assert!(
        said.starts_with("16 connections of 10.0.0.1:80 (nginx) (and 20 of others) were reset by the kernel itself, the first at 7.130 s, at or after their close")
    );
    let lowered = of(Orphans {
        roomy: true,
        ..orphans.clone()
    });
    assert!(lowered.contains("it was lowered since"), "{lowered}");
    assert!(said.ends_with("most likely there were more such orphans than it allows (net.ipv4.tcp_max_orphans = 2)"));
    let short = of(Orphans {
        short_of_memory: true,
        ..orphans
    });
    assert!(
        short.ends_with("or TCP's memory was short (tcp_mem), as it was meanwhile"),
        "{short}"
    );
}
