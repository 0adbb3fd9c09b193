//! One recording in a few kB.

use serde::{Deserialize, Serialize};

use crate::Facts;
use crate::analyses::Answers;
use crate::analyses::changes::{Changes, Cluster};
use crate::analyses::verdict::{Tone, order};
use crate::analyses::waits::StageTimes;
use crate::stat::Distribution;

/// Version of this layout. A summary of another one is made again.
pub const VERSION: u32 = 6;
/// Changes of a host that a summary keeps.
pub const MAX_CHANGES: usize = 20;
/// Equal parts of the recording that a sparkline has.
pub const SPARK_BINS: usize = 24;

/// What one recording contributes to a fleet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`VERSION`].
    pub version: u32,
    /// What the recording is called in the batch.
    pub name: String,
    /// Format it was read from.
    pub format: String,
    /// Host it was made on, empty when it does not say.
    pub hostname: String,
    /// Kernel release.
    pub kernel: String,
    /// Begin of the recording, ns since 1970; `None` when it has no clock pair.
    pub began_realtime_ns: Option<i64>,
    /// Length, ns.
    pub duration_ns: i64,
    /// Why only a part of it was analyzed; absent: all of it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Events decoded.
    pub events: u64,
    /// Share of events lost.
    pub lost_share: f64,
    /// Rings of a flight that do not reach back to its begin: what was lost of them is in no share, as nothing tells how much it was.
    pub short_rings: u64,
    /// The lines of the verdict.
    pub verdict: Vec<Line>,
    /// Receive path: total first, then each stage.
    pub rx: Vec<Stage>,
    /// Transmit path, likewise.
    pub tx: Vec<Stage>,
    /// Drops by reason, location and device; `None` when not recorded.
    pub drops: Option<Vec<DropGroup>>,
    /// Calls that sent segments again; `None` when not recorded.
    pub retransmits: Option<u64>,
    /// Segments that they sent; `None` when not recorded, or not known of all.
    pub retransmit_segments: Option<u64>,
    /// What was changed on the host meanwhile; `None`: its recorder did not listen.
    pub changes: Option<HostChanges>,
    /// Drops and retransmits in each of [`SPARK_BINS`] equal parts of the recording.
    pub trouble: Vec<u64>,
    /// Largest receive total of the units that began in each part, ns; `None`: no unit began there.
    pub rx_worst_ns: Vec<Option<i64>>,
}

/// A line of the verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// What it is about.
    pub subject: String,
    /// How bad.
    pub tone: Tone,
    /// The sentence.
    pub sentence: String,
    /// What the head of its page says of it; empty: nothing, or another line says it there.
    pub headline: String,
    /// The headline begins with a cause that has a name.
    pub names_cause: bool,
    /// Nobody waited for it, or not for long.
    pub minor: bool,
    /// It only says what another line led to.
    pub follows: bool,
}

/// A distribution that can be added to others: (lower edge, upper edge, count), ns, ascending.
pub type Bins = Vec<(i64, i64, u64)>;

/// A stage of a path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// `total`, or the name of the stage.
    pub name: String,
    /// Units whose value is known and solid.
    pub n: u64,
    /// Their sum, ns.
    pub sum_ns: i64,
    /// Median, ns.
    pub p50_ns: Option<i64>,
    /// 99th percentile, ns.
    pub p99_ns: Option<i64>,
    /// Largest, ns.
    pub max_ns: Option<i64>,
    /// Histogram.
    pub bins: Bins,
}

/// Drops of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropGroup {
    /// Reason, by the recording's own table.
    pub reason: String,
    /// Function.
    pub location: String,
    /// Device.
    pub dev: String,
    /// Whether it is ordinary; `None`: not clear.
    pub expected: Option<bool>,
    /// How many.
    pub count: u64,
}

/// Changes of a host at one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// When, since the start of the recording, ns.
    pub at_ns: i64,
    /// What, in words.
    pub says: String,
    /// What was different after it; empty: nothing, or it was not compared.
    pub differs: String,
    /// Something was for the worse, soon after.
    pub worse: bool,
    /// What was before and after it was compared: it lasted, and no events are missing.
    pub compared: bool,
}

/// What was changed on a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostChanges {
    /// At most [`MAX_CHANGES`], what was worse after it first.
    pub told: Vec<Changed>,
    /// Times at which something was changed that are not among these.
    pub more: u64,
    /// Changes of devices and namespaces that came in the recording, which are not among these either.
    pub passing: u64,
    /// Times that something that was announced was lost.
    pub lost: u64,
}

impl Summary {
    /// Lines of the verdict with this tone that the head of its page says.
    pub fn count(&self, tone: Tone) -> usize {
        self.said(tone).count()
    }
    fn said(&self, tone: Tone) -> impl Iterator<Item = &Line> {
        self.verdict
            .iter()
            .filter(move |l| l.tone == tone && !l.headline.is_empty())
    }
    /// What the head of its page begins with, and how bad that is; `None`: nothing wrong was found.
    pub fn worst(&self) -> Option<&Line> {
        let of = |tone| self.said(tone).min_by_key(|l| order(l.follows, l.names_cause, l.minor));
        of(Tone::Bad).or_else(|| of(Tone::Notice))
    }
    /// Packets dropped that should not have been.
    pub fn lost_packets(&self) -> Option<u64> {
        let groups = self.drops.as_ref()?;
        let lost = groups.iter().filter(|g| g.expected == Some(false));
        Some(lost.map(|g| g.count).fold(0, u64::saturating_add))
    }
    /// The total of a path.
    pub fn total(stages: &[Stage]) -> Option<&Stage> {
        stages.iter().find(|s| s.name == TOTAL)
    }
}

