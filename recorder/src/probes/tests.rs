//! The list of probes by hand; the offset of a function against readelf.

use std::process::Command;

use super::{LIBC, elf, stale};

#[test]
fn only_probes_of_dead_recorders_are_stale() {
    let text = "p:netmortem_12/accept_queue inet_csk_reqsk_queue_add sk=sk\nr64:kprobes/mine tcp_sendmsg\n\
                r:netmortem_13/getaddrinfo_return /lib/libc.so.6:0x1\np:netmortem_x/a b\np:netmortem_14/b c\n";
    assert_eq!(
        stale(text, |pid| pid == 14),
        ["netmortem_12/accept_queue", "netmortem_13/getaddrinfo_return"]
    );
    assert_eq!(stale("", |_| false), [""; 0]);
}

#[test]
fn the_offset_of_a_function_is_what_readelf_says() {
    let Some(path) = LIBC.iter().find(|p| std::path::Path::new(p).exists()) else {
        println!("skipped: no libc in its usual places");
        return;
    };
    let read = |flags: &[&str]| {
        let out = Command::new("readelf").args(flags).arg(path).output().ok()?;
        Some(String::from_utf8_lossy(&out.stdout).into_owned())
    };
    let Some((symbols, segments)) = read(&["-W", "--dyn-syms"]).zip(read(&["-W", "-l"])) else {
        println!("skipped: no readelf");
        return;
    };
    let hex = |w: &str| u64::from_str_radix(w.trim_start_matches("0x"), 16).unwrap();
    // Num: Value Size Type Bind Vis Ndx Name@@Version
    let of = |name: &str| {
        let line = symbols.lines().map(|l| l.split_whitespace().collect::<Vec<_>>());
        let mut found = line.filter(|w| w.len() > 7 && w[7].split('@').next() == Some(name) && w[3] == "FUNC");
        hex(found.next().unwrap()[1])
    };
    // LOAD Offset VirtAddr PhysAddr FileSiz MemSiz Flg Align
    let offset = |address: u64| {
        let loads = segments.lines().map(|l| l.split_whitespace().collect::<Vec<_>>());
        let mut loads = loads.filter(|w| w.first() == Some(&"LOAD"));
        loads.find_map(|w| {
            let (at, from, bytes) = (hex(w[1]), hex(w[2]), hex(w[4]));
            (from <= address && address < from + bytes).then(|| address - from + at)
        })
    };
    let file = std::fs::read(path).unwrap();
    for name in ["getaddrinfo", "printf", "connect"] {
        let ours = elf::function_offset(&file, name);
        assert!(ours.is_some() && ours == offset(of(name)), "{name}: {ours:?}");
    }
    assert_eq!(elf::function_offset(&file, "no_such_function"), None);
    // Every cut of the headers, and a file that is none.
    for n in (0..64).chain([file.len() / 2, file.len() - 1]) {
        let _ = elf::function_offset(&file[..n], "getaddrinfo");
    }
    assert_eq!(elf::function_offset(b"\x7fELF", "x"), None);
}
