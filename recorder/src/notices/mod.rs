//! What the kernel announces while it records: links, addresses, routes, rules, qdiscs and filters, nftables' rules, and settings that somebody writes.
//!
//! In: netlink sockets and inotify. Out: lines with the time at which they were heard (docs/bundle.md, "Seconds"). It must not say what changed by them, nor
//! cost: of more than [`MOST_A_SECOND`] messages the rest of the second is not heard, which is told. Follows rtnetlink(7), netlink(7), inotify(7).
//!
//! ```text
//! thread: poll(rtnetlink, nftables, inotify) -> messages -> lines -> Kept (a MiB) <- take, each second
//! ```

mod kept;
mod messages;
mod socket;
mod spaces;
mod sysctls;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use netmortem_formats::bundle::{NOTICES, Second};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::time::ClockId;

use crate::clock::now_ns;
use crate::snapshot::netlink::word;
use kept::Kept;
use messages::{RTM_DELLINK, RTM_DELNSID, RTM_NEWLINK, RTM_NEWNSID, Ruleset, messages, of_route};
use socket::Came;
use spaces::{Of, Spaces};
use sysctls::Sysctls;

/// Messages of rtnetlink read in a second, each a line.
const MOST_A_SECOND: u32 = 1_000;
/// And pieces of transactions of nftables, each of which is a line in all.
const MOST_PIECES: u32 = 20_000;
/// And settings.
const MOST_SETTINGS: u32 = 200;
/// Pieces of one transaction are not so far apart, ns.
const APART_NS: i64 = 1_000_000_000;
/// A message is no longer (NLMSG_GOODSIZE), but for links with many attributes.
const BUFFER_BYTES: usize = 64 << 10;
const TICK: Duration = Duration::from_secs(1);
/// Pieces of namespaces that are not known yet, kept until they are listed.
const MOST_PENDING: usize = 256;
/// Known lines of links, to tell none twice.
const MOST_LINKS: usize = 10_000;

/// The thread's other side; it ends with this.
#[derive(Debug)]
pub struct Notices {
    kept: Arc<Mutex<Kept>>,
    stop: Option<Arc<OwnedFd>>,
}

impl Notices {
    /// Listens from now on.
    pub fn start() -> Notices {
        let kept = Arc::new(Mutex::new(Kept::default()));
        let stop = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map(Arc::new);
        let begun = stop.map_err(std::io::Error::from).and_then(|stop| {
            let (to, until) = (Arc::clone(&kept), Arc::clone(&stop));
            // Not joined: it ends by itself, and one that hangs in the kernel would hang the recorder.
            std::thread::Builder::new()
                .name("notices".into())
                .spawn(move || Listener::new(to).run(&until))?;
            Ok(stop)
        });
        let stop = match begun {
            Ok(stop) => Some(stop),
            Err(e) => {
                let problem =
                    format!("changes of links, routes, rules and settings were not heard: no thread for it ({e})");
                lock(&kept).problems.push(problem);
                None
            }
        };
        Notices { kept, stop }
    }

    /// Adds what was heard since the last time.
    pub fn put(&self, second: &mut Second) {
        let text = lock(&self.kept).text();
        if !text.is_empty() {
            second.texts.push((NOTICES.to_owned(), text.into_bytes()));
        }
    }

    /// Whether something waits.
    pub fn has_some(&self) -> bool {
        !lock(&self.kept).lines.is_empty()
    }

    /// Lets go of what is older.
    pub fn forget(&self, before_ns: i64) {
        lock(&self.kept).forget(before_ns);
    }

    /// What a person should know about it.
    pub fn sentences(&self) -> Vec<String> {
        lock(&self.kept).problems.clone()
    }
}

impl Drop for Notices {
    fn drop(&mut self) {
        if let Some(stop) = &self.stop {
            // It cannot fail but by a counter that is full, which wakes the thread, too.
            _ = rustix::io::write(&**stop, &1u64.to_ne_bytes());
        }
    }
}

fn lock(kept: &Mutex<Kept>) -> std::sync::MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What was read in this second: messages of rtnetlink, pieces of rules, settings.
struct Budget {
    messages: u32,
    pieces: u32,
    settings: u32,
    began: Instant,
}

impl Budget {
    fn new() -> Budget {
        Budget {
            messages: 0,
            pieces: 0,
            settings: 0,
            began: Instant::now(),
        }
    }

