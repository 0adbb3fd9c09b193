//! Tables of who answered whom: servers as their clients saw them, threads that serve several connections, threads that ask.

use netmortem_analyzer::analyses::application::{
    Apart, Application, Asker, ByItself, HalfOpen, Server, Service, Serving, Slow,
};

use super::parts;
use crate::clean::Text;
use crate::document::{Block, Cell, Column, Table};
use crate::format;
use crate::sections::shared::{counted, id_cell, name_cell};

/// Kinds of slow answers that are named in a cell.
const KINDS: usize = 2;

/// Those that have rows.
pub(super) fn blocks(found: &Application) -> impl Iterator<Item = Block> {
    let all = [
        (!found.servers.is_empty()).then(|| servers(&found.servers)),
        apart(&found.servers),
        (!found.services.is_empty()).then(|| services(&found.services)),
        (!found.serving.is_empty()).then(|| serving(&found.serving)),
        (!found.askers.is_empty()).then(|| askers(&found.askers)),
        found.by_itself.as_ref().map(by_itself),
        found.half_open.as_ref().map(half_open),
    ];
    all.into_iter().flatten().map(Block::Table)
}

/// `54 in the server (p50 90.46 ms)`
fn kind(s: &Slow) -> String {
    let place = match s.at {
        "server" => "in the server",
        "there" => "on the way there",
        "back" => "on the way back",
        "rest" => "after their first byte",
        _ => "not known where",
    };
    format!("{} {place} (p50 {})", s.n, format::duration(s.p50_ns))
}

fn servers(of: &[Server]) -> Table {
    let time = |ns| Cell::known(ns, Cell::Ns);
    let row = |s: &Server| {
        let slow: Vec<String> = s.slow.iter().take(KINDS).map(kind).collect();
        vec![
            name_cell(&s.server),
            Cell::Count(s.connections),
            Cell::Count(s.response.n),
            time(s.response.p50_ns),
            time(s.response.p99_ns),
            time(s.response.max_ns),
            id_cell(s.worst),
            Cell::Fraction(s.busy),
            Cell::Ns(s.over_ns),
            Cell::Text(Text::from(slow.join(", "))),
            s.slow.first().map_or(Cell::Text(Text::default()), |s| parts(&s.parts)),
        ]
    };
    Table {
        caption: "Servers, as their clients saw them".into(),
        columns: vec![
            Column::text("server"),
            Column::number("connections"),
            Column::number("answers"),
            Column::time("p50"),
            Column::time("p99"),
            Column::time("max"),
            Column::text("the slowest"),
            Column::number("busy"),
            Column::time("over p50"),
            Column::text("slow ones, by where most of their time was"),
            Column::text("its threads then"),
        ],
        rows: of.iter().map(row).collect(),
        note: Some("Request sent to the last byte of the answer readable. Over p50: by how much the answers that took longer than their median did, added up. Busy: share of the time in which at least one request was under way. Slow: three times the p50, and 1 ms over it, or longer; of these in one place the longest that have nine tenths of their time over the p50, and those that took half as long as the shortest of these or longer; where fewer have three quarters of it and the next took a quarter as long at most, these alone; where none is slow, the slowest 1 %. Most time first.".into()),
    }
}

/// Clients whose answers are not among those of the table of servers.
fn apart(of: &[Server]) -> Option<Table> {
    let row = |s: &Server, c: &Apart| {
        vec![
            name_cell(&c.client),
            name_cell(&s.server),
            Cell::Count(c.n),
            Cell::Ns(c.p50_ns),
            Cell::Ns(c.max_ns),
            Cell::known(s.response.p50_ns, Cell::Ns),
            Cell::Fraction(c.server),
            Cell::Fraction(c.there),
            Cell::Fraction(c.back),
            Cell::known(c.rtt_ns, Cell::Ns),
            parts(&c.parts),
        ]
    };
    let rows: Vec<Vec<Cell>> = of.iter().flat_map(|s| s.apart.iter().map(move |c| row(s, c))).collect();
    (!rows.is_empty()).then(|| Table {
        caption: "Clients all of whose answers take long, alike".into(),
        columns: vec![
            Column::text("client"),
            Column::text("server"),
            Column::number("answers"),
            Column::time("p50"),
            Column::time("max"),
            Column::time("p50 of the others"),
            Column::number("in the server"),
            Column::number("on the way there"),
            Column::number("back"),
            Column::time("round trip (TCP)"),
            Column::text("the server's threads then"),
        ],
        rows,
        note: Some("Their answers are not in the table above: they ask for something else, or live far away, and make nobody else slow.".into()),
    })
}

