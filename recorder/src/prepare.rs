//! Before the first event: the instance is set up, and everything that is needed to read events later is written.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use netmortem_formats::bundle::{self, BundleWriter, Clocks, Manifest, Plan, RecorderInfo};

use crate::drain::{BATCH_BYTES, Sink};
use crate::error::RecordError;
use crate::instance::Instance;
use crate::options::RecordOptions;
use crate::plan::{self, Enabled};
use crate::symbols::Symbols;
use crate::{clock, host, limits, permissions, tracefs};

/// Making the ring buffers may take the kernel so long before it is worth a note.
const SLOW: Duration = Duration::from_secs(1);

/// Sets the instance up (tracing stays off) and returns the manifest that says how.
pub fn prepare(
    instance: &Instance,
    options: &RecordOptions,
    symbols: &Symbols,
    removed: Vec<String>,
) -> Result<Manifest, RecordError> {
    let mut notes: Vec<String> = removed
        .iter()
        .map(|r| format!("removed tracing instance or probe {r}, left by a recorder that was killed"))
        .collect();
    notes.extend(permissions::notes(symbols.are_hidden()));
    let clock = instance.set_clock()?;
    if clock != "mono" {
        notes.push(format!(
            "this kernel has no mono trace clock; {clock} is used, without a relation to the other clocks"
        ));
    }
    // An instance inherits the user's options; these change what is recorded. Kernels that lack one have nothing to set.
    // Overwrite mode, because only it marks in the buffer where events were lost.
    for (option, value) in [("overwrite", "1"), ("stacktrace", "0"), ("userstacktrace", "0")] {
        let _ = instance.write(&format!("options/{option}"), value);
    }
    let cpus = instance.cpus();
    let buffer_kib = limits::buffer_kib(options, cpus.len() as u64, &mut notes);
    let began = Instant::now();
    instance.write("buffer_size_kb", &buffer_kib.to_string())?;
    if began.elapsed() >= SLOW {
        notes.push(format!(
            "the kernel took {:.1} s to make ring buffers of {} MiB, before anything was recorded",
            began.elapsed().as_secs_f64(),
            buffer_kib.saturating_mul(cpus.len() as u64) >> 10
        ));
    }
    let granted_kib = first_number(&instance.read("buffer_size_kb")?).unwrap_or(buffer_kib);
    // Wake the reader when a batch is there; kernels before 5.0 have no such file and wake it at every event.
    let batch = (BATCH_BYTES as u64 >> 10).saturating_mul(100) / granted_kib.max(1);
    let _ = instance.write("buffer_percent", &batch.clamp(1, 25).to_string());
    let sub_buffer_kib = instance
        .read("buffer_subbuf_size_kb")
        .ok()
        .and_then(|t| first_number(&t));
    let page_bytes = rustix::param::page_size() as u64;
    let sub_buffer_bytes = sub_buffer_kib.map_or(page_bytes, |k| k.saturating_mul(1024));
    let filters = &options.filters;
    if let Some(cpu) = filters.cpus.iter().find(|c| !cpus.contains(c)) {
        return Err(RecordError::NoCpu { cpu: *cpu });
    }
    if !filters.cpus.is_empty() {
        instance.write("tracing_cpumask", &plan::cpu_mask(&filters.cpus))?;
    }
    let Enabled { events, absent } = plan::enable(instance, options.profile, filters, symbols.functions())?;
    notes.extend(filters.notes(&events));
    let machine = host::machine();
    let wanted = |c: &u32| machine.cpus_online.contains(c) && (filters.cpus.is_empty() || filters.cpus.contains(c));
    let online: Vec<u32> = cpus.iter().copied().filter(wanted).collect();
    Ok(Manifest {
        format_version: bundle::FORMAT_VERSION,
        recorder: recorder_info(options),
        host: host::host(u32::try_from(cpus.len()).unwrap_or(u32::MAX)),
        machine,
        clocks: Clocks {
            trace_clock: clock.to_owned(),
            start: clock::clock_pair(),
        },
        plan: Plan {
            profile: options.profile.name().to_owned(),
            instance: instance.name().to_owned(),
            perf: None,
            buffer_bytes_per_cpu: granted_kib.saturating_mul(1024),
            sub_buffer_bytes: u32::try_from(sub_buffer_bytes).unwrap_or(0),
            cpus: online,
            filters: filters.texts(),
            events,
            absent,
            packets: Vec::new(),
        },
        flight: None,
        slice: None,
        redacted: false,
        pseudonyms: vec![],
        notes,
    })
}

/// Who records, and what it was asked for.
pub fn recorder_info(options: &RecordOptions) -> RecorderInfo {
    RecorderInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: options.command_line.clone(),
        pid: std::process::id(),
        command: options
            .command
            .iter()
            .map(|c| c.to_string_lossy().into_owned())
            .collect(),
    }
}

fn first_number(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().next()?.parse().ok()
}

/// What is needed to read the events (`symbols` is [`Symbols::frame`]), before the first of them: a bundle cut later can still be decoded.
pub fn write_texts(
    writer: &mut BundleWriter<Sink>,
    tracefs: &Path,
    events: &Path,
    manifest: &Manifest,
    symbols: &[u8],
) -> io::Result<()> {
    let read = |p: PathBuf| tracefs::read_file(&p).ok();
    for (name, file) in [
        (bundle::HEADER_PAGE, "events/header_page"),
        (bundle::HEADER_EVENT, "events/header_event"),
        (bundle::PRINTK_FORMATS, "printk_formats"),
    ] {
        if let Some(text) = read(events.join(file)).or_else(|| read(tracefs.join(file))) {
            writer.append(name, &text)?;
        }
    }
    for event in &manifest.plan.events {
        let Some((system, name)) = event.name.split_once(':') else {
            continue;
        };
        if let Some(text) = read(events.join(format!("events/{system}/{name}/format"))) {
            writer.append(&bundle::event_format_name(system, name), &text)?;
        }
    }
    if !symbols.is_empty() {
        writer.append(bundle::SYMBOLS, symbols)?;
    }
    Ok(())
}
