//! The socket and its ring of memory shared with the kernel. Here is the third `unsafe` of this crate: socket options of
//! AF_PACKET, the map, and the word by which the kernel and we hand blocks to each other have no safe interface.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

use super::filter::Instruction;
use super::frames::STATUS_AT;

/// A block that is not full is handed over after this long, ms.
const RETIRE_MS: u32 = 100;
/// Room that the kernel wants to be told of for one frame; it lays them out by their length.
const FRAME_BYTES: u32 = 2048;
const TP_STATUS_USER: u32 = 1;
/// include/uapi/linux/if_arp.h
const ARPHRD_ETHER: u16 = 1;
const ARPHRD_LOOPBACK: u16 = 772;
/// Interfaces whose packets begin with IP: tunnels, tun, WireGuard, cellular modems.
const ARPHRD_IP: [u16; 6] = [519, 768, 769, 776, 778, 65534];

/// What packets of an interface begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// An Ethernet header.
    Ethernet {
        /// Every packet passes twice, out and in.
        loopback: bool,
    },
    /// An IP header.
    Ip,
}

/// Counters since the last time they were asked for (struct tpacket_stats_v3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// Packets that passed the filter, lost ones included.
    pub packets: u64,
    /// Lost, because the ring was full.
    pub drops: u64,
    /// How often it was.
    pub freezes: u64,
}

/// A packet socket bound to one interface.
pub struct Socket {
    fd: OwnedFd,
    ifindex: i32,
    /// What its packets begin with.
    pub link: Link,
}

