//! Work in a thread of its own, a piece at a time: what hangs in the kernel there hangs nobody who asks for it.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// The thread's other side: questions to it, and its answers.
#[derive(Debug)]
pub struct Aside<Q, A> {
    ask: Sender<Q>,
    got: Receiver<A>,
    /// One is being worked on.
    out: bool,
    /// Asked while one was being worked on.
    late: u64,
}

impl<Q: Send + 'static, A: Send + 'static> Aside<Q, A> {
    /// Waits to be asked. The error is why there is no thread: then nothing is ever answered.
    pub fn start(name: &str, mut work: impl FnMut(Q) -> A + Send + 'static) -> (Aside<Q, A>, Option<io::Error>) {
        let (ask, asked) = channel::<Q>();
        let (give, got) = channel();
        let run = move || {
            while let Ok(question) = asked.recv() {
                if give.send(work(question)).is_err() {
                    return;
                }
            }
        };
        // Not joined: one that hangs in the kernel would hang the recorder. It ends when nobody asks any more.
        let failed = std::thread::Builder::new().name(name.into()).spawn(run).err();
        let (out, late) = (false, 0);
        (Aside { ask, got, out, late }, failed)
    }

    /// Asks, unless one is being worked on; that is counted.
    pub fn ask(&mut self, question: Q) {
        match self.out {
            true => self.late += 1,
            false => self.out = self.ask.send(question).is_ok(),
        }
    }

    /// The answer, when there is one.
    pub fn take(&mut self) -> Option<A> {
        let answer = self.got.try_recv().ok()?;
        self.out = false;
        Some(answer)
    }

    /// Waits for the answer to what was asked, so long.
    pub fn wait(&mut self, at_most: Duration) -> Option<A> {
        if !self.out {
            return None;
        }
        let answer = self.got.recv_timeout(at_most).ok()?;
        self.out = false;
        Some(answer)
    }

    /// One is being worked on.
    pub fn is_out(&self) -> bool {
        self.out
    }

    /// How often it was asked while one was being worked on.
    pub fn late(&self) -> u64 {
        self.late
    }
}
