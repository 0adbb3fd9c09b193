//! A writer of trace.dat for tests: the same parts as version 6 or 7, stored, zlib or zstd. Remembers where it put what, so
//! that a test can damage exactly one number.

use std::collections::BTreeMap;
use std::io::Write;

use super::super::layout::*;
use crate::Endian;

/// How a version 7 file is coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    None,
    Zlib,
    Zstd,
}

/// One ring buffer: (cpu, pages).
#[derive(Debug, Clone)]
pub struct Buffer {
    pub name: String,
    pub clock: String,
    pub page_size: u32,
    pub cpus: Vec<(u32, Vec<u8>)>,
}

/// What a file holds.
#[derive(Debug, Clone)]
pub struct Parts {
    pub endian: Endian,
    /// Bodies of HEADER_INFO, FTRACE_EVENTS, EVENT_FORMATS, KALLSYMS, PRINTK, CMDLINES, as they are in a file.
    pub bodies: [Vec<u8>; 6],
    /// Options but BUFFER, DONE and the sections.
    pub options: Vec<(u16, Vec<u8>)>,
    /// The first one is the top buffer.
    pub buffers: Vec<Buffer>,
}

/// A file, and the offsets of its numbers.
#[derive(Debug, Clone, Default)]
pub struct Written {
    pub bytes: Vec<u8>,
    marks: BTreeMap<String, usize>,
}

impl Written {
    pub fn mark(&self, name: &str) -> usize {
        *self
            .marks
            .get(name)
            .unwrap_or_else(|| panic!("{name} in {:?}", self.marks.keys()))
    }
    /// Replaces the bytes at a mark.
    pub fn put(&mut self, name: &str, with: &[u8]) -> &mut Self {
        let at = self.mark(name);
        self.bytes[at..at + with.len()].copy_from_slice(with);
        self
    }
    fn here(&mut self, name: impl Into<String>) {
        self.marks.insert(name.into(), self.bytes.len());
    }
    fn raw(&mut self, b: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(b);
        self
    }
    fn align(&mut self, n: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(n), 0);
    }
}

impl Parts {
    pub fn u16(&self, v: u16) -> [u8; 2] {
        if self.endian == Endian::Big {
            v.to_be_bytes()
        } else {
            v.to_le_bytes()
        }
    }
    pub fn u32(&self, v: u32) -> [u8; 4] {
        if self.endian == Endian::Big {
            v.to_be_bytes()
        } else {
            v.to_le_bytes()
        }
    }
    pub fn u64(&self, v: u64) -> [u8; 8] {
        if self.endian == Endian::Big {
            v.to_be_bytes()
        } else {
            v.to_le_bytes()
        }
    }

    fn start(&self, version: &[u8]) -> Written {
        let mut w = Written::default();
        w.raw(MAGIC)
            .raw(version)
            .raw(&[0, u8::from(self.endian == Endian::Big), 8]);
        w.raw(&self.u32(self.buffers[0].page_size));
        w
    }

    fn option(&self, w: &mut Written, id: u16, data: &[u8]) {
        w.raw(&self.u16(id)).raw(&self.u32(data.len() as u32)).raw(data);
    }

    /// Version 6. `flyrecord`, `NAME cpu N offset` and `... size` are marked.
    pub fn v6(&self) -> Written {
        let mut w = self.start(b"6");
        for b in &self.bodies {
            w.raw(b);
        }
        let n_cpus = self
            .buffers
            .iter()
            .flat_map(|b| &b.cpus)
            .map(|(cpu, _)| cpu + 1)
            .max()
            .unwrap_or(0);
        w.raw(&self.u32(n_cpus)).raw(b"options  \0");
        for (id, data) in &self.options {
            self.option(&mut w, *id, data);
        }
        for b in &self.buffers[1..] {
            let mut data = vec![0; 8];
            data.extend_from_slice(b.name.as_bytes());
            data.push(0);
            w.here(format!("{} table", b.name));
            self.option(&mut w, OPTION_BUFFER, &data);
        }
        w.raw(&self.u16(OPTION_DONE));
        for (i, b) in self.buffers.iter().enumerate() {
            if i > 0 {
                let here = self.u64(w.bytes.len() as u64);
                let at = w.mark(&format!("{} table", b.name)) + 6;
                w.bytes[at..at + 8].copy_from_slice(&here);
            }
            w.here(format!("{} flyrecord", b.name));
            w.raw(b"flyrecord\0");
            for cpu in 0..n_cpus {
                w.here(format!("{} cpu {cpu} offset", b.name));
                w.raw(&[0; 8]);
                w.here(format!("{} cpu {cpu} size", b.name));
                w.raw(&[0; 8]);
            }
            if i == 0 && self.options.iter().any(|(id, _)| *id == OPTION_TRACECLOCK) {
                let text = format!("local [{}]\n", b.clock);
                w.raw(&self.u64(text.len() as u64)).raw(text.as_bytes());
            }
            for (cpu, pages) in &b.cpus {
                w.align(b.page_size as usize);
                let offset = w.bytes.len() as u64;
                w.put(&format!("{} cpu {cpu} offset", b.name), &self.u64(offset));
                w.put(&format!("{} cpu {cpu} size", b.name), &self.u64(pages.len() as u64));
                w.raw(pages);
            }
        }
        w
    }

