use super::*;
use netmortem_analyzer::explain::Kind;

fn found(text: &str) -> Vec<&str> {
    let ids = parts(text).into_iter().filter_map(|part| match part {
        Part::Id(word, _) => Some(word),
        Part::Plain(_) => None,
    });
    ids.collect()
}

#[test]
fn ids_are_found_in_the_midst_of_sentences() {
    assert_eq!(
        found("dropped twice (from drop:7 on), rx:12; the slowest is response:3. See open:0"),
        ["drop:7", "rx:12", "response:3", "open:0"]
    );
    assert_eq!(found("rx:1-rx:2"), [""; 0], "neither of what is joined");
    for kind in Kind::ALL {
        let id = format!("{}:45", kind.word());
        assert_eq!(found(&format!("«{id}»")), [id.as_str()]);
    }
    // As columns call it.
    assert_eq!(found("connection:3"), ["connection:3"]);
    assert_eq!(fragment(&"connection:3".into()).as_deref(), Some("conn=3"));
}

#[test]
fn ports_ratios_and_parts_of_words_are_no_ids() {
    for text in [
        "10.9.2.2:7106 > [::1]:58426",
        "at 12:30:05",
        "prefix:9, index:4",
        "reopen:3",
        "my-drop:3",
        "a:drop:3",
        "drop:3:4",
        "drop:7.5 %",
        "drop:",
        "drop: 3",
        "drop:99999999999",
        "drop:+3",
        "Drop:3",
        "drop:3x",
        "/tmp/rx:5",
        "",
        ":",
        "µrop:3",
    ] {
        assert_eq!(found(text), [""; 0], "{text}");
    }
}

#[test]
fn nothing_of_a_text_is_lost_and_all_of_it_is_escaped() {
    for text in [
        "<b>drop:7</b>",
        "\"><img src=x onerror=1>rx:5",
        "ü drop:1 & tx:2 ü",
        "::rx:5::",
    ] {
        let told: String = parts(text)
            .into_iter()
            .map(|part| match part {
                Part::Plain(text) | Part::Id(text, _) => text,
            })
            .collect();
        assert_eq!(told, text);
        let page = linked(text, "'a <b>.nmb'").into_string();
        assert!(!page.contains("<b>") && !page.contains("<img"), "{page}");
    }
    assert_eq!(
        linked("<drop:7", "a \"b\".nmb").into_string(),
        "&lt;<a class=\"id\" href=\"#drop=7\" title=\"netmortem explain a &quot;b&quot;.nmb drop:7\">drop:7</a>"
    );
}

#[test]
fn what_stands_between_backticks_is_code_and_a_lone_one_is_a_letter() {
    let shown = |text: &str| coded(text, |part| linked(part, "a.nmb")).into_string();
    assert_eq!(
        shown("over 20 %, see `show observer`. And (`ip <b>`)"),
        "over 20 %, see <code>show observer</code>. And (<code>ip &lt;b&gt;</code>)"
    );
    for letters in ["a`b and c`d", "`", "``", "one ` alone", "`x`y", "x`y`"] {
        assert_eq!(shown(letters), letters);
    }
    let both = shown("rx:1 `explain rx:2`");
    assert!(
        both.starts_with("<a ") && both.ends_with("</a> <code>explain rx:2</code>"),
        "{both}"
    );
}
