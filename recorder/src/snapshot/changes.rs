//! What is new in a text since it was read last: a reading of every second holds no more, and a number that is not there is as it was.
//!
//! In: the text of now. Out: of lines of words the words that changed behind those that name the line; of /proc/net the lines or columns. It must not
//! leave out one of two numbers that a reader adds up: numbers of one name in a line go together, and so do the qdiscs of one interface.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// A list of lines `netns=1 ifindex=2 rx_packets=3`, as it was.
#[derive(Debug, Default)]
pub struct Words(HashMap<String, String>);

impl Words {
    /// Whether nothing is known yet: all will be told.
    pub fn is_new(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets: the next text is told whole.
    pub fn forget(&mut self) {
        self.0.clear();
    }

    /// What changed. A line is the one whose words named `named` are the same; words named `passing` change by themselves and are never told. Of a
    /// line that is gone its name is told, and ` gone=yes`.
    pub fn changed(&mut self, text: &str, named: &[&str], passing: &[&str]) -> String {
        let mut out = String::new();
        let mut before = std::mem::take(&mut self.0);
        for line in text.lines() {
            let kept = without(line, passing);
            let name = named_by(&kept, named);
            if let Some(old) = before.remove(&name) {
                tell(&old, &kept, &name, &mut out);
            } else {
                _ = writeln!(out, "{kept}");
            }
            self.0.insert(name, kept);
        }
        let mut gone: Vec<String> = before.into_keys().collect();
        gone.sort_unstable();
        for name in gone {
            _ = writeln!(out, "{name} gone=yes");
        }
        out
    }
}

fn key(word: &str) -> &str {
    word.split_once('=').map_or(word, |(k, _)| k)
}

fn named_by(line: &str, named: &[&str]) -> String {
    let words = line.split(' ').filter(|w| named.contains(&key(w)));
    words.collect::<Vec<_>>().join(" ")
}

fn without(line: &str, passing: &[&str]) -> String {
    let words = line.split(' ').filter(|w| !passing.contains(&key(w)));
    words.collect::<Vec<_>>().join(" ")
}

/// The words of `new` that are not as in `old`, behind `name`; all of it where the words are others.
fn tell(old: &str, new: &str, name: &str, out: &mut String) {
    if old == new {
        return;
    }
    let pairs: Vec<(&str, &str)> = old.split(' ').zip(new.split(' ')).collect();
    let same_words = old.split(' ').count() == new.split(' ').count() && pairs.iter().all(|(o, n)| key(o) == key(n));
    if !same_words {
        _ = writeln!(out, "{new}");
        return;
    }
    let changed: HashSet<&str> = pairs.iter().filter(|(o, n)| o != n).map(|(_, n)| key(n)).collect();
    out.push_str(name);
    for (_, word) in pairs.iter().filter(|(_, n)| changed.contains(key(n))) {
        _ = write!(out, " {word}");
    }
    out.push('\n');
}

/// Texts of which all parts of one name are told when one changed.
#[derive(Debug, Default)]
pub struct Groups(HashMap<String, String>);

impl Groups {
    /// Whether nothing is known yet.
    pub fn is_new(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets: the next text is told whole.
    pub fn forget(&mut self) {
        self.0.clear();
    }

    /// The lines of those groups, by the words named `named`, of which one changed; without the words named `passing`.
    pub fn changed(&mut self, text: &str, named: &[&str], passing: &[&str]) -> String {
        let mut now: Vec<(String, String)> = vec![];
        for line in text.lines() {
            let kept = without(line, passing);
            let name = named_by(&kept, named);
            // Lines of one group stand together.
            match now.last_mut().filter(|(n, _)| *n == name) {
                Some((_, lines)) => _ = writeln!(lines, "{kept}"),
                None => now.push((name, format!("{kept}\n"))),
            }
        }
        let new = now.iter().filter(|(name, lines)| self.0.get(name) != Some(lines));
        let out = new.map(|(_, lines)| lines.as_str()).collect();
        self.0 = now.into_iter().collect();
        out
    }
}

/// Files of /proc/net, as they were, by any name.
#[derive(Debug, Default)]
pub struct Files(HashMap<String, String>);

impl Files {
    /// Whether nothing is known yet.
    pub fn is_new(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets: the next texts are told whole.
    pub fn forget(&mut self) {
        self.0.clear();
    }

    /// What changed of the file `what` (`net/snmp`, ... ; perhaps with more in front), in a form that who reads the file reads, too.
    pub fn changed(&mut self, what: &str, text: String) -> String {
        let old = self.0.get(what).map_or("", String::as_str);
        let out = match what.rsplit('/').next().unwrap_or("") {
            _ if old == text => String::new(),
            _ if old.is_empty() => text.clone(),
            "snmp" | "netstat" => columns(old, &text),
            "snmp6" | "sockstat" | "sockstat6" => lines(old, &text, 0),
            "dev" => lines(old, &text, 2),
            _ => text.clone(),
        };
        self.0.insert(what.to_owned(), text);
        out
    }
}

/// The lines that were not there, behind so many of heading.
fn lines(old: &str, new: &str, heading: usize) -> String {
    let old: HashSet<&str> = old.lines().collect();
    let told = |(n, l): &(usize, &str)| *n < heading || !old.contains(l);
    let kept = new.lines().enumerate().filter(told);
    kept.fold(String::new(), |out, (_, l)| out + l + "\n")
}

/// `Tcp: A B` above `Tcp: 1 2`: of each group the columns that changed; all of a group whose columns are others.
fn columns(old: &str, new: &str) -> String {
    let groups = |text| {
        let lines: Vec<&str> = str::lines(text).collect();
        lines
            .chunks_exact(2)
            .map(|two| (two[0].to_owned(), two[1].to_owned()))
            .collect::<Vec<_>>()
    };
    let old: HashMap<String, String> = groups(old).into_iter().collect();
    let mut out = String::new();
    for (names, values) in groups(new) {
        let before = old.get(&names).map_or("", String::as_str);
        if before == values {
            continue;
        }
        let all = names.split(' ').zip(values.split(' ')).enumerate();
        let before: Vec<&str> = before.split(' ').collect();
        let told = |n: usize, value: &str| n == 0 || before.get(n) != Some(&value);
        let (names, values): (Vec<&str>, Vec<&str>) =
            all.filter(|(n, (_, v))| told(*n, v)).map(|(_, both)| both).unzip();
        _ = writeln!(out, "{}\n{}", names.join(" "), values.join(" "));
    }
    out
}
