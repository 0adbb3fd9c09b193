//! Where packets went: which queue of which device each CPU used, from which step on which CPU an skb came to its next, and what went to
//! another NUMA node. In: `Answers::breakdown`.

use netmortem_analyzer::analyses::breakdown::{Breakdown, Map, Queue, WAYS, Way};

use super::shared::{counted, id_cell, name_cell, words};
use crate::clean::Text;
use crate::document::{Block, Cell, Column, Section, Table};
use crate::format;
use crate::sections::Input;

mod map;
mod nodes;

/// Builds the section.
#[must_use]
pub fn section(input: &Input<'_>) -> Section {
    let breakdown = &input.answers.breakdown;
    let (queues, ways, numa) = (&breakdown.queues, &breakdown.ways, &breakdown.numa);
    // A column of nodes tells something where there are two.
    let several = numa.nodes.len() > 1;
    // Not the sum of the table, which has those with most alone.
    let (all, crossed) = (breakdown.steps, breakdown.steps_crossed);
    let lead = match all {
        0 => "No skb was seen at two places.".to_owned(),
        _ => {
            format!(
                "Of {} steps from one place to the next, {} ({}) went to another CPU.",
                format::count(all),
                format::count(crossed),
                format::share(crossed, all)
            ) + &read_elsewhere(&breakdown.map)
                + &nodes::lead(numa, all)
        }
    };
    let mut blocks: Vec<Block> = map::figure(&breakdown.map)
        .map(|f| Block::Figure(Box::new(f)))
        .into_iter()
        .collect();
    blocks.extend(nodes::blocks(numa));
    if !queues.is_empty() {
        blocks.push(Block::Table(queue_table(breakdown, several)));
    }
    if !ways.is_empty() {
        blocks.push(Block::Table(way_table(ways, several)));
    }
    if several && !numa.read_ways.is_empty() {
        blocks.push(Block::Table(nodes::read_table(&numa.read_ways)));
    }
    blocks.push(Block::Code(vec![
        "netmortem show xmits INPUT --format csv".into(),
        "netmortem show hops INPUT --format csv".into(),
    ]));
    Section {
        id: "placement",
        title: "Devices, queues and CPUs".into(),
        lead: lead.into(),
        blocks,
    }
}

/// ` Of 4490 reads by programs 2337 (52 %) were on another CPU than the packet was received on.`
fn read_elsewhere(map: &Map) -> String {
    if map.reads == 0 {
        return String::new();
    }
    format!(
        " Of {} by programs, {} ({}) were on another CPU than the packet was received on.",
        counted(map.reads, "read"),
        format::count(map.reads_crossed),
        format::share(map.reads_crossed, map.reads)
    )
}

fn note(shown: usize, how: &str) -> Option<Text> {
    Some(Text::from(match shown < WAYS {
        true => how.to_owned(),
        false => format!("{how} The {WAYS} with most packets."),
    }))
}

fn queue_table(breakdown: &Breakdown, nodes: bool) -> Table {
    let queues = &breakdown.queues;
    // Not the sum of the table, which has those with most alone.
    let all = |direction: &str| match direction {
        "transmit" => breakdown.handed_over,
        _ => breakdown.polled,
    };
    let row = |queue: &Queue| {
        let mut cells = vec![
            Cell::Text(words(queue.direction).into()),
            match queue.dev.is_empty() {
                true => Cell::Text("no device of its own (backlog)".into()),
                false => name_cell(&queue.dev),
            },
            Cell::known(queue.queue, |n| Cell::Count(u64::from(n))),
            Cell::Count(u64::from(queue.cpu)),
            Cell::Count(queue.packets),
            Cell::Fraction(queue.packets as f64 / all(queue.direction).max(1) as f64),
            id_cell(queue.worst),
        ];
        if nodes {
            cells.push(nodes::cell(queue.dev_node, queue.cpu_node));
        }
        cells
    };
    let mut columns = vec![
        Column::text("direction"),
        Column::text("device"),
        Column::number("queue"),
        Column::number("CPU"),
        Column::number("packets"),
        Column::number("of the direction"),
        Column::text("the most of it"),
    ];
    if nodes {
        columns.push(Column::text("node of device, of CPU"));
    }
    Table {
        caption: "Which queue each CPU used".into(),
        columns,
        rows: queues.iter().map(row).collect(),
        note: note(
            queues.len(),
            "Transmit: hand-overs to the driver. Receive: work of the polls of a NAPI instance; instances are numbered by address. The most of it: the hand-over that took longest, the poll with most work.",
        ),
    }
}

fn way_table(ways: &[Way], nodes: bool) -> Table {
    let time = |ns| Cell::known(ns, Cell::Ns);
    let row = |way: &Way| {
        let mut cells = vec![
            Cell::Code((&way.from).into()),
            Cell::Count(u64::from(way.from_cpu)),
            Cell::Code((&way.to).into()),
            Cell::Count(u64::from(way.to_cpu)),
            Cell::Count(way.packets),
            time(way.p50_ns),
            time(way.p99_ns),
            id_cell(way.worst),
        ];
        if nodes {
            cells.push(nodes::cell(way.from_node, way.to_node));
        }
        cells
    };
    let mut columns = vec![
        Column::text("from"),
        Column::number("CPU"),
        Column::text("to"),
        Column::number("CPU"),
        Column::number("skbs"),
        Column::time("between p50"),
        Column::time("p99"),
        Column::text("the longest"),
    ];
    if nodes {
        columns.push(Column::text("nodes"));
    }
    Table {
        caption: "From one step of an skb to its next".into(),
        columns,
        rows: ways.iter().map(row).collect(),
        note: note(
            ways.len(),
            "queue: given to the device's queueing discipline; xmit: handed to the driver; rx: received.",
        ),
    }
}

#[cfg(test)]
mod tests;
