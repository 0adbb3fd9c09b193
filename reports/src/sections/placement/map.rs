//! The map: which steps skbs took, and on which CPU each was. In: `Breakdown::map`.

use netmortem_analyzer::analyses::breakdown::{At, Edge, Map, Place};

use crate::chart::{ChartSpec, HopEdge, HopMap, HopPlace, Plot, Size, Tone};
use crate::clean::Text;
use crate::document::Figure;
use crate::format;
use crate::sections::shared::counted;

/// The figure; nothing where no skb was at two places.
pub fn figure(map: &Map) -> Option<Figure> {
    map.edges.first()?;
    let several = map.cpus.iter().any(|c| c.node != map.cpus.first().and_then(|c| c.node));
    let columns = map.cpus.iter().map(|c| (c.cpu, c.node.filter(|_| several)));
    let plot = HopMap {
        rows: map.steps.iter().map(|s| Text::name(s)).collect(),
        columns: columns.collect(),
        places: map.places.iter().filter_map(|p| place(map, p)).collect(),
        edges: map.edges.iter().filter_map(|e| edge(map, e)).collect(),
    };
    let most = map.edges.first().map(|e| told(map, e)).unwrap_or_default();
    let other = map.edges.iter().find(|e| e.from.cpu != e.to.cpu);
    let other = other.map_or(String::new(), |e| format!(" Most to another CPU: {}.", told(map, e)));
    Some(Figure {
        id: "map".into(),
        chart: ChartSpec {
            title: "Where packets went".into(),
            note: Some(note(map)),
            size: Size::Full,
            plot: Plot::HopMap(plot),
        },
        caption: "From top to bottom in the order of the way: queue, given to a device's queueing discipline; xmit, handed to the driver; rx, received; \
                  read, taken by a program on its CPU (units). The thicker a line, the more went there. Devices of one name in several namespaces are one step."
            .into(),
        alt: Text::from(format!("Steps of skbs by CPU. Most: {most}.{other}")),
    })
}

/// What is counted.
fn note(map: &Map) -> Text {
    let steps = map.all.saturating_sub(map.reads);
    let all = format!(
        "{} from one place to the next and {} by programs",
        counted(steps, "step"),
        counted(map.reads, "read")
    );
    let weak = match map.reads_weak {
        0 => String::new(),
        n => format!(" ({} of the reads less certain)", format::count(n)),
    };
    let shown = match map.shown < map.all {
        true => format!(", {} of them drawn", format::count(map.shown)),
        false => String::new(),
    };
    Text::from(format!("{all}{weak}{shown}; boxes: how often skbs were there"))
}

/// What is counted at a step.
fn unit(map: &Map, step: usize) -> &'static str {
    match map.steps.get(step).map(String::as_str) {
        Some("read") => "units",
        _ => "skbs",
    }
}

fn place(map: &Map, p: &Place) -> Option<HopPlace> {
    Some(HopPlace {
        at: at(map, p.at)?,
        count: p.packets,
        counted: unit(map, p.at.step),
    })
}

/// Row and column of a place.
fn at(map: &Map, at: At) -> Option<(usize, usize)> {
    Some((at.step, map.cpus.iter().position(|c| c.cpu == at.cpu)?))
}

fn edge(map: &Map, e: &Edge) -> Option<HopEdge> {
    let node = |cpu: u16| map.cpus.iter().find(|c| c.cpu == cpu).and_then(|c| c.node);
    let tone = match (e.from.cpu == e.to.cpu, node(e.from.cpu), node(e.to.cpu)) {
        (true, ..) => Tone::Blue,
        (false, Some(a), Some(b)) if a != b => Tone::Purple,
        _ => Tone::Orange,
    };
    let (from, to) = at(map, e.from).zip(at(map, e.to))?;
    Some(HopEdge {
        from,
        to,
        count: e.packets,
        counted: unit(map, e.to.step),
        tone,
    })
}

fn told(map: &Map, edge: &Edge) -> String {
    let place = |at: At| {
        let step = map.steps.get(at.step);
        step.map_or(String::new(), |step| format!("{} on CPU {}", Text::name(step), at.cpu))
    };
    format!(
        "{} to {}, {}",
        place(edge.from),
        place(edge.to),
        format::count(edge.packets)
    )
}

#[cfg(test)]
#[path = "map_tests.rs"]
mod tests;
