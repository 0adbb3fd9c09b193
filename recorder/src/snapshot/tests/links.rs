//! Links against `ip -d -j link`.

use super::*;

#[test]
fn links_have_their_address_and_what_spanning_tree_lets_pass() {
    let Some(pair) = Pair::new("br", "br") else { return };
    let a = &pair.0[0];
    for line in [
        "ip link add br7 type bridge stp_state 1",
        "ip link set v0 master br7",
        "ip link set br7 up",
    ] {
        pair.exec(a, &line.split(' ').collect::<Vec<_>>());
    }
    let says = || pair.exec(a, &["ip", "-d", "-j", "link", "show", "dev", "v0"]);
    let (expected, (_, t)) = while_steady(says, || pair.texts());
    let expected: serde_json::Value = serde_json::from_str(&expected).unwrap();
    let links = lines(&t.links);
    let v0 = links.iter().find(|l| l["name"] == "v0").unwrap();
    assert_eq!(v0["lladdr"], expected[0]["address"].as_str().unwrap());
    let states = ["disabled", "listening", "learning", "forwarding", "blocking"];
    let state = expected[0]["linkinfo"]["info_slave_data"]["state"].as_str().unwrap();
    assert_eq!(states[v0["port_state"].parse::<usize>().unwrap()], state);
    let br7 = links.iter().find(|l| l["name"] == "br7").unwrap();
    assert!(!br7.contains_key("port_state"), "{br7:?}");
}
