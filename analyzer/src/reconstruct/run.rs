//! In which order the trackers run, and on which threads.

use netmortem_formats::Capture;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::comms::Comms;
use super::dispatch::{Lost, Walk, on_cpu, together};
use super::{
    application, balances, datagrams, drops, herds, limiters, lineage, listeners, napi, negotiated, neighbours,
    observer, opens, peers, probes, receive, skb, skew, softirq, tcp, transmit, xmits,
};
use super::{noticed::Noticed, thread::Threads, timers::Timers};
use crate::facts::{Facts, Names, Reason};
use crate::ingest::{CaptureInfo, Trace};
use crate::nearby::Nearby;
use crate::snapshots::{spaces::Spaces, tasks};

/// What needs no skb's identity.
struct Before {
    comms: Comms,
    tcp: tcp::Tcp,
    threads: Threads,
    /// Rows, and what the capture lacks for them.
    softirqs: (Vec<softirq::tables::SoftirqRow>, softirq::Aways, Vec<String>),
    polls: (Vec<napi::tables::PollRow>, Vec<String>),
    neighbours: Vec<neighbours::tables::NeighbourRow>,
    herds: Vec<herds::HerdRow>,
    timers: Timers,
    opens: opens::Opens,
    probes: probes::Probes,
}

fn before(trace: &Trace<'_>, capture: &Capture) -> Before {
    let comms = Comms::read(trace, capture);
    let (tcp, threads) = rayon::join(|| tcp::run(trace, &comms), || Threads::read(trace));
    let (runs, polls) = (softirq::Softirqs::new(trace, capture), napi::Polls::new(trace));
    let of_cpu = trace.recs.cpus().into_par_iter().map(|cpu| {
        let (mut of_runs, mut of_polls) = (runs.on(cpu), polls.on(cpu));
        on_cpu(trace, cpu, &mut [&mut of_runs, &mut of_polls]);
        (of_runs.finish(), of_polls.machine.finish())
    });
    let (of_runs, of_polls): (Vec<_>, Vec<_>) = of_cpu.unzip();
    let softirqs = runs.rows(of_runs, &comms);
    let ((polls, neighbours, herds), (timers, opens)) = rayon::join(
        || {
            (
                polls.rows(of_polls, &softirqs.0, (&comms, &threads)),
                neighbours::walk(trace, &comms),
                herds::walk(trace, &comms),
            )
        },
        || {
            let timers = Timers::read(trace, &capture.kallsyms, &tcp.sockets.addresses());
            let mut opens = opens::walk(trace, &tcp.sockets, &comms);
            opens::at_ports(&mut opens.not_accepted, capture);
            (timers, opens)
        },
    );
    let probes = probes::walk(trace, &tcp.sockets, &comms);
    Before {
        probes,
        comms,
        tcp,
        threads,
        softirqs,
        polls,
        neighbours,
        herds,
        timers,
        opens,
    }
}

