//! Namespaces that go, hide and refuse, and kinds that wait, while what is read every second is read.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::snapshot::PATIENCE;
use crate::snapshot::beside::{KINDS, Kind};
use crate::snapshot::netns::own_inode;
use crate::snapshot::refusals::{FORGOTTEN, Key, Refusals};
use crate::snapshot::visits::{AGAIN, Got, Visits, each};
use crate::tests::harness::wait_for;

const SECOND: Duration = Duration::from_secs(1);

/// rtnl is held: what needs it waits, and lacks the namespaces after; what does not was read before, and is in all of them.
#[test]
fn a_kind_that_waits_spoils_no_other() {
    let mut all: Vec<Got> = KINDS.map(Got::new).into();
    let mut order = vec![];
    for namespace in 0..3 {
        each(&mut all, &mut |got| {
            order.push((namespace, got.kind));
            if got.kind == Kind::Nics {
                got.took += PATIENCE;
            }
            Ok(())
        });
    }
    let (s, c, n, q) = (Kind::Sockets, Kind::Counters, Kind::Nics, Kind::Qdiscs);
    let expected = [
        (0, s),
        (0, c),
        (0, n),
        (0, q),
        (1, s),
        (1, c),
        (1, q),
        (2, s),
        (2, c),
        (2, q),
    ];
    // Which of two that need rtnl is first is not of interest.
    let sorted = |mut all: Vec<(i32, Kind)>| {
        all.sort_by_key(|(space, kind)| (*space, kind.what()));
        all
    };
    let lock_free = order.iter().take(2).all(|(_, kind)| [s, c].contains(kind));
    assert!(lock_free, "{order:?}");
    assert_eq!(sorted(order), sorted(expected.into()));
    let failed: Vec<Kind> = all.iter().filter(|g| g.failed).map(|g| g.kind).collect();
    assert_eq!(failed, [Kind::Nics]);
}

/// With one namespace nothing is left unvisited, however long it took.
#[test]
fn what_is_whole_is_kept_however_long_it_took() {
    let mut all: Vec<Got> = KINDS.map(Got::new).into();
    each(&mut all, &mut |got| {
        got.took += 2 * PATIENCE;
        match got.kind {
            Kind::Qdiscs => Err(io::ErrorKind::Interrupted.into()),
            _ => Ok(()),
        }
    });
    let failed: Vec<Kind> = all.iter().filter(|g| g.failed).map(|g| g.kind).collect();
    assert_eq!(failed, [Kind::Qdiscs]);
}

#[test]
fn all_time_is_some_kinds() {
    let mut visits = Visits::default();
    // The first lists all processes; so does one whose list is old.
    for _ in 0..2 {
        let began = Instant::now();
        let all = visits.read(&[Kind::Counters, Kind::Sockets]);
        let (whole, took) = (began.elapsed(), all.iter().map(|g| g.took).sum::<Duration>());
        assert!(took <= whole && took * 10 > whole * 9, "{took:?} of {whole:?}");
        visits.listed = None;
    }
}

fn key(inode: u64, place: &str) -> Key {
    (inode, place.into())
}

#[test]
fn two_readings_that_are_refused_bar_a_namespace_for_a_minute() {
    let (start, other) = (Instant::now(), || io::Error::other("its thread died"));
    let (mine, reused) = (|| key(7, "/proc/1/ns/net"), key(7, "/proc/9/ns/net"));
    let mut all = Refusals::default();
    assert!(!all.count(mine(), start, &other()));
    // The same reading again, at once.
    assert!(!all.count(mine(), start + SECOND / 100, &other()));
    assert!(!all.bar(&mine(), start));
    assert!(all.count(mine(), start + SECOND, &other()));
    assert!(all.bar(&mine(), start + SECOND) && !all.bar(&reused, start + SECOND));
    // Not for ever, and then counted anew.
    let later = start + SECOND + FORGOTTEN;
    assert!(!all.bar(&mine(), later));
    assert!(!all.count(mine(), later, &other()));
    // One after the other: not with one between in which it was entered.
    all.entered(mine);
    assert!(!all.count(mine(), later + SECOND, &other()));
}

