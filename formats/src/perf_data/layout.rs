//! Numbers of the format, named as in `perf_event.h` and `tools/perf/util/header.h`.

/// First 8 bytes of a file as the machine that wrote it stores them; reversed, it had the other byte order.
pub const MAGIC: &[u8; 8] = b"PERFILE2";
/// The same of the other byte order.
pub const MAGIC_SWAPPED: &[u8; 8] = b"2ELIFREP";
/// `header.size` of pipe mode: magic and this size are all of it.
pub const PIPE_HEADER: u64 = 16;
/// `header.size` of file mode.
pub const FILE_HEADER: u64 = 104;
/// `struct perf_event_header`: u32 type, u16 misc, u16 size.
pub const RECORD_HEADER: usize = 8;
/// `PERF_ATTR_SIZE_VER0`, the smallest there ever was.
pub const ATTR_SIZE_MIN: u32 = 64;
/// `PERF_TYPE_TRACEPOINT`.
pub const TYPE_TRACEPOINT: u32 = 2;

// Bits of `sample_type`, in the order in which a sample holds them (IDENTIFIER is first).

/// The id of the event, before all else.
pub const SAMPLE_IDENTIFIER: u64 = 1 << 16;
pub const SAMPLE_IP: u64 = 1;
/// u32 process id, u32 thread id.
pub const SAMPLE_TID: u64 = 1 << 1;
/// Time in ns of the recording's clock.
pub const SAMPLE_TIME: u64 = 1 << 2;
pub const SAMPLE_ADDR: u64 = 1 << 3;
pub const SAMPLE_READ: u64 = 1 << 4;
pub const SAMPLE_CALLCHAIN: u64 = 1 << 5;
/// The id of the event.
pub const SAMPLE_ID: u64 = 1 << 6;
/// u32 CPU, u32 reserved.
pub const SAMPLE_CPU: u64 = 1 << 7;
pub const SAMPLE_PERIOD: u64 = 1 << 8;
pub const SAMPLE_STREAM_ID: u64 = 1 << 9;
/// u32 size, and the tracepoint's fields.
pub const SAMPLE_RAW: u64 = 1 << 10;

/// Bits of `read_format`.
pub const FORMAT_TOTAL_TIME_ENABLED: u64 = 1;
pub const FORMAT_TOTAL_TIME_RUNNING: u64 = 1 << 1;
pub const FORMAT_ID: u64 = 1 << 2;
pub const FORMAT_GROUP: u64 = 1 << 3;
pub const FORMAT_LOST: u64 = 1 << 4;

/// Flags of the attribute's bit field, counted from its first bit.
pub const FLAG_SAMPLE_ID_ALL: u32 = 18;
pub const FLAG_USE_CLOCKID: u32 = 25;

/// Records of the kernel.
pub const RECORD_LOST: u32 = 2;
pub const RECORD_COMM: u32 = 3;
pub const RECORD_THROTTLE: u32 = 5;
pub const RECORD_FORK: u32 = 7;
pub const RECORD_SAMPLE: u32 = 9;
pub const RECORD_LOST_SAMPLES: u32 = 13;
pub const RECORD_HEADER_ATTR: u32 = 64;
/// `header.size` does not count the section that follows: its size is the u32 of the body.
pub const RECORD_HEADER_TRACING_DATA: u32 = 66;
pub const RECORD_ID_INDEX: u32 = 69;
/// As with tracing data, u64.
pub const RECORD_AUXTRACE: u32 = 71;
pub const RECORD_HEADER_FEATURE: u32 = 80;
pub const RECORD_COMPRESSED: u32 = 81;
pub const RECORD_COMPRESSED2: u32 = 83;

/// `PERF_RECORD_MISC_LOST_SAMPLES_BPF`: dropped by a filter, not lost.
pub const MISC_LOST_SAMPLES_BPF: u16 = 1 << 15;

/// Bits of the feature bitmap.
pub const FEATURE_TRACING_DATA: u32 = 1;
pub const FEATURE_HOSTNAME: u32 = 3;
pub const FEATURE_OSRELEASE: u32 = 4;
pub const FEATURE_ARCH: u32 = 6;
pub const FEATURE_NRCPUS: u32 = 7;
pub const FEATURE_CMDLINE: u32 = 11;
pub const FEATURE_CLOCK_DATA: u32 = 29;
/// Bits of the bitmap.
pub const FEATURE_BITS: u32 = 256;

/// The kernel's spelling of a clock id, as trace clocks are called; `None` for one that counts no time of the host.
pub fn clock_name(clockid: i32) -> Option<&'static str> {
    Some(match clockid {
        0 => "realtime",
        1 => "mono",
        4 => "mono_raw",
        7 => "boot",
        11 => "tai",
        _ => return None,
    })
}
