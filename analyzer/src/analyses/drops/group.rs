//! Drops that share reason, place and device.

use super::answered::{Answered, Passes, Redirected};
use super::arp::Arp;
use super::cut::Cut;
use super::damaged::Damaged;
use super::ends::Ends;
use super::flood::Flood;
use super::forgotten::Forgotten;
use super::incast::Incast;
use super::inside::Inside;
use super::next_link::NextLink;
use super::receiver::Receiver;
use super::repairs::Repairs;
use super::sizes::Sizes;
use super::steady::Steady;
use super::unresolved::Unresolved;
use super::whose::Lost;
use crate::settings::changed::Change;

/// Drops that share reason, place and device.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Group {
    /// Reason by the recording's own table; empty when neither it nor the place tells one.
    pub reason: String,
    /// The kernel records no reasons: it is the one that the function stands for.
    pub reason_inferred: bool,
    /// Kernel function; empty when not recorded.
    pub location: String,
    /// Device; empty when not known.
    pub dev: String,
    /// true: healthy kernels do this; false: packets were lost; `None`: nothing tells.
    pub expected: Option<bool>,
    /// Lost packets of the kernel's own traffic.
    pub background: bool,
    /// Rule that decided.
    pub why: &'static str,
    /// Kind of the device's root qdisc, where a qdisc dropped and the snapshots name one.
    pub qdisc: Option<String>,
    /// Several network namespaces have a device of that name: it is not known which dropped.
    #[serde(skip)]
    pub several: bool,
    /// Place of the first one in the view `drops`.
    pub first_drop: u64,
    /// Frees.
    pub count: u64,
    /// First.
    pub first_ns: i64,
    /// Last.
    pub last_ns: i64,
    /// Whose they were, where that is known; only of the first groups of lost packets of programs.
    pub of: Vec<Lost>,
    /// Of how many it is known whose they were, also where that is of too many to be told; asked of the same groups only.
    #[serde(skip)]
    pub owned: u64,
    /// IPv4 packets among them; asked of the same groups only.
    #[serde(skip)]
    pub ipv4: u64,
    /// From where to where those went of which no socket tells, by their route lookups; inferred; only of the first groups of lost packets of programs.
    pub ends: Option<Ends>,
    /// Of packets that a rule dropped: that all which came by their devices to be passed on are, since a time; inferred: why.
    pub cut: Option<Cut>,
    /// Of a full ring of a tap or TUN device: no program read a packet of it in the recording.
    #[serde(skip)]
    pub unread: bool,
    /// ICMP messages that this host made for them; only of the first groups of lost packets of programs.
    pub answered: Vec<Answered>,
    /// Of a queue: what filled it was for others.
    pub flood: Option<Flood>,
    /// ICMP redirects that a router made for some of them.
    pub redirected: Option<Redirected>,
    /// The one route of the recorded tables that refuses where they went, as `prohibit 10.0.0.0/8`; of places where routes refuse.
    pub refused_by: Option<String>,
    /// The network namespace that has it, where one alone refuses there.
    #[serde(skip)]
    pub refused_in: Option<u64>,
    /// Of packets for an address that is none of the host's: addresses that share the MAC address of the one they were for.
    pub same_mac: Option<String>,
    /// Few of what transfers sent that fill this queue by themselves, TCP probing for its rate: how many are of others.
    #[serde(serialize_with = "super::finds_rate::whether")]
    pub finds_rate: Option<u64>,
    /// Of a full queue: transfers that keep it full, TCP probing for its rate: the part of the time in which these had data under way that packets waited in it; inferred.
    pub line_full: Option<f64>,
    /// Of a full queue: many hosts that answer one at once.
    pub incast: Option<Incast>,
    /// Of packets with a wrong checksum, wherever in this host that was found: between which hosts they were damaged.
    pub damaged: Option<Damaged>,
    /// Of packets whose source is an address of the host that they came to: where most of them turned round, back to their sender; inferred.
    pub came_back: Option<String>,
    /// Of packets without a route: to what others of their connections were translated; inferred.
    pub untranslated: Option<String>,
    /// Of a kernel that records no reasons: which counter of the kernel tells this one, or what its senders were told; inferred.
    pub by_counter: Option<String>,
    /// The table of the kernel that was full, where its counters tell (true); else how large it may be, where its being full is one of the causes.
    pub full: Option<Full>,
    /// Of packets that a rule dropped: their connections had been silent for longer than any on which something passed.
    pub forgotten: Option<Forgotten>,
    /// Of packets that came to sockets: that only large ones are among them.
    pub sizes: Option<Sizes>,
    /// Of packets that a rule dropped: how many are as long as IGMP's, and a kernel's own; inferred.
    pub membership: Option<u64>,
    /// Of packets that a rule dropped on a bridge's port: the setting by which rules of IP meet what is only switched.
    #[serde(skip)]
    pub bridged: Option<&'static str>,
    /// ARP frames among them, and neighbours that were not resolved meanwhile; the latter inferred.
    pub arp: Option<Arp>,
    /// Of packets that a rule dropped: those of transfers that got on as fast all along and go on; inferred.
    pub steady: Option<Steady>,
    /// What changed while recording that may be why: an address that was taken away, the carrier of a bridge's port, the way of these packets.
    pub meanwhile: Option<String>,
    /// That is their way.
    #[serde(skip)]
    pub rerouted: bool,
    /// That is a host that no longer forwards.
    #[serde(skip)]
    pub no_router: Option<Change>,
    /// That is a route that covers where they go.
    #[serde(skip)]
    pub covered: bool,
    /// An address of the host whose device it is, where devices of several hosts have its name.
    #[serde(skip)]
    pub host: Option<String>,
    /// The tunnel that they, or some of them, were inside of.
    pub inside: Option<Inside>,
    /// The neighbour whose answer they waited for, of reasons that say that it did not come.
    pub unresolved: Option<Unresolved>,
    /// Of them, SYNs of checks of a server that is down; inferred; only of packets whose neighbour did not answer.
    pub checks: u64,
    /// Of them, SYNs of attempts beside work that goes well, of scans and checks, FINs of connections that are not known to have sent anything else, and datagrams of threads that waited for no answer; inferred; only of the first groups of lost packets of programs.
    pub aside: u64,
    /// SYNs of attempts that were given up after a wait; only of the first groups of lost packets of programs.
    #[serde(skip)]
    pub given_up: u64,
    /// Of a socket that had no room: datagrams of threads that waited for no answer; only of the first groups of lost packets of programs.
    #[serde(skip)]
    pub one_way: u64,
    /// Of connections, but for FINs alone: what may be sent again, or wait.
    #[serde(skip)]
    pub of_connections: u64,
    /// Those that are neither, where both are there: described by themselves.
    #[serde(skip)]
    pub missed: Option<Box<Group>>,
    /// The link that they were too large for.
    pub next_link: Option<NextLink>,
    /// The UDP socket that refused them, where all were for one.
    pub receiver: Option<Receiver>,
    /// What they cost; only of the first groups of lost packets of programs, where they lost data of TCP sockets of this recording.
    pub repairs: Option<Repairs>,
    /// Other functions, where groups are told as one.
    #[serde(skip)]
    pub also_at: Vec<String>,
    /// How often they came by, where their TTL had run out; only of these groups.
    pub passes: Option<Passes>,
    /// When each was dropped, ns since the start of the recording; only of these groups.
    #[serde(skip)]
    pub times: Vec<i64>,
}

/// Of a table of the kernel, or of a queue.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Full {
    /// That it was full, and how large it may be; of a queue that had room, by what else it refused them.
    pub says: String,
    /// By the kernel's own counters, or all seen there; else nothing tells that it was full, and only its size is said.
    pub counted: bool,
}
