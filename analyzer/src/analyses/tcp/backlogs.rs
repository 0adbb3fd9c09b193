//! What the probe `backlog` of `--extra kprobes` adds: the sockets for which segments came while a thread was in a system call of them.

use super::label;
use crate::facts::Facts;
use crate::reconstruct::probes::tables::BacklogRow;

/// Sockets kept.
pub const BACKLOGS: usize = 20;

/// Segments that waited behind a socket in use.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Backlog {
    /// Row of `connections`; empty: not known.
    pub connection: Option<u32>,
    /// Its ends; empty: not known.
    pub label: String,
    /// Segments that came meanwhile.
    pub segments: u64,
    /// Most memory that waited already when one of them came, bytes (`sk_backlog.len`), and when, ns.
    pub most_backlog: (u64, i64),
    /// Most memory of its receive queue then, bytes (`sk_rmem_alloc`).
    pub most_rmem: u64,
    /// The limit of that, bytes (`sk_rcvbuf`).
    pub rcvbuf: u64,
}

/// Most memory first, as in the view.
pub fn backlogs(facts: &Facts) -> Vec<Backlog> {
    let of = |r: &BacklogRow| {
        let row = |c: crate::facts::ConnectionId| facts.connections.iter().find(|row| row.connection == c);
        Backlog {
            connection: r.connection.map(|c| c.0),
            label: r.connection.and_then(row).map_or_else(String::new, label),
            segments: r.segments,
            most_backlog: r.most_backlog,
            most_rmem: r.most_rmem.0,
            rcvbuf: r.rcvbuf,
        }
    };
    facts.probes.backlogs.iter().take(BACKLOGS).map(of).collect()
}

#[cfg(test)]
mod tests {
    use crate::analyses::Outcome;

    /// The program of the sample reads 40 MiB at port 7002 while another thread writes; nothing else comes to a socket in use.
    #[test]
    fn the_socket_in_use_is_the_one_of_the_large_reads() {
        let facts = crate::tests::facts("probes/probes.nmb.zst");
        let Outcome::Findings(tcp) = super::super::answer(&facts) else {
            panic!("no TCP")
        };
        let first = &tcp.backlogs[0];
        assert!(first.label.starts_with("127.0.0.1:7002 > "), "{first:?}");
        let rows = &facts.probes.backlogs;
        assert_eq!(tcp.backlogs.len(), rows.len().min(super::BACKLOGS));
        let most = rows.iter().map(|r| r.most_backlog.0).max();
        assert_eq!(Some(first.most_backlog.0), most);
        assert_eq!(
            (first.segments, first.most_rmem, first.rcvbuf),
            (rows[0].segments, rows[0].most_rmem.0, rows[0].rcvbuf)
        );
    }
}
