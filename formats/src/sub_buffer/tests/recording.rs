//! A recording of a tracing instance: raw sub-buffers, and what the kernel printed of them. From a folder of testdata,
//! or made on the spot.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read};
use std::net::UdpSocket;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::endian::Endian;
use crate::event_format::EventFormat;
use crate::kallsyms::Kallsyms;
use crate::sub_buffer::PageLayout;

/// `O_NONBLOCK` of every Linux but alpha, mips, parisc and sparc.
const O_NONBLOCK: i32 = 0o4000;

pub struct Recording {
    pub layout: PageLayout,
    pub formats: Vec<EventFormat>,
    pub kallsyms: Kallsyms,
    /// The `trace` text.
    pub trace: String,
    /// Raw sub-buffers and `stats` text per CPU.
    pub cpus: BTreeMap<u32, (Vec<u8>, String)>,
}

impl Recording {
    /// A folder of `testdata/pages/<release>`.
    pub fn stored(release: &str, name: &str) -> Recording {
        let testdata = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata");
        let pages = testdata.join("pages").join(release);
        let mut cpus = BTreeMap::new();
        for cpu in 0..2u32 {
            let raw = fs::read(pages.join(name).join(format!("cpu{cpu}.raw"))).unwrap();
            let stats = fs::read_to_string(pages.join(name).join(format!("cpu{cpu}.stats"))).unwrap();
            cpus.insert(cpu, (raw, stats));
        }
        let mut formats = Vec::new();
        for path in fs::read_dir(testdata.join("format").join(release))
            .unwrap()
            .map(|e| e.unwrap().path())
        {
            let system = path.file_name().unwrap().to_str().unwrap().split('.').next().unwrap();
            formats.push(EventFormat::parse(system, &fs::read(&path).unwrap()).unwrap());
        }
        Recording {
            layout: PageLayout::parse(&fs::read(pages.join("header_page")).unwrap(), Endian::Little).unwrap(),
            formats,
            kallsyms: Kallsyms::new(fs::read(pages.join("kallsyms")).unwrap()),
            trace: fs::read_to_string(pages.join(name).join("trace")).unwrap(),
            cpus,
        }
    }

