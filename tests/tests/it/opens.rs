//! Connections that came to be and such that did not: what the analysis says of each attempt, against the clock and the errors of
//! who made it, nftables' counters and the kernel's (sample-data/opens).

use netmortem_analyzer::analyses;
use netmortem_analyzer::analyses::verdict::Tone;
use netmortem_analyzer::reconstruct::opens::tables::errno;
use netmortem_tests::{csv, facts, nstat, sample};

const SAMPLE: &str = "opens/opens.nmb";

fn beside(name: &str) -> String {
    std::fs::read_to_string(sample(SAMPLE).with_file_name(name)).unwrap()
}

/// Every attempt of the plan and no other, in the time of its call, with the end and the error that its program saw.
#[test]
fn every_attempt_is_what_its_program_saw() {
    let f = facts(SAMPLE).unwrap();
    let truth = csv(&beside("truth.csv"));
    let own: Vec<_> = f
        .opens
        .iter()
        .filter(|r| r.task.text().starts_with("python3"))
        .collect();
    assert_eq!(own.len(), truth.len());
    let mut next = truth.iter().skip(1).map(|t| t["before_ns"].parse::<i64>().unwrap());
    for (row, t) in own.iter().zip(&truth) {
        let ns = |name: &str| t[name].parse::<i64>().unwrap();
        let end = match t["error"].as_str() {
            "" => "established",
            "given up" => "given_up",
            "ECONNREFUSED" => "refused",
            "ENETUNREACH" => "unreachable",
            "EADDRNOTAVAIL" => "no_port",
            other => panic!("{other}"),
        };
        assert_eq!(row.end.word(), end, "{t:?}");
        // A program that gives up closes the socket after its call.
        let over = match end {
            "given_up" => next.clone().next().unwrap(),
            _ => ns("after_ns"),
        };
        next.next();
        assert!(
            row.start_ns >= ns("before_ns") && row.start_ns + row.total_ns() <= over,
            "{t:?}: {row:?}"
        );
        let told = row.error.and_then(errno).unwrap_or("");
        assert_eq!(told, t["error"].replace("given up", ""), "{t:?}");
        if end != "unreachable" {
            assert_eq!(u64::from(row.to.unwrap().1), t["port"].parse::<u64>().unwrap());
            let local = row.from.unwrap().1;
            assert_eq!(u64::from(local), t["local"].parse::<u64>().unwrap(), "{t:?}");
        }
        if t["plan"] == "sent again" {
            assert!((1_000_000_000..1_100_000_000).contains(&row.total_ns()), "{row:?}");
        }
    }
    let again: u32 = own.iter().filter_map(|r| r.syns_again).sum();
    assert_eq!(
        Some(u64::from(again)),
        nstat(&beside("PROVENANCE.md"), "TcpExtTCPSynRetrans")
    );
}

/// The one RST that the router made came from nobody's socket; those of closed ports are the peer's.
#[test]
fn a_reset_of_the_router_is_not_the_peers() {
    let f = facts(SAMPLE).unwrap();
    let truth = csv(&beside("truth.csv"));
    let cut: Vec<_> = truth.iter().filter(|t| t["plan"] == "reset").collect();
    let between: Vec<_> = f.resets.iter().filter(|r| r.sender.word() == "between").collect();
    assert_eq!((between.len(), cut.len()), (1, 1));
    let established = nstat(&beside("PROVENANCE.md"), "TcpEstabResets");
    assert_eq!(established, Some(between.len() as u64));
    assert_eq!(between[0].from.unwrap().1.to_string(), cut[0]["local"]);
    let peer = f.resets.iter().filter(|r| r.received && r.sender.word() == "peer");
    assert_eq!(peer.count(), truth.iter().filter(|t| t["plan"] == "refused").count());
}

#[test]
fn the_first_page_names_what_did_not_come_to_be() {
    let answers = analyses::answer(&facts(SAMPLE).unwrap());
    let line = answers.verdict.iter().find(|l| l.subject == "opens").unwrap();
    assert_eq!(line.tone, Tone::Bad);
    let said = [
        "25 connections were opened in p50 ",
        "2 of them only when a SYN was retransmitted",
        "5 attempts to connect to 10.80.2.1:7005 by python3/",
        "found no free local port (EADDRNOTAVAIL)",
    ];
    for words in said {
        assert!(line.sentence.contains(words), "{words}: {}", line.sentence);
    }
    assert!(
        line.headline.starts_with("5 attempts to connect to 10.80.2.1:7005"),
        "{}",
        line.headline
    );
    // A host that opens its connections at once has nothing to say.
    let rpc = analyses::answer(&facts("rpc/rpc.nmb").unwrap());
    let line = rpc.verdict.iter().find(|l| l.subject == "opens").unwrap();
    assert_eq!((line.tone, line.headline.as_str()), (Tone::Ok, ""), "{}", line.sentence);
}

/// Each packet that the router's rules dropped is the socket's that the rules are about: SYNs to 7002 (every second one) and 7003,
/// data to 7004, as many as nftables counted.
#[test]
fn dropped_packets_are_of_the_sockets_that_sent_them() {
    let f = facts(SAMPLE).unwrap();
    let counters = beside("PROVENANCE.md");
    let counted = |name: &str| {
        let at = counters.rfind(&format!("counter {name} {{")).unwrap();
        let packets = counters[at..].split("packets ").nth(1).unwrap();
        packets.split(' ').next().unwrap().parse::<usize>().unwrap()
    };
    let mut of = std::collections::BTreeMap::<_, usize>::new();
    for owner in f
        .drops
        .iter()
        .filter(|d| d.expected == Some(false))
        .map(|d| d.owner.unwrap())
    {
        let socket = &f.connections[owner.connection.unwrap().0 as usize];
        *of.entry((socket.dport, owner.carries.word())).or_default() += 1;
    }
    let expect = [
        ((7002, "syn"), counted("again")),
        ((7003, "syn"), counted("never")),
        ((7004, "data"), counted("cut")),
    ];
    assert_eq!(of.into_iter().collect::<Vec<_>>(), expect);
}

/// A single drop says whose it was.
#[test]
fn a_drop_is_explained_with_its_owner() {
    let f = facts(SAMPLE).unwrap();
    let lost = f.drops.iter().filter(|d| d.expected == Some(false));
    let said: Vec<String> = lost.map(|d| analyses::drops::owner(&f, d).unwrap()).collect();
    let to = |what: &str, port: u16| {
        let ends = |s: &&String| s.starts_with(what) && s.ends_with(&format!("> 10.80.2.1:{port}"));
        said.iter().filter(ends).count()
    };
    assert_eq!(
        (to("SYN of ", 7002), to("SYN of ", 7003), to("TCP data of ", 7004)),
        (2, 2, 1)
    );
}
