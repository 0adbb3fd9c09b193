//! Writes perf.data files, of any byte order, as perf_event.h and perf's description of the format say.

use super::super::layout::*;
use crate::Endian;

/// Bytes in one byte order.
#[derive(Clone)]
pub struct Out {
    pub endian: Endian,
    pub bytes: Vec<u8>,
}

impl Out {
    pub fn new(endian: Endian) -> Out {
        Out {
            endian,
            bytes: Vec::new(),
        }
    }
    pub fn u16(mut self, v: u16) -> Out {
        self.bytes.extend(match self.endian {
            Endian::Little => v.to_le_bytes(),
            Endian::Big => v.to_be_bytes(),
        });
        self
    }
    pub fn u32(mut self, v: u32) -> Out {
        self.bytes.extend(match self.endian {
            Endian::Little => v.to_le_bytes(),
            Endian::Big => v.to_be_bytes(),
        });
        self
    }
    pub fn u64(mut self, v: u64) -> Out {
        self.bytes.extend(match self.endian {
            Endian::Little => v.to_le_bytes(),
            Endian::Big => v.to_be_bytes(),
        });
        self
    }
    pub fn raw(mut self, b: &[u8]) -> Out {
        self.bytes.extend(b);
        self
    }
}

/// A `perf_event_attr` of 96 bytes, of an event with `id` as config and of these ids.
#[derive(Clone)]
pub struct TestAttr {
    pub kind: u32,
    pub config: u64,
    pub sample_type: u64,
    pub read_format: u64,
    pub sample_id_all: bool,
    pub ids: Vec<u64>,
}

impl TestAttr {
    pub fn tracepoint(sample_type: u64, ids: &[u64]) -> TestAttr {
        TestAttr {
            kind: 2,
            config: 77,
            sample_type,
            read_format: 0,
            sample_id_all: true,
            ids: ids.to_vec(),
        }
    }
    pub fn bytes(&self, e: Endian) -> Vec<u8> {
        let bit = |n: u32| match e {
            Endian::Little => 1u64 << n,
            Endian::Big => 1u64 << (63 - n),
        };
        let all = if self.sample_id_all { bit(18) } else { 0 };
        let out = Out::new(e).u32(self.kind).u32(96).u64(self.config).u64(1);
        let out = out.u64(self.sample_type).u64(self.read_format).u64(all | bit(25));
        out.raw(&[0; 44]).u32(1).bytes
    }
}

pub fn record(e: Endian, kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
    let size = u16::try_from(body.len() + 8).unwrap();
    Out::new(e).u32(kind).u16(misc).u16(size).raw(body).bytes
}

/// A SAMPLE of this attribute; the payload is padded as the kernel does.
pub fn sample(e: Endian, a: &TestAttr, id: u64, ts: u64, cpu: u32, payload: &[u8]) -> Vec<u8> {
    let has = |bit: u64| a.sample_type & bit != 0;
    let mut out = Out::new(e);
    for (bit, word) in [
        (SAMPLE_IDENTIFIER, id),
        (SAMPLE_IP, 0xffff_ffff_8100_0000),
        (SAMPLE_TID, 0),
        (SAMPLE_TIME, ts),
        (SAMPLE_ADDR, 0),
        (SAMPLE_ID, id),
        (SAMPLE_STREAM_ID, id),
        (SAMPLE_CPU, 0),
        (SAMPLE_PERIOD, 1),
    ] {
        out = match bit {
            _ if !has(bit) => out,
            SAMPLE_TID => out.u32(1000).u32(1001),
            SAMPLE_CPU => out.u32(cpu).u32(0),
            _ => out.u64(word),
        };
    }
    if has(SAMPLE_READ) {
        // A group of two: enabled, running, then value, id, lost of each.
        out = match a.read_format & FORMAT_GROUP {
            0 => out.u64(5).u64(id),
            _ => out.u64(2).u64(9).u64(8).u64(5).u64(id).u64(0).u64(6).u64(id + 1).u64(0),
        };
    }
    if has(SAMPLE_CALLCHAIN) {
        out = out.u64(3).u64(1).u64(2).u64(3);
    }
    if has(SAMPLE_RAW) {
        let pad = (8 - (payload.len() + 4) % 8) % 8;
        out = out.u32((payload.len() + pad) as u32).raw(payload).raw(&vec![0; pad]);
    }
    record(e, RECORD_SAMPLE, 1, &out.bytes)
}

