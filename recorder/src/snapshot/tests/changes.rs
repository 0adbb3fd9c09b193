//! What is told of a text that changed, and that nothing of it is missing.

use std::collections::BTreeMap;

use crate::snapshot::changes::{Files, Groups, Words};

#[test]
fn of_a_line_the_words_that_changed_are_told() {
    let mut w = Words::default();
    let named = ["netns", "dev", "group"];
    let first = "netns=1 dev=a group=stats rx=1 tx=2 q=0 q=5 driver=x\nnetns=1 dev=b group=stats rx=1\n";
    assert!(w.is_new());
    assert_eq!(w.changed(first, &named, &["driver"]), first.replace(" driver=x", ""));
    assert_eq!(w.changed(first, &named, &["driver"]), "");
    // Two of one name add up for a reader: both are told where one changed. What passes by itself is not told.
    let second = first.replace("q=5", "q=6").replace("driver=x", "driver=y");
    assert_eq!(
        w.changed(&second, &named, &["driver"]),
        "netns=1 dev=a group=stats q=0 q=6\n"
    );
    // Other words than before: all of the line; a line less: it is gone.
    let third = "netns=1 dev=a group=stats rx=1 tx=2\n";
    assert_eq!(
        w.changed(third, &named, &[]),
        format!("{third}netns=1 dev=b group=stats gone=yes\n")
    );
    assert_eq!(w.changed("", &named, &[]), "netns=1 dev=a group=stats gone=yes\n");
    w.forget();
    assert_eq!(w.changed(third, &named, &[]), third);
}

#[test]
fn of_a_group_all_is_told_when_one_line_changed() {
    let mut g = Groups::default();
    let named = ["netns", "ifindex"];
    let first =
        "netns=1 ifindex=2 kind=mq options=00\nnetns=1 ifindex=2 kind=fq drops=1\nnetns=1 ifindex=3 kind=fq drops=0\n";
    let bare = first.replace(" options=00", "");
    assert_eq!(g.changed(first, &named, &["options"]), bare);
    assert_eq!(g.changed(first, &named, &["options"]), "");
    let second = first.replace("drops=1", "drops=2");
    let told = "netns=1 ifindex=2 kind=mq\nnetns=1 ifindex=2 kind=fq drops=2\n";
    assert_eq!(g.changed(&second, &named, &["options"]), told);
}

/// `Group: names` above `Group: values`, by name.
fn pairs(text: &str) -> BTreeMap<String, String> {
    let lines: Vec<&str> = text.lines().collect();
    let of = |two: &[&str]| {
        let names = two[0]
            .split(' ')
            .skip(1)
            .map(|n| format!("{}{n}", two[0].split(' ').next().unwrap()));
        names
            .zip(two[1].split(' ').skip(1).map(str::to_owned))
            .collect::<Vec<_>>()
    };
    lines.chunks_exact(2).flat_map(of).collect()
}

/// With this machine's own text: what is told, laid over what was there, is what is there.
#[test]
fn of_files_the_columns_and_lines_that_changed_are_told() {
    let mut f = Files::default();
    let first = std::fs::read_to_string("/proc/net/netstat").unwrap();
    assert_eq!(f.changed("netns/1/net/netstat", first.clone()), first);
    assert_eq!(f.changed("netns/1/net/netstat", first.clone()), "");
    assert_eq!(f.changed("netns/2/net/netstat", first.clone()), first, "another one's");
    let was = pairs(&first);
    let names: Vec<&String> = was.keys().collect();
    let (a, b) = (names[3], names[names.len() - 2]);
    // Two columns of two groups, by hand.
    let set = |text: &str, name: &str| {
        let (group, name) = name.split_once(':').unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let of = |two: &[&str]| {
            let at = two[0]
                .split(' ')
                .position(|n| n == name)
                .filter(|_| two[0].starts_with(&format!("{group}:")));
            let value = |(n, v): (usize, &str)| {
                if Some(n) == at {
                    "777777".to_owned()
                } else {
                    v.to_owned()
                }
            };
            let values: Vec<String> = two[1].split(' ').enumerate().map(value).collect();
            format!("{}\n{}\n", two[0], values.join(" "))
        };
        lines.chunks_exact(2).map(of).collect::<String>()
    };
    let second = set(&set(&first, a), b);
    let told = f.changed("netns/1/net/netstat", second.clone());
    assert_eq!(pairs(&told).len(), 2, "{told}");
    let mut laid = was;
    laid.extend(pairs(&told));
    assert_eq!(laid, pairs(&second));
    // /proc/net/dev keeps its two lines of heading; of what is not known here all is told.
    let dev = "Inter-| x\n face | y\n lo: 1 2\neth0: 3 4\n";
    f.changed("net/dev", dev.to_owned());
    let told = f.changed("net/dev", dev.replace("3 4", "3 5"));
    assert_eq!(told, "Inter-| x\n face | y\neth0: 3 5\n");
    f.changed("net/snmp6", "A 1\nB 2\n".to_owned());
    assert_eq!(f.changed("net/snmp6", "A 1\nB 3\n".to_owned()), "B 3\n");
    f.changed("net/stat/nf_conntrack", "a b\n1 2\n3 4\n".to_owned());
    assert_eq!(
        f.changed("net/stat/nf_conntrack", "a b\n1 2\n3 5\n".to_owned()),
        "a b\n1 2\n3 5\n"
    );
    f.forget();
    assert!(f.is_new());
}
