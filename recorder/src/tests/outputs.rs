//! Where a bundle goes: nothing that exists is written over unasked, a failed start leaves nothing, nobody else reads it.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use super::child::ARGS;
use super::flight::{Folder, flying};
use super::harness::{open, options, record_while, sh, tracefs_or_skip, transfer};
use super::kernel_state::{assert_restored, kernel_state};
use crate::flight::{check_plan, flight};
use crate::options::{Output, RecordOptions};
use crate::record::record;
use crate::{RecordError, output};

fn short(path: &Path) -> RecordOptions {
    let mut o = options(path);
    o.force = false;
    o.duration = Some(Duration::from_millis(100));
    o
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_file_that_exists_is_refused_unless_forced_and_is_private_then() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let state = kernel_state(&root);
    let folder = Folder::new("exists");
    let path = folder.0.join("x.nmb");
    record(&short(&path), &mut |_| {}).unwrap();
    assert_eq!(mode(&path), 0o600);
    std::fs::write(&path, "a bundle of yesterday").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    let mut o = short(&path);
    assert!(matches!(record(&o, &mut |_| {}), Err(RecordError::OutputExists { .. })));
    assert_eq!(std::fs::read(&path).unwrap(), b"a bundle of yesterday");
    o.force = true;
    record(&o, &mut |_| {}).unwrap();
    assert!(open(&path).0.complete);
    assert_eq!(mode(&path), 0o600);
    // A link is refused, whatever it leads to, and not followed.
    let link = folder.0.join("link.nmb");
    std::os::unix::fs::symlink(folder.0.join("target"), &link).unwrap();
    for force in [false, true] {
        let mut o = short(&link);
        o.force = force;
        let refused = record(&o, &mut |_| {});
        assert!(matches!(refused, Err(RecordError::OutputIsLink { .. })), "{refused:?}");
    }
    assert!(!folder.0.join("target").exists());
    assert_restored(&root, &state);
}

/// As `docker run -v FILE:FILE` makes it: no other file can take its place.
#[test]
fn a_file_that_is_mounted_is_written_itself() {
    let Some((_, _one)) = tracefs_or_skip() else { return };
    let folder = Folder::new("mounted");
    let (of_host, path) = (folder.0.join("of host.nmb"), folder.0.join("x ü.nmb"));
    for f in [&of_host, &path] {
        std::fs::write(f, "a bundle of yesterday").unwrap();
    }
    let run = |program: &str, args: &[&std::path::Path]| {
        let done = Command::new(program).args(args).status();
        done.is_ok_and(|s| s.success())
    };
    if !run("mount", &["--bind".as_ref(), &of_host, &path]) {
        eprintln!("skipped: no file can be mounted on another here");
        return;
    }
    let mut o = short(&path);
    o.force = true;
    let done = record(&o, &mut |_| {});
    assert!(run("umount", &[&path]));
    done.unwrap();
    assert!(open(&of_host).0.complete);
    assert_eq!(mode(&of_host), 0o600);
    assert_eq!(std::fs::read(&path).unwrap(), b"a bundle of yesterday");
}

/// A reader sees the end of a bundle when it is whole: neither what the command leaves behind nor the recorder itself, which may wait for
/// a command that outlives a limit, keeps the pipe open.
#[test]
fn what_outlives_a_recording_does_not_keep_its_pipe_open() {
    let Some((_, _one)) = tracefs_or_skip() else { return };
    let folder = Folder::new("pipe-end");
    let (pid, lingers) = (folder.0.join("pid"), folder.0.join("lingers"));
    std::fs::write(&lingers, "").unwrap();
    for (script, waits) in [
        (format!("sleep 90 & echo $! > {}", pid.display()), false),
        ("true".into(), true),
    ] {
        let mut recorder = Command::new(std::env::current_exe().unwrap());
        recorder.args(ARGS).env("NETMORTEM_TEST_OUT", "-");
        recorder.env("NETMORTEM_TEST_COMMAND", script);
        if waits {
            recorder.env("NETMORTEM_TEST_LINGERS", &lingers);
        }
        let mut recorder = recorder.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut stdout = recorder.stdout.take().unwrap();
        let (sent, came) = mpsc::channel();
        std::thread::spawn(move || {
            let mut bytes = vec![];
            stdout.read_to_end(&mut bytes).unwrap();
            let _ = sent.send(bytes);
        });
        let bytes = came.recv_timeout(Duration::from_secs(40));
        if waits {
            assert!(recorder.try_wait().unwrap().is_none());
            std::fs::remove_file(&lingers).unwrap();
        } else {
            let left: i32 = std::fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
            let left = rustix::process::Pid::from_raw(left).unwrap();
            rustix::process::kill_process(left, rustix::process::Signal::KILL).unwrap();
        }
        assert!(recorder.wait().unwrap().success());
        let bytes = bytes.expect("the pipe had no end while it ran");
        assert!(bytes.windows(8).any(|w| w == b"end.json"), "{} bytes", bytes.len());
    }
}

