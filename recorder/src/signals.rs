//! Ctrl-C and its like as a flag. `unsafe`, because installing a handler has no safe interface.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicI32, Ordering};

static RECEIVED: AtomicI32 = AtomicI32::new(0);
static TRIGGERS: AtomicI32 = AtomicI32::new(0);
/// Those that only a flight heeds, or nobody.
static UNHEEDED: AtomicI32 = AtomicI32::new(0);

const HANDLED: [(i32, &str); 4] = [
    (libc::SIGINT, "SIGINT"),
    (libc::SIGTERM, "SIGTERM"),
    (libc::SIGHUP, "SIGHUP"),
    (libc::SIGQUIT, "SIGQUIT"),
];

extern "C" fn on_signal(number: i32) {
    RECEIVED.store(number, Ordering::Relaxed);
}

extern "C" fn on_trigger(_: i32) {
    TRIGGERS.fetch_add(1, Ordering::Relaxed);
}

extern "C" fn on_unheeded(number: i32) {
    UNHEEDED.store(number, Ordering::Relaxed);
}

/// While it lives, the signals only set a flag; dropping it gives back the handlers that were there.
pub struct Signals {
    previous: Vec<(i32, libc::sigaction)>,
}

impl Signals {
    /// Takes the signals over. One that is ignored stays ignored (`nohup`). SIGUSR1 and SIGUSR2 would kill a recorder:
    /// whoever takes it for a flight must not cut its bundle.
    pub fn take() -> Signals {
        RECEIVED.store(0, Ordering::Relaxed);
        UNHEEDED.store(0, Ordering::Relaxed);
        let mut this = Signals { previous: Vec::new() };
        for (number, _) in HANDLED {
            this.handle(number, on_signal);
        }
        for number in [libc::SIGUSR1, libc::SIGUSR2] {
            this.handle(number, on_unheeded);
        }
        this
    }

    /// SIGUSR1 as a trigger, too: [`take_triggers`] counts it. It is taken also where it was ignored.
    pub fn take_usr1(&mut self) {
        TRIGGERS.store(0, Ordering::Relaxed);
        self.handle(libc::SIGUSR1, on_trigger);
    }

    fn handle(&mut self, number: i32, handler: extern "C" fn(i32)) {
        // SAFETY: both structures are valid for the call, zero is a valid sigaction (empty mask, no flags), and the
        // handler only stores to an atomic, which is allowed in a signal handler.
        unsafe {
            let mut old: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(number, std::ptr::null(), &mut old) != 0
                || (old.sa_sigaction == libc::SIG_IGN && number != libc::SIGUSR1)
            {
                return;
            }
            let mut new: libc::sigaction = std::mem::zeroed();
            new.sa_sigaction = handler as extern "C" fn(i32) as libc::sighandler_t;
            new.sa_flags = libc::SA_RESTART;
            if libc::sigaction(number, &new, std::ptr::null_mut()) == 0 {
                self.previous.push((number, old));
            }
        }
    }

    /// Name of the signal that came, if one did.
    pub fn received(&self) -> Option<&'static str> {
        let number = RECEIVED.load(Ordering::Relaxed);
        HANDLED.iter().find(|(n, _)| *n == number).map(|(_, name)| *name)
    }
}

/// Whether a signal came since [`Signals::take`].
pub fn came() -> bool {
    RECEIVED.load(Ordering::Relaxed) != 0
}

/// SIGUSR1 or SIGUSR2, when it came since the last call and nothing heeds it.
pub fn take_unheeded() -> Option<&'static str> {
    match UNHEEDED.swap(0, Ordering::Relaxed) {
        libc::SIGUSR1 => Some("SIGUSR1"),
        libc::SIGUSR2 => Some("SIGUSR2"),
        _ => None,
    }
}

/// How many SIGUSR1 came since the last call.
pub fn take_triggers() -> i32 {
    TRIGGERS.swap(0, Ordering::Relaxed)
}

impl Drop for Signals {
    fn drop(&mut self) {
        // The first that was taken last: a signal may have been taken twice.
        for (number, old) in self.previous.iter().rev() {
            // SAFETY: `old` is what the kernel gave us for this very signal.
            unsafe {
                libc::sigaction(*number, old, std::ptr::null_mut());
            }
        }
    }
}
