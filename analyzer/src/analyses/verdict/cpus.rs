//! What is said of the CPUs' time, with the line on softirqs.

use super::sentences::moment;
use super::{Line, Tone};
use crate::analyses::cpus::{Cpu, Cpus, Stolen};

/// Share of a CPU's time that is stolen, worth a look; and from which it is wrong.
const STOLEN: f64 = 0.05;
const STOLEN_BAD: f64 = 0.20;
/// The same between two readings.
const STOLEN_ONCE: f64 = 0.15;
/// Below it nothing is said of it.
const FEW: f64 = 0.005;

fn percent(share: f64) -> String {
    match share {
        s if s < 0.0995 => format!("{:.1} %", s * 100.0),
        s => format!("{:.0} %", s * 100.0),
    }
}

/// How bad it is that time was stolen, and the words.
fn stolen(c: &Cpus) -> Option<(Tone, String)> {
    let most: &Cpu = c.most_stolen()?;
    let share = most.shares.steal;
    let once = c.worst.as_ref().filter(|w| w.share >= STOLEN_ONCE);
    let tone = match share {
        s if s >= STOLEN_BAD => Tone::Bad,
        s if s >= STOLEN || once.is_some() => Tone::Notice,
        _ => return None,
    };
    let spell = |w: &Stolen| {
        let whose = match w.cpu == most.cpu {
            true => String::new(),
            false => format!(" of CPU {}'s", w.cpu),
        };
        format!(
            "; {}{whose} between {} and {}",
            percent(w.share),
            moment(w.from_ns),
            moment(w.to_ns)
        )
    };
    let spell = once.map_or_else(String::new, spell);
    let when = match spell.is_empty() {
        true => "no event tells when",
        false => "no event tells of it",
    };
    Some((
        tone,
        format!(
            "the hypervisor did not run CPU {} for {} of the time, though it had work (steal, by /proc/stat{spell}): for other guests, or for a limit of this one; {when}, so any wait here may have some of it",
            most.cpu,
            percent(share)
        ),
    ))
}

/// `CPUs were busy 34 % of the time (programs 29 %, ...), most CPU 0 with 58 %.`; `said`: what was stolen is said.
fn busy(c: &Cpus, said: bool) -> String {
    let most = c.busiest().filter(|_| c.cpus.len() > 1);
    let most = most.map_or_else(String::new, |m| {
        format!(", most CPU {} with {}", m.cpu, percent(m.shares.busy()))
    });
    let kept = match c.all.steal {
        s if s < FEW || said => String::new(),
        s => format!(
            "; the hypervisor did not run them for {} of it, though they had work (steal)",
            percent(s)
        ),
    };
    format!(
        "CPUs were busy {} of the time (programs {}, kernel {}, softirqs {}){most}{kept}.",
        percent(c.all.busy()),
        percent(c.all.user),
        percent(c.all.system),
        percent(c.all.softirq + c.all.irq)
    )
}

/// The line with them.
pub(super) fn with_the_cpus(line: Line, cpus: Option<&Cpus>) -> Line {
    let Some(c) = cpus else { return line };
    let stolen = stolen(c);
    let sentence = format!("{} {}", line.sentence, busy(c, stolen.is_some()));
    let Some((tone, words)) = stolen else {
        return Line { sentence, ..line };
    };
    let known = matches!(line.tone, Tone::Notice | Tone::Bad);
    let headline = match known && !line.headline.is_empty() {
        true => format!("{words}; {}", line.headline),
        false => words.clone(),
    };
    let tone = match line.tone {
        Tone::Bad => Tone::Bad,
        _ => tone,
    };
    Line {
        tone,
        sentence: format!("{}. {sentence}", super::capital(&words)),
        headline,
        ..line
    }
}
