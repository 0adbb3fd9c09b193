use netmortem_analyzer::analyses::breakdown::{MapCpu, Place};

use super::*;

/// rx on CPU 0 of node 0, read there, on CPU 1 of the same node and on CPU 8 of another.
fn three() -> Map {
    let (rx, read) = (|cpu| At { step: 0, cpu }, |cpu| At { step: 1, cpu });
    let edge = |cpu, packets| Edge {
        from: rx(0),
        to: read(cpu),
        packets,
    };
    Map {
        steps: vec!["rx <b>eth0".into(), "read".into()],
        cpus: [(0, 0), (1, 0), (8, 1)]
            .map(|(cpu, n)| MapCpu { cpu, node: Some(n) })
            .to_vec(),
        places: vec![Place { at: rx(0), packets: 60 }],
        edges: vec![edge(0, 30), edge(8, 20), edge(1, 10)],
        all: 70,
        shown: 60,
        reads: 65,
        reads_crossed: 30,
        reads_weak: 2,
    }
}

fn plot(map: &Map) -> (HopMap, Figure) {
    let figure = figure(map).unwrap();
    match &figure.chart.plot {
        Plot::HopMap(plot) => (plot.clone(), figure),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_step_to_another_cpu_and_one_to_another_node_have_their_colours() {
    let (plot, figure) = plot(&three());
    let tones: Vec<_> = plot.edges.iter().map(|e| (e.from, e.to, e.count, e.tone)).collect();
    assert_eq!(
        tones,
        [
            ((0, 0), (1, 0), 30, Tone::Blue),
            ((0, 0), (1, 2), 20, Tone::Purple),
            ((0, 0), (1, 1), 10, Tone::Orange)
        ]
    );
    assert_eq!(plot.columns, [(0, Some(0)), (1, Some(0)), (8, Some(1))]);
    assert_eq!(
        figure.chart.note.unwrap().as_str(),
        "5 steps from one place to the next and 65 reads by programs (2 of the reads less certain), 60 of them drawn; boxes: how often skbs were there"
    );
    assert_eq!((plot.places[0].counted, plot.edges[0].counted), ("skbs", "units"));
    assert_eq!(
        figure.alt.as_str(),
        "Steps of skbs by CPU. Most: rx <b>eth0 on CPU 0 to read on CPU 0, 30. Most to another CPU: rx <b>eth0 on CPU 0 to read on CPU 8, 20."
    );
}

#[test]
fn one_node_is_not_named_and_nothing_is_no_figure() {
    let mut map = three();
    map.cpus.iter_mut().for_each(|c| c.node = Some(0));
    let (plot, _) = plot(&map);
    assert_eq!(plot.columns[2], (8, None));
    assert_eq!(plot.edges[1].tone, Tone::Orange);
    assert!(figure(&Map::default()).is_none());
}