/// The `sample_id` behind a record that is no sample, of an attribute with TID, TIME, ID and CPU.
pub fn trailer(out: Out, ts: u64, id: u64, cpu: u32) -> Out {
    out.u32(1000).u32(1001).u64(ts).u64(id).u32(cpu).u32(0)
}

/// The event's payload: id 77, a pid, and a value that tells one from another.
pub fn payload(e: Endian, value: u32) -> Vec<u8> {
    Out::new(e).u16(77).u16(0).u32(1001).u32(value).bytes
}

/// The tracing data: one format, of sys:ev with id 77.
pub fn tracing(e: Endian) -> Vec<u8> {
    let format = "name: ev\nID: 77\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
                  \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\tfield:u32 value;\toffset:8;\tsize:4;\tsigned:0;\n\n\
                  print fmt: \"%u\", REC->value\n";
    let page = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
                \tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";
    let header = "# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n\
                  \tpadding     : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31\n\tdata max type_len  == 28\n";
    let big = u8::from(e == Endian::Big);
    let out = Out::new(e).raw(b"\x17\x08\x44tracing0.6\0").raw(&[big, 8]).u32(4096);
    let out = out.raw(b"header_page\0").u64(page.len() as u64).raw(page.as_bytes());
    let out = out
        .raw(b"header_event\0")
        .u64(header.len() as u64)
        .raw(header.as_bytes());
    let out = out
        .u32(0)
        .u32(1)
        .raw(b"sys\0")
        .u32(1)
        .u64(format.len() as u64)
        .raw(format.as_bytes());
    let names = "1001 worker\n";
    out.u32(0).u32(0).u64(names.len() as u64).raw(names.as_bytes()).bytes
}

/// A file in pipe mode.
pub fn pipe(e: Endian, attrs: &[TestAttr], records: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Out::new(e).u64(u64::from_le_bytes(*MAGIC)).u64(16);
    for a in attrs {
        let ids = a.ids.iter().fold(Out::new(e), |o, id| o.u64(*id));
        let body = Out::new(e).raw(&a.bytes(e)).raw(&ids.bytes);
        out = out.raw(&record(e, RECORD_HEADER_ATTR, 0, &body.bytes));
    }
    let tracing = tracing(e);
    let head = Out::new(e).u32(tracing.len() as u32).u32(0);
    out = out
        .raw(&record(e, RECORD_HEADER_TRACING_DATA, 0, &head.bytes))
        .raw(&tracing);
    records.iter().fold(out, |o, r| o.raw(r)).bytes
}

/// A file in file mode, with tracing data and a host name.
pub fn file(e: Endian, attrs: &[TestAttr], records: &[Vec<u8>]) -> Vec<u8> {
    let data: Vec<u8> = records.concat();
    let (mut ids, mut table) = (Out::new(e), Out::new(e));
    let attrs_at = 104u64;
    let ids_at = attrs_at + 112 * attrs.len() as u64;
    for a in attrs {
        let at = ids_at + ids.bytes.len() as u64;
        ids = a.ids.iter().fold(ids, |o, id| o.u64(*id));
        table = table.raw(&a.bytes(e)).u64(at).u64(a.ids.len() as u64 * 8);
    }
    let data_at = ids_at + ids.bytes.len() as u64;
    let features_at = data_at + data.len() as u64;
    let host = Out::new(e).u32(8).raw(b"box\0\0\0\0\0").bytes;
    let tracing = tracing(e);
    let out = Out::new(e).u64(u64::from_le_bytes(*MAGIC)).u64(104).u64(112);
    let out = out
        .u64(attrs_at)
        .u64(112 * attrs.len() as u64)
        .u64(data_at)
        .u64(data.len() as u64);
    let out = out
        .u64(0)
        .u64(0)
        .u64(1 << FEATURE_TRACING_DATA | 1 << FEATURE_HOSTNAME)
        .u64(0)
        .u64(0)
        .u64(0);
    let out = out.raw(&table.bytes).raw(&ids.bytes).raw(&data);
    let out = out.u64(features_at + 32).u64(tracing.len() as u64);
    let out = out.u64(features_at + 32 + tracing.len() as u64).u64(host.len() as u64);
    out.raw(&tracing).raw(&host).bytes
}
