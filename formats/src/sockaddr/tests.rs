//! Addresses decoded by hand.

use super::{SockAddr, v4, v6};
use crate::endian::Endian;

/// [2001:db8::1%3]:443, flow info 0x12345, as a little-endian kernel stores it.
const V6: [u8; 28] = [
    10, 0, 0x01, 0xbb, 0, 1, 0x23, 0x45, 0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 3, 0, 0, 0,
];
/// 192.0.2.7:65000, with garbage behind.
const V4: [u8; 28] = [
    2, 0, 0xfd, 0xe8, 192, 0, 2, 7, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee,
    0xee, 0xee, 0xee, 0xee, 0xee, 0xee,
];
/// ::ffff:10.0.0.1
const MAPPED: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1];

fn shown(address: Option<SockAddr>) -> Option<String> {
    address.map(|a| a.to_string())
}

#[test]
fn reads_both_families() {
    assert_eq!(
        shown(SockAddr::read(&V4, Endian::Little)).as_deref(),
        Some("192.0.2.7:65000")
    );
    assert_eq!(
        shown(SockAddr::read(&V6, Endian::Little)).as_deref(),
        Some("[2001:db8::1]:443")
    );
}

#[test]
fn family_has_the_hosts_byte_order_and_the_port_has_not() {
    let mut big = V4;
    big.swap(0, 1);
    assert_eq!(
        shown(SockAddr::read(&big, Endian::Big)).as_deref(),
        Some("192.0.2.7:65000")
    );
    assert_eq!(SockAddr::read(&big, Endian::Little), None);
}

#[test]
fn refuses_what_is_short_or_of_another_family() {
    for cut in 0..8 {
        assert_eq!(SockAddr::read(&V4[..cut], Endian::Little), None);
    }
    assert!(SockAddr::read(&V4[..8], Endian::Little).is_some());
    for cut in 0..24 {
        assert_eq!(SockAddr::read(&V6[..cut], Endian::Little), None);
    }
    assert!(SockAddr::read(&V6[..24], Endian::Little).is_some());
    assert_eq!(SockAddr::read(&[0; 28], Endian::Little), None);
    assert_eq!((v4(&[1, 2, 3]), v6(&[0; 15])), (None, None));
}

#[test]
fn takes_the_pair_of_fields_by_family() {
    let at = |family, v6: &[u8]| shown(SockAddr::from_fields(family, 80, &[10, 0, 0, 1], v6));
    assert_eq!(at(Some(2), &MAPPED).as_deref(), Some("10.0.0.1:80"));
    assert_eq!(at(Some(10), &V6[8..24]).as_deref(), Some("[2001:db8::1]:80"));
    assert_eq!(at(Some(10), &MAPPED).as_deref(), Some("[::ffff:10.0.0.1]:80"));
    assert_eq!(at(Some(1), &MAPPED), None);
    assert_eq!(at(Some(10), &MAPPED[..15]), None);
    assert_eq!(SockAddr::from_fields(Some(2), 80, &[10, 0, 0], &MAPPED), None);
}

#[test]
fn without_a_family_the_v6_bytes_decide() {
    let at = |v6: &[u8]| shown(SockAddr::from_fields(None, 80, &[10, 0, 0, 1], v6));
    assert_eq!(at(&MAPPED).as_deref(), Some("10.0.0.1:80"));
    assert_eq!(at(&[0; 16]).as_deref(), Some("10.0.0.1:80"));
    assert_eq!(at(&V6[8..24]).as_deref(), Some("[2001:db8::1]:80"));
}

#[test]
fn canonical_is_what_the_wire_has() {
    let mapped = SockAddr {
        ip: v6(&MAPPED).unwrap(),
        port: 5,
    };
    assert_eq!(mapped.canonical().to_string(), "10.0.0.1:5");
    let native = SockAddr::read(&V6, Endian::Little).unwrap();
    assert_eq!(native.canonical(), native);
}
