//! What each profile costs: the table of `docs/recording.md`. As root: `cargo run --release -p netmortem-recorder --example profile_cost`
//!
//! Names of profiles as arguments measure only those.
//!
//! Two threads send each other one byte over loopback TCP without a pause. For each profile: events that these threads
//! caused, per request and response; bytes of an event in the ring buffer and in the bundle; CPU time of the two threads for
//! a round trip without and with it, measured by turns. CPU time, because it bears a machine that does other work, too.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used, clippy::expect_used)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use netmortem_formats::sub_buffer::sub_buffers;
use netmortem_formats::{Capture, Locus, StreamItem, open_path};
use netmortem_recorder::{Filters, Output, Profile, RecordOptions, Summary, record};

const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_millis(700);

/// The two threads, running.
struct Rpc {
    done: Arc<AtomicBool>,
    /// CLOCK_MONOTONIC at the end of each round trip, ns.
    ended: Arc<Mutex<Vec<u64>>>,
    tids: [i32; 2],
}

fn tid() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

impl Rpc {
    fn start() -> Rpc {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.set_nodelay(true).unwrap();
        server.set_nodelay(true).unwrap();
        let (done, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (say, hear) = std::sync::mpsc::channel();
        let said = say.clone();
        std::thread::spawn(move || {
            said.send((1, tid())).unwrap();
            let mut byte = [0];
            while server
                .read_exact(&mut byte)
                .and_then(|()| server.write_all(&byte))
                .is_ok()
            {}
        });
        let (stop, times) = (Arc::clone(&done), Arc::clone(&ended));
        std::thread::spawn(move || {
            say.send((0, tid())).unwrap();
            let mut byte = [0];
            while !stop.load(Ordering::Relaxed) {
                client
                    .write_all(&byte)
                    .and_then(|()| client.read_exact(&mut byte))
                    .unwrap();
                times.lock().unwrap().push(now_ns());
            }
        });
        let mut tids = [0; 2];
        for (n, t) in hear.iter().take(2) {
            tids[usize::from(n == 1)] = t;
        }
        Rpc { done, ended, tids }
    }

    /// CPU time of both threads for a round trip over a while, us.
    fn cpu_us(&self, time: Duration) -> f64 {
        let read = || {
            (
                self.ended.lock().unwrap().len(),
                self.tids.map(cpu_ns).iter().sum::<u64>(),
            )
        };
        let (count, cpu) = read();
        std::thread::sleep(time);
        let (count_after, cpu_after) = read();
        (cpu_after - cpu) as f64 / 1e3 / (count_after - count).max(1) as f64
    }
}

fn now_ns() -> u64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    t.tv_sec.cast_unsigned() * 1_000_000_000 + t.tv_nsec.cast_unsigned()
}

/// CPU time of a thread: the first number of its schedstat.
fn cpu_ns(tid: i32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/self/task/{tid}/schedstat")).unwrap_or_default();
    text.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// Events of the two threads, and the times of the first and the last, ns.
fn events(c: &Capture, tids: [i32; 2]) -> (u64, [u64; 2]) {
    let (mut n, mut first, mut last) = (0, u64::MAX, 0);
    for s in &c.streams {
        for chunk in &s.chunks {
            let locus = Locus {
                member: chunk.member,
                stream: s.cpu,
                offset: 0,
            };
            let bytes = c.chunk_bytes(chunk).unwrap();
            for page in sub_buffers(s.page, &bytes, locus) {
                for item in page.unwrap().records(s.page, locus) {
                    if let StreamItem::Record(r) = item.unwrap()
                        && r.payload
                            .get(4..8)
                            .is_some_and(|p| tids.iter().any(|t| p == t.to_ne_bytes()))
                    {
                        n += 1;
                        first = first.min(r.ts);
                        last = last.max(r.ts);
                    }
                }
            }
        }
    }
    (n, [first, last])
}

/// `started` comes to be when tracing is on: a new instance says that it is on before it has any event.
fn run(profile: Profile, path: &Path, started: &Path) -> Summary {
    let script = format!(": > {}; exec sleep 60", started.display());
    let options = RecordOptions {
        output: Output::File(path.into()),
        force: true,
        duration: Some(ROUND + Duration::from_millis(500)),
        profile,
        filters: Filters::default(),
        extra_kprobes: false,
        pcap: Default::default(),
        perf: Default::default(),
        buffer_kib: Some(128 << 10),
        max_buffers_kib: Some(1 << 20),
        max_bytes: None,
        max_cpu_percent: Some(1000),
        command: ["sh", "-c", &script].map(Into::into).to_vec(),
        command_line: vec!["profile_cost".into()],
    };
    record(&options, &mut |_| {}).unwrap()
}

fn median(mut v: Vec<f64>) -> f64 {
    v.sort_by(f64::total_cmp);
    v.get(v.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() {
    let path = std::env::temp_dir().join(format!("netmortem-profile-cost-{}.nmb", std::process::id()));
    println!(
        "| profile | kinds of events | events per request and response | events/s | bytes per event in the ring | in the bundle | CPU us per round trip without | with |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let only: Vec<String> = std::env::args().skip(1).collect();
    for (profile, name, _) in Profile::ALL {
        if !only.is_empty() && !only.iter().any(|o| o == name) {
            continue;
        }
        let mut columns: [Vec<f64>; 6] = Default::default();
        let mut kinds = 0;
        for _ in 0..ROUNDS {
            let rpc = Rpc::start();
            std::thread::sleep(Duration::from_millis(100));
            let without = rpc.cpu_us(ROUND);
            // Counted while tracing is on: the setup before, and the compression after, are left out.
            let started = path.with_extension("started");
            let _ = std::fs::remove_file(&started);
            let summary = std::thread::scope(|s| {
                let recording = s.spawn(|| run(profile, &path, &started));
                while !started.exists() && !recording.is_finished() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                let with = rpc.cpu_us(ROUND);
                (recording.join().unwrap(), with)
            });
            let (summary, with) = summary;
            rpc.done.store(true, Ordering::Relaxed);
            let c = open_path(&path).unwrap().unwrap();
            let (n, [first, last]) = events(&c, rpc.tids);
            let times = rpc.ended.lock().unwrap();
            let trips = times.iter().filter(|t| (first..=last).contains(*t)).count();
            let all = summary.events.max(1) as f64;
            let pages: u64 = summary.ring_bytes;
            let trace: u64 = c
                .members
                .iter()
                .filter(|m| m.name.starts_with("trace/"))
                .map(|m| m.range.end - m.range.start)
                .sum();
            if summary.lost > 0 {
                // Too busy a machine for this round.
                eprintln!("{name}: {} events lost, the round does not count", summary.lost);
                continue;
            }
            kinds = summary.enabled;
            let figures = [
                n as f64 / trips.max(1) as f64,
                all / summary.elapsed.as_secs_f64(),
                pages as f64 / all,
                trace as f64 / all,
                without,
                with,
            ];
            for (column, figure) in columns.iter_mut().zip(figures) {
                column.push(figure);
            }
        }
        let m = columns.map(median);
        println!(
            "| `{name}` | {kinds} | {:.1} | {:.0} | {:.0} | {:.1} | {:.1} | {:.1} |",
            m[0], m[1], m[2], m[3], m[4], m[5]
        );
    }
    let _ = std::fs::remove_file(path.with_extension("started"));
    let _ = std::fs::remove_file(path);
}
