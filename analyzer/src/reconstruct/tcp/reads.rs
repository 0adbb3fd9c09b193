//! Reads of a TCP socket: how many, and of how many bytes.
//!
//! Needs `sock_recv_length` (Linux 6.3): calls that took something, what was only looked at (MSG_PEEK) not among them.

/// Reads of more bytes are not told apart.
pub const SMALL: usize = 64;

/// Reads of one socket that took something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reads {
    /// Such calls.
    pub calls: u64,
    /// What they took.
    pub bytes: u64,
    /// Calls by bytes, from 0 up to [`SMALL`].
    small: Vec<u32>,
}

impl Reads {
    /// A call took so many bytes.
    pub fn add(&mut self, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.calls = self.calls.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
        let Some(at) = usize::try_from(bytes).ok().filter(|n| *n <= SMALL) else {
            return;
        };
        if self.small.len() <= at {
            self.small.resize(at + 1, 0);
        }
        if let Some(n) = self.small.get_mut(at) {
            *n = n.saturating_add(1);
        }
    }
    /// Median bytes of a call, where that is [`SMALL`] or less.
    pub fn p50_bytes(&self) -> Option<u32> {
        let mut sum = 0u64;
        let at = self.small.iter().position(|n| {
            sum += u64::from(*n);
            sum > 0 && sum >= self.calls.div_ceil(2)
        });
        at.and_then(|n| u32::try_from(n).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_of_all_reads() {
        let of = |sizes: &[u64]| {
            let mut r = Reads::default();
            sizes.iter().for_each(|n| r.add(*n));
            (r.calls, r.bytes, r.p50_bytes())
        };
        assert_eq!(of(&[]), (0, 0, None));
        assert_eq!(of(&[1, 1, 4_000]), (3, 4_002, Some(1)));
        assert_eq!(of(&[4_000, 1, 1, 4_000, 4_000]).2, None);
        assert_eq!(of(&[64, 65, 3, 64]).2, Some(64));
        // A read of nothing is the end of the stream, or an error.
        assert_eq!(of(&[0, 0, 0, 9]), (1, 9, Some(9)));
    }
}
