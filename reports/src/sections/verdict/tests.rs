use super::*;
use crate::sections::fixture;

fn built(tones: &[Tone]) -> Section {
    let facts = fixture::facts();
    let mut answers = fixture::answers(&facts);
    answers.verdict = tones
        .iter()
        .map(|tone| Line {
            subject: "tcp",
            tone: *tone,
            sentence: "A sentence.".to_owned(),
            headline: match tone {
                Tone::Notice => "a look".to_owned(),
                Tone::Bad => "a loss".to_owned(),
                Tone::Ok | Tone::Unknown => String::new(),
            },
            minor: false,
            names_cause: false,
            neutral: false,
            follows: None,
        })
        .collect();
    section(&Input {
        facts: &facts,
        answers: &answers,
    })
}

#[test]
fn each_line_is_a_strip_of_its_colour_in_the_order_given() {
    let section = built(&[Tone::Ok, Tone::Bad, Tone::Unknown, Tone::Notice]);
    let severities: Vec<Severity> = section
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Strip(strip) => Some(strip.severity),
            _ => None,
        })
        .collect();
    assert_eq!(
        severities,
        [Severity::Good, Severity::Bad, Severity::Unknown, Severity::Notice]
    );
}

#[test]
fn what_nobody_waited_for_is_said_last() {
    let facts = fixture::facts();
    let mut answers = fixture::answers(&facts);
    answers.verdict = [(true, "a reset"), (false, "slow answers"), (false, "slow packets")]
        .map(|(minor, words)| Line {
            subject: "tcp",
            tone: Tone::Notice,
            sentence: "A sentence.".into(),
            headline: words.into(),
            minor,
            names_cause: false,
            neutral: false,
            follows: None,
        })
        .into();
    let of = section(&Input {
        facts: &facts,
        answers: &answers,
    });
    assert_eq!(of.lead.as_str(), "Worth a look: slow answers; slow packets; a reset.");
}

#[test]
fn the_lead_says_the_worst() {
    let lead = |tones: &[Tone]| built(tones).lead.as_str().to_owned();
    assert_eq!(
        lead(&[Tone::Ok, Tone::Notice, Tone::Bad]),
        "Something is wrong: a loss. Worth a look: a look."
    );
    assert_eq!(lead(&[Tone::Ok, Tone::Bad]), "Something is wrong: a loss.");
    // What is worth a look is said there, not that nothing is plainly wrong.
    assert_eq!(
        lead(&[Tone::Ok, Tone::Notice, Tone::Unknown, Tone::Notice]),
        "Worth a look: a look; a look."
    );
    assert!(
        built(&[Tone::Ok, Tone::Unknown])
            .lead
            .as_str()
            .contains("not every question")
    );
    assert_eq!(built(&[Tone::Ok]).lead.as_str(), "Nothing wrong was found.");
}

#[test]
fn every_line_leads_to_a_section_of_the_report() {
    let facts = fixture::facts();
    let answers = fixture::answers(&facts);
    let document = crate::sections::document(&facts, &answers);
    for line in &answers.verdict {
        let to = see(line.subject).unwrap_or_else(|| panic!("{} leads nowhere", line.subject));
        assert!(document.sections.iter().any(|section| section.id == to), "{to}");
    }
}

fn first_page(facts: &netmortem_analyzer::Facts) -> Section {
    let answers = fixture::answers(facts);
    section(&Input {
        facts,
        answers: &answers,
    })
}

#[test]
fn the_first_page_says_where_the_recording_is_from_and_how_good_it_is() {
    let section = first_page(&fixture::facts());
    let [Block::Findings(_), Block::KeyValues(pairs), ..] = section.blocks.as_slice() else {
        panic!("{:?}", section.blocks.first())
    };
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(name, value)| format!("{name}: {value}").replace('\u{202f}', " "))
        .collect();
    assert_eq!(pairs[0], "Captured: 1 000 000 events by netmortem record -d 10s");
    assert_eq!(pairs[1], "Where: db-17, Linux 6.18.5 x86_64");
    assert!(
        pairs[2].starts_with("When: 2026-") && pairs[2].ends_with(" UTC, 10.0 s"),
        "{}",
        pairs[2]
    );
    let tiles: Vec<(Severity, String, String)> = section
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Tiles(tiles) => Some(tiles),
            _ => None,
        })
        .flatten()
        .map(|tile| {
            (
                tile.severity,
                tile.label.to_string(),
                tile.value.as_str().replace('\u{202f}', " "),
            )
        })
        .collect();
    let tile = |severity, label: &str, value: &str| (severity, label.to_owned(), value.to_owned());
    assert_eq!(
        tiles,
        [
            tile(Severity::Notice, "Events lost", "1 204"),
            tile(Severity::Notice, "Coverage", "97.5 %"),
            tile(Severity::Notice, "Clock error bar", "120 ns"),
            tile(Severity::Info, "Cost of recording", "180 ns an event"),
        ]
    );
}

