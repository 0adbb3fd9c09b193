//! NUMA nodes: of which each CPU and each device is, and what went from one to another. In: views `snapshots` (cpu_topology, queues, links),
//! `hops`, `rx`. A device without hardware of its own has no node; nor has a name that several network namespaces use, since steps name
//! only the device.

use std::collections::{BTreeMap, BTreeSet};

use super::WAYS;
use crate::facts::Facts;
use crate::reconstruct::receive::tables::RxEnd;
use crate::snapshots::{field, number};

/// What is known of nodes.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Nodes {
    /// By number; empty: the recording does not tell.
    pub nodes: Vec<Node>,
    /// Steps of skbs from one place to the next, both on CPUs whose node is known.
    pub steps: u64,
    /// Those that went to a CPU of another node.
    pub steps_crossed: u64,
    /// Units read, where the CPUs that received and read them, and their nodes, are known.
    pub reads: u64,
    /// Those read on another node.
    pub reads_crossed: u64,
    /// From which CPU to which they were read, most first.
    pub read_ways: Vec<ReadWay>,
}

/// A node.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Node {
    /// Its number.
    pub node: u32,
    /// Its CPUs.
    pub cpus: Vec<u16>,
    /// Devices whose hardware is at it.
    pub devices: Vec<String>,
}

/// Units that one CPU received and a thread on one CPU read.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ReadWay {
    /// CPU that received.
    pub cpu: u16,
    /// Its node.
    pub node: u32,
    /// CPU of the reader.
    pub read_cpu: u16,
    /// Its node.
    pub read_node: u32,
    /// Units.
    pub units: u64,
}

/// Node of each CPU and device.
pub(super) struct Known {
    cpus: BTreeMap<u16, u32>,
    devices: BTreeMap<String, u32>,
}

impl Known {
    pub(super) fn of(facts: &Facts) -> Known {
        let mut known = Known {
            cpus: BTreeMap::new(),
            devices: BTreeMap::new(),
        };
        let mut spaces: BTreeMap<&str, BTreeSet<Option<u64>>> = BTreeMap::new();
        for row in &facts.snapshots {
            let line = row.line.as_str();
            // A device at no node says -1.
            let node = || u32::try_from(number(line, "numa_node")?).ok();
            match row.what.as_str() {
                "cpu_topology" => {
                    let cpu = number(line, "cpu").and_then(|n| u16::try_from(n).ok());
                    if let Some((cpu, node)) = cpu.zip(node()) {
                        known.cpus.entry(cpu).or_insert(node);
                    }
                }
                "queues" if field(line, "queue") == Some("-") => {
                    if let Some((dev, node)) = field(line, "dev").zip(node()) {
                        known.devices.entry(dev.to_owned()).or_insert(node);
                    }
                }
                "links" => {
                    if let Some(dev) = field(line, "name") {
                        spaces.entry(dev).or_default().insert(row.netns);
                    }
                }
                _ => {}
            }
        }
        known
            .devices
            .retain(|dev, _| spaces.get(dev.as_str()).is_none_or(|of| of.len() < 2));
        known
    }

    pub(super) fn cpu(&self, cpu: u16) -> Option<u32> {
        self.cpus.get(&cpu).copied()
    }

    pub(super) fn device(&self, dev: &str) -> Option<u32> {
        self.devices.get(dev).copied()
    }

    fn nodes(&self) -> Vec<Node> {
        let numbers: BTreeSet<u32> = self.cpus.values().chain(self.devices.values()).copied().collect();
        let of = |node: u32| Node {
            node,
            cpus: self
                .cpus
                .iter()
                .filter(|(_, n)| **n == node)
                .map(|(cpu, _)| *cpu)
                .collect(),
            devices: self
                .devices
                .iter()
                .filter(|(_, n)| **n == node)
                .map(|(dev, _)| dev.clone())
                .collect(),
        };
        match self.cpus.is_empty() {
            true => vec![],
            false => numbers.into_iter().map(of).collect(),
        }
    }
}

/// Asks. `steps` are the CPUs of each two steps, and how often.
pub(super) fn nodes(facts: &Facts, known: &Known, steps: &[(u16, u16, u64)]) -> Nodes {
    let mut out = Nodes {
        nodes: known.nodes(),
        ..Nodes::default()
    };
    if out.nodes.is_empty() {
        return out;
    }
    for (from, to, n) in steps {
        if let Some((from, to)) = known.cpu(*from).zip(known.cpu(*to)) {
            out.steps += n;
            out.steps_crossed += if from == to { 0 } else { *n };
        }
    }
    let mut reads: BTreeMap<(u16, u16), u64> = BTreeMap::new();
    for row in facts.rx.iter().filter(|r| r.end == RxEnd::Read) {
        if let Some(reader) = row.read_cpu {
            *reads.entry((row.cpu, reader)).or_default() += 1;
        }
    }
    let way = |((cpu, read_cpu), units): ((u16, u16), u64)| {
        Some(ReadWay {
            cpu,
            node: known.cpu(cpu)?,
            read_cpu,
            read_node: known.cpu(read_cpu)?,
            units,
        })
    };
    out.read_ways = reads.into_iter().filter_map(way).collect();
    out.reads = out.read_ways.iter().map(|w| w.units).sum();
    let crossed = out.read_ways.iter().filter(|w| w.node != w.read_node);
    out.reads_crossed = crossed.map(|w| w.units).sum();
    out.read_ways
        .sort_by_key(|w| (std::cmp::Reverse(w.units), w.cpu, w.read_cpu));
    out.read_ways.truncate(WAYS);
    out
}