fn services(of: &[Service]) -> Table {
    let time = |ns| Cell::known(ns, Cell::Ns);
    let row = |s: &Service| {
        let slow = s.slow.as_ref();
        vec![
            name_cell(&s.server),
            Cell::Count(s.connections),
            Cell::Count(s.turnaround.n),
            time(s.turnaround.p50_ns),
            time(s.turnaround.p99_ns),
            time(s.turnaround.max_ns),
            id_cell(s.worst),
            Cell::Ns(s.over_ns),
            Cell::Count(slow.map_or(0, |s| s.n)),
            time(slow.map(|s| s.p50_ns)),
            slow.map_or(Cell::Text(Text::default()), |s| parts(&s.parts)),
        ]
    };
    Table {
        caption: "Services of this host, by their own sockets".into(),
        columns: vec![
            Column::text("service"),
            Column::number("connections"),
            Column::number("requests"),
            Column::time("turnaround p50"),
            Column::time("p99"),
            Column::time("max"),
            Column::text("the slowest"),
            Column::time("over p50"),
            Column::number("slow ones"),
            Column::time("their p50"),
            Column::text("its threads then"),
        ],
        rows: of.iter().map(row).collect(),
        note: Some("Request readable to the begin of the send that answers. Over p50: by how much those that took longer than their median did, added up. Slow: three times the p50 and 1 ms more; of these those with most of the time. Most time first.".into()),
    }
}

fn serving(of: &[Serving]) -> Table {
    let mean = |ns: i64, s: &Serving| Cell::Ns(ns / i64::try_from(s.requests).unwrap_or(i64::MAX).max(1));
    let row = |s: &Serving| {
        vec![
            name_cell(&s.task),
            name_cell(&s.server),
            Cell::Count(s.connections),
            Cell::Count(s.of),
            Cell::known(s.listeners, Cell::Count),
            Cell::Count(s.requests),
            mean(s.turnaround_ns, s),
            mean(s.behind_ns, s),
            id_cell(s.worst),
        ]
    };
    Table {
        caption: "Threads that served several connections".into(),
        columns: vec![
            Column::text("thread"),
            Column::text("server"),
            Column::number("its connections"),
            Column::number("the server's"),
            Column::number("listening sockets"),
            Column::number("requests"),
            Column::time("turnaround, mean"),
            Column::time("of it behind others, mean"),
            Column::text("the longest of that"),
        ],
        rows: of.iter().map(row).collect(),
        note: Some("Behind others: unread while the thread was between the read of another connection's request and its answer, and had a CPU. Most time first.".into()),
    }
}

fn askers(of: &[Asker]) -> Table {
    let row = |a: &Asker| {
        vec![
            name_cell(&a.task),
            Cell::Count(a.turns),
            Cell::Ns(a.awaiting_ns),
            Cell::Ns(a.between_ns),
            Cell::Ns(a.held_off_ns),
            parts(&a.parts),
            id_cell(a.worst),
        ]
    };
    Table {
        caption: "Threads that asked".into(),
        columns: vec![
            Column::text("thread"),
            Column::number("answers followed by a request"),
            Column::time("awaiting answers"),
            Column::time("between answer and next request"),
            Column::time("of it held off an idle CPU"),
            Column::text("between, it was"),
            Column::text("the longest between"),
        ],
        rows: of.iter().map(row).collect(),
        note: Some("Held off: runnable, but not run for a millisecond or more although its CPU idled. Most time between answer and next request first.".into()),
    }
}

fn by_itself(of: &ByItself) -> Table {
    let row = |(from, to): &(i64, i64)| vec![Cell::At(*from), Cell::At(*to), Cell::Ns(to.saturating_sub(*from))];
    let rest = match of.all.saturating_sub(of.spells.len() as u64) {
        0 => String::new(),
        more => format!(" {} more are not shown.", counted(more, "spell")),
    };
    Table {
        caption: Text::name(&format!("When {} at {} answered by itself", of.task, of.server)),
        columns: vec![
            Column::in_unit("from", "s"),
            Column::in_unit("to", "s"),
            Column::time("took"),
        ],
        rows: of.spells.iter().map(row).collect(),
        note: Some(Text::from(format!(
            "From the first to the last request read that it answered without having asked another: {} of its {}.{rest} Rows: netmortem show turnarounds INPUT",
            format::count(of.n),
            counted(of.of, "answer"),
        ))),
    }
}

fn half_open(of: &HalfOpen) -> Table {
    Table {
        caption: "Requests on connections whose peer has gone (inferred)".into(),
        columns: vec![
            Column::text("server"),
            Column::number("connections that wait"),
            Column::text("most of them of"),
            Column::number("how many"),
            Column::in_unit("last heard of at", "s"),
            Column::number("connections answered since"),
            Column::in_unit("the first from", "s"),
        ],
        rows: vec![vec![
            name_cell(&of.server),
            Cell::Count(of.connections),
            name_cell(&of.task),
            Cell::Count(of.of_task),
            Cell::At(of.since_ns),
            Cell::Count(of.anew),
            Cell::At(of.anew_ns),
        ]],
        note: Some("Last heard of: on any connection of before. A path that lets only later connections through looks alike. Each request that waits is below.".into()),
    }
}
