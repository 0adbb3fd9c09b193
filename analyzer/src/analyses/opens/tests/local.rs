//! Accept queues of socket files that were full.

use super::pooled::{PROXY, proxy, turnaround};
use crate::analyses::opens::local::full_queues;
use crate::name::Name;
use crate::reconstruct::opens::local::LocalConnects;

fn thread(pid: i32, full_ns: &[i64], refused: u64, waited: u64) -> LocalConnects {
    LocalConnects {
        pid,
        task: Name::new(b"nginx"),
        calls: 10,
        full: full_ns.len() as u64,
        full_ns: full_ns.to_vec(),
        refused,
        denied: 0,
        waited,
        longest_ns: 5,
        last_ns: 9,
    }
}

#[test]
fn processes_of_which_something_failed_are_told() {
    let (mut f, _) = proxy();
    f.capture.start_ns = Some(100);
    f.local_connects = vec![thread(1, &[300, 200], 0, 0), thread(2, &[], 0, 2), thread(3, &[], 0, 3)];
    let all = full_queues(&f);
    let of: Vec<(&str, u64, u64)> = all.iter().map(|q| (q.by.as_str(), q.full, q.waited)).collect();
    // Two that waited may have waited for a CPU.
    assert_eq!(of, [("nginx/1", 2, 0), ("nginx/3", 0, 3)]);
    assert_eq!(
        (all[0].times.as_slice(), all[0].within_ns),
        (&[100, 200][..], Some((100, 200)))
    );
    // What was refused is told of those who serve somebody.
    f.local_connects = vec![thread(PROXY, &[], 5, 0), thread(7, &[], 5, 0)];
    assert_eq!(full_queues(&f), []);
    f.turnarounds = vec![turnaround(1_000, 2_000)];
    let all = full_queues(&f);
    let [one] = &all[..] else { panic!("{all:?}") };
    assert_eq!((one.by.as_str(), one.refused), ("nginx/42", 5));
    // A file that nobody needs is tried beside others.
    f.local_connects = vec![thread(PROXY, &[], 4, 0)];
    assert_eq!(full_queues(&f), []);
    f.local_connects[0].denied = 9;
    assert_eq!((full_queues(&f)[0].refused, full_queues(&f)[0].denied), (0, 9));
}
