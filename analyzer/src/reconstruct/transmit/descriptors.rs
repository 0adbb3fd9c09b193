//! Which TCP socket a file descriptor means, where no event of a send names its socket (`sock_send_length` came with 6.3).
//!
//! In: system calls with their descriptor, and events inside them that name a socket: `inet_sock_set_state` (connect),
//! `tcp_rcv_space_adjust` (reads), `tcp_probe` in the task (the socket's backlog). Out: the socket of a call, never sure.
//!
//! No event tells which threads share descriptors. A thread is believed about those it used itself; else threads made by one
//! another while it was recorded (processes among them, until they execute another program) are, where all that is known of a number agrees.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::ConnectionId;

/// Threads remembered per descriptor number; forgetting one makes an answer unknown.
const REMEMBERED: usize = 64;

/// A system call as far as descriptors go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// It reads or writes one socket, or makes its connection: events inside that name a socket name this one's.
    Socket(i32),
    /// The same, or it writes to a device of the host (tun, tap): then they name any.
    Write(i32),
    /// The same, and it reads as much as a dynamic linker does of a library's head: a program begins, or loads a library.
    Load(i32),
    /// It writes to this descriptor and reads another one.
    Into(i32),
    /// The number means nothing any more.
    Close(i32),
    /// Anything else.
    Other,
}

/// What a thread knows of a number; `None`: it means something new that is not known.
type Known = (u32, Option<ConnectionId>);

/// The state.
#[derive(Debug, Default)]
pub(super) struct Descriptors {
    /// Thread ids, to positions in `roots`: an id that is used again is another thread.
    threads: FxHashMap<i32, u32>,
    /// The first of each thread's ancestors in the recording.
    roots: Vec<u32>,
    /// Running calls.
    calls: FxHashMap<i32, Use>,
    /// By descriptor number, the latest last.
    known: FxHashMap<i32, Vec<Known>>,
    told: Told,
    /// Threads that have another name than their parent and have not loaded a program yet.
    renamed: FxHashSet<u32>,
}

/// What a recording would show.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Told {
    /// Packets that come in: one that comes from inside a call would be seen.
    pub injected: bool,
    /// Reads: a program that begins reads its libraries.
    pub loads: bool,
}

impl Descriptors {
    pub(super) fn new(told: Told) -> Descriptors {
        Descriptors {
            told,
            ..Descriptors::default()
        }
    }

    /// Nothing is known any more.
    pub(super) fn forget(&mut self) {
        *self = Descriptors::new(self.told);
    }

    fn thread(&mut self, pid: i32) -> u32 {
        let next = self.roots.len() as u32;
        let thread = *self.threads.entry(pid).or_insert(next);
        if thread == next {
            self.roots.push(next);
        }
        thread
    }

    fn root(&self, thread: u32) -> u32 {
        self.roots.get(thread as usize).copied().unwrap_or(thread)
    }

    /// A thread or process begins. `renamed`: it gets another name later, as a thread does that names itself, or a process that executes another
    /// program, whose descriptors are its own: that one loads it.
    pub(super) fn born(&mut self, parent: i32, child: i32, renamed: bool) {
        let parent = self.thread(parent);
        let own = self.roots.len() as u32;
        self.threads.insert(child, own);
        let apart = renamed && !self.told.loads;
        self.roots.push(if apart { own } else { self.root(parent) });
        if renamed && !apart {
            self.renamed.insert(own);
        }
        self.calls.remove(&child);
    }

    fn learn(&mut self, thread: u32, fd: i32, socket: Option<ConnectionId>) {
        let of = self.known.entry(fd).or_default();
        of.retain(|k| k.0 != thread);
        if of.len() >= REMEMBERED {
            of.remove(0);
        }
        of.push((thread, socket));
    }

    /// A thread gave a number back, or got it anew: what it was to all that may share it is in doubt.
    fn renew(&mut self, pid: i32, fd: i32, anew: bool) {
        let thread = self.thread(pid);
        let root = self.root(thread);
        let roots = &self.roots;
        for k in self.known.entry(fd).or_default() {
            if roots.get(k.0 as usize) == Some(&root) {
                k.1 = None;
            }
        }
        if anew {
            self.learn(thread, fd, None);
        } else if let Some(of) = self.known.get_mut(&fd) {
            of.retain(|k| k.0 != thread);
        }
    }

    /// A system call begins.
    pub(super) fn enter(&mut self, pid: i32, call: Use) {
        match call {
            Use::Close(fd) => self.renew(pid, fd, false),
            Use::Load(_) => self.loads(pid),
            Use::Other | Use::Socket(_) | Use::Write(_) | Use::Into(_) => {}
        }
        match call {
            Use::Close(_) | Use::Other => self.calls.remove(&pid),
            _ => self.calls.insert(pid, call),
        };
    }

    /// A library is loaded: a thread that gets another name executes the program of that name.
    fn loads(&mut self, pid: i32) {
        let thread = self.thread(pid);
        if let (true, Some(root)) = (self.renamed.remove(&thread), self.roots.get_mut(thread as usize)) {
            *root = thread;
        }
    }

    /// It ends.
    pub(super) fn leave(&mut self, pid: i32) {
        self.calls.remove(&pid);
    }

    /// A system call returned a new descriptor.
    pub(super) fn accepted(&mut self, pid: i32, fd: i64) {
        if let Ok(fd) = i32::try_from(fd)
            && fd >= 0
        {
            self.renew(pid, fd, true);
        }
    }

    /// Something in a thread's running call names a socket.
    pub(super) fn named(&mut self, pid: i32, socket: ConnectionId) {
        let told = self.told.injected;
        let fd = match self.calls.get(&pid).copied() {
            Some(Use::Socket(fd) | Use::Load(fd)) => Some(fd),
            Some(Use::Write(fd)) if told => Some(fd),
            _ => None,
        };
        if let Some(fd) = fd {
            let thread = self.thread(pid);
            self.learn(thread, fd, Some(socket));
        }
    }

    /// Whether a thread's running call may be a write to a device, where that would not be seen.
    pub(super) fn may_inject(&self, pid: i32) -> bool {
        !self.told.injected && matches!(self.calls.get(&pid), Some(Use::Write(_)))
    }

    /// The socket that a thread's running call writes to. `socket`: that the call is of a socket is known otherwise.
    pub(super) fn of(&mut self, pid: i32, socket: bool) -> Option<ConnectionId> {
        let fd = match self.calls.get(&pid) {
            Some(Use::Socket(fd) | Use::Load(fd) | Use::Write(fd) | Use::Into(fd)) => *fd,
            _ => return None,
        };
        let thread = self.thread(pid);
        let root = self.root(thread);
        let known = self.known.get(&fd)?;
        if let Some(own) = known.iter().find(|k| k.0 == thread) {
            return own.1;
        }
        let mut kin = known.iter().filter(|k| socket && self.root(k.0) == root).map(|k| k.1);
        let last = kin.next_back()??;
        kin.flatten().all(|c| c == last).then_some(last)
    }
}
