//! Pods on a VXLAN overlay: a packet is one skb from the pod that sent it, through two bridges, two tunnels and a router, to the pod
//! that reads it; against tc's and the kernel's counters and the client's stamps (sample-data/overlay).

use netmortem_analyzer::Facts;
use netmortem_analyzer::reconstruct::lineage::tables::LineageKind;
use netmortem_analyzer::reconstruct::whose::Carries;
use netmortem_analyzer::reconstruct::xmits::PassEnd;
use netmortem_tests::{csv, facts, nstat, sample};

const SAMPLE: &str = "overlay/overlay.nmb";
/// The bulk sender of b, and the server of small answers.
const BULK: u16 = 7302;
const SMALL: u16 = 7301;

fn beside(name: &str) -> String {
    std::fs::read_to_string(sample(SAMPLE).with_file_name(name)).unwrap()
}

fn tc(name: &str) -> u64 {
    let of: serde_json::Value = serde_json::from_str(&beside("tc.json")).unwrap();
    of[name].as_u64().unwrap()
}

/// The way of a packet from b to a: devices in order, each once where it stands several times in a row.
fn way(f: &Facts, skb: netmortem_analyzer::SkbId) -> Vec<String> {
    let hops = f.hops.iter().filter(|h| h.skb_id == skb);
    let mut way: Vec<String> = hops.map(|h| h.dev.text().into_owned()).collect();
    way.dedup();
    way
}

/// What the router's queue dropped were encapsulated frames: each belongs to the socket in the pod that sent it.
#[test]
fn drops_on_the_way_of_a_tunnel_have_their_owner() {
    let f = facts(SAMPLE).unwrap();
    let names = f.names.drop_reasons.as_ref().unwrap();
    let of_queue = f
        .drops
        .iter()
        .filter(|d| d.reason.and_then(|r| names.name(r.into())).as_deref() == Some("QDISC_DROP"));
    let of_queue: Vec<_> = of_queue.collect();
    assert_eq!(of_queue.len() as u64, tc("drops"));
    assert_eq!(Some(tc("drops")), nstat(&beside("PROVENANCE.md"), "TcpRetransSegs"));
    for d in of_queue {
        let owner = d.owner.as_ref().unwrap();
        assert_eq!(owner.carries, Carries::Data, "{d:?}");
        let socket = f
            .connections
            .iter()
            .find(|c| Some(c.connection) == owner.connection)
            .unwrap();
        assert_eq!(socket.sport, BULK, "{d:?}");
        assert_eq!(d.expected, Some(false));
    }
}

/// Frames of its device as tc counted them, segments of larger ones one by one.
#[test]
fn passes_over_the_routers_device_are_those_that_tc_counted() {
    let f = facts(SAMPLE).unwrap();
    let count = |end: PassEnd| f.xmits.iter().filter(|x| x.dev.text() == "ra" && x.end == end).count() as u64;
    assert_eq!(count(PassEnd::Sent), tc("packets"));
    assert_eq!(count(PassEnd::Dropped), tc("drops"));
}

/// Small answers, none of which is cut or merged: one life each, over every device of the way, and through the router's queue
/// while the client waited for it.
#[test]
fn an_answer_is_one_life_from_pod_to_pod() {
    let f = facts(SAMPLE).unwrap();
    let client = f.connections.iter().find(|c| c.dport == SMALL).unwrap().connection;
    let read =
        f.rx.iter()
            .filter(|r| r.connection == Some(client) && r.bytes == Some(100));
    let mut answers: Vec<_> = read.collect();
    answers.sort_by_key(|r| r.start_ns);
    let truth = csv(&beside("truth.csv"));
    assert_eq!(answers.len(), truth.len());
    for (answer, asked) in answers.iter().zip(&truth) {
        let devices = [
            "eth0",
            "pod",
            "cni0",
            "flannel.1",
            "eth0",
            "rb",
            "ra",
            "eth0",
            "flannel.1",
            "cni0",
            "pod",
            "eth0",
        ];
        assert_eq!(way(&f, answer.skb_id), devices);
        let passes: Vec<_> = f
            .xmits
            .iter()
            .filter(|x| x.skb_id == Some(answer.skb_id) && x.dev.text() == "ra")
            .collect();
        let [pass] = passes.as_slice() else {
            panic!("{passes:?}")
        };
        let ns = |name: &str| asked[name].parse::<i64>().unwrap();
        assert!(ns("before_ns") < pass.queued_ns.unwrap() && pass.started_ns.unwrap() < ns("after_ns"));
        assert!(pass.qdisc_ns.unwrap() <= ns("after_ns") - ns("before_ns"));
    }
}

/// What the router's queue cut it cut from the packets that it had: no packet has more in its pieces than itself, and both ways to tell a
/// piece's packet say the same.
#[test]
fn pieces_behind_a_tunnel_are_of_their_own_packets() {
    let f = facts(SAMPLE).unwrap();
    let cut = f.lineage.iter().filter(|l| l.kind == LineageKind::QdiscSegment);
    let cut: Vec<_> = cut.collect();
    let mut pieces = std::collections::BTreeMap::new();
    for l in &cut {
        *pieces.entry(l.parent).or_insert(0u64) += u64::from(l.bytes.unwrap());
    }
    for (parent, bytes) in pieces {
        let packet = &f.skbs[parent.0 as usize];
        assert!(bytes <= u64::from(packet.bytes.unwrap()), "{packet:?}: {bytes}");
    }
    let parent_of = |skb| {
        f.xmits
            .iter()
            .find(|x| x.skb_id == Some(skb) && x.dev.text() == "ra")?
            .parent
    };
    let told: Vec<_> = cut
        .iter()
        .filter_map(|l| Some((l.parent, parent_of(l.child)?)))
        .collect();
    assert_eq!(told.len() as u64, cut.len() as u64);
    assert!(told.iter().all(|(a, b)| a == b));
    let outer = "all inside the vxlan tunnel";
    let answers = netmortem_analyzer::analyses::answer(&f);
    let line = answers.verdict.iter().find(|l| l.subject == "drops").unwrap();
    assert!(line.headline.contains(outer), "{}", line.headline);
}
