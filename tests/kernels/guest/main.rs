//! What runs under each kernel of the matrix: the recorder as the tests build it, and traffic of known size.
//!
//! ```text
//! netmortem-guest play DIR          namespaces, counters, recordings, state before and after: files in DIR
//! netmortem-guest record ARGS...    is `netmortem-record ARGS...`
//! netmortem-guest traffic C S DIR   sends from namespace C to namespace S, and says what in DIR/truth
//! netmortem-guest hotplug DIR       takes CPU 1 away and gives it back under traffic, and says when in DIR/hotplug
//! netmortem-guest delays DIR            only the flights of delays.rs
//! netmortem-guest loopback              sends over loopback for half a second
//! netmortem-guest burn                  takes half of a CPU
//! ```

mod counters;
mod delays;
mod limits;
mod play;
mod traffic;

use clap::Parser;

/// As `netmortem-record`.
#[derive(Debug, Parser)]
struct Record {
    #[command(flatten)]
    record: netmortem_recorder::cli::RecordArgs,
}

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = args.iter().skip(1).map(String::as_str).collect();
    match words[..] {
        ["play", dir] => play::play(dir.as_ref()),
        ["record", ..] => Ok(netmortem_recorder::cli::run(
            &Record::parse_from(args.iter().skip(1)).record,
        )?),
        ["traffic", client, server, dir] => traffic::traffic(client, server, dir.as_ref()),
        ["hotplug", dir] => traffic::hotplug(dir.as_ref()),
        ["delays", dir] => delays::delays(dir.as_ref()),
        ["loopback"] => delays::some(),
        ["burn"] => {
            delays::burn();
            Ok(())
        }
        _ => anyhow::bail!("one of: play, record, traffic, hotplug, delays, loopback, burn"),
    }
}
