//! Questions that came to a socket that nobody reads, beside the one that answers them.

use super::onward::{MS, US, answered, in_vain, socket, turn};
use crate::analyses::answer;
use crate::analyses::datagrams::Usurped;
use crate::facts::Facts;
use crate::name::Name;

const OWN: u32 = 0;
const OTHER: u32 = 1;

/// A thread asks 10.0.0.3:7800 each 100 ms, for 10 s; from 4 s to 7 s that comes to another socket.
fn facts() -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(10_000 * MS));
    for key in ["sock:sock_send_length", "sock:sock_recv_length", "sock:sk_data_ready"] {
        f.capture.events.insert(key.into(), 1);
    }
    f.processes.insert(21, (20, Name::new(b"chat")));
    f.processes.insert(7, (7, Name::new(b"presence")));
    socket(&mut f, 7, b"presence", "10.0.0.3:7800", true);
    f.udp_sockets[OWN as usize].last_ns = 10_000 * MS;
    socket(&mut f, 0, b"", "", true);
    let other = &mut f.udp_sockets[OTHER as usize];
    (other.first_arrived_ns, other.last_arrived_ns) = (Some(4_000 * MS), Some(6_900 * MS));
    (other.arrived, other.left, other.closed, other.last_ns) = (30, 30, true, 7_000 * MS);
    other.destroyed_ns = Some(7_000 * MS);
    let asker = socket(&mut f, 21, b"chat", "", false);
    for n in 0..100 {
        let there = if (40..70).contains(&n) { OTHER } else { OWN };
        let t = turn(&mut f, asker, 21, there, n * 100 * MS);
        t.to = Some("10.0.0.3:7800".parse().unwrap());
        match there {
            OTHER => {
                in_vain(t, 2_000 * MS);
                t.unread = 1;
            }
            _ => answered(t, 80 * US),
        }
    }
    f
}

fn told(f: &Facts) -> (Option<Usurped>, String) {
    let a = answer(f);
    let of = a.datagrams.findings().unwrap().in_vain.first().cloned().unwrap();
    (of.usurped, super::line(&a).headline.clone())
}

#[test]
fn another_socket_of_that_port_is_told() {
    let (of, says) = told(&facts());
    let expect = Usurped {
        whose: "presence/7".into(),
        from_ns: 4_000 * MS,
        to_ns: Some(7_000 * MS),
        before: 40,
        after: 30,
        got: 0,
    };
    assert_eq!(of, Some(expect));
    let words = "from 4.000 s on they came to another socket there than before, and lay unread in it until it was closed at 7.000 s, while the socket of presence/7, on which 40 were answered before (30 behind it), was still there and got none";
    assert!(says.contains(words), "{says}");
}

#[test]
fn one_that_reads_or_that_followed_another_is_none() {
    let none = |change: &dyn Fn(&mut Facts)| {
        let mut f = facts();
        change(&mut f);
        assert_eq!(told(&f).0, None);
    };
    none(&|f| f.udp_sockets[OTHER as usize].received = 1);
    none(&|f| {
        let own = &mut f.udp_sockets[OWN as usize];
        (own.closed, own.last_ns) = (true, 3_950 * MS);
    });
    // Its process ended, which no call tells.
    none(&|f| f.udp_sockets[OWN as usize].last_ns = 3_950 * MS);
    // Others are answered there meanwhile.
    none(&|f| {
        let asker = f.udp_turns[0].socket;
        (0..10).for_each(|n| answered(turn(f, asker, 21, OWN, (4_050 + n * 100) * MS), 80 * US));
        f.udp_turns
            .iter_mut()
            .for_each(|t| t.to = Some("10.0.0.3:7800".parse().unwrap()));
        f.udp_turns.sort_by_key(|t| t.start_ns);
    });
    // Nobody was answered before.
    none(&|f| f.udp_turns.retain(|t| t.start_ns >= 4_000 * MS));
}