    /// How long nothing is read any more, where enough was.
    fn spent(&mut self) -> Option<Duration> {
        let passed = self.began.elapsed();
        if passed >= TICK {
            *self = Budget::new();
        }
        let spent = !self.has(Of::Route) || !self.has(Of::Rules) || self.settings >= MOST_SETTINGS;
        spent.then(|| TICK.saturating_sub(passed))
    }

    /// Whether more of a kind is read.
    fn has(&self, of: Of) -> bool {
        match of {
            Of::Route => self.messages < MOST_A_SECOND,
            Of::Rules => self.pieces < MOST_PIECES,
        }
    }

    fn take(&mut self, of: Of) {
        match of {
            Of::Route => self.messages += 1,
            Of::Rules => self.pieces += 1,
        }
    }
}

/// In the thread.
struct Listener {
    kept: Arc<Mutex<Kept>>,
    sysctls: Option<Sysctls>,
    spaces: Spaces,
    /// Transactions of nftables under way, by namespace: when its first piece was read, and its last.
    rulesets: HashMap<u64, (i64, i64, Ruleset)>,
    /// Last lines of links.
    links: HashMap<String, String>,
    /// Of namespaces with these numbers, which came since they were listed.
    pending: Vec<(i32, Of, i64, Vec<u8>)>,
    buffer: Vec<u8>,
    budget: Budget,
    /// What is read now waited for the second to be over.
    late: bool,
}

impl Listener {
    fn new(kept: Arc<Mutex<Kept>>) -> Listener {
        let mut sysctls = Sysctls::new().ok();
        let spaces = Spaces::new(&mut sysctls);
        lock(&kept).listens = !spaces.heard.is_empty();
        let listener = Listener {
            kept,
            sysctls,
            spaces,
            rulesets: HashMap::new(),
            links: HashMap::new(),
            pending: vec![],
            buffer: vec![0; BUFFER_BYTES],
            budget: Budget::new(),
            late: false,
        };
        listener.tell();
        listener
    }

    /// What a person should know: more may come with each list of namespaces.
    fn tell(&self) {
        let mut problems: Vec<String> = self.spaces.problems.iter().cloned().collect();
        match &self.sysctls {
            None => problems.push("changes of sysctls were not heard: inotify refuses".to_owned()),
            Some(s) if s.in_part > 0 => problems.push(format!(
                "changes of sysctls were heard of the first {} folders only (of devices), or fewer, in {} network namespace{}",
                sysctls::MOST,
                s.in_part,
                if s.in_part == 1 { "" } else { "s" }
            )),
            Some(_) => {}
        }
        lock(&self.kept).problems = problems;
    }

