//! Constants of the format, named as trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5) name them.

/// First bytes of every trace.dat.
pub const MAGIC: &[u8] = b"\x17\x08\x44tracing";
/// Compression flag of a section header.
pub const SECTION_COMPRESSED: u16 = 1;
/// Bytes of a v7 section header: id, flags, description offset, size.
pub const SECTION_HEADER_BYTES: u64 = 16;
/// Bytes of a v6 tag (`options  \0`, `flyrecord\0`, `latency  \0`).
pub const TAG_BYTES: usize = 10;
/// v6 tag: (option)* until id 0, then another tag.
pub const TAG_OPTIONS: &[u8] = b"options";
/// v6 tag: per CPU (offset, size) of ring-buffer pages.
pub const TAG_FLYRECORD: &[u8] = b"flyrecord";
/// v6 tag: the rest is an ASCII latency trace.
pub const TAG_LATENCY: &[u8] = b"latency";

/// Options end here; in v7 the data are the offset of the next OPTIONS section (0: none).
pub const OPTION_DONE: u16 = 0;
/// ASCII number, us to add to every timestamp.
pub const OPTION_DATE: u16 = 1;
/// Text of `per_cpu/cpuN/stats`, or `Buffer: NAME` before those of an instance.
pub const OPTION_CPUSTAT: u16 = 2;
/// A ring buffer: its name and where its data are.
pub const OPTION_BUFFER: u16 = 3;
/// Text of `trace_clock`, the used one in brackets.
pub const OPTION_TRACECLOCK: u16 = 4;
/// `uname -snrm`.
pub const OPTION_UNAME: u16 = 5;
/// A function hook given to the recording; text.
pub const OPTION_HOOK: u16 = 6;
/// ASCII number, ns to add to every timestamp.
pub const OPTION_OFFSET: u16 = 7;
/// u32 number of CPUs.
pub const OPTION_CPUCOUNT: u16 = 8;
/// Version text of the trace-cmd that wrote the file.
pub const OPTION_VERSION: u16 = 9;
/// Maps of the traced processes; text.
pub const OPTION_PROCMAPS: u16 = 10;
/// u64 id that pairs a host file with a guest file.
pub const OPTION_TRACEID: u16 = 11;
/// Guest clock to host clock.
pub const OPTION_TIME_SHIFT: u16 = 12;
/// A guest of this host: name, trace id, pids of its virtual CPUs.
pub const OPTION_GUEST: u16 = 13;
/// Cycles to ns.
pub const OPTION_TSC2NSEC: u16 = 14;
/// Section of the descriptions of the other sections; decorative.
pub const OPTION_STRINGS: u16 = 15;
/// Section: header_page and header_event.
pub const OPTION_HEADER_INFO: u16 = 16;
/// Section: formats of ftrace's own events.
pub const OPTION_FTRACE_EVENTS: u16 = 17;
/// Section: formats of all other events, by system.
pub const OPTION_EVENT_FORMATS: u16 = 18;
/// Section: /proc/kallsyms.
pub const OPTION_KALLSYMS: u16 = 19;
/// Section: printk_formats.
pub const OPTION_PRINTK: u16 = 20;
/// Section: saved_cmdlines.
pub const OPTION_CMDLINES: u16 = 21;
/// A ring buffer saved as ASCII latency trace.
pub const OPTION_BUFFER_TEXT: u16 = 22;
/// Section: /sys/kernel/btf/vmlinux.
pub const OPTION_BTF_FILE: u16 = 23;
/// Text of `last_boot_info` of a persistent instance.
pub const OPTION_LAST_BOOT_INFO: u16 = 24;
/// Section: /proc/modules.
pub const OPTION_MODULES_FILE: u16 = 25;

/// Name of an option or section id; `None` for an id newer than this reader.
pub fn option_name(id: u16) -> Option<&'static str> {
    Some(match id {
        OPTION_DONE => "OPTIONS",
        OPTION_DATE => "DATE",
        OPTION_CPUSTAT => "CPUSTAT",
        OPTION_BUFFER => "BUFFER",
        OPTION_TRACECLOCK => "TRACECLOCK",
        OPTION_UNAME => "UNAME",
        OPTION_HOOK => "HOOK",
        OPTION_OFFSET => "OFFSET",
        OPTION_CPUCOUNT => "CPUCOUNT",
        OPTION_VERSION => "VERSION",
        OPTION_PROCMAPS => "PROCMAPS",
        OPTION_TRACEID => "TRACEID",
        OPTION_TIME_SHIFT => "TIME_SHIFT",
        OPTION_GUEST => "GUEST",
        OPTION_TSC2NSEC => "TSC2NSEC",
        OPTION_STRINGS => "STRINGS",
        OPTION_HEADER_INFO => "HEADER_INFO",
        OPTION_FTRACE_EVENTS => "FTRACE_EVENTS",
        OPTION_EVENT_FORMATS => "EVENT_FORMATS",
        OPTION_KALLSYMS => "KALLSYMS",
        OPTION_PRINTK => "PRINTK",
        OPTION_CMDLINES => "CMDLINES",
        OPTION_BUFFER_TEXT => "BUFFER_TEXT",
        OPTION_BTF_FILE => "BTF_FILE",
        OPTION_LAST_BOOT_INFO => "LAST_BOOT_INFO",
        OPTION_MODULES_FILE => "MODULES_FILE",
        _ => return None,
    })
}