    /// Version 7. Marked: `first options`, `options N`, `done N`, `NAME cpu N count`, `csize I`, `usize I`.
    pub fn v7(&self, code: Code) -> Written {
        let mut w = self.start(b"7");
        let (name, version): (&[u8], &[u8]) = match code {
            Code::None => (b"none\0", b"\0"),
            Code::Zlib => (b"zlib\0", b"1.2\0"),
            Code::Zstd => (b"zstd\0", b"1.5\0"),
        };
        w.raw(name).raw(version);
        w.here("first options");
        w.raw(&[0; 8]);
        let mut first: Vec<(u16, Vec<u8>)> = self.options.clone();
        for (id, body) in (OPTION_HEADER_INFO..).zip(&self.bodies) {
            first.push((id, self.u64(w.bytes.len() as u64).to_vec()));
            w.here(format!("section {id}"));
            self.section(&mut w, id, body, code);
        }
        if code == Code::Zlib {
            // One compressed OPTIONS section at the end; the other codings have a chain of plain ones.
            first.extend(
                self.buffers
                    .iter()
                    .map(|b| (OPTION_BUFFER, self.buffer(&mut w, b, code))),
            );
            let body = self.records(&first);
            let here = self.u64(w.bytes.len() as u64);
            w.put("first options", &here);
            self.section(&mut w, OPTION_DONE, &body.bytes, code);
            return w;
        }
        self.options_section(&mut w, "first options", 0, &first);
        for (i, b) in self.buffers.iter().enumerate() {
            let options = [(OPTION_BUFFER, self.buffer(&mut w, b, code))];
            self.options_section(&mut w, &format!("done {i}"), i + 1, &options);
        }
        w
    }

    fn section(&self, w: &mut Written, id: u16, body: &[u8], code: Code) {
        w.raw(&self.u16(id))
            .raw(&self.u16(u16::from(code != Code::None)))
            .raw(&self.u32(0));
        if code == Code::None {
            w.raw(&self.u64(body.len() as u64)).raw(body);
            return;
        }
        let coded = compress(body, code);
        w.raw(&self.u64(coded.len() as u64 + 8))
            .raw(&self.u32(coded.len() as u32))
            .raw(&self.u32(body.len() as u32));
        w.raw(&coded);
    }

    fn records(&self, options: &[(u16, Vec<u8>)]) -> Written {
        let mut body = Written::default();
        for (id, data) in options {
            self.option(&mut body, *id, data);
        }
        self.option(&mut body, OPTION_DONE, &[0; 8]);
        body
    }

    fn options_section(&self, w: &mut Written, from: &str, n: usize, options: &[(u16, Vec<u8>)]) {
        let here = self.u64(w.bytes.len() as u64);
        w.put(from, &here);
        w.here(format!("options {n}"));
        self.section(w, OPTION_DONE, &self.records(options).bytes, Code::None);
        w.marks.insert(format!("done {n}"), w.bytes.len() - 8);
    }

    /// Writes the section of a buffer and returns the data of its option.
    fn buffer(&self, w: &mut Written, b: &Buffer, code: Code) -> Vec<u8> {
        let mut option = self.u64(w.bytes.len() as u64).to_vec();
        for text in [&b.name, &b.clock] {
            option.extend_from_slice(text.as_bytes());
            option.push(0);
        }
        option.extend_from_slice(&self.u32(b.page_size));
        option.extend_from_slice(&self.u32(b.cpus.len() as u32));
        let start = w.bytes.len();
        w.raw(&self.u16(OPTION_BUFFER))
            .raw(&self.u16(u16::from(code != Code::None)))
            .raw(&[0; 12]);
        for (cpu, pages) in &b.cpus {
            w.align(b.page_size as usize);
            let offset = w.bytes.len();
            let mut size = pages.len();
            if code == Code::None {
                w.raw(pages);
            } else {
                let ten: Vec<&[u8]> = pages.chunks(10 * b.page_size as usize).collect();
                w.here(format!("{} cpu {cpu} count", b.name));
                w.raw(&self.u32(ten.len() as u32));
                for (i, chunk) in ten.iter().enumerate() {
                    let coded = compress(chunk, code);
                    w.here(format!("{} cpu {cpu} csize {i}", b.name));
                    w.raw(&self.u32(coded.len() as u32));
                    w.here(format!("{} cpu {cpu} usize {i}", b.name));
                    w.raw(&self.u32(chunk.len() as u32)).raw(&coded);
                }
                // As trace-cmd: without the u32 count.
                size = w.bytes.len() - offset - 4;
            }
            option.extend_from_slice(&self.u32(*cpu));
            option.extend_from_slice(&self.u64(offset as u64));
            option.extend_from_slice(&self.u64(size as u64));
        }
        let size = self.u64((w.bytes.len() - start - 16) as u64);
        w.bytes[start + 8..start + 16].copy_from_slice(&size);
        option
    }
}

fn compress(b: &[u8], code: Code) -> Vec<u8> {
    match code {
        Code::None => b.to_vec(),
        Code::Zlib => {
            let mut e = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
            e.write_all(b).unwrap();
            e.finish().unwrap()
        }
        Code::Zstd => {
            // Without the content size, as trace-cmd writes them.
            let mut e = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
            e.include_contentsize(false).unwrap();
            e.write_all(b).unwrap();
            e.finish().unwrap()
        }
    }
}