    /// Records `datagrams` UDP datagrams over loopback into a new instance of `kib` KiB per CPU, with sub-buffers of
    /// `sub_kib` KiB where that is not the kernel's own choice; why not, if it cannot.
    pub fn live(label: &str, kib: u32, sub_kib: Option<u32>, datagrams: usize) -> Result<Recording, String> {
        let instance = Instance::new(label)?;
        instance.write("tracing_on", "0")?;
        instance.write("trace_clock", "mono")?;
        if let Some(sub_kib) = sub_kib {
            instance.write("buffer_subbuf_size_kb", &sub_kib.to_string())?;
        }
        instance.write("buffer_size_kb", &kib.to_string())?;
        // This thread only: the rest of the machine is not the test's.
        let link = fs::read_link("/proc/thread-self").map_err(|e| e.to_string())?;
        instance.write("set_event_pid", link.file_name().unwrap().to_str().unwrap())?;
        let mut formats = Vec::new();
        for event in EVENTS {
            let folder = format!("events/{event}");
            match fs::read(instance.0.join(&folder).join("format")) {
                Ok(text) => formats.push(EventFormat::parse(event.split('/').next().unwrap(), &text).unwrap()),
                Err(e) if e.kind() == ErrorKind::NotFound => continue, // not built into this kernel
                Err(e) => return Err(format!("{event}: {e}")),
            }
            instance.write(&format!("{folder}/enable"), "1")?;
        }
        let socket = UdpSocket::bind("127.0.0.1:0").map_err(|e| e.to_string())?;
        let me = socket.local_addr().unwrap();
        // A port that nobody listens on: kfree_skb with a reason.
        let nobody = UdpSocket::bind("127.0.0.1:0")
            .and_then(|s| s.local_addr())
            .map_err(|e| e.to_string())?;
        let other = UdpSocket::bind("127.0.0.1:0").map_err(|e| e.to_string())?;
        instance.write("tracing_on", "1")?;
        for i in 0..datagrams {
            if i % 5 == 0 {
                other.send_to(b"nobody", nobody).map_err(|e| e.to_string())?;
            }
            socket.send_to(&vec![7; i * 7 % 1200], me).map_err(|e| e.to_string())?;
            socket.recv_from(&mut [0; 2000]).map_err(|e| e.to_string())?;
        }
        instance.write("tracing_on", "0")?;
        let mut header_page = vec![0; 4096];
        // The kernel answers the first read only, and fs::read begins with a small one.
        let mut file = fs::File::open("/sys/kernel/tracing/events/header_page").map_err(|e| e.to_string())?;
        let length = file.read(&mut header_page).map_err(|e| e.to_string())?;
        header_page.truncate(length);
        let endian = if cfg!(target_endian = "big") {
            Endian::Big
        } else {
            Endian::Little
        };
        // The text is of the top instance.
        let layout = PageLayout::parse(&header_page, endian).unwrap();
        let layout = sub_kib.map_or(layout, |kib| layout.with_size(kib * 1024));
        let trace = instance.read("trace")?;
        let mut cpus = BTreeMap::new();
        for cpu in 0..u32::MAX {
            let folder = format!("per_cpu/cpu{cpu}");
            if !instance.0.join(&folder).exists() {
                break;
            }
            let stats = instance.read(&format!("{folder}/stats"))?;
            cpus.insert(
                cpu,
                (instance.drain(&format!("{folder}/trace_pipe_raw"), layout.size)?, stats),
            );
        }
        Ok(Recording {
            layout,
            formats,
            kallsyms: Kallsyms::new(fs::read("/proc/kallsyms").map_err(|e| e.to_string())?),
            trace,
            cpus,
        })
    }
}

const EVENTS: &[&str] = &[
    "net/net_dev_queue",
    "net/net_dev_start_xmit",
    "net/net_dev_xmit",
    "net/netif_rx",
    "net/netif_receive_skb",
    "napi/napi_poll",
    "skb/consume_skb",
    "skb/kfree_skb",
    "irq/softirq_raise",
    "irq/softirq_entry",
    "irq/softirq_exit",
    "sched/sched_waking",
    "sock/sock_send_length",
    "sock/sock_recv_length",
    "syscalls/sys_enter_sendto",
    "syscalls/sys_exit_sendto",
];

/// A private tracing instance, removed when dropped.
struct Instance(PathBuf);

impl Instance {
    fn new(label: &str) -> Result<Instance, String> {
        let name = format!("netmortem-test-{}-{label}", std::process::id());
        let path = Path::new("/sys/kernel/tracing/instances").join(name);
        fs::create_dir(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Instance(path))
    }
    fn write(&self, file: &str, text: &str) -> Result<(), String> {
        fs::write(self.0.join(file), text).map_err(|e| format!("{file}: {e}"))
    }
    fn read(&self, file: &str) -> Result<String, String> {
        fs::read_to_string(self.0.join(file)).map_err(|e| format!("{file}: {e}"))
    }
    /// All that `trace_pipe_raw` holds: one sub-buffer per read.
    fn drain(&self, file: &str, sub_buffer_size: u32) -> Result<Vec<u8>, String> {
        let path = self.0.join(file);
        let mut options = fs::OpenOptions::new();
        let mut input = options
            .read(true)
            .custom_flags(O_NONBLOCK)
            .open(path)
            .map_err(|e| e.to_string())?;
        let (mut out, mut page) = (Vec::new(), vec![0; sub_buffer_size as usize]);
        loop {
            match input.read(&mut page) {
                Ok(0) => return Ok(out),
                Ok(n) => out.extend(&page[..n]),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(out),
                Err(e) => return Err(format!("{file}: {e}")),
            }
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = fs::write(self.0.join("events/enable"), "0");
        let _ = fs::remove_dir(&self.0);
    }
}
