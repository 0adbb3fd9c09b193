//! What nothing tells is not told as 0.

use super::{Explainer, explained, open};

/// Without samples nothing tells how many bytes went in and out, as the view says: that is no 0.
#[test]
fn bytes_that_no_sample_tells_are_not_known() {
    let capture = open("mtu/mtu.nmb");
    let f = crate::analyze(&capture, &Default::default());
    let e = Explainer::new(&capture, &Default::default());
    let said = |id: &str| explained(&e, &f, id).summary;
    assert!(
        said("conn:2").contains(": bytes in and out not known, as no tcp_probe told of it, 2 TCP segments"),
        "{}",
        said("conn:2")
    );
    assert!(
        said("conn:0").contains(": 0 bytes in, 200000 bytes out, "),
        "{}",
        said("conn:0")
    );
}
