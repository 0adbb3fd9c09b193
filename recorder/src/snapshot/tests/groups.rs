//! Against `ip maddr`; and texts cut and damaged.

use std::net::{Ipv4Addr, UdpSocket};

use super::super::groups::{igmp, igmp6};
use super::{Pair, lines, run, while_steady};

#[test]
fn groups_are_what_ip_says() {
    let Some(pair) = Pair::new("groups", "ip") else { return };
    let a = &pair.0[0];
    pair.exec(
        a,
        &["sh", "-c", "echo 0 > /proc/sys/net/ipv6/conf/v0/disable_ipv6 || true"],
    );
    let join = || {
        let (group, at) = (Ipv4Addr::new(239, 62, 0, 17), Ipv4Addr::new(10, 97, 0, 1));
        let sockets = [0; 2].map(|_| UdpSocket::bind("0.0.0.0:0").unwrap());
        for socket in &sockets {
            socket.join_multicast_v4(&group, &at).unwrap();
        }
        sockets
    };
    let joined = pair.first().inside(join).unwrap();
    let (theirs, (netns, t)) = while_steady(|| run("ip", &["-n", a, "-j", "maddr"]), || pair.texts());
    let theirs: Vec<serde_json::Value> = serde_json::from_str(&theirs).unwrap();
    let mut expected = vec![];
    for dev in &theirs {
        for group in dev["maddr"].as_array().unwrap() {
            if let Some(address) = group["address"].as_str() {
                let users = group["users"].as_u64().unwrap_or(1).to_string();
                let words = [dev["ifindex"].to_string(), dev["ifname"].as_str().unwrap().to_owned()];
                expected.push((words, address.to_owned(), users));
            }
        }
    }
    let ours = lines(&t.groups);
    assert!(ours.iter().all(|l| l["netns"] == netns.to_string()), "{}", t.groups);
    let said = |l: &super::Line| {
        let words = [l["ifindex"].clone(), l["dev"].clone()];
        (words, l["group"].clone(), l["users"].clone())
    };
    let mut ours: Vec<_> = ours.iter().map(said).collect();
    expected.sort();
    ours.sort();
    assert_eq!(ours, expected);
    let planted = ours.iter().find(|l| l.1 == "239.62.0.17").unwrap();
    assert_eq!((planted.0[1].as_str(), planted.2.as_str()), ("v0", "2"));
    drop(joined);
    let left = pair.texts().1.groups;
    assert!(!left.contains("239.62.0.17") && left.contains("224.0.0.1"), "{left}");
}

const IGMP: &str = "Idx\tDevice    : Count Querier\tGroup    Users Timer\tReporter\n\
    1\tlo        :     1      V3\n\t\t\t\t010000E0     1 0:00000000\t\t0\n\
    4\ta-long-device-x:     2      V3\n\t\t\t\t11003EEF     2 1:00000123\t\t1\n\t\t\t\t010000E0     1 0:00000000\t\t0\n";
const IGMP6: &str = "4    eth0            ff0200000000000000000001ff000002     1 00000004 0\n\
    4    eth0            ff020000000000000000000000000001     3 0000000C 0\n";

#[test]
fn files_of_the_kernel_are_read_and_cut() {
    if cfg!(target_endian = "big") {
        return;
    }
    let (mut out, mut room) = (String::new(), 9);
    assert!(!igmp(7, &mut IGMP.as_bytes(), &mut room, &mut out).unwrap());
    assert!(!igmp6(7, &mut IGMP6.as_bytes(), &mut room, &mut out).unwrap());
    let whole = "netns=7 ifindex=1 dev=lo group=224.0.0.1 users=1\n\
        netns=7 ifindex=4 dev=a-long-device-x group=239.62.0.17 users=2\n\
        netns=7 ifindex=4 dev=a-long-device-x group=224.0.0.1 users=1\n\
        netns=7 ifindex=4 dev=eth0 group=ff02::1:ff00:2 users=1\n\
        netns=7 ifindex=4 dev=eth0 group=ff02::1 users=3\n";
    assert_eq!((out.as_str(), room), (whole, 4));
    // Of a text that is cut anywhere only whole lines are told.
    for end in 0..IGMP.len() {
        let mut out = String::new();
        _ = igmp(7, &mut &IGMP.as_bytes()[..end], &mut 9, &mut out).unwrap();
        assert!(whole.starts_with(&out), "{end}: {out}");
    }
    let mut out = String::new();
    assert!(igmp(7, &mut IGMP.as_bytes(), &mut 1, &mut out).unwrap());
    assert!(igmp6(7, &mut IGMP6.as_bytes(), &mut 1, &mut out).unwrap());
    assert_eq!(out.lines().count(), 2);
}

#[test]
fn nonsense_is_no_group() {
    let mut out = String::new();
    for text in [
        "\n\n",
        "\t\tzz 1\n",
        "x y z\n\t\t010000E0 1\n",
        "4 eth0 ff02 1 2\n",
        "\t\t010000E0 1\n",
    ] {
        _ = igmp(7, &mut text.as_bytes(), &mut 9, &mut out).unwrap();
        _ = igmp6(7, &mut text.as_bytes(), &mut 9, &mut out).unwrap();
    }
    assert_eq!(out, "");
    assert!(igmp(7, &mut b"\xff\xfe\n".as_slice(), &mut 9, &mut out).is_err());
}
