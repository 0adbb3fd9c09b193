//! Tables of the kernel that were full, in the line on drops.

use super::drops::{group, said};
use crate::analyses::drops::{Full, Group};

/// A table that was full, as the kernel counted; where nothing counted it, how large it may be stands behind what it may have been.
#[test]
fn a_table_that_was_full_is_said_with_its_size() {
    let of = |full| {
        let g = Group {
            location: "nf_hook_slow".into(),
            why: "a netfilter hook",
            full,
            ..group(Some(false), "NETFILTER_DROP", 72)
        };
        said(vec![g]).1
    };
    let counted = "connection tracking had no room for a new connection: nf_conntrack counted 72 more drop, net.netfilter.nf_conntrack_max = 1700";
    let s = of(Some(Full {
        says: counted.into(),
        counted: true,
    }));
    assert!(
        s.contains(&format!("NETFILTER_DROP at nf_hook_slow ({counted}) on rs")),
        "{s}"
    );
    let s = of(Some(Full {
        says: "net.netfilter.nf_conntrack_max = 1700".into(),
        counted: false,
    }));
    assert!(
        s.contains("(a netfilter hook, net.netfilter.nf_conntrack_max = 1700) on rs"),
        "{s}"
    );
}