#[test]
fn of_a_file_that_is_cut_nobody_knows_what_it_lost() {
    let mut facts = fixture::facts();
    (facts.capture.lost_events, facts.capture.losses_of_unknown_size) = (0, 0);
    let losses = |facts: &netmortem_analyzer::Facts| {
        let section = first_page(facts);
        let tiles = section.blocks.into_iter().find_map(|block| match block {
            Block::Tiles(tiles) => Some(tiles),
            _ => None,
        });
        let tile = tiles.unwrap().swap_remove(0);
        (tile.severity, tile.value.to_string())
    };
    facts.capture.complete = true;
    assert_eq!(losses(&facts), (Severity::Good, "none".to_owned()));
    facts.capture.complete = false;
    assert_ne!(losses(&facts).0, Severity::Good);
    assert_eq!(losses(&facts).1, "none seen");
    // A slice of a recording that lost events at a time that nothing tells.
    facts.capture.complete = true;
    facts.capture.lost_at_unknown_time = 5_000;
    assert_eq!(losses(&facts), (Severity::Notice, "not known".to_owned()));
}

#[test]
fn the_trigger_of_a_flight_recorder_is_said_first() {
    let mut facts = fixture::facts();
    facts.capture.flight = serde_json::from_value(serde_json::json!({
        "on": ["drops>100/s"], "before_ns": 10_000_000_000_u64, "after_ns": 5_000_000_000_u64, "sequence": 1,
        "trigger": {"on": "drops>100/s", "clock": {"monotonic_ns": fixture::START + 6_500_000_000, "realtime_ns": 0, "uncertainty_ns": 0},
            "sentence": "240 packets were dropped in 1 s.", "count": 240, "interval_ns": 1_000_000_000,
            "threshold_per_s": 100, "evidence": ["TcpExtListenDrops <script> +240"]}
    }))
    .unwrap();
    let section = first_page(&facts);
    let [Block::Findings(_), Block::Strip(strip), ..] = section.blocks.as_slice() else {
        panic!("{:?}", section.blocks.first())
    };
    let plain = |text: &str| text.replace('\u{202f}', " ");
    assert_eq!(
        plain(strip.sentence.as_str()),
        "Triggered by drops>100/s at 6.500000 s: 240 packets were dropped in 1 s."
    );
    let detail = plain(strip.detail.as_ref().unwrap().as_str());
    assert!(
        detail.contains("10.0 s before and 5.00 s after the trigger"),
        "{detail}"
    );
    assert!(detail.contains("Recorded: 6.50 s before, 3.50 s after."), "{detail}");
    let Some(Block::Details { blocks, .. }) = section.blocks.get(2) else {
        panic!("no evidence")
    };
    assert!(matches!(&blocks[..], [Block::List(lines)] if lines[0].as_str().contains("+240")));
    let text = plain(&crate::markdown::markdown(&crate::sections::document(
        &facts,
        &fixture::answers(&facts),
    )));
    assert!(
        text.contains("\n- What the trigger rests on (1 line)\n  - TcpExtListenDrops &lt;script&gt; +240\n"),
        "{text}"
    );
    // Rings that were on and lost nothing: also where no event was for long, it was recorded.
    let flight = facts.capture.flight.as_mut().unwrap();
    flight.window_start_ns = fixture::START - 1_000_000_000;
    facts.capture.lost_events = 0;
    facts.capture.complete = true;
    facts.capture.stop_reason = "trigger".to_owned();
    let told = |facts: &_| match first_page(facts).blocks.swap_remove(1) {
        Block::Strip(strip) => plain(strip.detail.unwrap().as_str()),
        other => panic!("{other:?}"),
    };
    let detail = told(&facts);
    assert!(detail.contains("Recorded: 7.50 s before, 5.00 s after."), "{detail}");
    // Cut short by a signal, and with rings that do not reach back, as far as there are events.
    facts.capture.lost_events = 7;
    facts.capture.stop_reason = "SIGTERM".to_owned();
    let detail = told(&facts);
    assert!(detail.contains("Recorded: 6.50 s before, 3.50 s after."), "{detail}");
}

#[test]
fn a_cause_that_has_a_name_stands_before_others_of_its_colour() {
    let line = |tone, names_cause, minor, words: &str| Line {
        subject: "tcp",
        tone,
        sentence: "A sentence.".to_owned(),
        headline: words.to_owned(),
        minor,
        names_cause,
        neutral: false,
        follows: None,
    };
    let verdict = [
        line(Tone::Notice, false, true, "a reset"),
        line(Tone::Notice, false, false, "a late reader"),
        line(Tone::Notice, true, false, "no window scaling"),
        line(Tone::Bad, false, false, "a loss"),
    ];
    let expect = "Something is wrong: a loss. Worth a look: no window scaling; a late reader; a reset.";
    assert_eq!(lead(&verdict, None), expect);
    // The same in parts.
    let parts = findings(&verdict, None);
    let [Block::Findings(parts)] = parts.as_slice() else {
        panic!("{parts:?}")
    };
    let said = |f: &Findings| f.said.iter().map(|f| f.text.to_string()).collect::<Vec<_>>();
    let of: Vec<(Severity, Vec<String>, usize)> = parts.iter().map(|f| (f.severity, said(f), f.more)).collect();
    let all = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
    let look = all(&["no window scaling", "a late reader", "a reset"]);
    assert_eq!(of, [(Severity::Bad, all(&["a loss"]), 0), (Severity::Notice, look, 0)]);
    assert!(findings(&[line(Tone::Ok, false, false, "")], None).is_empty());
}

