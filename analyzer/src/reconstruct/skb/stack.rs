//! Per-CPU pairs of begin and end events that carry no address, or an address that may be another skb by then:
//! `net_dev_start_xmit` .. `net_dev_xmit`, GRO entry .. exit. They nest, so they are stacks.

use crate::facts::SkbId;

/// Deeper nesting than the kernel allows (XMIT_RECURSION_LIMIT 8) means a lost end: the stack is emptied.
const DEPTH: usize = 16;

#[derive(Debug, Clone, Default)]
struct CpuStacks {
    xmit: Vec<(u64, SkbId)>,
    gro: Vec<(u64, SkbId)>,
}

/// Stacks of all CPUs.
#[derive(Debug, Default)]
pub struct Stacks(Vec<CpuStacks>);

impl Stacks {
    fn at(&mut self, cpu: u16) -> Option<&mut CpuStacks> {
        let at = usize::from(cpu);
        if self.0.len() <= at {
            self.0.resize_with(at + 1, CpuStacks::default);
        }
        self.0.get_mut(at)
    }
    fn push(stack: &mut Vec<(u64, SkbId)>, item: (u64, SkbId)) {
        if stack.len() >= DEPTH {
            stack.clear();
        }
        stack.push(item);
    }
    /// `net_dev_start_xmit`.
    pub fn xmit_begin(&mut self, cpu: u16, addr: u64, id: SkbId) {
        if let Some(s) = self.at(cpu) {
            Self::push(&mut s.xmit, (addr, id));
        }
    }
    /// `net_dev_xmit`: the life that was handed over, whatever lives at the address now.
    pub fn xmit_end(&mut self, cpu: u16, addr: u64) -> Option<SkbId> {
        let s = self.at(cpu)?;
        let at = s.xmit.iter().rposition(|(a, _)| *a == addr)?;
        let id = s.xmit.get(at).map(|x| x.1);
        s.xmit.truncate(at);
        id
    }
    /// Whether the CPU is inside `ndo_start_xmit` of this life.
    pub fn in_xmit(&self, cpu: u16, id: SkbId) -> bool {
        self.0
            .get(usize::from(cpu))
            .is_some_and(|s| s.xmit.iter().any(|(_, i)| *i == id))
    }
    /// Within how many `ndo_start_xmit` the CPU is.
    pub fn depth(&self, cpu: u16) -> usize {
        self.0.get(usize::from(cpu)).map_or(0, |s| s.xmit.len())
    }
    /// GRO entry.
    pub fn gro_begin(&mut self, cpu: u16, addr: u64, id: SkbId) {
        if let Some(s) = self.at(cpu) {
            Self::push(&mut s.gro, (addr, id));
        }
    }
    /// GRO exit: what the innermost entry handed in.
    pub fn gro_end(&mut self, cpu: u16) -> Option<(u64, SkbId)> {
        self.at(cpu)?.gro.pop()
    }
    /// Events of this CPU were lost.
    pub fn forget(&mut self, cpu: u16) {
        if let Some(s) = self.at(cpu) {
            *s = CpuStacks::default();
        }
    }
}
