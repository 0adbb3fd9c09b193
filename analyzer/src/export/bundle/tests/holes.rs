//! What is in no field of an event: not passed on.

use netmortem_formats::event_format::FieldKind;
use netmortem_formats::{Endian, EventFormat};

use super::super::names::Names;
use super::super::payload::Payloads;
use super::{open, records};

/// What of a payload is in a field, by its format alone.
fn in_fields(f: &EventFormat, endian: Endian, payload: &[u8]) -> Vec<bool> {
    let mut mask = vec![false; payload.len()];
    let mut set = |at: usize, len: usize| {
        if at + len <= mask.len() {
            mask[at..at + len].fill(true);
        }
    };
    for x in f.common.iter().chain(&f.fields) {
        let (at, size) = (x.offset as usize, x.size as usize);
        set(at, size);
        let base = match x.kind {
            FieldKind::DataLoc { .. } => 0,
            FieldKind::RelLoc { .. } => at + size,
            FieldKind::Array { .. } if size == 0 => {
                set(at, payload.len() - at);
                continue;
            }
            _ => continue,
        };
        let word = endian.u32(payload, at).unwrap() as usize;
        set(base + (word & 0xffff), word >> 16);
    }
    mask
}

/// Bytes of older records in the holes of an event's struct and behind its last field do not stay; its numbers do.
#[test]
fn holes_of_payloads_are_emptied() {
    for path in ["rpc/rpc.nmb", "kernel-6.1/netem.nmb"] {
        let capture = open(path);
        let (mut payloads, mut names) = (Payloads::of(&capture), Names::default());
        let (mut holes, mut numbers) = (0, 0);
        for (_, given) in records(&capture).into_iter().flatten() {
            let id = capture.endian.u16(&given, 0).unwrap();
            let f = capture.event_formats.iter().find(|f| f.id == id).unwrap();
            let mask = in_fields(f, capture.endian, &given);
            let mut poisoned = given.clone();
            for (b, _) in poisoned.iter_mut().zip(&mask).filter(|(_, m)| !**m) {
                *b = 0xa5;
            }
            assert!(payloads.redact(&mut names, &mut poisoned));
            for (at, _) in mask.iter().enumerate().filter(|(_, m)| !**m) {
                assert_eq!(poisoned[at], 0, "{path} {} byte {at}", f.key());
                holes += 1;
            }
            for x in f.common.iter().chain(&f.fields).filter(|x| x.kind == FieldKind::Int) {
                let place = x.offset as usize..(x.offset + x.size) as usize;
                assert_eq!(poisoned.get(place.clone()), given.get(place), "{} {}", f.key(), x.name);
                numbers += 1;
            }
        }
        assert!(holes > 1000 && numbers > 1000, "{path}: {holes} {numbers}");
    }
}

/// By hand: holes between fields and at the end, pointed texts with holes around them, a pointer out of the record, a word of the
/// kernel with bytes behind its NUL.
#[test]
fn holes_of_a_payload_made_by_hand() {
    let mut capture = open("rpc/rpc.nmb");
    let text = b"name: made\nID: 65000\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:u8 protocol;\toffset:8;\tsize:1;\tsigned:0;\n\
        \tfield:__data_loc char[] dev;\toffset:12;\tsize:4;\tsigned:0;\n\
        \tfield:__data_loc char[] name;\toffset:16;\tsize:4;\tsigned:0;\n\
        \tfield:char kind[8];\toffset:20;\tsize:8;\tsigned:0;\n\n\
        print fmt: \"\"\n";
    capture.event_formats.push(EventFormat::parse("net", text).unwrap());
    capture.endian = Endian::Little;
    let mut p = vec![0xa5u8; 48];
    p[..2].copy_from_slice(&65000u16.to_le_bytes());
    p[4..8].copy_from_slice(&7u32.to_le_bytes());
    p[8] = 6;
    p[12..16].copy_from_slice(&(6u32 << 16 | 32).to_le_bytes());
    p[16..20].copy_from_slice(&(9u32 << 16 | 44).to_le_bytes());
    p[20..24].copy_from_slice(b"fq\0\xa5");
    p[32..38].copy_from_slice(b"wlan7\0");
    let mut want = vec![0u8; 48];
    want[..2].copy_from_slice(&p[..2]);
    want[4..8].copy_from_slice(&p[4..8]);
    want[8] = 6;
    want[12..20].copy_from_slice(&p[12..20]);
    want[20..22].copy_from_slice(b"fq");
    want[32..34].copy_from_slice(b"d0");
    assert!(Payloads::of(&capture).redact(&mut Names::default(), &mut p));
    assert_eq!(p, want);
}