#[test]
fn what_followed_of_a_finding_stands_under_it() {
    let line = |subject, tone, follows, words: &str| Line {
        subject,
        tone,
        sentence: "A sentence.".to_owned(),
        headline: words.to_owned(),
        minor: false,
        names_cause: false,
        neutral: false,
        follows,
    };
    let of_drops = Some("drops");
    let mut verdict = vec![
        line("opens", Tone::Bad, of_drops, "no answer"),
        line("receive", Tone::Notice, of_drops, "holes"),
        line("drops", Tone::Bad, None, "a loss"),
        line("tcp", Tone::Notice, of_drops, "sent again"),
        line("napi", Tone::Notice, None, "a busy CPU"),
    ];
    let so = Finding::SO;
    let expect = format!("Something is wrong: a loss; {so} no answer; holes; sent again. Worth a look: a busy CPU.");
    assert_eq!(lead(&verdict, None), expect);
    let parts = findings(&verdict, None);
    let [Block::Findings(parts)] = parts.as_slice() else {
        panic!("{parts:?}")
    };
    let of: Vec<_> = parts
        .iter()
        .flat_map(|f| &f.said)
        .map(|f| (f.text.as_str(), f.so.len()))
        .collect();
    assert_eq!(of, [("a loss", 3), ("a busy CPU", 0)]);
    assert_eq!(parts[0].said[0].so[0], ("no answer".into(), Some("opens")));
    // Where what they follow is not shown they stand for themselves.
    let others = (0..3).map(|_| line("quality", Tone::Bad, None, "lost events"));
    verdict.splice(0..0, others);
    let parts = said(&verdict);
    let words: Vec<Vec<&str>> = parts
        .iter()
        .map(|(_, said, _)| said.iter().map(|(l, _)| l.headline.as_str()).collect())
        .collect();
    assert_eq!(
        words,
        [vec!["lost events"; 3], vec!["a busy CPU", "holes", "sent again"]]
    );
    assert_eq!(parts.iter().map(|p| p.2).collect::<Vec<_>>(), [2, 0]);
    assert!(parts.iter().flat_map(|p| &p.1).all(|(_, so)| so.is_empty()));
}

/// What the head of the page has no room for is whole below.
#[test]
fn only_what_is_above_is_named_below() {
    let facts = fixture::facts();
    let mut answers = fixture::answers(&facts);
    let words = |n: u64| {
        format!(
            "{n} of the segments were sent again because what they carried had been lost on a long way to somebody else"
        )
    };
    answers.verdict = (1..=4)
        .map(|n| Line {
            subject: "tcp",
            tone: Tone::Notice,
            sentence: format!("{}.", words(n)),
            headline: words(n),
            minor: false,
            names_cause: false,
            neutral: false,
            follows: None,
        })
        .collect();
    let of = section(&Input {
        facts: &facts,
        answers: &answers,
    });
    let strips = of.blocks.iter().filter_map(|block| match block {
        Block::Strip(strip) => Some(strip.sentence.as_str()),
        _ => None,
    });
    let above: Vec<bool> = strips.map(|s| s.ends_with("… (above)")).collect();
    assert_eq!(above, [true, true, true, false]);
}

/// What is no effect of what stands before it in a line has a bullet of its own, and what followed stands under the first.
#[test]
fn each_sentence_of_a_headline_has_its_bullet() {
    let line = |subject, follows, words: &str| Line {
        subject,
        tone: Tone::Bad,
        sentence: "A sentence.".to_owned(),
        headline: words.to_owned(),
        minor: false,
        names_cause: false,
        neutral: false,
        follows,
    };
    let verdict = [
        line("drops", None, "3 had no answer; all lie unread. 4 came twice: copies"),
        line("tcp", Some("drops"), "sent again"),
    ];
    let parts = findings(&verdict, None);
    let [Block::Findings(parts)] = parts.as_slice() else {
        panic!("{parts:?}")
    };
    let of: Vec<_> = parts[0].said.iter().map(|f| (f.text.as_str(), f.so.len())).collect();
    assert_eq!(
        of,
        [("3 had no answer; all lie unread", 1), ("4 came twice: copies", 0)]
    );
    // Neither good nor bad.
    let facts = fixture::facts();
    let mut answers = fixture::answers(&facts);
    answers.verdict = vec![Line {
        tone: Tone::Ok,
        neutral: true,
        headline: String::new(),
        ..line("datagrams", None, "")
    }];
    let of = section(&Input {
        facts: &facts,
        answers: &answers,
    });
    let shown = of.blocks.iter().find_map(|block| match block {
        Block::Strip(strip) if strip.sentence.as_str() == "A sentence." => Some(strip.severity),
        _ => None,
    });
    assert_eq!(shown, Some(Severity::Info));
}
