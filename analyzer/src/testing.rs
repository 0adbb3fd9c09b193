//! What the trackers' tests share: a recording written by hand, event by event, encoded as ring-buffer sub-buffers with the
//! format texts of a real kernel, and read through the whole way of the data. For edge cases that no kernel produces on
//! demand; real recordings are tested in the workspace package `tests`.

use std::path::PathBuf;

use netmortem_formats::kallsyms::Kallsyms;
use netmortem_formats::sub_buffer::PageLayout;
use netmortem_formats::{Bytes, Capture, Chunk, Coding, Endian, EventFormat, FieldFormat, Host, MemberId, Stream};

use crate::facts::Facts;

pub mod rewrite;
pub mod rows;
pub mod tcp;

pub use rows::{answered, drop_at, gap, hop, life, listed, pass, poll, sent, softirq, turnaround};

/// A field's value.
#[derive(Debug, Clone)]
pub enum V {
    /// An integer.
    N(u64),
    /// A text.
    S(&'static str),
    /// Bytes.
    B(Vec<u8>),
}
pub use V::{B, N, S};

/// Context of an event: common_flags and common_pid.
#[derive(Debug, Clone, Copy)]
pub enum Ctx {
    /// In a task.
    Task(i32),
    /// In a softirq that interrupted (or is run by) a thread.
    Soft(i32),
    /// In a hard interrupt.
    Hard(i32),
    /// Any common_flags.
    Flags(u8, i32),
}

/// sizeof(struct sk_buff) of the scripted kernel's fclone pairs.
pub const FCLONE: u64 = 224;
/// Sub-buffer size of the scripted recording.
const PAGE: u32 = 1 << 16;

#[derive(Debug, Clone)]
enum Item {
    Event { ts: u64, bytes: Vec<u8> },
    Lost { count: Option<u64> },
}

/// A recording written by hand.
#[derive(Debug, Default)]
pub struct Script {
    formats: Vec<EventFormat>,
    cpus: Vec<Vec<Item>>,
    symbols: String,
}

impl Script {
    /// With the format texts of a kernel release in `formats/testdata`, less those whose `system:name` is in `without`.
    pub fn new(release: &str, without: &[&str]) -> Script {
        let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("../formats/testdata/format")
            .join(release);
        let mut formats = vec![];
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let stem = path.file_stem().unwrap().to_str().unwrap().to_string();
            let (system, name) = stem.split_once('.').unwrap();
            if !without.contains(&format!("{system}:{name}").as_str()) {
                formats.push(EventFormat::parse(system, &std::fs::read(&path).unwrap()).unwrap());
            }
        }
        formats.sort_by_key(|f| f.id);
        Script {
            formats,
            ..Default::default()
        }
    }
    /// Removes a field from an event's format, as on a kernel that lacks it.
    pub fn drop_field(&mut self, key: &str, field: &str) {
        let f = self.formats.iter_mut().find(|f| f.key() == key).unwrap();
        f.fields.retain(|x| x.name != field);
    }
    /// Adds an event that has another's fields.
    pub fn like(&mut self, key: &str, name: &str) {
        let mut f = self.formats.iter().find(|f| f.key() == key).unwrap().clone();
        f.name = name.to_string();
        f.id = self.formats.iter().map(|f| f.id).max().unwrap() + 1;
        self.formats.push(f);
    }
    /// Names a kernel text address.
    pub fn symbol(&mut self, address: u64, name: &str) {
        self.symbols += &format!("{address:016x} T {name}\n");
    }
    /// Adds an event; fields not named are 0. Events of a CPU are added in order.
    pub fn ev(&mut self, ts: u64, cpu: usize, ctx: Ctx, key: &str, values: &[(&str, V)]) -> &mut Script {
        let Some(f) = self.formats.iter().find(|f| f.key() == key) else {
            return self;
        };
        let (flags, pid) = match ctx {
            Ctx::Task(p) => (0u64, p),
            Ctx::Soft(p) => (0x10, p),
            Ctx::Hard(p) => (0x08, p),
            Ctx::Flags(f, p) => (u64::from(f), p),
        };
        let end = f
            .common
            .iter()
            .chain(&f.fields)
            .map(|x| (x.offset + x.size) as usize)
            .max()
            .unwrap();
        let mut b = vec![0u8; end.next_multiple_of(4)];
        put(&mut b, f.field("common_type").unwrap(), f.id.into());
        put(&mut b, f.field("common_flags").unwrap(), flags);
        put(&mut b, f.field("common_pid").unwrap(), pid as u32 as u64);
        for (name, value) in values {
            let Some(x) = f.field(name) else { continue };
            match value {
                N(n) => put(&mut b, x, *n),
                S(s) if x.declaration.contains("__data_loc") => {
                    let at = b.len();
                    b.extend(s.as_bytes());
                    b.push(0);
                    put(&mut b, x, ((s.len() as u64 + 1) << 16) | at as u64);
                }
                S(s) => b[x.offset as usize..][..s.len()].copy_from_slice(s.as_bytes()),
                B(v) => b[x.offset as usize..][..v.len()].copy_from_slice(v),
            }
        }
        b.resize(b.len().next_multiple_of(4), 0);
        self.item(cpu, Item::Event { ts, bytes: b });
        self
    }
    /// Events are lost here.
    pub fn lost(&mut self, cpu: usize, count: Option<u64>) -> &mut Script {
        self.item(cpu, Item::Lost { count });
        self
    }
    fn item(&mut self, cpu: usize, item: Item) {
        if self.cpus.len() <= cpu {
            self.cpus.resize_with(cpu + 1, Vec::new);
        }
        self.cpus[cpu].push(item);
    }
    /// The capture.
    pub fn capture(&self) -> Capture {
        let page = PageLayout {
            endian: Endian::Little,
            timestamp_offset: 0,
            commit_offset: 8,
            commit_size: 8,
            data_offset: 16,
            size: PAGE,
        };
        let mut bytes = vec![];
        let mut streams = vec![];
        for (cpu, items) in self.cpus.iter().enumerate() {
            let from = bytes.len() as u64;
            bytes.extend(pages(items));
            let chunk = Chunk {
                member: MemberId(0),
                range: from..bytes.len() as u64,
                coding: Coding::Stored,
            };
            let (instance, clock) = (String::new(), "mono".to_string());
            streams.push(Stream {
                instance,
                cpu: cpu as u32,
                page,
                perf: None,
                clock,
                chunks: vec![chunk],
            });
        }
        Capture {
            source: "script".into(),
            format: "script",
            format_version: String::new(),
            bytes: Bytes::Owned(bytes),
            endian: Endian::Little,
            host: Host::default(),
            members: vec![],
            event_formats: self.formats.clone(),
            streams,
            comms: vec![],
            kallsyms: Kallsyms::new(self.symbols.clone().into_bytes()),
            printk_formats: vec![],
            cpu_stats: vec![],
            clock_pairs: vec![],
            clock_conversions: vec![],
            snapshots: vec![],
            manifest: None,
            end: None,
            complete: true,
            problems: vec![],
        }
    }
    /// The whole analysis of it.
    pub fn facts(&self) -> Facts {
        crate::analyze(&self.capture(), &Default::default())
    }
}

