//! Files of packets that were joined to a recording: what became of each, and which devices there are to name.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use netmortem_formats::Capture;
use netmortem_formats::join::JoinedPackets;

use super::read::read;
use super::sights::sights;
use super::{Written, matched};
use crate::analyses::verdict::counted;
use crate::facts::Facts;

/// What became of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct JoinedFile {
    /// Its name, without its folder.
    pub file: String,
    /// The device given for it; empty when the file was to name it.
    pub device: String,
    /// Packets that were read.
    pub packets: u64,
    /// Of these, found to be one event of the kernel.
    pub matched: u64,
    /// Not matched, because several events fit.
    pub ambiguous: u64,
    /// Not matched, because none does.
    pub unmatched: u64,
    /// Parts of it that could not be read.
    pub errors: u64,
    /// Why none was looked for; empty where they were.
    pub because: String,
    /// None matched, no device was given for it, and it names none that the recording knows, as a pcap never does.
    #[serde(skip)]
    pub nameless: bool,
}

impl JoinedFile {
    /// The line on it.
    pub fn sentence(&self) -> String {
        let of = match self.device.is_empty() {
            true => String::new(),
            false => format!(" (device {})", self.device),
        };
        let errors = match self.errors {
            0 => "nothing of it was unreadable".to_owned(),
            n => format!("{} of it could not be read", counted(n, "part", "parts")),
        };
        let not = self.ambiguous.saturating_add(self.unmatched);
        match self.because.is_empty() {
            true => format!(
                "{}{of} was joined: {} packets, {} matched with events of the kernel, {not} not ({} because several events fit, {} because none is known to); {errors}.",
                self.file, self.packets, self.matched, self.ambiguous, self.unmatched
            ),
            false => format!(
                "{}{of} was joined: {} packets, none matched, because {}; {errors}.",
                self.file, self.packets, self.because
            ),
        }
    }

    /// What is wrong when nothing matched; `None` where something did, or there was nothing to match.
    pub fn warning(&self) -> Option<String> {
        let why = match self.nameless {
            true => "the file names no device of this recording: give it as DEVICE=FILE",
            false => "it may be of another device, another network namespace or another host",
        };
        (self.matched == 0 && self.packets > 0 && self.because.is_empty()).then(|| {
            format!(
                "None of the {} packets of {} fits an event of this recording: {why}.",
                self.packets, self.file
            )
        })
    }
}

/// What became of the files that were joined.
pub fn joined(facts: &Facts, capture: &Capture, files: &[JoinedPackets]) -> Vec<JoinedFile> {
    let (interfaces, packets, errors, because) = match matched(facts, capture) {
        Ok((interfaces, packets, errors)) => (interfaces, packets, errors, String::new()),
        Err(e) => {
            let (interfaces, packets, errors) = read(capture);
            let because = match packets.is_empty() {
                true => String::new(),
                false => e.to_string(),
            };
            (interfaces, packets, errors, because)
        }
    };
    // Read for a warning only.
    let known = OnceCell::new();
    let of = |f: &JoinedPackets| {
        let own = || packets.iter().filter(|p| p.tap == f.tap);
        let w = Written::of(own());
        let matched = w.certain.saturating_add(w.strong);
        let named = || {
            let known = known.get_or_init(|| devices(capture));
            let used: BTreeSet<usize> = own().map(|p| p.interface).collect();
            let mut names = used.iter().filter_map(|i| interfaces.get(*i));
            names.any(|i| known.contains(&i.name))
        };
        JoinedFile {
            nameless: f.device.is_empty() && matched == 0 && w.packets > 0 && !named(),
            file: f.file.clone(),
            device: f.device.clone(),
            packets: w.packets,
            matched,
            ambiguous: w.ambiguous,
            unmatched: w.unmatched,
            errors: errors.get(&f.tap).copied().unwrap_or(0).saturating_add(f.errors),
            because: because.clone(),
        }
    };
    files.iter().map(of).collect()
}

/// Devices that a recording knows: of its snapshots, and those that packets passed by its events. Of a name the network
/// namespaces are not told apart.
pub fn devices(capture: &Capture) -> BTreeSet<String> {
    let mut known: BTreeSet<String> = BTreeSet::new();
    for s in capture.snapshots.iter().filter(|s| s.what == "links") {
        for line in String::from_utf8_lossy(&s.text).lines() {
            let name = line.split(' ').find_map(|w| w.strip_prefix("name="));
            known.extend(name.map(str::to_owned));
        }
    }
    known.extend(sights(capture).keys().map(|(dev, _)| dev.text().into_owned()));
    known.remove("");
    known
}
