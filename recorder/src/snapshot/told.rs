//! Of each kind of `beside` what was told last, so that the next reading tells what changed.
//!
//! In: whole texts. Out: those parts that are not as they were (docs/bundle.md, "Seconds"). It must not read anything.

use super::beside::{Kind, Texts};
use super::changes::{Files, Groups, Words};

/// Words of a socket that change while nothing happens.
const PASSING: [&str; 5] = [
    "timer_ms",
    "tcp.last_data_sent",
    "tcp.last_ack_sent",
    "tcp.last_data_recv",
    "tcp.last_ack_recv",
];

/// What all kinds said last.
#[derive(Debug, Default)]
pub struct Told {
    nics: Words,
    sockets: Words,
    qdiscs: Groups,
    classes: Groups,
    files: Files,
}

impl Told {
    /// Whether nothing is known of a kind yet: all will be told.
    pub fn is_new(&self, kind: Kind) -> bool {
        match kind {
            Kind::Nics => self.nics.is_new(),
            Kind::Qdiscs => self.qdiscs.is_new(),
            Kind::Sockets => self.sockets.is_new(),
            Kind::Counters => self.files.is_new(),
        }
    }

    /// Forgets a kind: its next texts are told whole.
    pub fn forget(&mut self, kind: Kind) {
        match kind {
            Kind::Nics => self.nics.forget(),
            Kind::Qdiscs => {
                self.qdiscs.forget();
                self.classes.forget();
            }
            Kind::Sockets => self.sockets.forget(),
            Kind::Counters => self.files.forget(),
        }
    }

    /// What changed of the texts of a kind; one of which nothing did is empty.
    pub fn changed(&mut self, kind: Kind, texts: Texts) -> Texts {
        let of = ["netns", "ifindex"];
        let changed = |(what, text): (String, String)| {
            let new = match (kind, what.as_str()) {
                (Kind::Nics, _) => self.nics.changed(&text, &["netns", "ifindex", "dev", "group"], &[]),
                (Kind::Sockets, _) => self.sockets.changed(&text, &["netns", "proto", "cookie"], &PASSING),
                (Kind::Qdiscs, "classes") => self.classes.changed(&text, &of, &["options"]),
                (Kind::Qdiscs, _) => self.qdiscs.changed(&text, &of, &["options"]),
                (Kind::Counters, _) => self.files.changed(&what, text),
            };
            (what, new)
        };
        texts.into_iter().map(changed).collect()
    }
}
