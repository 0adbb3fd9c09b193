//! Those who play: threads in a namespace, on a CPU, with a priority; and the sockets between them.
//!
//! The machine may be shared: an actor whose own waits are not the planted cause runs SCHED_FIFO, so that nobody else's
//! work delays it.

use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

use anyhow::{Context, anyhow};
use rustix::event::{PollFd, PollFlags, poll};

use crate::net::Netns;
use crate::sys;

/// Priority of actors that nobody should delay.
pub const AHEAD: i32 = 10;
/// Priority of competitors: ahead of the actors.
pub const COMPETITOR: i32 = 20;

/// Where an actor runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The CPU.
    pub cpu: usize,
    /// SCHED_FIFO priority; 0 is SCHED_OTHER.
    pub fifo: i32,
}

impl Place {
    /// On `cpu`, ahead of everybody else's work.
    pub const fn ahead(cpu: usize) -> Place {
        Place { cpu, fifo: AHEAD }
    }
}

/// Starts an actor. Its thread name is its task name in the recording (15 characters).
pub fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    ns: &'scope Netns,
    place: Place,
    f: impl FnOnce() -> anyhow::Result<T> + Send + 'scope,
) -> anyhow::Result<ScopedJoinHandle<'scope, anyhow::Result<T>>> {
    let of = name.to_owned();
    let body = move || {
        ns.enter()?;
        sys::pin(place.cpu).with_context(|| format!("{of} on CPU {}", place.cpu))?;
        if place.fifo > 0 {
            sys::fifo(place.fifo).with_context(|| format!("SCHED_FIFO for {of}"))?;
        }
        f().with_context(|| of)
    };
    Ok(Builder::new().name(name.to_owned()).spawn_scoped(scope, body)?)
}

/// Waits for an actor.
pub fn join<T>(actor: ScopedJoinHandle<'_, anyhow::Result<T>>) -> anyhow::Result<T> {
    actor.join().map_err(|_| anyhow!("an actor panicked"))?
}

/// A TCP connection from `a` to `server` in `b`, without Nagle's delay: (the end in a, the end in b).
pub fn tcp_pair(a: &Netns, b: &Netns, server: SocketAddr) -> anyhow::Result<(TcpStream, TcpStream)> {
    tcp_pair_from(a, b, server, None)
}

/// The same from a chosen local port.
pub fn tcp_pair_from(
    a: &Netns,
    b: &Netns,
    server: SocketAddr,
    from: Option<SocketAddr>,
) -> anyhow::Result<(TcpStream, TcpStream)> {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    let listener = b.inside(|| Ok(TcpListener::bind(server)?))?;
    let client = a.inside(|| {
        let s = socket(AddressFamily::INET, SocketType::STREAM, None)?;
        if let Some(from) = from {
            bind(&s, &from)?;
        }
        connect(&s, &server)?;
        Ok(TcpStream::from(s))
    })?;
    let (accepted, _) = listener.accept()?;
    for s in [&client, &accepted] {
        s.set_nodelay(true)?;
        s.set_read_timeout(Some(Duration::from_secs(20)))?;
        s.set_write_timeout(Some(Duration::from_secs(20)))?;
    }
    Ok((client, accepted))
}

/// Waits until a socket is readable.
pub fn readable(socket: &impl std::os::fd::AsFd) -> anyhow::Result<()> {
    let limit = rustix::event::Timespec { tv_sec: 20, tv_nsec: 0 };
    let mut fds = [PollFd::new(socket, PollFlags::IN)];
    if poll(&mut fds, Some(&limit))? == 0 {
        return Err(anyhow!("nothing to read for 20 s"));
    }
    Ok(())
}

/// How long to plant: the machine's own delays must be small beside it. `NETMORTEM_LAB_SLOW=8` makes all plants of receivers
/// eight times as long, for an emulated machine.
pub fn planned(us: u64) -> Duration {
    let slow = std::env::var("NETMORTEM_LAB_SLOW").ok().and_then(|s| s.parse().ok());
    Duration::from_micros(us * slow.unwrap_or(1))
}

/// Sleeps; returns when it began and ended.
pub fn sleep(long: Duration) -> (i64, i64) {
    let start = sys::now_ns();
    std::thread::sleep(long);
    (start, sys::now_ns())
}

/// Keeps its CPU busy; returns when it began and ended.
pub fn burn(long: Duration) -> (i64, i64) {
    let start = sys::now_ns();
    let until = start + long.as_nanos() as i64;
    loop {
        let now = sys::now_ns();
        if now >= until {
            return (start, now);
        }
        std::hint::spin_loop();
    }
}

/// Asks again and again, at most 20 s, until there is an answer; `what` is missing else.
pub fn await_some<T>(what: &str, mut ask: impl FnMut() -> anyhow::Result<Option<T>>) -> anyhow::Result<T> {
    let until = sys::now_ns() + 20_000_000_000;
    while sys::now_ns() < until {
        if let Some(answer) = ask()? {
            return Ok(answer);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(anyhow!("{what} did not come for 20 s"))
}

/// Reads messages of `size` bytes, each as soon as it can; after each one `next` opens. Its thread, and when it had each.
pub fn read_all(mut stream: &TcpStream, size: usize, messages: usize, next: &Gate) -> anyhow::Result<(i32, Vec<i64>)> {
    let (mut message, mut at) = (vec![0; size], vec![]);
    for _ in 0..messages {
        stream.read_exact(&mut message)?;
        at.push(sys::now_ns());
        next.open();
    }
    Ok((sys::tid(), at))
}

/// Runs `f`: when it began and ended.
pub fn timed<E>(f: impl FnOnce() -> Result<(), E>) -> Result<(i64, i64), E> {
    let before = sys::now_ns();
    f()?;
    Ok((before, sys::now_ns()))
}

/// One actor lets another pass, once per opening.
#[derive(Debug, Default)]
pub struct Gate {
    opened: std::sync::Mutex<u64>,
    changed: std::sync::Condvar,
}

impl Gate {
    /// Closed.
    pub fn new() -> Gate {
        Gate::default()
    }
    /// Lets one pass.
    pub fn open(&self) {
        let mut opened = self.opened.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *opened += 1;
        self.changed.notify_one();
    }
    /// Waits for an opening, at most 20 s.
    pub fn pass(&self) -> anyhow::Result<()> {
        let opened = self.opened.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let waited = self
            .changed
            .wait_timeout_while(opened, Duration::from_secs(20), |o| *o == 0);
        let (mut opened, limit) = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
        if limit.timed_out() {
            return Err(anyhow!("another actor did not come for 20 s"));
        }
        *opened -= 1;
        Ok(())
    }
}
