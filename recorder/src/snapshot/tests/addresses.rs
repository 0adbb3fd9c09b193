//! Against ip, lscpu and sysctl.

use std::process::Command;

use super::super::settings;
use super::{Line, Pair, lines, run, while_steady};

#[test]
fn addresses_routes_and_neighbours_are_what_ip_says() {
    let Some(pair) = Pair::new("ip", "ip") else { return };
    let a = &pair.0[0];
    for line in [
        "addr add 10.98.0.1 peer 10.98.0.9/32 dev v0",
        "route add default via 10.97.0.2 mtu 1300 initcwnd 7 metric 50",
        "route add 10.99.0.0/16 table 7 nexthop via 10.97.0.2 weight 2 nexthop via 10.97.0.3",
        "neigh add 10.97.0.3 lladdr 02:00:00:00:00:03 nud permanent dev v0",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        run("ip", &[&["-n", a], &words[..]].concat());
    }
    let ip = || {
        ["addr", "route show table all", "neigh"].map(|what| {
            let words: Vec<&str> = what.split(' ').collect();
            run("ip", &[&["-n", a, "-j"], &words[..]].concat())
        })
    };
    let (theirs, (_, t)) = while_steady(ip, || pair.texts());
    let [addr, route, neigh] = theirs.map(|j| serde_json::from_str::<Vec<serde_json::Value>>(&j).unwrap());
    let text = |v: &serde_json::Value| v.as_str().unwrap_or_default().to_owned();
    let links = lines(&t.links);
    let index = |dev: &str| links.iter().find(|l| l["name"] == dev).unwrap()["ifindex"].clone();

    let mut expected = Vec::new();
    for link in &addr {
        for one in link["addr_info"].as_array().unwrap() {
            let address = format!("{}/{}", text(&one["local"]), one["prefixlen"]);
            expected.push((
                index(&text(&link["ifname"])),
                address,
                one["address"].as_str().map(str::to_owned),
            ));
        }
    }
    let ours = lines(&t.addresses);
    let mut ours: Vec<_> = ours
        .iter()
        .map(|l| (l["ifindex"].clone(), l["address"].clone(), l.get("peer").cloned()))
        .collect();
    expected.sort();
    ours.sort();
    assert_eq!(ours, expected);
    assert_eq!(ours.len(), 2);

    let routes = lines(&t.routes);
    let expected: Vec<_> = route.iter().filter(|r| r["table"] != "local").collect();
    assert_eq!(routes.len(), expected.len(), "{}", t.routes);
    for r in &expected {
        let to = text(&r["dst"]);
        let same = |l: &&Line| l["to"] == to || l["to"] == format!("{to}/32");
        let l = routes.iter().find(same).unwrap_or_else(|| panic!("{to}: {}", t.routes));
        if let Some(dev) = r["dev"].as_str() {
            assert_eq!(l["ifindex"], index(dev));
        }
        assert_eq!(l.get("via").map(String::as_str), r["gateway"].as_str());
        assert_eq!(l.get("src").map(String::as_str), r["prefsrc"].as_str());
    }
    let default = routes.iter().find(|l| l["to"] == "default").unwrap();
    assert_eq!(
        [&default["mtu"], &default["initcwnd"], &default["metric"]],
        ["1300", "7", "50"]
    );
    let v0 = index("v0");
    let hops = format!(" hop=10.97.0.2,{v0},2 hop=10.97.0.3,{v0},1 table=7 ");
    assert!(
        t.routes
            .lines()
            .any(|l| l.contains(" to=10.99.0.0/16 ") && l.contains(&hops)),
        "{}",
        t.routes
    );

    let ours = lines(&t.neighbours);
    assert_eq!(ours.len(), neigh.len());
    for n in &neigh {
        let l = ours.iter().find(|l| l["to"] == text(&n["dst"])).unwrap();
        assert_eq!(l.get("lladdr").map(String::as_str), n["lladdr"].as_str());
    }
    let planted = ours.iter().find(|l| l["to"] == "10.97.0.3").unwrap();
    // NUD_PERMANENT.
    assert_eq!(
        (planted["lladdr"].as_str(), planted["state"].as_str()),
        ("02:00:00:00:00:03", "0x80")
    );
}

#[test]
fn topology_is_what_lscpu_says() {
    let Ok(out) = Command::new("lscpu").args(["-a", "-p=CPU,ONLINE,NODE,SOCKET"]).output() else {
        println!("skipped: no lscpu");
        return;
    };
    let theirs = String::from_utf8(out.stdout).unwrap();
    let ours = lines(&settings::cpu_topology());
    let theirs: Vec<Vec<&str>> = theirs
        .lines()
        .filter(|l| !l.starts_with('#'))
        .map(|l| l.split(',').collect())
        .collect();
    assert_eq!(ours.len(), theirs.len());
    for (l, cpu) in ours.iter().zip(theirs) {
        assert_eq!(l["cpu"], cpu[0]);
        // CPU 0 has no switch where it cannot be taken away.
        assert_eq!(l.get("online").is_none_or(|o| o == "1"), cpu[1] == "Y");
        assert!(l.get("numa_node").is_none_or(|n| n == cpu[2]), "{l:?} {cpu:?}");
    }
}

#[test]
fn settings_are_what_sysctl_says() {
    if Command::new("sysctl").arg("-V").output().is_err() {
        println!("skipped: no sysctl");
        return;
    }
    // Of sockets that come and go.
    let moving = |l: &&str| l.contains("_orphans") || l.contains("tcp_child_ehash");
    let theirs = || {
        let args = ["-a", "-r", r"^net\.(core|ipv4\.(tcp|udp))"];
        let out = Command::new("sysctl").args(args).output().unwrap();
        let text = String::from_utf8(out.stdout).unwrap();
        let still: Vec<&str> = text.lines().filter(|l| !moving(l)).collect();
        still.join("\n")
    };
    let (theirs, ours) = while_steady(theirs, settings::sysctl);
    let secret = |l: &&str| l.contains("tcp_fastopen_key") || l.contains("netdev_rss_key");
    let expected: Vec<&str> = theirs.lines().filter(|l| !secret(l)).collect();
    assert!(expected.len() > 100, "{}", expected.len());
    for line in expected {
        assert!(ours.lines().any(|l| l == line), "{line:?}");
    }
    assert!(!ours.contains("tcp_fastopen_key") && !ours.contains("rss_key") && !ours.contains("stable_secret"));
}