#[test]
fn what_the_recorder_lacks_bars_nothing_and_what_it_may_not_is_barred_at_once() {
    let start = Instant::now();
    let mut all = Refusals::default();
    for (n, lack) in [Errno::AGAIN, Errno::MFILE, Errno::NFILE, Errno::NOMEM]
        .iter()
        .cycle()
        .take(40)
        .enumerate()
    {
        let now = start + SECOND * u32::try_from(n).unwrap();
        assert!(!all.count(key(7, "a"), now, &(*lack).into()), "{lack}");
    }
    assert!(!all.bar(&key(7, "a"), start + SECOND * 40));
    for denied in [Errno::PERM, Errno::ACCESS] {
        let mine = || key(8, &denied.to_string());
        assert!(all.count(mine(), start, &denied.into()) && all.bar(&mine(), start));
    }
}

/// A process; killed when dropped.
struct Process(Child);

impl Process {
    fn start(words: &str) -> Process {
        let mut words = words.split(' ');
        Process(Command::new(words.next().unwrap()).args(words).spawn().unwrap())
    }

    fn place(&self) -> String {
        format!("/proc/{}/ns/net", self.0.id())
    }

    fn inode(&self) -> Option<u64> {
        Some(std::fs::metadata(self.place()).ok()?.ino())
    }

    /// In a namespace of its own.
    fn apart() -> Process {
        let new = Process::start("unshare -n sleep 600");
        wait_for("it is in no namespace of its own", || new.inode() != own_inode());
        new
    }

    /// In the same.
    fn beside(&self) -> Process {
        let new = Process::start(&format!("nsenter --net={} sleep 600", self.place()));
        wait_for("it does not enter", || new.inode() == self.inode());
        new
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// None, and said so, where this process may make no namespaces.
fn root() -> Option<()> {
    let can = rustix::process::geteuid().is_root()
        && Command::new("unshare")
            .args(["-n", "true"])
            .status()
            .is_ok_and(|s| s.success());
    if !can {
        println!("skipped: no namespaces can be made");
    }
    can.then_some(())
}

/// Whether the counters of a namespace are in a reading, which is whole.
fn has(visits: &mut Visits, inode: u64) -> bool {
    let mut all = visits.read(&[Kind::Counters]);
    assert!(!all[0].failed);
    let name = format!("netns/{inode}/net/snmp");
    all[0].texts().iter().any(|(what, _)| *what == name)
}

#[test]
fn one_that_is_gone_is_left_out_and_all_are_not_listed_for_it_again_and_again() {
    let Some(()) = root() else { return };
    let (going, staying) = (Process::apart(), Process::apart());
    let (gone, there) = (going.inode().unwrap(), staying.inode().unwrap());
    let mut visits = Visits::default();
    assert!(has(&mut visits, gone) && has(&mut visits, there));
    let listed = Instant::now();
    visits.listed = Some(listed);
    drop(going);
    let come = Process::apart();
    let new = come.inode().unwrap();
    // The number of what is gone may be given to what comes.
    for _ in 0..3 {
        assert!(has(&mut visits, there) && (gone == new || !has(&mut visits, gone)));
        assert_eq!(visits.listed, Some(listed), "or this took longer than {AGAIN:?}");
    }
    // As soon as that may be.
    visits.listed = Instant::now().checked_sub(AGAIN);
    assert!(has(&mut visits, new) && has(&mut visits, there));
    assert!(visits.listed > Some(listed));
}

#[test]
fn one_whose_first_process_ended_is_found_by_another() {
    let Some(()) = root() else { return };
    let first = Process::apart();
    let inode = first.inode().unwrap();
    let second = first.beside();
    let mut visits = Visits::default();
    assert!(has(&mut visits, inode));
    visits.listed = Some(Instant::now());
    drop(first);
    assert!(has(&mut visits, inode));
    // By one that came after the list only the next list can.
    let third = second.beside();
    drop(second);
    visits.listed = Instant::now().checked_sub(AGAIN);
    assert!(has(&mut visits, inode));
    assert!(third.inode() == Some(inode));
}
