//! Values in blocks of time, and quantiles of resampled blocks: the block bootstrap with non-overlapping blocks (Carlstein,
//! Annals of Statistics 14, 1986; Künsch, 17, 1989). Values near in time are alike; a block keeps them together, so that the
//! resampled sets are as uneven as a second recording would be. With several recordings a side, recordings are drawn first,
//! then blocks inside each (Davison and Hinkley, Bootstrap Methods and their Application, 3.8).
//!
//! Deterministic: the generator (SplitMix64, Steele, Lea and Flood, OOPSLA 2014) is seeded by the values.

/// One value and when it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    /// Moment, ns.
    pub time_ns: i64,
    /// Value.
    pub value: i64,
}

/// Number of the block of a moment when `from..=to` is cut into `blocks` of equal length.
pub fn block_of(time_ns: i64, from: i64, to: i64, blocks: usize) -> usize {
    let whole = i128::from(to) - i128::from(from) + 1;
    let at = (i128::from(time_ns) - i128::from(from)).clamp(0, whole - 1);
    usize::try_from(at * blocks as i128 / whole).unwrap_or(0)
}

/// A small generator, enough to draw blocks.
#[derive(Debug, Clone)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Seeded by what the data are.
    pub fn seeded(values: impl IntoIterator<Item = i64>) -> SplitMix64 {
        let mut s = SplitMix64(0x5bd1_e995);
        for v in values {
            s.0 ^= v as u64;
            s.0 = s.next();
        }
        s
    }
    /// The next number.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
}

/// Most distinct steps of a resampled distribution: finer ones are put together, ten times finer in the upper tenth.
const STEPS: usize = 1_000;

/// The values of one side, ready to be resampled.
#[derive(Debug)]
pub struct Blocked {
    /// Blocks of each recording, as ranges of block numbers.
    recordings: Vec<std::ops::Range<usize>>,
    blocks: usize,
    /// Largest value of each step, ascending.
    steps: Vec<i64>,
    /// Values of each block in each step, step after step.
    counts: Vec<u32>,
}

impl Blocked {
    /// From the recordings of a side, each cut into `blocks` between its first and last value; blocks without a value are
    /// left out. Also the values, sorted.
    pub fn new(recordings: &[Vec<At>], blocks: usize) -> (Blocked, Vec<i64>) {
        let mut all: Vec<(i64, u32)> = vec![];
        let (mut ranges, mut total) = (vec![], 0usize);
        for values in recordings {
            let from = values.iter().map(|v| v.time_ns).min().unwrap_or(0);
            let to = values.iter().map(|v| v.time_ns).max().unwrap_or(0);
            let of: Vec<usize> = values.iter().map(|v| block_of(v.time_ns, from, to, blocks)).collect();
            let mut names = vec![None; blocks];
            let start = total;
            for b in &of {
                if let Some(slot @ None) = names.get_mut(*b) {
                    *slot = Some(0u32);
                }
            }
            for slot in names.iter_mut().flatten() {
                *slot = total as u32;
                total += 1;
            }
            for (v, b) in values.iter().zip(of) {
                if let Some(Some(name)) = names.get(b) {
                    all.push((v.value, *name));
                }
            }
            if total > start {
                ranges.push(start..total);
            }
        }
        all.sort_unstable();
        let n = all.len();
        let (mut steps, mut counts): (Vec<i64>, Vec<u32>) = (vec![], vec![]);
        let mut step = usize::MAX;
        for (rank, (value, block)) in all.iter().enumerate() {
            let of = step_of(rank, n);
            if of != step && steps.last() != Some(value) {
                steps.push(*value);
                counts.resize(steps.len() * total, 0);
            }
            step = of;
            if let Some(last) = steps.last_mut() {
                *last = *value;
            }
            let at = steps.len().saturating_sub(1) * total + *block as usize;
            if let Some(slot) = counts.get_mut(at) {
                *slot += 1;
            }
        }
        let sorted = all.into_iter().map(|(v, _)| v).collect();
        let blocked = Blocked {
            recordings: ranges,
            blocks: total,
            steps,
            counts,
        };
        (blocked, sorted)
    }
    /// Blocks that hold a value.
    pub fn blocks(&self) -> usize {
        self.blocks
    }
    /// Draws blocks and returns these percentiles (ascending) of what they hold.
    pub fn draw<const N: usize>(&self, random: &mut SplitMix64, percents: [u64; N]) -> [i64; N] {
        let mut times = vec![0u32; self.blocks];
        for _ in 0..self.recordings.len() {
            let Some(range) = self.recordings.get(random.below(self.recordings.len())) else {
                continue;
            };
            for _ in 0..range.len() {
                if let Some(slot) = times.get_mut(range.start + random.below(range.len())) {
                    *slot += 1;
                }
            }
        }
        let mut whole = 0u64;
        let rows = || self.counts.chunks_exact(self.blocks.max(1));
        let weight = |row: &[u32]| -> u64 { row.iter().zip(&times).map(|(c, t)| u64::from(*c) * u64::from(*t)).sum() };
        let weights: Vec<u64> = rows().map(weight).collect();
        whole += weights.iter().sum::<u64>();
        let need = percents.map(|p| (whole * p).div_ceil(100).max(1));
        let mut out = [0i64; N];
        let (mut sum, mut next) = (0u64, 0usize);
        for (w, value) in weights.iter().zip(&self.steps) {
            sum += w;
            while need.get(next).is_some_and(|x| sum >= *x) {
                if let Some(slot) = out.get_mut(next) {
                    *slot = *value;
                }
                next += 1;
            }
        }
        out
    }
}

fn step_of(rank: usize, n: usize) -> usize {
    if n <= STEPS {
        return rank;
    }
    let upper = n - n / 10;
    match rank < upper {
        true => rank * (STEPS / 2) / upper,
        false => STEPS / 2 + (rank - upper) * (STEPS / 2) / (n - upper),
    }
}
