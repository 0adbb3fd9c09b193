//! Settings that were written, and what they were before.

use std::collections::BTreeMap;

use netmortem_formats::Capture;
use netmortem_formats::capture::SnapshotWhen;

use super::state::Said;
use crate::settings::changed::known;
use crate::snapshots::{field, of_netns};

/// Values by namespace and name; whitespace in a value is `?`, as in a notice.
#[derive(Default)]
pub struct Sysctls(BTreeMap<(u64, String), String>);

fn one_word(value: &str) -> String {
    let plain = |c: char| if c.is_whitespace() { '?' } else { c };
    value.trim().chars().map(plain).collect()
}

fn shown(value: &str) -> String {
    value.replace('?', " ")
}

impl Sysctls {
    /// Of the lists of the start; `own` is the namespace of those that name none.
    pub fn of(capture: &Capture, own: Option<u64>) -> Sysctls {
        let mut all = BTreeMap::new();
        for (netns, (values, _)) in known(capture, SnapshotWhen::Start) {
            let Some(netns) = netns.or(own) else { continue };
            all.extend(values.into_iter().map(|(name, v)| ((netns, name), one_word(&v))));
        }
        let devices = capture.snapshots.iter().filter(|s| s.when == SnapshotWhen::Start);
        for s in devices {
            let (netns, what) = of_netns(&s.what);
            let netns = netns.map_or(own, |n| n.parse().ok());
            let Some(netns) = netns.filter(|_| what == "sysctl_devices") else {
                continue;
            };
            let text = String::from_utf8_lossy(&s.text);
            let pairs = text.lines().filter_map(|l| l.split_once(" = "));
            all.extend(pairs.map(|(name, v)| ((netns, name.to_owned()), one_word(v))));
        }
        Sysctls(all)
    }

    /// What a notice changes: nothing where the same was written.
    pub fn take(&mut self, netns: u64, line: &str) -> Option<Said> {
        let (name, value) = (field(line, "name")?.to_owned(), field(line, "value")?.to_owned());
        let before = self
            .0
            .get(&(netns, name.clone()))
            .or_else(|| self.of_default(netns, &name));
        let says = match before {
            Some(old) if *old == value => return None,
            Some(old) => format!("{name} from {} to {}", shown(old), shown(&value)),
            None => format!("{name} was set to {}", shown(&value)),
        };
        self.0.insert((netns, name.clone()), value);
        Some(Said {
            of: name,
            says,
            new_device: false,
        })
    }

    /// Of a device's own setting that was not told: it was as `default` had it.
    fn of_default(&self, netns: u64, name: &str) -> Option<&String> {
        let parts: Vec<&str> = name.split('.').collect();
        let [net, family, tree @ ("conf" | "neigh"), device, rest @ ..] = parts.as_slice() else {
            return None;
        };
        let one = !["all", "default"].contains(device);
        let default = [&[*net, *family, *tree, "default"], rest].concat().join(".");
        self.0.get(&(netns, default)).filter(|_| one)
    }
}
