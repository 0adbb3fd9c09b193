//! Settings that were written, and what they were before.

use std::collections::BTreeMap;

use netmortem_formats::Capture;
use netmortem_formats::capture::SnapshotWhen;

use super::state::Said;
use crate::settings::changed::known;
use crate::snapshots::{field, of_netns};

/// Values by namespace and name; whitespace in a value is `?`, as in a notice.
#[derive(Default)]
pub struct Sysctls {
    now: BTreeMap<(u64, String), String>,
    /// `default` of the start, which devices that were there have unless it was told otherwise.
    defaults: BTreeMap<(u64, String), String>,
}

/// A setting for all devices, which the kernel sets on each.
const ON_EACH: [&str; 2] = ["forwarding", "disable_ipv6"];

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
        let is_default = |name: &str| name.contains(".default.");
        let defaults = all.iter().filter(|((_, name), _)| is_default(name));
        Sysctls {
            defaults: defaults.map(|(k, v)| (k.clone(), v.clone())).collect(),
            now: all,
        }
    }

    /// What a notice changes: nothing where the same was written.
    pub fn take(&mut self, netns: u64, line: &str) -> Option<Said> {
        let (name, value) = (field(line, "name")?.to_owned(), field(line, "value")?.to_owned());
        let known = self.now.get(&(netns, name.clone()));
        let before = known.or_else(|| self.of_default(netns, &name));
        let says = match before {
            Some(old) if *old == value => return None,
            Some(old) => format!("{name} from {} to {}", shown(old), shown(&value)),
            None => format!("{name} was set to {}", shown(&value)),
        };
        if let Some((family, what)) = name.split_once(".conf.all.")
            && ON_EACH.contains(&what)
        {
            // Of each device it is not known any more.
            let of_device = |n: &str| n.starts_with(&format!("{family}.conf.")) && n.ends_with(&format!(".{what}"));
            self.now.retain(|(of, n), _| *of != netns || !of_device(n));
            self.defaults.retain(|(of, n), _| *of != netns || !of_device(n));
        }
        self.now.insert((netns, name.clone()), value);
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
        self.defaults.get(&(netns, default)).filter(|_| one)
    }
}
