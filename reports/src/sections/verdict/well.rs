//! What went well, for the head of a page on which nothing is wrong: so many requests were answered, so many connections opened. Slow they may have been.

use netmortem_analyzer::analyses::quality::Level;
use netmortem_analyzer::analyses::verdict::{Tone, counted};
use netmortem_analyzer::analyses::{Answers, Outcome};

/// Where a line is wrong, or events are missing, nothing is said.
pub fn well(answers: &Answers) -> Option<String> {
    let wrong = answers.verdict.iter().any(|line| line.tone == Tone::Bad);
    if wrong || answers.quality.of_capture != Level::Good {
        return None;
    }
    let (Outcome::Findings(a), Outcome::Findings(o)) = (&answers.application, &answers.opens) else {
        return None;
    };
    let Outcome::Findings(udp) = &answers.datagrams else {
        return None;
    };
    // Attempts that somebody may have missed, and what had no answer, are failures, whatever came of them.
    let missed = answers
        .verdict
        .iter()
        .any(|line| line.subject == "opens" && line.tone == Tone::Notice && !line.minor);
    let unheard = !udp.in_vain.is_empty() || !udp.lost.is_empty() || !udp.alone.is_empty();
    // Nor is it said above attempts whose SYNs this host dropped, though no answer is known to have waited.
    let shut = o.failed.iter().any(|f| f.shut.is_some());
    let silent = a.silence.is_some() || a.half_open.is_some() || a.gone_idle.is_some();
    if missed || unheard || shut || silent || !a.unanswered.is_empty() || !a.given_up.is_empty() {
        return None;
    }
    let answered = a.awaited.as_ref().map_or(0, |c| c.response.n);
    let said = [
        (answered > 0).then(|| format!("{} answered", counted(answered, "request was", "requests were"))),
        (o.setup.n > 0).then(|| format!("{} opened", counted(o.setup.n, "connection was", "connections were"))),
    ];
    let said: Vec<String> = said.into_iter().flatten().collect();
    (!said.is_empty()).then(|| {
        format!(
            "Nothing that anyone waited for is known to have failed ({})",
            said.join(", ")
        )
    })
}

#[cfg(test)]
mod tests;
