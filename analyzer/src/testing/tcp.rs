//! TCP events of scripted sockets.

use super::{B, Ctx, N, Script, V};

/// One TCP socket, 10.0.0.1:sport to 10.0.0.2:dport.
#[derive(Debug, Clone, Copy)]
pub struct Sock {
    /// Address of the struct sock.
    pub sk: u64,
    /// Cookie.
    pub cookie: u64,
    /// Local port.
    pub sport: u16,
    /// Remote port.
    pub dport: u16,
}

/// A socket like any other.
pub const SOCK: Sock = Sock {
    sk: 0xffff_8880_1000_0000,
    cookie: 77,
    sport: 40_000,
    dport: 443,
};

fn sockaddr(last: u8, port: u16) -> V {
    let mut b = vec![2, 0];
    b.extend(port.to_be_bytes());
    b.extend([10, 0, 0, last]);
    b.resize(28, 0);
    B(b)
}

impl Sock {
    /// Fields of the tcp and sock classes.
    fn ends(&self) -> Vec<(&'static str, V)> {
        vec![
            ("skaddr", N(self.sk)),
            ("sport", N(self.sport.into())),
            ("dport", N(self.dport.into())),
            ("family", N(2)),
            ("protocol", N(6)),
            ("saddr", B(vec![10, 0, 0, 1])),
            ("daddr", B(vec![10, 0, 0, 2])),
        ]
    }
    /// Any event of the tcp or sock class.
    pub fn ev(&self, s: &mut Script, ts: u64, cpu: usize, ctx: Ctx, key: &str, more: &[(&'static str, V)]) {
        let mut v = self.ends();
        v.extend(more.iter().cloned());
        s.ev(ts, cpu, ctx, key, &v);
    }
    /// `tcp_probe`; `more` overrides.
    pub fn probe(&self, s: &mut Script, ts: u64, cpu: usize, ctx: Ctx, more: &[(&'static str, V)]) {
        let mut v = vec![
            ("saddr", sockaddr(1, self.sport)),
            ("daddr", sockaddr(2, self.dport)),
            ("sport", N(self.sport.into())),
            ("dport", N(self.dport.into())),
            ("family", N(2)),
            ("snd_cwnd", N(10)),
            ("ssthresh", N(0x7fff_ffff)),
            ("sock_cookie", N(self.cookie)),
            ("skaddr", N(self.sk)),
        ];
        v.extend(more.iter().cloned());
        s.ev(ts, cpu, ctx, "tcp:tcp_probe", &v);
    }
    /// `tcp_cong_state_set`.
    pub fn cong(&self, s: &mut Script, ts: u64, cpu: usize, ctx: Ctx, state: u64) {
        self.ev(s, ts, cpu, ctx, "tcp:tcp_cong_state_set", &[("cong_state", N(state))]);
    }
    /// `inet_sock_set_state`.
    pub fn state(&self, s: &mut Script, ts: u64, cpu: usize, ctx: Ctx, old: u64, new: u64) {
        let v = [("oldstate", N(old)), ("newstate", N(new))];
        self.ev(s, ts, cpu, ctx, "sock:inet_sock_set_state", &v);
    }
    /// `tcp_retransmit_skb` of an original.
    pub fn retransmit(&self, s: &mut Script, ts: u64, cpu: usize, ctx: Ctx, original: u64, more: &[(&'static str, V)]) {
        let mut v = vec![("skbaddr", N(original)), ("state", N(1))];
        v.extend(more.iter().cloned());
        self.ev(s, ts, cpu, ctx, "tcp:tcp_retransmit_skb", &v);
    }
    /// `sk_data_ready`.
    pub fn ready(&self, s: &mut Script, ts: u64, cpu: usize, ctx: Ctx) {
        self.ev(s, ts, cpu, ctx, "sock:sk_data_ready", &[]);
    }
    /// `sock_recv_length`.
    pub fn recv_length(&self, s: &mut Script, ts: u64, cpu: usize, pid: i32, ret: i64, flags: u64) {
        let v = [
            ("sk", N(self.sk)),
            ("family", N(2)),
            ("protocol", N(6)),
            ("ret", N(ret as u64)),
            ("flags", N(flags)),
        ];
        s.ev(ts, cpu, Ctx::Task(pid), "sock:sock_recv_length", &v);
    }
}

/// A row of a connection that nothing is told of, 10.0.0.1:1 to 10.0.0.2:2.
pub fn connection(n: u32) -> crate::reconstruct::tcp::tables::ConnectionRow {
    crate::reconstruct::tcp::tables::ConnectionRow {
        born: None,
        listens: None,
        connection: crate::facts::ConnectionId(n),
        saddr: Some(std::net::Ipv4Addr::new(10, 0, 0, 1).into()),
        sport: 1,
        daddr: Some(std::net::Ipv4Addr::new(10, 0, 0, 2).into()),
        dport: 2,
        skaddr: 0,
        cookie: None,
        task: crate::name::Name::default(),
        pid: 0,
        first_ns: 0,
        last_ns: 1,
        bytes_in: 0,
        bytes_out: 0,
        bytes_read: None,
        bytes_written: None,
        retransmits: Some(0),
        retransmit_segments: Some(0),
        retransmits_refused: Some(0),
        samples: 1,
        peer: None,
        confidence: crate::Confidence::Certain,
    }
}

/// A sample of a connection as it came then, with nothing under way.
pub fn sample(connection: u32, time_ns: i64) -> crate::reconstruct::tcp::tables::SampleRow {
    crate::reconstruct::tcp::tables::SampleRow {
        time_ns,
        connection: crate::facts::ConnectionId(connection),
        snd_cwnd: 10,
        ssthresh: 0x7fff_ffff,
        srtt_us: 5_000,
        snd_una: 1,
        snd_nxt: 1,
        snd_wnd: 65_536,
        rcv_wnd: 65_536,
        data_len: 0,
        cpu: 0,
    }
}

/// A call that sent one segment of a connection again.
pub fn sent_again(
    connection: u32,
    class: crate::reconstruct::tcp::tables::RetransmitClass,
    time_ns: i64,
) -> crate::reconstruct::tcp::tables::RetransmitRow {
    crate::reconstruct::tcp::tables::RetransmitRow {
        index: 0,
        time_ns,
        connection: Some(crate::facts::ConnectionId(connection)),
        synack: None,
        class,
        err: Some(0),
        bytes: Some(1514),
        original: None,
        segments: Some(1),
        confidence: crate::Confidence::Certain,
    }
}

/// A socket's change of state.
pub fn state(connection: u32, state: i32, time_ns: i64) -> crate::reconstruct::tcp::tables::StateRow {
    crate::reconstruct::tcp::tables::StateRow {
        time_ns,
        connection: crate::facts::ConnectionId(connection),
        kind: "sock",
        state,
        name: "",
        cpu: 0,
        in_task: true,
        pid: 0,
        task: crate::name::Name::default(),
    }
}

/// A connection of which this was the first state seen, at once.
pub fn born(f: &mut crate::Facts, mut row: crate::reconstruct::tcp::tables::ConnectionRow, state: i32) {
    row.born = Some(state);
    f.tcp_states.push(self::state(row.connection.0, state, 0));
    f.connections.push(row);
}