impl Socket {
    /// A socket in the network namespace of the calling thread. It takes nothing before [`Socket::begin`].
    pub fn open(ifindex: u32) -> io::Result<Socket> {
        let ifindex = i32::try_from(ifindex).map_err(io::Error::other)?;
        let fd = socket(libc::SOCK_RAW)?;
        // Protocol 0 takes no packets, but tells the kind of the interface.
        bind(&fd, 0, ifindex)?;
        let link = match address(&fd)?.sll_hatype {
            ARPHRD_ETHER => Link::Ethernet { loopback: false },
            ARPHRD_LOOPBACK => Link::Ethernet { loopback: true },
            t if ARPHRD_IP.contains(&t) => Link::Ip,
            t => {
                let what = format!("its packets begin neither with Ethernet nor with IP (ARPHRD {t})");
                return Err(io::Error::new(io::ErrorKind::Unsupported, what));
            }
        };
        let fd = match link {
            Link::Ethernet { .. } => fd,
            Link::Ip => {
                let cooked = socket(libc::SOCK_DGRAM)?;
                bind(&cooked, 0, ifindex)?;
                cooked
            }
        };
        let version = libc::tpacket_versions::TPACKET_V3 as libc::c_int;
        set(&fd, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        Ok(Socket { fd, ifindex, link })
    }

    /// Replaces the filter.
    pub fn filter(&self, program: &[Instruction]) -> io::Result<()> {
        let mut code: Vec<libc::sock_filter> = program
            .iter()
            .map(|i| libc::sock_filter {
                code: i.code,
                jt: i.jt,
                jf: i.jf,
                k: i.k,
            })
            .collect();
        let program = libc::sock_fprog {
            len: u16::try_from(code.len()).map_err(io::Error::other)?,
            filter: code.as_mut_ptr(),
        };
        set(&self.fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
    }

    /// Lets the packets in.
    pub fn begin(&self) -> io::Result<()> {
        bind(&self.fd, (libc::ETH_P_ALL as u16).to_be(), self.ifindex)
    }

    /// Whether the interface was removed: the kernel then takes it from the socket (`packet_notifier`).
    pub fn interface_is_gone(&self) -> bool {
        address(&self.fd).is_ok_and(|a| a.sll_ifindex != self.ifindex)
    }

    /// The error that waits at the socket, as the kernel's number; 0 when there is none. It is taken.
    pub fn take_error(&self) -> i32 {
        get::<libc::c_int>(&self.fd, libc::SOL_SOCKET, libc::SO_ERROR).unwrap_or(0)
    }

    /// Counters since the last call.
    pub fn counted(&self) -> io::Result<Counted> {
        let s: [u32; 3] = get(&self.fd, libc::SOL_PACKET, libc::PACKET_STATISTICS)?;
        let [packets, drops, freezes] = s.map(u64::from);
        Ok(Counted {
            packets,
            drops,
            freezes,
        })
    }
}

impl std::os::fd::AsFd for Socket {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The ring of a socket.
pub struct Ring {
    map: NonNull<u8>,
    block_bytes: usize,
    blocks: usize,
    next: usize,
}

// SAFETY: the map is reached through this value alone, and stays where it is until it is dropped.
unsafe impl Send for Ring {}

impl Ring {
    /// Gives `socket` a ring of about `bytes`, at least two blocks.
    pub fn map(socket: &Socket, bytes: u64) -> io::Result<Ring> {
        let page = rustix::param::page_size() as u64;
        // Many blocks, because one that is handed over is lost to the kernel even when it is nearly empty; but each larger
        // than the largest packet of a segmenting sender.
        let block = (bytes / 32).clamp(128 << 10, 256 << 10).min(bytes / 2).max(page);
        let block = block.next_power_of_two().min(bytes.max(2 * page) / 2 / page * page);
        let blocks = (bytes / block).max(2);
        let number = |n: u64| u32::try_from(n).map_err(io::Error::other);
        let frames = block / u64::from(FRAME_BYTES) * blocks;
        let request: [u32; 7] = [
            number(block)?,
            number(blocks)?,
            FRAME_BYTES,
            number(frames)?,
            RETIRE_MS,
            0,
            0,
        ];
        set(&socket.fd, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let length = (block * blocks) as usize;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice, of the size that was just granted.
        let map = unsafe {
            libc::mmap(
                ptr::null_mut(),
                length,
                protection,
                libc::MAP_SHARED,
                socket.fd.as_raw_fd(),
                0,
            )
        };
        if map == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Ring {
            map: NonNull::new(map.cast()).ok_or_else(|| io::Error::other("mapped at 0"))?,
            block_bytes: block as usize,
            blocks: blocks as usize,
            next: 0,
        })
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        (self.block_bytes * self.blocks) as u64
    }

    /// Hands the next block to `read` and then back to the kernel; `None` when the kernel still has it.
    pub fn next_block<T>(&mut self, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        // SAFETY: `next` is below `blocks`, so the block lies in the map.
        let block = unsafe { self.map.as_ptr().add(self.next * self.block_bytes) };
        // SAFETY: the word lies in the block, is aligned to 4, and the kernel only writes it as a whole.
        let status = unsafe { AtomicU32::from_ptr(block.add(STATUS_AT).cast()) };
        // Acquire: what the kernel wrote before it handed the block over is seen after this.
        if status.load(Ordering::Acquire) & TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the kernel does not write a block that is ours; `read` is done before it is given back.
        let out = read(unsafe { std::slice::from_raw_parts(block, self.block_bytes) });
        // Release: our reads are done before the kernel sees it.
        status.store(0, Ordering::Release);
        self.next = (self.next + 1) % self.blocks;
        Some(out)
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: this is the whole map, and nothing borrows from it any more.
        unsafe { libc::munmap(self.map.as_ptr().cast(), self.block_bytes * self.blocks) };
    }
}

fn socket(kind: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: no pointers; the descriptor is new and ours.
    unsafe {
        match libc::socket(libc::AF_PACKET, kind | libc::SOCK_CLOEXEC, 0) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

fn bind(fd: &OwnedFd, protocol: u16, ifindex: i32) -> io::Result<()> {
    // SAFETY: zero is a valid sockaddr_ll, and it is valid for the call with the size given.
    let done = unsafe {
        let mut a: libc::sockaddr_ll = std::mem::zeroed();
        a.sll_family = libc::AF_PACKET as u16;
        a.sll_protocol = protocol;
        a.sll_ifindex = ifindex;
        libc::bind(fd.as_raw_fd(), ptr::from_ref(&a).cast(), size_of_val(&a) as u32)
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn address(fd: &OwnedFd) -> io::Result<libc::sockaddr_ll> {
    // SAFETY: zero is a valid sockaddr_ll, and the kernel writes no more than the size given.
    unsafe {
        let mut a: libc::sockaddr_ll = std::mem::zeroed();
        let mut size = size_of_val(&a) as u32;
        match libc::getsockname(fd.as_raw_fd(), ptr::from_mut(&mut a).cast(), &mut size) {
            0 => Ok(a),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

fn set<T>(fd: &OwnedFd, level: i32, option: i32, value: &T) -> io::Result<()> {
    // SAFETY: the value is valid for the call with its size; what it points to (a filter) the caller keeps.
    let done = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            option,
            ptr::from_ref(value).cast(),
            size_of::<T>() as u32,
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// `T` is made of integers only.
fn get<T: Default>(fd: &OwnedFd, level: i32, option: i32) -> io::Result<T> {
    let mut value = T::default();
    let mut size = size_of::<T>() as u32;
    // SAFETY: the kernel writes no more than the size given, and any bytes are a valid `T`.
    let done = unsafe {
        let value = ptr::from_mut(&mut value).cast();
        libc::getsockopt(fd.as_raw_fd(), level, option, value, &mut size)
    };
    if done == 0 {
        Ok(value)
    } else {
        Err(io::Error::last_os_error())
    }
}
