//! The socket's filter in classic BPF (Documentation/networking/filter.rst): which packets, and how much of each. It is
//! also how the kernel is told the snaplen, and at the end to take nothing more.

/// One instruction, as struct sock_filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    /// Operation.
    pub code: u16,
    /// Instructions to skip when true.
    pub jt: u8,
    /// Instructions to skip when false.
    pub jf: u8,
    /// Operand.
    pub k: u32,
}

/// More ports would need jumps of more than 255 instructions.
pub const MAX_PORTS: usize = 50;

const LD_W_ABS: u16 = 0x20;
const LD_H_ABS: u16 = 0x28;
const LD_B_ABS: u16 = 0x30;
const LD_H_IND: u16 = 0x48;
const LDX_B_MSH: u16 = 0xb1;
const JEQ_K: u16 = 0x15;
const JSET_K: u16 = 0x45;
const RET_K: u16 = 0x06;

/// SKF_AD_OFF and what lies there: values the kernel knows without looking into the packet.
const SKF_AD_PROTOCOL: u32 = 0xffff_f000;
const SKF_AD_PKTTYPE: u32 = 0xffff_f004;

const PACKET_OUTGOING: u32 = 4;
const ETH_P_IP: u32 = 0x0800;
const ETH_P_IPV6: u32 = 0x86dd;
/// TCP, UDP, SCTP: those whose header begins with two ports.
const WITH_PORTS: [u32; 3] = [6, 17, 132];

/// Where a jump goes.
#[derive(Clone, Copy, PartialEq)]
enum To {
    Next,
    Accept,
    Reject,
    Label(u8),
}

/// Takes nothing.
pub fn nothing() -> Vec<Instruction> {
    vec![ret(0)]
}

/// Takes `snaplen` bytes of each packet that goes from or to one of `ports` (none: of every packet). `network` is where the
/// network header begins. On a loopback interface every packet passes twice: `loopback` takes only those that arrive.
pub fn program(ports: &[u16], network: u32, snaplen: u32, loopback: bool) -> Vec<Instruction> {
    let mut p = Assembler::default();
    if loopback {
        p.put(LD_W_ABS, SKF_AD_PKTTYPE);
        p.jump(JEQ_K, PACKET_OUTGOING, To::Reject, To::Next);
    }
    if !ports.is_empty() {
        let (v6, v4_ports, v6_ports) = (To::Label(0), To::Label(1), To::Label(2));
        p.put(LD_W_ABS, SKF_AD_PROTOCOL);
        p.jump(JEQ_K, ETH_P_IPV6, v6, To::Next);
        p.jump(JEQ_K, ETH_P_IP, To::Next, To::Reject);
        p.put(LD_B_ABS, network + 9);
        p.one_of(&WITH_PORTS, v4_ports);
        p.label(1);
        // Fragments but the first hold no ports.
        p.put(LD_H_ABS, network + 6);
        p.jump(JSET_K, 0x1fff, To::Reject, To::Next);
        p.put(LDX_B_MSH, network);
        p.ports(LD_H_IND, network, ports);
        p.label(0);
        p.put(LD_B_ABS, network + 6);
        p.one_of(&WITH_PORTS, v6_ports);
        p.label(2);
        p.ports(LD_H_ABS, network + 40, ports);
    }
    p.finish(snaplen)
}

/// The same in the words of libpcap; empty when every packet is taken.
pub fn text(ports: &[u16]) -> String {
    let each: Vec<String> = ports.iter().map(|p| format!("port {p}")).collect();
    each.join(" or ")
}

fn ret(k: u32) -> Instruction {
    Instruction {
        code: RET_K,
        jt: 0,
        jf: 0,
        k,
    }
}

#[derive(Default)]
struct Assembler {
    code: Vec<(u16, u32, To, To)>,
    labels: [usize; 3],
}

impl Assembler {
    fn put(&mut self, code: u16, k: u32) {
        self.jump(code, k, To::Next, To::Next);
    }

    fn jump(&mut self, code: u16, k: u32, yes: To, no: To) {
        self.code.push((code, k, yes, no));
    }

    /// Here is label `n`.
    fn label(&mut self, n: usize) {
        let here = self.code.len();
        if let Some(l) = self.labels.get_mut(n) {
            *l = here;
        }
    }

    /// Goes to `yes` when the value loaded is one of `values`, and rejects otherwise.
    fn one_of(&mut self, values: &[u32], yes: To) {
        for (i, v) in values.iter().enumerate() {
            let last = i + 1 == values.len();
            self.jump(JEQ_K, *v, yes, if last { To::Reject } else { To::Next });
        }
    }

    /// Source port at `at`, destination port behind it.
    fn ports(&mut self, load: u16, at: u32, ports: &[u16]) {
        for (side, last_side) in [(0, false), (2, true)] {
            self.put(load, at + side);
            for (i, port) in ports.iter().enumerate() {
                let last = last_side && i + 1 == ports.len();
                let no = if last { To::Reject } else { To::Next };
                self.jump(JEQ_K, u32::from(*port), To::Accept, no);
            }
        }
    }

    /// Resolves the jumps; the last two instructions accept and reject.
    fn finish(self, snaplen: u32) -> Vec<Instruction> {
        let accept = self.code.len();
        let offset = |from: usize, to: To| {
            let target = match to {
                To::Next => from + 1,
                To::Accept => accept,
                To::Reject => accept + 1,
                To::Label(n) => self.labels.get(usize::from(n)).copied().unwrap_or(accept + 1),
            };
            u8::try_from(target.saturating_sub(from + 1)).unwrap_or(u8::MAX)
        };
        let resolve = |(at, (code, k, yes, no)): (usize, &(u16, u32, To, To))| Instruction {
            code: *code,
            jt: offset(at, *yes),
            jf: offset(at, *no),
            k: *k,
        };
        let mut out: Vec<Instruction> = self.code.iter().enumerate().map(resolve).collect();
        out.extend([ret(snaplen), ret(0)]);
        out
    }
}
