//! tun and tap devices (Documentation/networking/tuntap.rst of the kernel).

use std::fs::File;
use std::io::{Error, Result};
use std::os::fd::AsRawFd;

/// A layer of packets for [`attach`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// tun: IP packets.
    Ip,
    /// tap: Ethernet frames.
    Ethernet,
}

/// Makes the tun or tap device `name` in this thread's namespace; it lives until the file is closed. One packet a read
/// or write, without a header.
pub fn attach(name: &str, layer: Layer) -> Result<File> {
    let file = File::options().read(true).write(true).open("/dev/net/tun")?;
    let kind = match layer {
        Layer::Ip => libc::IFF_TUN,
        Layer::Ethernet => libc::IFF_TAP,
    };
    let mut request = [0u8; 40]; // struct ifreq: 16 bytes of name, then the flags
    for (to, from) in request.iter_mut().zip(name.bytes().take(15)) {
        *to = from;
    }
    let flags = (kind | libc::IFF_NO_PI) as u16;
    request[16..18].copy_from_slice(&flags.to_ne_bytes());
    // SAFETY: TUNSETIFF reads and writes a struct ifreq, which is what `request` is.
    if unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, request.as_mut_ptr()) } != 0 {
        return Err(Error::last_os_error());
    }
    Ok(file)
}
