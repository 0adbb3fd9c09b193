//! What the manifest says about the machine.

use std::fs;

use netmortem_formats::bundle::Machine;
use netmortem_formats::{Endian, Host};

/// uname and the number of possible CPUs.
pub fn host(cpus: u32) -> Host {
    let u = rustix::system::uname();
    let text = |c: &std::ffi::CStr| c.to_string_lossy().into_owned();
    Host {
        kernel_release: text(u.release()),
        kernel_version: text(u.version()),
        machine: text(u.machine()),
        hostname: text(u.nodename()),
        cpus,
    }
}

/// The machine.
pub fn machine() -> Machine {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo
        .lines()
        .find_map(|l| l.strip_prefix("model name")?.split_once(": "));
    Machine {
        endian: if cfg!(target_endian = "big") {
            Endian::Big
        } else {
            Endian::Little
        },
        page_bytes: rustix::param::page_size() as u64,
        memory_kib: meminfo_kib("MemTotal").unwrap_or(0),
        cpu_model: model.map(|(_, m)| m.to_owned()).unwrap_or_default(),
        hz: hz(),
        boot_id: fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .unwrap_or_default()
            .trim()
            .to_owned(),
        cpus_online: cpus_online(),
    }
}

/// CONFIG_HZ: the coarse clocks move once in a tick, and say so (`posix_get_coarse_res` in kernel/time/posix-timers.c).
fn hz() -> u32 {
    let tick = rustix::time::clock_getres(rustix::time::ClockId::MonotonicCoarse);
    match tick.tv_nsec {
        1.. => u32::try_from((1_000_000_000 + tick.tv_nsec / 2) / tick.tv_nsec).unwrap_or(0),
        _ => 0,
    }
}

/// A line of /proc/meminfo, KiB.
pub fn meminfo_kib(key: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let value = text.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix(':'))?;
    value.split_whitespace().next()?.parse().ok()
}

/// CPUs online now.
pub fn cpus_online() -> Vec<u32> {
    let text = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    parse_cpu_list(text.trim())
}

/// `0-3,8` as numbers.
pub fn parse_cpu_list(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (a, b) = part.split_once('-').unwrap_or((part, part));
        Some(a.parse::<u32>().ok()?..=b.parse::<u32>().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}