#[test]
fn two_recorders_never_write_one_file() {
    let Some((_, _one)) = tracefs_or_skip() else { return };
    let folder = Folder::new("two");
    let (path, named) = (folder.0.join("x.nmb"), folder.0.join("named.nmb"));
    let mut first = short(&path);
    let (c, _) = record_while(&mut first, || {
        transfer(100_000);
        for (force, expected) in [(false, "exists"), (true, "is being written by another recorder")] {
            let refused = output::open(&Output::File(path.clone()), force).err();
            assert!(refused.is_some_and(|e| e.to_string().contains(expected)), "{expected}");
        }
        // A name of ours gets a number.
        let opened: Vec<_> = (0..3)
            .map(|_| output::open(&Output::Named(named.clone()), false).unwrap())
            .collect();
        let names: Vec<_> = opened
            .iter()
            .map(|o| o.path.as_ref().unwrap().file_name().unwrap())
            .collect();
        assert_eq!(names, ["named.nmb", "named-2.nmb", "named-3.nmb"]);
    });
    assert!(c.complete, "{:?}", c.problems);
    // Nothing was recorded into those: they are gone.
    assert_eq!(folder.bundles(), [path]);
}

#[test]
fn a_failed_start_leaves_no_file_and_destroys_none() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let state = kernel_state(&root);
    let folder = Folder::new("failed-start");
    let path = folder.0.join("x.nmb");
    // One that cannot be found, and one that is found and yet does not start.
    let script = folder.0.join("script");
    std::fs::write(&script, "#!/nonexistent/interpreter\n").unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    for command in ["nosuch-command", "/nonexistent/command", script.to_str().unwrap()] {
        let mut o = short(&path);
        o.command = vec![command.into()];
        let failed = record(&o, &mut |_| {});
        assert!(matches!(failed, Err(RecordError::Command { .. })), "{failed:?}");
        assert!(!path.exists(), "{command} left a stub");
    }
    std::fs::write(&path, "yesterday").unwrap();
    let mut o = short(&path);
    o.force = true;
    for command in ["nosuch-command", script.to_str().unwrap()] {
        o.command = vec![command.into()];
        record(&o, &mut |_| {}).unwrap_err();
        assert_eq!(std::fs::read(&path).unwrap(), b"yesterday", "{command}");
        let left = std::fs::read_dir(&folder.0).unwrap().count();
        assert_eq!(left, 2, "{command} left a stub");
    }
    o.command = vec!["true".into()];
    record(&o, &mut |_| {}).unwrap();
    assert!(std::fs::read(&path).unwrap().len() > 1000);
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 2);
    // A folder that is missing.
    let error = record(&short(&folder.0.join("new/x.nmb")), &mut |_| {}).unwrap_err();
    let next = error.next().unwrap();
    assert!(
        matches!(error, RecordError::Create { .. }) && next.contains("mkdir -p"),
        "{next}"
    );
    assert_restored(&root, &state);
}

#[test]
fn a_flight_that_could_not_write_is_not_armed() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let state = kernel_state(&root);
    let folder = Folder::new("unwritable");
    let file = folder.0.join("file");
    std::fs::write(&file, "").unwrap();
    for base in [folder.0.join("missing/x.nmb"), file.join("x.nmb"), "/proc/x.nmb".into()] {
        let o = short(&base);
        let flown = flight(&o, &flying(&[]), &mut |e| panic!("{e:?}"));
        assert!(matches!(flown, Err(RecordError::Folder { .. })), "{base:?}: {flown:?}");
        // And so says the dry run.
        let planned = check_plan(&o, &flying(&[]));
        assert!(
            matches!(planned, Err(RecordError::Folder { .. })),
            "{base:?}: {planned:?}"
        );
    }
    // The dry run refuses triggers that can never come, as the flight does.
    let mut o = short(&folder.0.join("x.nmb"));
    for on in ["drop:NO_SUCH_REASON", "counter:No.Such>1/s", "exit:3"] {
        assert!(
            matches!(check_plan(&o, &flying(&[on])), Err(RecordError::Trigger { .. })),
            "{on}"
        );
    }
    o.command = sh("true");
    check_plan(&o, &flying(&["exit:3"])).unwrap();
    assert_eq!(folder.bundles(), [file], "the probe is gone");
    assert_restored(&root, &state);
}