/// Runs every tracker over the trace.
pub fn reconstruct(mut trace: Trace<'_>, capture: &Capture) -> Facts {
    let (mut identity, before) = rayon::join(|| skb::identify(&trace, capture), || before(&trace, capture));
    let Before {
        comms,
        mut tcp,
        threads,
        softirqs: (softirqs, aways, no_softirq),
        polls: (polls, no_polls),
        neighbours,
        herds,
        timers,
        mut opens,
        probes,
    } = before;
    identity.name_originals(&mut tcp.retransmits);
    let settings = crate::settings::Settings::of(capture);
    let listening = listeners::ports(capture);
    let asked_by_many = listeners::asked_by_many(tcp.sockets.all.iter().map(|s| &s.row));
    let ends = tcp::role::Ends {
        listening: &listening,
        given: settings.client_ports(),
        asked_by_many: &asked_by_many,
    };
    for s in &mut tcp.sockets.all {
        s.row.listens = ends.by_listening(&s.row);
    }
    let (reasons, by_place) = drops::places::reasons(&trace.schema);
    let (for_rx, for_tx) = (trace.payloads(), trace.payloads());
    trace.forget_payloads();
    // Two walks of about the same length; what each finds is made into rows while the other still walks.
    let ((mut rx, (drops, sent), mut lineage, cost, mut observer), (clock_skew, passes, mut tx)) = rayon::join(
        || {
            let asks = receive::Asks {
                threads: &threads,
                comms: &comms,
                sockets: &tcp.sockets,
                softirqs: Nearby::of(&softirqs),
                aways: &aways,
                polls: Nearby::of(&polls),
            };
            let mut rx = receive::walk(&trace, capture, &identity, &tcp, asks);
            let mut drops = drops::walk(&trace, capture, (&identity, &tcp), (reasons.as_ref(), by_place));
            let mut lineage = lineage::walk(&trace, capture, &identity, &tcp);
            let mut sent = datagrams::walk(&trace, capture, &identity, (&threads, &comms));
            together(&trace, for_rx, &mut [&mut rx, &mut drops, &mut lineage, &mut sent]);
            let (mut rx, drops, lineage) = (rx.finish(), (drops.finish(), sent.finish()), lineage.finish());
            receive::closed(&mut rx.rows, &tcp.states);
            let cost = observer::Observer::new(&trace);
            let of_rx = observer::receive(&cost, &mut rx.rows);
            (rx, drops, lineage, cost, of_rx)
        },
        || {
            let mut passes = xmits::walk(&trace, capture, &identity);
            let mut sent = transmit::walk(&trace, &identity, &tcp, &timers, (&comms, &capture.kallsyms));
            let mut skew = skew::walk(&trace);
            together(&trace, for_tx, &mut [&mut passes, &mut sent, &mut skew]);
            let (passes, skew) = (passes.finish(), skew.finish());
            let inputs = transmit::Inputs {
                identity: &identity,
                tcp: &tcp,
                timers: &timers,
                threads: &threads,
                comms: &comms,
                passes: &passes,
                end_ns: trace.info.end_ns.unwrap_or(i64::MIN),
                acks_recorded: trace.info.recorded("tcp:tcp_probe"),
                rounds_told: trace.info.recorded("tcp:tcp_sendmsg_locked"),
            };
            let tx = sent.finish().rows(&inputs);
            (skew, passes, tx)
        },
    );
    let sacks = transmit::Sacks::of(&identity, &tcp);
    identity.forget_events();
    let left = drops.left_in_sockets().collect();
    let datagrams = datagrams::rows(
        sent,
        datagrams::Inputs {
            left: &left,
            queued: &rx.queued,
            rx: &rx.rows,
            tx: &tx.rows,
            hops: &identity.hops,
        },
    );
    receive::elsewhere(&mut rx.rows, &tx.sends, &threads);
    observer.extend(observer::transmit(&cost, &mut tx.rows));
    let event_cost_ns = cost.per_event_ns();
    drop(cost);
    // Giving the memory of millions of records back takes a while.
    let recs = std::mem::take(&mut trace.recs);
    rayon::spawn(move || drop(recs));
    transmit::acknowledged(&mut identity, &sacks, &tx.rows);
    let mut unknown = vec![];
    for (subject, missing) in [
        ("skbs", &identity.missing),
        ("tcp", &tcp.missing),
        ("softirqs", &no_softirq),
        ("polls", &no_polls),
        ("rx", &rx.missing),
        ("xmits", &passes.missing),
        ("tx", &tx.missing),
        ("timers", &timers.missing),
        ("opens", &opens.missing),
        ("datagrams", &datagrams.missing),
        ("run_queue", &threads.missing),
        ("drops", &drops.missing),
        ("lineage", &lineage.missing),
    ] {
        unknown.extend(missing.iter().map(|because| Reason {
            subject,
            because: because.clone(),
        }));
    }
    let mut missing_events: Vec<String> = unknown.iter().map(|r| r.because.clone()).collect();
    missing_events.sort();
    missing_events.dedup();
    // Of joined bundles the snapshots are the first one's only: what the kernel counted in another time says nothing of these events.
    let counted = trace.info.joined.is_empty();
    let ((counters, too_many), mut counters_over_time) = match counted {
        true => (crate::counters::of(capture), crate::counters::over_time::of(capture)),
        false => Default::default(),
    };
    unknown.append(&mut counters_over_time.unknown);
    let (snapshots, lines_left_out, routes, memory, refusing) = match counted {
        true => {
            let (rows, left_out) = crate::snapshots::tables::rows(capture);
            let (memory, refusing) = crate::snapshots::of_sockets(capture);
            (rows, left_out, crate::routes::Routes::of(capture), memory, refusing)
        }
        false => Default::default(),
    };
    skb::name_verdicts(&mut identity.reinjected, &threads, &comms);
    let stats = Noticed {
        of_skbs: std::mem::take(&mut identity.stats),
        unclaimed: rx.unclaimed,
        counters_left_out: too_many,
        counter_readings_joined: counters_over_time.joined,
        snapshot_lines_left_out: lines_left_out as u64,
        unseen_switches: threads.unseen,
    };
    let stats = stats.rows(&trace);
    let rows: Vec<_> = tcp.sockets.all.iter().map(|s| &s.row).collect();
    let peers = peers::peers(&rows, &tx.rows, &rx.rows);
    for (socket, peer) in tcp.sockets.all.iter_mut().zip(peers) {
        socket.row.peer = peer;
    }
    let (processes, listeners_of) = (tasks::processes(capture), tasks::listening(capture));
    let asked = application::Inputs {
        reads: &rx.reads,
        sends: &tx.sends,
        sockets: &tcp.sockets,
        threads: &threads,
        comms: &comms,
        processes: &processes,
        listening: &listeners_of,
        lost: &Lost::of(&trace.gaps),
    };
    let freed = || identity.lives.iter().map(|l| l.death_location).chain(drops.locations());
    let (locations, turns) = rayon::join(|| Names::locations(capture, freed()), || application::compute(&asked));
    // None counted is 0 only where one would have been seen.
    let retransmits_recorded = trace.info.recorded("tcp:tcp_retransmit_skb");
    tcp.count_segments(&tx.again, retransmits_recorded);
    tcp.timers_by_counters(&counters, || Spaces::of(capture));
    let reads = tcp.sockets.reads();
    let connections = tcp.sockets.all.into_iter().map(|s| {
        let mut row = s.row;
        let of = |bytes: &FxHashMap<_, u64>| bytes.get(&row.connection).copied().unwrap_or(0);
        let (unshown, dropped) = (of(&rx.unshown_bytes), of(&rx.dropped_bytes));
        row.bytes_in = (row.bytes_in + unshown).saturating_sub(dropped);
        row.retransmits = row.retransmits.or(retransmits_recorded.then_some(0));
        row
    });
    let connections: Vec<_> = connections.collect();
    let (lost, probe) = (!trace.gaps.is_empty(), trace.schema.format("tcp", "tcp_probe"));
    let named = identity.fclone_distance.is_some() && probe.is_some_and(|f| f.field("skaddr").is_some());
    let (balances, limiters) = rayon::join(
        || {
            let balances = balances::compute(&balances::Inputs {
                units: &lineage.units,
                connections: &connections,
                streams: &rx.streams,
                samples: &tcp.samples,
                tx: &tx.rows,
                lost,
                named,
                frames: trace.info.recorded_all("net:net_dev_queue"),
            });
            let sockets = rx.rows.iter().filter_map(|r| Some((r.skb_id, r.connection?)));
            let sockets: FxHashMap<_, _> = sockets.collect();
            let of_tcp = lineage::Sent::of(&tx.rows, (&tcp.samples, &tcp.states, &tcp.retransmits));
            lineage.finish(&rx.coalesced, (&identity, &Lost::of(&trace.gaps), of_tcp), |head| {
                balances::unexplained(&balances, *sockets.get(&head)?)
            });
            balances
        },
        || match counted {
            true => limiters::compute(&limiters::Inputs {
                capture,
                connections: &connections,
                states: &tcp.states,
                tx: &tx.rows,
                once: &tx.once,
                lost,
            }),
            false => vec![],
        },
    );
    let negotiated = match counted {
        true => negotiated::negotiated(capture, &connections, &counters_over_time.sockets),
        false => FxHashMap::default(),
    };
    let multicast = match counted {
        true => crate::snapshots::groups::Multicast::of(capture),
        false => Default::default(),
    };
    let passing = drops.passing();
    let drops = drops.rows(&drops::Hindsight {
        counters: &counters,
        devices: &multicast.devices,
        resets: &opens.resets,
        identity: &identity,
        lineage: &lineage.rows,
        tx: &tx.rows,
        connections: &connections,
        retransmits: &tcp.retransmits,
        states: &tcp.states,
        comms: &comms,
        sendings: trace.info.recorded("net:net_dev_queue"),
        lost,
    });
    let ends = connections.iter().map(crate::names::Ends::of).collect();
    let reset_reasons_inferred = opens::reset_reasons::by_reads(&trace, &mut opens.resets, (&rx.rows, &connections));
    Facts {
        gaps: trace.gaps,
        stats,
        skbs: identity.lives,
        hops: identity.hops,
        lineage: lineage.rows,
        rx: rx.rows,
        xmits: passes.rows,
        txq_stops: passes.stops,
        tx: tx.rows,
        softirqs,
        polls,
        softnet: match (counted, softirq::Counted::of(capture)) {
            (true, counted) => counted,
            (false, limits) => limits.uncounted(),
        },
        clock_skew,
        observer,
        event_cost_ns,
        balances,
        limiters,
        spent: tx.once.iter().map(|(c, once)| (*c, once.spent)).collect(),
        full_segments: tx.once.iter().filter_map(|(c, once)| Some((*c, once.full?))).collect(),
        behind: tx.behind,
        halts: tx.halts,
        last_sends: tx.last_sends,
        refused_sends: tx.refused,
        left_full: tx.left_full,
        by_program: identity.programs,
        reinjected: identity.reinjected,
        forwarded: identity.forwarded,
        verdict_pauses: identity.pauses,
        ended: threads.ended,
        processes: if counted { processes } else { FxHashMap::default() },
        listened_by: if counted { listeners_of } else { FxHashMap::default() },
        negotiated,
        quiet: negotiated::quiet(capture, &connections, trace.info.start_ns.filter(|_| counted)),
        listeners: listeners::listeners(capture),
        listening,
        asked_by_many,
        reads,
        snapshots,
        routes,
        memory,
        refusing,
        neighbours,
        opens: opens.opens,
        resets: opens.resets,
        reset_when_closed: opens.reset_when_closed,
        not_accepted: opens.not_accepted,
        local_connects: opens.local_connects,
        listens: opens.listens,
        spaces: Spaces::of(capture),
        cpu_limits: crate::snapshots::cgroups::CpuLimits::of_one(capture, counted),
        multicast,
        herds,
        timed_out: opens.timed_out,
        poll_timers: timers.polls(),
        udp_turns: datagrams.turns,
        udp_sockets: datagrams.sockets,
        udp_copies: datagrams.copies,
        turnarounds: turns.turnarounds,
        responses: turns.responses,
        connections,
        tcp_samples: tcp.samples,
        tcp_states: tcp.states,
        retransmits: tcp.retransmits,
        drops,
        passing,
        unknown,
        counters,
        counters_over_time,
        probes,
        announced: crate::announced::of_one(capture, counted, &comms),
        classes: crate::classes::where_counted(capture, counted),
        settings,
        changed: crate::settings::changed::changed(capture),
        forwards: crate::settings::changed::forwards(capture),
        names: Names {
            locations,
            drop_reasons: reasons,
            reasons_by_place: by_place,
            reset_reasons_inferred,
            udp_by_calls: datagrams.by_calls,
            ends,
        },
        capture: CaptureInfo {
            missing_events,
            ..trace.info
        },
    }
}
