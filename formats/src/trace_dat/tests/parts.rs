//! Parts to write files from: those of the sample, a small cut of them, and a big-endian or 32-bit kernel that we make up.

use std::collections::BTreeSet;

use super::super::layout::*;
use super::walk::{sample, sample_bytes};
use super::writer::{Buffer, Parts};
use crate::{Capture, Endian};

/// The decoded body of a section of the sample; its members have the header just before their range.
fn body(c: &Capture, name: &str) -> Vec<u8> {
    let m = c.members.iter().find(|m| m.name == name).unwrap();
    decoded(c, m.range.start as usize, m.range.end as usize)
}

fn decoded(c: &Capture, start: usize, end: usize) -> Vec<u8> {
    if c.bytes[start - 14] & 1 == 0 {
        return c.bytes[start..end].to_vec();
    }
    zstd::stream::decode_all(&c.bytes[start + 8..end]).unwrap()
}

/// Everything of the sample.
pub fn of_sample() -> Parts {
    let c = sample();
    let names = [
        "HEADER_INFO",
        "FTRACE_EVENTS",
        "EVENT_FORMATS",
        "KALLSYMS",
        "PRINTK",
        "CMDLINES",
    ];
    let mut options = Vec::new();
    for m in c.members.iter().filter(|m| m.name == "OPTIONS") {
        let bytes = decoded(&c, m.range.start as usize, m.range.end as usize);
        let mut rest = bytes.as_slice();
        while rest.len() >= 6 {
            let (id, n) = (
                Endian::Little.u16(rest, 0).unwrap(),
                Endian::Little.u32(rest, 2).unwrap() as usize,
            );
            if !matches!(id, OPTION_DONE | OPTION_BUFFER | OPTION_HEADER_INFO..=OPTION_CMDLINES) {
                options.push((id, rest[6..6 + n].to_vec()));
            }
            rest = &rest[6 + n..];
        }
    }
    let mut buffers: Vec<Buffer> = Vec::new();
    for s in &c.streams {
        let pages = s
            .chunks
            .iter()
            .flat_map(|ch| c.chunk_bytes(ch).unwrap().into_owned())
            .collect();
        match buffers.iter_mut().find(|b| b.name == s.instance) {
            Some(b) => b.cpus.push((s.cpu, pages)),
            None => buffers.push(Buffer {
                name: s.instance.clone(),
                // As the file says it, the wrong one included.
                clock: "mono".to_owned(),
                page_size: s.page.size,
                cpus: vec![(s.cpu, pages)],
            }),
        }
    }
    assert_eq!(sample_bytes()[12], 0, "little endian");
    Parts {
        endian: Endian::Little,
        bodies: names.map(|n| body(&c, n)),
        options,
        buffers,
    }
}

/// The sample with only the formats of its own events and without kallsyms: some 250 kB as version 6, fast to open often.
pub fn small() -> Parts {
    let mut parts = of_sample();
    let used: BTreeSet<String> = super::oracle::expected_counts()
        .into_keys()
        .map(|(_, event)| format!("name: {event}\n"))
        .collect();
    let all = parts.bodies[2].clone();
    let mut kept = Vec::new();
    let mut at = 4;
    for _ in 0..Endian::Little.u32(&all, 0).unwrap() {
        at += all[at..].iter().position(|b| *b == 0).unwrap() + 1;
        let n = Endian::Little.u32(&all, at).unwrap();
        at += 4;
        for _ in 0..n {
            let len = Endian::Little.u64(&all, at).unwrap() as usize;
            let text = &all[at + 8..at + 8 + len];
            if used.iter().any(|name| text.starts_with(name.as_bytes())) {
                kept.push(all[at..at + 8 + len].to_vec());
            }
            at += 8 + len;
        }
    }
    parts.bodies[2] = [
        &[1, 0, 0, 0][..],
        b"net\0",
        &parts.u32(kept.len() as u32)[..],
        &kept.concat(),
    ]
    .concat();
    parts.bodies[3] = vec![0; 4];
    parts
}

/// A record of the made-up kernel: delta to the one before, value of its only field.
pub type Made = (u32, u32);

/// One made-up page: `timestamp` u64, `commit` of `long` bytes, records of 12 bytes payload.
pub fn page(endian: Endian, long: usize, size: usize, timestamp: u64, records: &[Made]) -> Vec<u8> {
    let word = |v: u32| {
        if endian == Endian::Big {
            v.to_be_bytes()
        } else {
            v.to_le_bytes()
        }
    };
    let mut out = if endian == Endian::Big {
        timestamp.to_be_bytes()
    } else {
        timestamp.to_le_bytes()
    }
    .to_vec();
    let commit = records.len() as u64 * 16;
    match (endian, long) {
        (Endian::Big, 8) => out.extend_from_slice(&commit.to_be_bytes()),
        (Endian::Little, 8) => out.extend_from_slice(&commit.to_le_bytes()),
        _ => out.extend_from_slice(&word(commit as u32)),
    }
    for (delta, value) in records {
        // type_len 3 (12 bytes) in bits 0-4 or, big-endian, 27-31.
        let header = if endian == Endian::Big {
            3 << 27 | delta
        } else {
            3 | delta << 5
        };
        out.extend_from_slice(&word(header));
        let id: u16 = 77;
        out.extend_from_slice(&if endian == Endian::Big {
            id.to_be_bytes()
        } else {
            id.to_le_bytes()
        });
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&word(42));
        out.extend_from_slice(&word(*value));
    }
    out.resize(size, 0);
    out
}

/// A kernel of that byte order and long size: one event `made:made` (id 77, u32 `value` at 8), buffers as given.
pub fn made_up(endian: Endian, long: usize, buffers: Vec<Buffer>) -> Parts {
    let mut p = Parts {
        endian,
        bodies: Default::default(),
        options: Vec::new(),
        buffers,
    };
    let data = 8 + long;
    let header_page = format!(
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:{long};\tsigned:1;\n\
         \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:{data};\tsize:{};\tsigned:1;\n",
        p.buffers[0].page_size as usize - data,
    );
    let format = "name: made\nID: 77\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
                  \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
                  \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
                  \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\tfield:u32 value;\toffset:8;\tsize:4;\tsigned:0;\n\n\
                  print fmt: \"%u\", REC->value\n";
    let sized64 = |b: &[u8]| [&p.u64(b.len() as u64), b].concat();
    let header_info = [
        b"header_page\0",
        &sized64(header_page.as_bytes())[..],
        b"header_event\0",
        &p.u64(0),
    ]
    .concat();
    let formats = [&p.u32(1)[..], b"made\0", &p.u32(1), &sized64(format.as_bytes())].concat();
    p.bodies = [
        header_info,
        p.u32(0).to_vec(),
        formats,
        p.u32(0).to_vec(),
        p.u32(0).to_vec(),
        sized64(b"42 made up\n"),
    ];
    p
}
