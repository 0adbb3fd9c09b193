//! What is said of accept queues of socket files (AF_UNIX) that were full, or of which nobody listened.

use super::sentences::{counted, duration, of_all};
use super::spells::spells_or_all_along;
use crate::analyses::opens::{FullQueue, Opens};

/// Fewest calls that found it full that are wrong, not only worth a look.
const SEVERAL: u64 = 2;

/// `75 of 190 calls of connect by nginx/24425 to socket files (AF_UNIX) failed at once with EAGAIN ...`
fn words(q: &FullQueue) -> String {
    let by = match q.threads {
        1 => q.by.clone(),
        n => format!("{} of {}", counted(n, "thread", "threads"), q.by),
    };
    let calls = |n| of_all(n, q.calls, "call of connect", "calls of connect");
    let waited = || {
        format!(
            "{} took 100 ms or longer, max {}: for room in an accept queue, or for a CPU (inferred)",
            counted(q.waited, "other", "others"),
            duration(q.longest_ns)
        )
    };
    let more = match q.waited {
        0 => String::new(),
        _ => format!("; {}", waited()),
    };
    let none = match (q.refused, q.denied) {
        (0, 0) => None,
        (n, 0) => Some((n, "refused (ECONNREFUSED): nobody listens there")),
        (_, n) => Some((
            n,
            "not allowed (EACCES, EPERM): the file's or its folder's permissions, or a policy",
        )),
    };
    match (q.full, none) {
        (0, None) => format!(
            "{} by {by} to socket files (AF_UNIX) took 100 ms or longer, max {}: they waited for room in an accept queue there, whose backlog is small or whose program accepts too slowly, or for a CPU (inferred)",
            calls(q.waited),
            duration(q.longest_ns)
        ),
        (0, Some((n, why))) => format!(
            "{} by {by} to socket files (AF_UNIX) {} {why}{more}",
            calls(n),
            if n == 1 { "was" } else { "were" }
        ),
        (full, _) => {
            // Of very many only the first times are kept.
            let when = match q.times.len() as u64 == full {
                true => spells_or_all_along(&q.times, q.duration_ns),
                false => String::new(),
            };
            format!(
                "{} by {by} to socket files (AF_UNIX) failed at once with EAGAIN (\"Resource temporarily unavailable\"){when}: the accept queue there was full, its backlog is too small for what comes at once, or its program accepts too slowly (`ss -xl` shows both, net.core.somaxconn bounds it); no packet and no drop tells of that, and a proxy answers for itself then, as by a 502{more}",
                calls(full)
            )
        }
    }
}

/// Processes that are told.
const NAMED: usize = 2;

/// Of the processes with most.
pub(super) fn causes(o: &Opens) -> Vec<String> {
    o.full_queues.iter().take(NAMED).map(words).collect()
}

/// Somebody was turned away at a full queue, more than once.
pub(super) fn full(o: &Opens) -> bool {
    o.full_queues.iter().any(|q| q.full >= SEVERAL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyses::verdict::Tone;

    fn queue(full: u64, refused: u64, waited: u64) -> FullQueue {
        let times: Vec<i64> = (0..full as i64)
            .map(|n| n / 4 * 9_600_000_000 + n % 4 * 1_000_000)
            .collect();
        FullQueue {
            by: "nginx/7".into(),
            threads: 1,
            calls: 40,
            full,
            within_ns: times.first().copied().zip(times.last().copied()),
            times,
            duration_ns: 12_000_000_000,
            refused,
            denied: 0,
            waited,
            longest_ns: 250_000_000,
        }
    }

    #[test]
    fn full_refused_and_waited_for() {
        let of = |q: FullQueue| {
            let o = Opens {
                full_queues: vec![q],
                ..Opens::default()
            };
            let (tone, said) = super::super::opens::opens(&o);
            assert!(super::super::opens::names_cause(&o, false));
            (tone, said)
        };
        let (tone, said) = of(queue(8, 0, 0));
        let says = "8 of 40 calls of connect by nginx/7 to socket files (AF_UNIX) failed at once with EAGAIN (\"Resource temporarily unavailable\"), in 2 bursts, 0.000 to 0.003 s and 9.600 to 9.603 s: the accept queue there was full";
        assert!(tone == Tone::Bad && said.starts_with(says), "{said}");
        assert_eq!(of(queue(1, 0, 0)).0, Tone::Notice);
        let (tone, said) = of(queue(40, 0, 3));
        assert!(
            said.starts_with("All 40 calls of connect by nginx/7") && tone == Tone::Bad,
            "{said}"
        );
        assert!(
            said.contains("; 3 others took 100 ms or longer, max 250.00 ms"),
            "{said}"
        );
        let (tone, said) = of(queue(0, 3, 0));
        assert!(
            tone == Tone::Notice
                && said.contains("3 of 40 calls of connect by nginx/7 to socket files (AF_UNIX) were refused"),
            "{said}"
        );
        let (tone, said) = of(FullQueue {
            denied: 3,
            ..queue(0, 0, 4)
        });
        let says = "3 of 40 calls of connect by nginx/7 to socket files (AF_UNIX) were not allowed (EACCES, EPERM)";
        assert!(tone == Tone::Notice && said.contains(says), "{said}");
        assert!(said.contains("; 4 others took 100 ms or longer"), "{said}");
        let (tone, said) = of(queue(0, 0, 1));
        assert!(
            tone == Tone::Notice && said.contains("waited for room in an accept queue"),
            "{said}"
        );
    }
}