fn put(b: &mut [u8], x: &FieldFormat, v: u64) {
    let n = x.size.min(8) as usize;
    b[x.offset as usize..][..n].copy_from_slice(&v.to_le_bytes()[..n]);
}

/// Sub-buffers: every record with an absolute time before it; a loss begins a new sub-buffer with the flags set.
fn pages(items: &[Item]) -> Vec<u8> {
    let mut out = vec![];
    let mut data: Vec<u8> = vec![];
    let mut lost: Option<Option<u64>> = None;
    let mut close = |data: &mut Vec<u8>, lost: &mut Option<Option<u64>>| {
        if data.is_empty() && lost.is_none() {
            return;
        }
        let flags: u64 = match lost {
            None => 0,
            Some(None) => 1 << 31,
            Some(Some(_)) => 3 << 30,
        };
        let mut page = 0u64.to_le_bytes().to_vec();
        page.extend((data.len() as u64 | flags).to_le_bytes());
        page.append(data);
        if let Some(Some(n)) = lost.take() {
            page.extend(n.to_le_bytes());
        }
        *lost = None;
        page.resize(PAGE as usize, 0);
        out.extend(page);
    };
    for item in items {
        match item {
            Item::Lost { count } => {
                close(&mut data, &mut lost);
                lost = Some(*count);
            }
            Item::Event { ts, bytes } => {
                if data.len() + bytes.len() + 64 > PAGE as usize {
                    close(&mut data, &mut lost);
                }
                data.extend((31u32 | ((*ts as u32 & 0x07ff_ffff) << 5)).to_le_bytes());
                data.extend(((*ts >> 27) as u32).to_le_bytes());
                data.extend(0u32.to_le_bytes());
                data.extend((bytes.len() as u32 + 4).to_le_bytes());
                data.extend(bytes);
            }
        }
    }
    close(&mut data, &mut lost);
    out
}

/// Cuts every stream into one chunk per sub-buffer, as a recorder that writes small pieces would.
pub fn one_chunk_per_page(c: &mut Capture) {
    for s in &mut c.streams {
        let cut = |chunk: &Chunk| {
            let r = chunk.range.clone();
            let piece = |start: u64| Chunk {
                member: chunk.member,
                range: start..(start + u64::from(PAGE)).min(r.end),
                coding: chunk.coding,
            };
            r.clone().step_by(PAGE as usize).map(piece).collect::<Vec<_>>()
        };
        s.chunks = s.chunks.iter().flat_map(cut).collect();
    }
}
