//! NUMA nodes: which CPUs and devices are of which, and what crossed from one to another.

use netmortem_analyzer::analyses::breakdown::{Node, Nodes, ReadWay};

use super::note;
use crate::clean::Text;
use crate::document::{Block, Cell, Column, Severity, Table};
use crate::format;
use crate::sections::shared::counted;

/// ` 12 (3 %) went to another NUMA node, ...`, of these steps; nothing where there is one node.
pub fn lead(numa: &Nodes, all: u64) -> String {
    if numa.nodes.len() < 2 {
        return String::new();
    }
    let steps = match numa.steps {
        0 => "Of which NUMA node their CPUs are is not known.".to_owned(),
        known => format!(
            "{}{} ({}) went to another NUMA node.",
            match known < all {
                true => format!("Of {} on CPUs whose node is known, ", format::count(known)),
                false => String::new(),
            },
            format::count(numa.steps_crossed),
            format::share(numa.steps_crossed, numa.steps)
        ),
    };
    let reads = match numa.reads {
        0 => String::new(),
        _ => format!(
            " Of {} read, {} ({}) were read on another node than they were received on.",
            counted(numa.reads, "unit"),
            format::count(numa.reads_crossed),
            format::share(numa.reads_crossed, numa.reads)
        ),
    };
    format!(" {steps}{reads}")
}

/// Which CPUs and devices are of which node.
pub fn blocks(numa: &Nodes) -> Vec<Block> {
    match numa.nodes.as_slice() {
        [] => vec![Block::Paragraph(
            "The recording does not say of which NUMA node a CPU or a device is.".into(),
        )],
        [one] => vec![Block::Paragraph(Text::from(format!(
            "One NUMA node ({}) has {}: nothing here crosses nodes.",
            one.node,
            match one.cpus.len() {
                1 => "the only CPU".to_owned(),
                n => format!("all {n} CPUs"),
            }
        )))],
        several => vec![Block::Table(table(several))],
    }
}

fn table(nodes: &[Node]) -> Table {
    let row = |node: &Node| {
        let devices = node.devices.iter().map(|dev| Text::name(dev).as_str().to_owned());
        vec![
            Cell::Count(u64::from(node.node)),
            Cell::Text(Text::from(ranges(&node.cpus))),
            Cell::Text(Text::from(devices.collect::<Vec<_>>().join(", "))),
        ]
    };
    Table {
        caption: "NUMA nodes".into(),
        columns: vec![Column::number("node"), Column::text("CPUs"), Column::text("devices")],
        rows: nodes.iter().map(row).collect(),
        note: Some(
            "Devices without hardware of their own (lo, veth, bridges) have no node; of a name that several network namespaces use it is not known."
                .into(),
        ),
    }
}

/// `0-3, 8`, as the kernel writes lists of CPUs.
fn ranges(cpus: &[u16]) -> String {
    let mut runs: Vec<(u16, u16)> = Vec::new();
    for cpu in cpus {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*cpu) => *last = *cpu,
            _ => runs.push((*cpu, *cpu)),
        }
    }
    let run = |(from, to): &(u16, u16)| match from == to {
        true => from.to_string(),
        false => format!("{from}-{to}"),
    };
    runs.iter().map(run).collect::<Vec<_>>().join(", ")
}

/// `0`, or `0 → 1` where they differ; unknown when one is not known.
pub fn cell(from: Option<u32>, to: Option<u32>) -> Cell {
    match from.zip(to) {
        None => Cell::Unknown,
        Some((from, to)) if from == to => Cell::Text(Text::from(from.to_string())),
        Some((from, to)) => Cell::Badge(Severity::Notice, Text::from(format!("{from} → {to}"))),
    }
}

/// From which CPU to which received units were read.
pub fn read_table(ways: &[ReadWay]) -> Table {
    let row = |way: &ReadWay| {
        vec![
            Cell::Count(u64::from(way.cpu)),
            Cell::Count(u64::from(way.read_cpu)),
            Cell::Count(way.units),
            cell(Some(way.node), Some(way.read_node)),
        ]
    };
    Table {
        caption: "From the CPU that received to the CPU that read".into(),
        columns: vec![
            Column::number("received on CPU"),
            Column::number("read on CPU"),
            Column::number("units"),
            Column::text("nodes"),
        ],
        rows: ways.iter().map(row).collect(),
        note: note(
            ways.len(),
            "Units of rx that were read; the reader's CPU is known where softirqs were recorded.",
        ),
    }
}
