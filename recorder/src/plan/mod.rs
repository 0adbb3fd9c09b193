//! Which events a profile wants, and enabling what of it this kernel has.
//!
//! Sources: the availability and cost tables of our notes on the kernel's events; kernel/trace/trace_events_filter.c for
//! the two spellings of "this field is that function".

mod filters;
mod profiles;

use std::collections::BTreeSet;
use std::path::PathBuf;

use netmortem_formats::bundle::{AbsentEvent, PlannedEvent};

use crate::error::RecordError;
use crate::instance::Instance;
use crate::options::Profile;

pub use filters::{Filters, cpu_mask};

/// A group of wanted events.
struct Wanted {
    /// `syscalls` stands for the enter and exit events of the calls named.
    system: &'static str,
    /// Names known to exist on some kernel; those that are not on this one are reported absent.
    names: &'static [&'static str],
    /// Whether events of the system that this table does not name are wanted too (newer kernels add some).
    all: bool,
    /// Of these events, which records.
    kept: Kept,
}

/// Which records of an event are wanted.
#[derive(Clone, Copy)]
enum Kept {
    All,
    /// Whose field holds one of these functions.
    Functions(&'static str, &'static [&'static str]),
    /// That this filter lets through.
    Where(&'static str),
}

/// What was enabled and what could not be.
#[derive(Debug, Default)]
pub struct Enabled {
    /// Enabled events, in the order of the profile.
    pub events: Vec<PlannedEvent>,
    /// Wanted events that are not recorded, and why.
    pub absent: Vec<AbsentEvent>,
}

/// Where events are enabled.
pub trait Target {
    /// The folder that holds `events/`.
    fn root(&self) -> PathBuf;
    /// Sets the filter of the event in this folder below it; false when the kernel refuses.
    fn set_filter(&self, folder: &str, filter: &str) -> bool;
    /// Enables the event in this folder.
    fn enable(&self, folder: &str) -> Result<(), RecordError>;
}

impl Target for Instance {
    fn root(&self) -> PathBuf {
        self.join("")
    }
    fn set_filter(&self, folder: &str, filter: &str) -> bool {
        self.write(&format!("{folder}/filter"), filter).is_ok()
    }
    fn enable(&self, folder: &str) -> Result<(), RecordError> {
        self.write(&format!("{folder}/enable"), "1")
    }
}

/// Enables the profile there (tracing stays off). `symbols` are the lines of /proc/kallsyms that hold one of [`functions`].
pub fn enable(target: &dyn Target, profile: Profile, filters: &Filters, symbols: &str) -> Result<Enabled, RecordError> {
    let interfaces = filters.interfaces()?;
    let mut plan = Planning {
        target,
        root: target.root(),
        symbols,
        filters,
        interfaces,
        seen: BTreeSet::new(),
        out: Enabled::default(),
    };
    for w in wanted(profile) {
        plan.group(w)?;
    }
    match plan.out.events.is_empty() {
        true => Err(RecordError::NothingToRecord),
        false => Ok(plan.out),
    }
}

fn wanted(profile: Profile) -> impl Iterator<Item = &'static Wanted> {
    profiles::groups(profile).iter().copied().flatten()
}

/// Functions whose symbols enabling the profile needs.
pub fn functions(profile: Profile) -> Vec<&'static str> {
    let functions = wanted(profile).filter_map(|w| match w.kept {
        Kept::Functions(_, names) => Some(names),
        _ => None,
    });
    functions.flatten().copied().collect()
}

/// What enabling needs on its way.
struct Planning<'a> {
    target: &'a dyn Target,
    root: PathBuf,
    symbols: &'a str,
    filters: &'a Filters,
    interfaces: Vec<(u32, String)>,
    seen: BTreeSet<String>,
    out: Enabled,
}