const TOTAL: &str = "total";

pub(super) fn of(name: &str, facts: &Facts, answers: &Answers) -> Summary {
    let capture = &facts.capture;
    let rx = answers.receive.findings();
    let tx = answers.transmit.findings();
    let drops = answers.drops.findings().filter(|d| d.recorded);
    let tcp = answers.tcp.findings().filter(|t| t.retransmits_recorded);
    Summary {
        version: VERSION,
        name: name.to_owned(),
        format: capture.format.clone(),
        hostname: capture.hostname.clone(),
        kernel: capture.kernel_release.clone(),
        began_realtime_ns: capture
            .realtime_offset_ns
            .zip(capture.start_ns)
            .map(|(offset, start)| offset.saturating_add(start)),
        duration_ns: capture.duration_ns,
        part: capture.selected.as_ref().and_then(|s| s.because.clone()),
        events: capture.total_events,
        lost_share: answers.quality.lost_share,
        short_rings: capture.short_rings.len() as u64,
        verdict: answers.verdict.iter().map(line).collect(),
        rx: rx.map_or_else(Vec::new, |r| stages(&r.total, &r.stages, &r.unattributed)),
        tx: tx.map_or_else(Vec::new, |t| stages(&t.total, &t.stages, &t.unattributed)),
        drops: drops.map(|d| d.groups.iter().map(group).collect()),
        retransmits: tcp.map(crate::analyses::tcp::Tcp::calls),
        retransmit_segments: tcp
            .filter(|t| t.retransmits_unsized == 0)
            .map(|t| t.retransmit_segments),
        changes: answers.changes.heard.then(|| changes(&answers.changes)),
        trouble: trouble(facts),
        rx_worst_ns: rx_worst(facts),
    }
}

fn line(l: &crate::analyses::verdict::Line) -> Line {
    Line {
        subject: l.subject.to_owned(),
        tone: l.tone,
        sentence: l.sentence.clone(),
        headline: l.headline.clone(),
        names_cause: l.names_cause,
        minor: l.minor,
        follows: l.follows.is_some(),
    }
}

fn changes(of: &Changes) -> HostChanges {
    let one = |c: &Cluster| Changed {
        at_ns: c.from_ns,
        says: c.words(),
        differs: c.differs(),
        worse: c.is_worse(),
        compared: c.compared_ns.is_some(),
    };
    // Those that did harm before those that did not.
    let (worse, others): (Vec<_>, Vec<_>) = of.clusters.iter().map(one).partition(|c| c.worse);
    let told: Vec<Changed> = worse.into_iter().chain(others).take(MAX_CHANGES).collect();
    HostChanges {
        more: (of.clusters.len() as u64 + of.more).saturating_sub(told.len() as u64),
        told,
        passing: of.passing,
        lost: of.lost,
    }
}

fn group(g: &crate::analyses::drops::Group) -> DropGroup {
    DropGroup {
        reason: g.reason.clone(),
        location: g.location.clone(),
        dev: g.dev.clone(),
        expected: g.expected,
        count: g.count,
    }
}

fn stages(total: &StageTimes, stages: &[StageTimes], unattributed: &StageTimes) -> Vec<Stage> {
    let named = stages.iter().map(|s| stage(s.stage, &s.solid));
    std::iter::once(stage(TOTAL, &total.solid))
        .chain(named)
        .chain(std::iter::once(stage("unattributed", &unattributed.solid)))
        .filter(|s| s.n > 0)
        .collect()
}

fn stage(name: &str, d: &Distribution) -> Stage {
    Stage {
        name: name.to_owned(),
        n: d.n,
        sum_ns: d.sum_ns,
        p50_ns: d.p50_ns,
        p99_ns: d.p99_ns,
        max_ns: d.max_ns,
        bins: d.histogram.iter().map(|b| (b.lo_ns, b.hi_ns, b.count)).collect(),
    }
}

/// Part of the recording that a moment lies in; `None` outside of it.
fn part(facts: &Facts, ts_ns: i64) -> Option<usize> {
    let since = i128::from(ts_ns) - i128::from(facts.capture.start_ns?);
    let whole = i128::from(facts.capture.duration_ns.max(1));
    let part = since.checked_mul(SPARK_BINS as i128)? / whole;
    // The last event of all lies at the end of the last part.
    usize::try_from(part)
        .ok()
        .map(|p| if since == whole { SPARK_BINS - 1 } else { p })
}

fn trouble(facts: &Facts) -> Vec<u64> {
    let mut bins = vec![0u64; SPARK_BINS];
    let unexpected = facts
        .drops
        .iter()
        .filter(|d| d.expected == Some(false))
        .map(|d| d.time_ns);
    let sent_again = facts.retransmits.iter().map(|r| r.time_ns);
    for ts in unexpected.chain(sent_again) {
        if let Some(bin) = part(facts, ts).and_then(|p| bins.get_mut(p)) {
            *bin += 1;
        }
    }
    bins
}

fn rx_worst(facts: &Facts) -> Vec<Option<i64>> {
    let mut bins = vec![None; SPARK_BINS];
    let whole = facts.rx.iter().filter(|r| {
        r.end == crate::reconstruct::receive::tables::RxEnd::Read && r.censored.is_none() && r.confidence.is_solid()
    });
    for r in whole {
        let Some(bin) = part(facts, r.start_ns).and_then(|p| bins.get_mut(p)) else {
            continue;
        };
        *bin = (*bin).max(Some(r.total_ns));
    }
    bins
}
