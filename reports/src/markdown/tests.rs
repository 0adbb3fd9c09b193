use super::*;
use crate::sections::fixture;

fn built() -> String {
    let facts = fixture::facts();
    markdown(&sections::document(&facts, &fixture::answers(&facts))).replace('\u{202f}', " ")
}

#[test]
fn it_has_the_verdict_and_the_stages() {
    let text = built();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "## Postmortem of &lt;b&gt;incident.nmb");
    let at = lines.iter().position(|l| *l == "**Something is wrong**").unwrap();
    let lead = [
        "",
        "- **2 packets were dropped by this host for reason 70 at 0xffffffff81000000 (a queue was full) on eth1, all from 2.490 s to 4.990 s (from drop:0)**",
        "",
        "**Worth a look**",
        "",
        "- **1204 events were lost (0.120 % of all)**",
        "  - 10000 of 1000000 bytes (1.00 %) do not add up in: what TCP received = read + waiting (coalesce\\_fifo)",
        "- **of received packets not all is known**",
        "- **sent segments took up to 202.15 ms to be ACKed, 10.0.0.1:5201 &gt; 10.0.0.2:41022 held mostly by its congestion window**",
        "- and 1 more, marked “look” below",
        "",
    ];
    assert_eq!(lines[at + 1..at + 1 + lead.len()], lead, "{text}");
    let of_nine = |l: &&&str| {
        ["good", "info", "look", "bad", "unknown"]
            .iter()
            .any(|w| l.starts_with(&format!("- **{w}**: ")))
    };
    assert_eq!(lines.iter().filter(of_nine).count(), 9, "{text}");
    // What a sentence says behind its first clause stands under it.
    let retransmitted = lines
        .iter()
        .position(|l| l.starts_with("- **look**: ") && l.contains("were retransmitted"))
        .unwrap();
    assert!(lines[retransmitted + 1].starts_with("  - most ("), "{text}");
    assert!(
        text.contains("- Events lost: 1 204 (0.12 % of all events); Coverage: 97.5 %"),
        "{text}"
    );
    assert!(lines.contains(&"### Receive path") && lines.contains(&"### Transmit path"));
    assert!(
        lines.contains(&"| stage | n | p50 | p90 | p99 | max | share |"),
        "{text}"
    );
    let softirq = lines.iter().find(|l| l.starts_with("| softirq wait")).unwrap();
    assert!(softirq.contains(" µs |"), "{softirq}");
    assert!(!text.contains("| irq | 0 |"), "a stage that did not happen");
}

#[test]
fn every_table_row_has_as_many_cells_as_its_heading() {
    let text = built();
    for row in text.lines().filter(|l| l.starts_with('|')) {
        let cells = row.replace("\\|", "").matches('|').count();
        assert_eq!(cells, COLUMNS + 1, "{row}");
    }
}

#[test]
fn markup_of_hostile_names_is_text() {
    assert_eq!(
        escaped("<script>*a*|`x` @all #1 [l](u)"),
        "&lt;script&gt;\\*a\\*\\|\\`x\\` &#64;&#8203;all &#35;&#8203;1 \\[l\\](u)"
    );
    let text = built();
    assert!(!text.contains("<b>") && !text.contains("<script"), "{text}");
}
