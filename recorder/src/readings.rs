//! What is read every second, in a thread of its own: while something in the kernel holds a lock that its lists need (rtnl, for seconds, when a driver resets
//! its card), the recorder still sees Ctrl-C, its limits, and a thread that failed. (What is read once more at the end may then wait for that lock.)

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use netmortem_formats::bundle::{ReadingEnd, Second};

use crate::aside::Aside;
use crate::snapshot::beside::Beside;
use crate::snapshot::second::{self, LeftOut};

/// How long the last one is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the thread says of all that it read.
#[derive(Debug, Default, Clone)]
struct Told {
    problems: Vec<String>,
    ends: Vec<ReadingEnd>,
}

/// The thread's other side.
#[derive(Debug)]
pub struct Readings {
    aside: Aside<(), Second>,
    lost: Arc<AtomicBool>,
    told: Arc<Mutex<Told>>,
}

impl Readings {
    /// Nothing read yet.
    pub fn start() -> Readings {
        let lost = Arc::new(AtomicBool::new(false));
        let told = Arc::new(Mutex::new(Told::default()));
        let (forget, says) = (Arc::clone(&lost), Arc::clone(&told));
        let (mut left_out, mut beside) = (LeftOut::default(), Beside::new());
        let work = move |()| {
            if forget.swap(false, Ordering::AcqRel) {
                beside.lost();
            }
            let mut now = second::take(second::MOST_BYTES, &mut left_out);
            beside.take(&mut now);
            let problems = left_out.sentence(second::MOST_BYTES).into_iter();
            *says.lock().unwrap_or_else(PoisonError::into_inner) = Told {
                problems: problems.chain(beside.sentences()).collect(),
                ends: beside.end(),
            };
            now
        };
        let (aside, failed) = Aside::start("readings", work);
        if let Some(e) = failed {
            let problem = format!("nothing was read every second: no thread for it ({e})");
            told.lock().unwrap_or_else(PoisonError::into_inner).problems = vec![problem];
        }
        Readings { aside, lost, told }
    }

    /// One is due.
    pub fn ask(&mut self) {
        self.aside.ask(());
    }

    /// One that is made.
    pub fn take(&mut self) -> Option<Second> {
        self.aside.take()
    }

    /// The last one, when nothing is asked any more.
    pub fn last(&mut self) -> Option<Second> {
        self.aside.wait(PATIENCE)
    }

    /// The one before is not in the bundle.
    pub fn lost(&self) {
        self.lost.store(true, Ordering::Release);
    }

    /// What a person should know about it, and what was read of each kind.
    pub fn end(self) -> (Vec<String>, Vec<ReadingEnd>) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let late = match (self.aside.is_out(), self.aside.late()) {
            (true, n) => Some(format!(
                "readings of every second: the last one did not come back within {} s (in all {n} were due while one was made): a busy host, or something in the kernel holds a lock that it needs",
                PATIENCE.as_secs()
            )),
            (false, 0) => None,
            (false, n) => Some(format!(
                "readings of every second: {n} were left out because the one before took longer than that"
            )),
        };
        told.problems.extend(late);
        (told.problems, told.ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_and_what_is_due_meanwhile_is_counted() {
        let mut r = Readings::start();
        assert!(r.take().is_none() && r.last().is_none());
        r.ask();
        r.ask();
        let first = r.last().unwrap();
        let has = |s: &Second, what: &str| s.texts.iter().any(|(w, _)| w == what);
        assert!(has(&first, "net/snmp") && has(&first, "readings"));
        // What was not written is told whole again.
        r.lost();
        std::thread::sleep(Duration::from_secs(1));
        r.ask();
        let second = r.last().unwrap();
        let told = |s: &Second| {
            let text = s.texts.iter().find(|(w, _)| w == "readings").map(|(_, t)| t.clone());
            String::from_utf8(text.unwrap_or_default()).unwrap()
        };
        assert!(!told(&second).contains("after"), "{}", told(&second));
        let (problems, ends) = r.end();
        assert_eq!(ends.len(), 4);
        let late = "readings of every second: 1 were left out because the one before took longer than that";
        assert_eq!(problems.last().map(String::as_str), Some(late));
    }
}
