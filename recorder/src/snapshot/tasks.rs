//! Threads of the host, and the short list of interfaces.

use std::fs;
use std::path::Path;

/// Entries of a folder that are numbers, in order.
pub fn numbers(folder: &Path) -> Vec<u32> {
    let names = crate::tracefs::list(folder);
    let mut n: Vec<u32> = names.iter().filter_map(|n| n.parse().ok()).collect();
    n.sort_unstable();
    n
}

/// `tid tgid comm` of every thread: saved_cmdlines of the kernel keeps only a few and forgets.
pub fn tasks() -> Vec<u8> {
    let proc = Path::new("/proc");
    let mut out = Vec::new();
    for pid in numbers(proc) {
        let threads = proc.join(pid.to_string()).join("task");
        for tid in numbers(&threads) {
            let Ok(comm) = fs::read(threads.join(tid.to_string()).join("comm")) else {
                continue;
            };
            let comm = comm.strip_suffix(b"\n").unwrap_or(&comm);
            out.extend_from_slice(format!("{tid} {pid} ").as_bytes());
            out.extend(comm.iter().map(|b| if *b == b'\n' { b'?' } else { *b }));
            out.push(b'\n');
        }
    }
    out
}

/// `ifindex name mtu tx_queue_len operstate` of every interface, by ifindex: qdisc events carry only the index.
pub fn interfaces() -> String {
    let root = Path::new("/sys/class/net");
    let names = crate::tracefs::list(root);
    let mut lines: Vec<(u32, String)> = Vec::new();
    for name in names {
        let value = |f: &str| {
            fs::read_to_string(root.join(&name).join(f))
                .unwrap_or_default()
                .trim()
                .to_owned()
        };
        let Ok(index) = value("ifindex").parse() else { continue };
        let (mtu, queue, state) = (value("mtu"), value("tx_queue_len"), value("operstate"));
        lines.push((index, format!("{index} {name} {mtu} {queue} {state}\n")));
    }
    lines.sort();
    lines.into_iter().map(|(_, l)| l).collect()
}