impl Planning<'_> {
    fn group(&mut self, w: &Wanted) -> Result<(), RecordError> {
        let folder = self.root.join("events").join(w.system);
        let mut names: Vec<String> = w.names.iter().map(|n| (*n).to_owned()).collect();
        if w.system == "syscalls" {
            if !folder.is_dir() {
                if self.seen.insert("syscalls:*".into()) {
                    self.absent(
                        "syscalls:*",
                        "this kernel has no syscalls events (CONFIG_FTRACE_SYSCALLS)",
                    );
                }
                return Ok(());
            }
            names = names
                .iter()
                .flat_map(|s| [format!("sys_enter_{s}"), format!("sys_exit_{s}")])
                .collect();
        }
        if w.all {
            let more = crate::tracefs::list(&folder);
            let more = more.into_iter().filter(|n| folder.join(n).join("enable").exists());
            names.extend(more.filter(|n| !w.names.contains(&n.as_str())));
        }
        for name in names {
            if self.seen.insert(format!("{}:{name}", w.system)) {
                self.event(w, &name)?;
            }
        }
        Ok(())
    }

    fn event(&mut self, w: &Wanted, event: &str) -> Result<(), RecordError> {
        let name = format!("{}:{event}", w.system);
        let folder = format!("events/{}/{event}", w.system);
        if !self.root.join(&folder).is_dir() {
            self.absent(&name, "not on this kernel");
            return Ok(());
        }
        let format = match self.filters.is_empty() {
            true => String::new(),
            false => {
                String::from_utf8_lossy(&crate::tracefs::read(&self.root.join(&folder).join("format"))?).into_owned()
            }
        };
        let asked = self.filters.of_event(w.system, &format, &self.interfaces);
        let filter = match w.kept {
            Kept::All => self.set_filter(&folder, asked.iter().cloned().collect()),
            Kept::Functions(field, functions) => self.function_filter(&folder, field, functions, &asked),
            Kept::Where(filter) => {
                let both = asked
                    .as_ref()
                    .map_or(filter.to_owned(), |a| format!("{filter} && ({a})"));
                self.set_filter(&folder, vec![both])
            }
        };
        let filter = match filter {
            Ok(f) => f,
            Err(because) => {
                self.absent(&name, &because);
                return Ok(());
            }
        };
        match self.target.enable(&folder) {
            Ok(()) => self.out.events.push(PlannedEvent { name, filter }),
            Err(e @ (RecordError::NoPermission { .. } | RecordError::ReadOnly { .. })) => return Err(e),
            Err(e) => self.absent(&name, &e.to_string()),
        }
        Ok(())
    }

    fn absent(&mut self, name: &str, because: &str) {
        self.out.absent.push(AbsentEvent {
            name: name.to_owned(),
            because: because.to_owned(),
        });
    }

    /// Sets the first of `candidates` that the kernel takes; without any the event has no filter.
    fn set_filter(&self, folder: &str, candidates: Vec<String>) -> Result<String, String> {
        if candidates.is_empty() {
            return Ok(String::new());
        }
        let set = |f: &&String| self.target.set_filter(folder, f);
        let first = candidates.iter().find(set);
        first
            .cloned()
            .ok_or_else(|| format!("the kernel refused the filter {}", candidates.join(" and ")))
    }

    /// "Field is one of these functions", and what was asked for besides. The error is why the event stays off: without its
    /// filter a timer event would record every timer of the machine.
    fn function_filter(
        &self,
        folder: &str,
        field: &str,
        functions: &[&str],
        asked: &Option<String>,
    ) -> Result<String, String> {
        let found: Vec<(&str, &str)> = functions.iter().filter_map(|f| find_symbol(self.symbols, f)).collect();
        if found.is_empty() {
            return Err(format!("this kernel has none of {}", functions.join(", ")));
        }
        let join = |one: &dyn Fn(&(&str, &str)) -> String| {
            let any = found.iter().map(one).collect::<Vec<_>>().join(" || ");
            asked.as_ref().map_or(any.clone(), |a| format!("({any}) && ({a})"))
        };
        // By name (6.6 and later): readable, and right for a function that was moved. Else by address, unless hidden.
        let mut candidates = vec![join(&|(_, name)| format!("{field}.function == {name}"))];
        if !found.iter().any(|(address, _)| is_hidden(address)) {
            candidates.push(join(&|(address, _)| format!("{field} == 0x{address}")));
        }
        self.set_filter(folder, candidates)
    }
}

/// Whether an address of kallsyms is only zeros: kptr_restrict, or no CAP_SYSLOG.
pub fn is_hidden(address: &str) -> bool {
    address.bytes().all(|b| b == b'0')
}

/// Address and name of a function in kallsyms; compilers may append `.isra.0` and the like.
pub fn find_symbol<'a>(symbols: &'a str, function: &str) -> Option<(&'a str, &'a str)> {
    symbols.lines().find_map(|l| {
        let mut parts = l.split_ascii_whitespace();
        let (address, name) = (parts.next()?, parts.nth(1)?);
        let suffix = name.strip_prefix(function)?;
        let same = suffix.is_empty() || (suffix.starts_with('.') && !suffix.starts_with(".cold"));
        same.then_some((address, name))
    })
}
