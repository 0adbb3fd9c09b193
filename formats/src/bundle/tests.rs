//! Round trips, GNU tar and zstd as oracles, every kind of cut, hostile archives.
#![allow(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

mod cut;
mod hostile;
mod perf;
mod round_trip;
mod samples;
mod seconds;

use super::manifest::{Clocks, End, FORMAT_VERSION, Machine, Manifest, Plan, RecorderInfo};
use super::names::{self, PagesName};
use super::writer::{BundleWriter, PagesEncoder};
use crate::bytes::Bytes;
use crate::capture::{Capture, ClockPair, CpuStats, Host, SnapshotWhen};
use crate::item::{Locus, StreamItem};
use crate::sub_buffer::sub_buffers;

const SUB_BUFFER: usize = 4096;

const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
    \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
    \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
    \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

const FORMAT: &str = "name: probe\nID: 77\nformat:\n\
    \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
    \tfield:u64 value;\toffset:8;\tsize:8;\tsigned:0;\n\nprint fmt: \"%llu\", REC->value\n";

/// A sub-buffer whose records carry `first`, `first + 1`, ... as payload; one per ns.
fn sub_buffer(first: u64, records: u64) -> Vec<u8> {
    let mut data = Vec::new();
    for i in 0..records {
        let delta = u32::from(i > 0);
        data.extend((4 | (delta << 5)).to_le_bytes());
        data.extend(77u64.to_le_bytes());
        data.extend((first + i).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    }
    let mut page = first.to_le_bytes().to_vec();
    page.extend((data.len() as u64).to_le_bytes());
    page.extend(data);
    page.resize(SUB_BUFFER, 0);
    page
}

fn manifest() -> Manifest {
    Manifest {
        format_version: FORMAT_VERSION,
        recorder: RecorderInfo {
            version: "9.9".into(),
            ..Default::default()
        },
        host: Host {
            hostname: "host".into(),
            cpus: 3,
            ..Default::default()
        },
        machine: Machine::default(),
        clocks: Clocks {
            trace_clock: "mono".into(),
            start: pair(10),
        },
        plan: Plan {
            instance: "i".into(),
            cpus: vec![0, 1, 2],
            ..Default::default()
        },
        flight: None,
        slice: None,
        redacted: false,
        pseudonyms: vec![],
        notes: Vec::new(),
    }
}

fn pair(ns: i64) -> ClockPair {
    ClockPair {
        monotonic_ns: ns,
        realtime_ns: Some(ns + 1_000_000_000_000),
        ..Default::default()
    }
}

fn end() -> End {
    let stats = |cpu, read_events| CpuStats {
        cpu,
        read_events,
        ..Default::default()
    };
    End {
        stop_reason: "duration".into(),
        clock: pair(90),
        cpu_stats: vec![stats(0, 200), stats(1, 40), stats(2, 0)],
        ..Default::default()
    }
}

/// Two CPUs with events, three and one members; CPU 2 silent.
fn bundle() -> Vec<u8> {
    let mut w = BundleWriter::new(Vec::new(), &manifest()).unwrap();
    let mut encoder = PagesEncoder::new(1).unwrap();
    w.append(names::HEADER_PAGE, HEADER_PAGE.as_bytes()).unwrap();
    w.append(&names::event_format_name("sys", "probe"), FORMAT.as_bytes())
        .unwrap();
    w.append(names::PRINTK_FORMATS, b"0x1 : \"x\"\n").unwrap();
    let symbols = encoder.encode(b"-7f000000 T start\n100 t middle\n").unwrap();
    w.append(names::SYMBOLS, &symbols).unwrap();
    w.append(&names::snapshot_name("net/netstat", SnapshotWhen::Start), b"before")
        .unwrap();
    w.append(
        &names::snapshot_name(names::TASKS, SnapshotWhen::Start),
        b"1 1 init\n7 1 old name\n",
    )
    .unwrap();
    let mut pages = |w: &mut BundleWriter<Vec<u8>>, cpu, sequence, data: Vec<u8>| {
        w.append_pages(PagesName { cpu, sequence }, &encoder.encode(&data).unwrap())
            .unwrap();
    };
    pages(&mut w, 0, 1, [sub_buffer(0, 100), sub_buffer(100, 60)].concat());
    pages(&mut w, 1, 1, sub_buffer(0, 40));
    w.append_clock_pair(&pair(50)).unwrap();
    pages(&mut w, 0, 2, sub_buffer(160, 30));
    pages(&mut w, 0, 3, sub_buffer(190, 10));
    w.append(&names::snapshot_name("net/netstat", SnapshotWhen::End), b"after")
        .unwrap();
    w.append(names::SAVED_CMDLINES, b"7 new name\n9 a b\n").unwrap();
    w.finish(end()).unwrap().0
}

fn open(bytes: Vec<u8>) -> Capture {
    crate::open_bytes("test", Bytes::Owned(bytes)).unwrap()
}

/// Values of the records of a CPU in order, as numbered by [`sub_buffer`] (timestamps equal the numbers).
fn events(c: &Capture, cpu: u32) -> Vec<u64> {
    let mut out = Vec::new();
    for s in c.streams.iter().filter(|s| s.cpu == cpu) {
        for chunk in &s.chunks {
            let locus = Locus {
                member: chunk.member,
                stream: cpu,
                offset: 0,
            };
            let bytes = c.chunk_bytes(chunk).unwrap();
            for page in sub_buffers(s.page, &bytes, locus) {
                for item in page.unwrap().records(s.page, locus) {
                    match item.unwrap() {
                        StreamItem::Record(r) => {
                            let value = u64::from_le_bytes(r.payload[8..16].try_into().unwrap());
                            assert_eq!(value, r.ts.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                            out.push(r.ts);
                        }
                        StreamItem::Lost(l) => panic!("{l:?}"),
                    }
                }
            }
        }
    }
    out
}

fn messages(c: &Capture) -> String {
    c.problems.iter().map(|p| p.message.clone() + "\n").collect()
}
