//! Frames sent again that a qdisc holds: how many segments they are is counted by the socket's MSS, while that is one.

use super::*;

/// A segment of several, as `net_dev_start_xmit` tells them; gives its original.
fn several(s: &mut Sender, at: u64, mss: u64, n: u64) -> u64 {
    let original = ORIGINAL + s.originals * 512;
    s.originals += 1;
    s.nxt += mss * n;
    let mut v = vec![
        ("skbaddr", N(original + FCLONE)),
        ("len", N(mss * n + HEADERS)),
        ("name", S("va")),
    ];
    s.s.ev(at, 0, TASK, "net:net_dev_queue", &v);
    v.extend([
        ("protocol", N(0x0800)),
        ("transport_offset_valid", N(1)),
        ("transport_offset", N(34)),
        ("gso_size", N(mss)),
        ("gso_segs", N(n)),
    ]);
    s.s.ev(at + 1, 0, TASK, "net:net_dev_start_xmit", &v);
    s.s.ev(at + 3, 0, TASK, "net:net_dev_xmit", &v[..3]);
    original
}

/// Segments of a frame of `bytes` that is held when it is sent again, after sends of two segments of each MSS.
fn held(sizes: &[u64], bytes: u64) -> Option<u32> {
    let mut s = Sender::new(&[]);
    requests(&mut s, 100_000, 3);
    let mut t = BASE + 1_000_000;
    let mut original = 0;
    for mss in sizes {
        s.enter(t);
        s.round(t + 100, mss * 2);
        original = several(&mut s, t + 1000, *mss, 2);
        s.leave(t + 2000, mss * 2);
        t += 100_000;
    }
    let v = [
        ("skbaddr", N(original + FCLONE)),
        ("len", N(bytes + HEADERS)),
        ("name", S("va")),
    ];
    s.s.ev(t, 0, SOFT, "net:net_dev_queue", &v);
    SOCK.retransmit(&mut s.s, t + 5, 0, SOFT, original, &[]);
    requests(&mut s, 7_000_000, 2);
    let f = s.facts();
    assert_eq!(
        (f.retransmits.len(), f.retransmits[0].bytes),
        (1, Some((bytes + HEADERS) as u32))
    );
    f.retransmits[0].segments
}

#[test]
fn segments_of_a_held_frame_are_counted_by_one_mss() {
    assert_eq!(held(&[1448], 2896), Some(2));
    assert_eq!(held(&[1448, 1448], 1448), Some(1));
    assert_eq!(held(&[700, 700], 1400), Some(2));
}

/// The MSS shrank from 1448 to 700: 1400 bytes are two segments now and were one before.
#[test]
fn after_the_mss_changed_none_is_made_up() {
    assert_eq!(held(&[1448, 700], 1400), None);
    assert_eq!(held(&[1448, 700], 2896), None);
    // No longer than either.
    assert_eq!(held(&[1448, 700], 700), Some(1));
}
