//! A made-up map of hops of a large host: two nodes of eight CPUs, long names, ways down, back and across.

use netmortem_reports::chart::{HopEdge, HopMap, HopPlace};

use super::*;

pub fn map() -> Section {
    const ROWS: usize = 24;
    const COLUMNS: usize = 16;
    let name = |row: usize| match row {
        3 => "xmit <script>alert(1)</script>".to_owned(),
        n => format!("{} enp{n}s0f0np0.4094", ["queue", "xmit", "rx"][n % 3]),
    };
    let edge = |from: (usize, usize), to: (usize, usize), count| HopEdge {
        from,
        to,
        count,
        counted: "skbs",
        tone: match (from.1 == to.1, from.1 / 8 == to.1 / 8) {
            (true, _) => Tone::Blue,
            (false, true) => Tone::Orange,
            (false, false) => Tone::Purple,
        },
    };
    let down = (0..ROWS - 1).flat_map(|row| (0..COLUMNS).map(move |c| ((row, c), (row + 1, c), (row * c + 1) as u64)));
    let far = [
        ((20, 0), (2, 0), 40),
        ((2, 15), (20, 15), 90),
        ((4, 3), (9, 12), 30),
        ((9, 7), (8, 6), 12),
        ((6, 5), (6, 5), 3),
        ((6, 5), (6, 9), 8),
    ];
    let plot = HopMap {
        rows: (0..ROWS).map(|row| Text::name(&name(row))).collect(),
        columns: (0..COLUMNS).map(|c| (c as u16 * 7, Some(c as u32 / 8))).collect(),
        places: (0..ROWS * COLUMNS)
            .map(|n| HopPlace {
                at: (n / COLUMNS, n % COLUMNS),
                count: 10_u64.pow((n % 10) as u32),
                counted: "skbs",
            })
            .collect(),
        edges: far
            .into_iter()
            .chain(down)
            .map(|(from, to, n)| edge(from, to, n))
            .collect(),
    };
    Section {
        id: "placement",
        title: "Devices, queues and CPUs".into(),
        lead: "Two nodes.".into(),
        blocks: vec![Block::Figure(Box::new(figure(
            "map",
            "Where packets went",
            Some("12 345 of 23 456 steps"),
            Size::Full,
            Plot::HopMap(plot),
            "",
        )))],
    }
}