    fn run(mut self, until: &OwnedFd) {
        loop {
            let spent = self.budget.spent();
            let mut fds = vec![PollFd::new(until, PollFlags::IN)];
            if spent.is_none() {
                let sockets = self.spaces.heard.iter().map(|h| h.socket.as_fd());
                let all = sockets.chain(self.sysctls.iter().map(|s| s.as_fd()));
                fds.extend(all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            }
            let waited = spent.is_some();
            let patience = Timespec::try_from(spent.unwrap_or(TICK)).ok();
            let ready = poll(&mut fds, patience.as_ref());
            let ended = fds.first().is_some_and(|f| !f.revents().is_empty());
            if ended || ready.is_err_and(|e| e != rustix::io::Errno::INTR) {
                return;
            }
            if ready.is_ok_and(|n| n > 0) {
                self.hear();
                self.settings();
            }
            // What is read next has waited, or not.
            self.late = waited;
            if self.spaces.refresh(&mut self.sysctls) {
                self.listed();
                self.tell();
            }
        }
    }

    fn hear(&mut self) {
        let mut buffer = std::mem::take(&mut self.buffer);
        for n in 0..self.spaces.heard.len() {
            while let Some(heard) = self.spaces.heard.get(n) {
                let (netns, of) = (heard.netns, heard.of);
                if !self.budget.has(of) {
                    break;
                }
                let came = heard.socket.next(&mut buffer);
                let at = now_ns(ClockId::Monotonic);
                let (bytes, number) = match came {
                    Came::Nothing => break,
                    Came::Lost => {
                        lock(&self.kept).push(at, format!("what=lost netns={netns}"));
                        // The end of a transaction may be among it.
                        if of == Of::Rules {
                            self.rulesets.clear();
                        }
                        continue;
                    }
                    Came::Messages(bytes, number) => (bytes, number),
                };
                self.budget.take(of);
                let piece = buffer.get(..bytes).unwrap_or_default();
                match (self.spaces.whose(netns, number), number) {
                    (Some(netns), _) => self.piece(netns, of, at, piece),
                    (None, Some(number)) if self.pending.len() < MOST_PENDING => {
                        self.pending.push((number, of, at, piece.to_vec()));
                    }
                    _ => lock(&self.kept).leave_out(at),
                }
            }
        }
        self.buffer = buffer;
    }

    /// What was of namespaces that were not known yet. One that is not known now is gone.
    fn listed(&mut self) {
        for (number, of, at, piece) in std::mem::take(&mut self.pending) {
            match self.spaces.whose(0, Some(number)) {
                Some(netns) => self.piece(netns, of, at, &piece),
                None => {
                    self.spaces.is_nobodys(number);
                    lock(&self.kept).leave_out(at);
                }
            }
        }
    }

    fn piece(&mut self, netns: u64, of: Of, at: i64, piece: &[u8]) {
        for m in messages(piece) {
            let told = match of {
                Of::Route if matches!(m.kind, RTM_NEWNSID | RTM_DELNSID) => {
                    // What waits for that number is of another namespace than the next.
                    if let Some(n) = self.spaces.numbered(netns, m.body) {
                        let before = self.pending.len();
                        self.pending.retain(|p| p.0 != n);
                        if self.pending.len() < before {
                            lock(&self.kept).leave_out(at);
                        }
                    }
                    None
                }
                Of::Route => of_route(netns, &m)
                    .filter(|line| self.is_new(&m, line))
                    .map(|line| (m.by, line)),
                // All of it holds before the first of it is announced.
                Of::Rules => {
                    let new = || (at, at, Ruleset::default());
                    let under_way = self.rulesets.entry(netns).or_insert_with(new);
                    if at.saturating_sub(under_way.1) > APART_NS {
                        *under_way = new();
                    }
                    under_way.1 = at;
                    under_way.2.take(netns, &m)
                }
            };
            if let Some((by, line)) = told {
                let began = match of {
                    Of::Rules => self.rulesets.remove(&netns),
                    Of::Route => None,
                };
                let at = began.map_or(at, |(began, ..)| began);
                let who = match of {
                    // The message has its program's name.
                    Of::Rules => format!(" by={by}"),
                    Of::Route => who(by, netns),
                };
                let late = if self.late { " late=yes" } else { "" };
                lock(&self.kept).push(at, line + &who + late);
            }
        }
    }

    /// Whether a link's line is another than its last; of others it is.
    fn is_new(&mut self, m: &messages::Message<'_>, line: &str) -> bool {
        if m.kind == RTM_DELLINK {
            let name = link_of(line);
            self.links.remove(&name);
        }
        if m.kind != RTM_NEWLINK {
            return true;
        }
        if self.links.len() >= MOST_LINKS {
            self.links.clear();
        }
        self.links.insert(link_of(line), line.to_owned()).as_deref() != Some(line)
    }

    fn settings(&mut self) {
        let Some(sysctls) = &mut self.sysctls else { return };
        let (written, events, lost) = sysctls.written();
        self.budget.settings = self.budget.settings.saturating_add(events);
        let at = now_ns(ClockId::Monotonic);
        let late = if self.late { " late=yes" } else { "" };
        let mut kept = lock(&self.kept);
        if lost {
            kept.push(at, "what=lost".to_owned());
        }
        for (netns, name, value) in written {
            kept.push(
                at,
                format!("what=sysctl did=new netns={netns} name={name} value={value}{late}"),
            );
        }
    }
}

/// `netns=1 ifindex=2` of `what=link did=new netns=1 ifindex=2 ...`.
fn link_of(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').skip(2).take(2).collect();
    words.join(" ")
}

/// ` by=1234 comm=ip`: the port of who asked is as a rule the id of its process, in its own pid namespace; it may have ended. A process of that id that is in another
/// network namespace than what was changed is another.
fn who(port: u32, netns: u64) -> String {
    let Some(pid) = (port > 0).then_some(port) else {
        return String::new();
    };
    let inside = crate::snapshot::netns::of_pid(pid) == Some(netns);
    let comm = std::fs::read(format!("/proc/{pid}/comm")).ok().filter(|_| inside);
    let comm = comm.map(|c| word(String::from_utf8_lossy(&c).trim_end()));
    match comm.filter(|c| !c.is_empty()) {
        Some(comm) => format!(" by={pid} comm={comm}"),
        None => format!(" by={pid}"),
    }
}
