//! `netmortem man`: manual pages made from the declared command line.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::CommandFactory;
use netmortem_recorder::cli::Standalone;

use crate::Outcome;
use crate::args::Cli;

const EXAMPLES: &str = "\
Examples:
  netmortem man | man -l -                      read it now
  netmortem man -o /usr/local/share/man/man1    install netmortem.1, netmortem-check.1, ...";

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Write one page per command into this folder instead of printing the main page
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Prints or writes.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut root = Cli::command();
    root.build();
    let Some(dir) = &args.output else {
        std::io::stdout().write_all(&page(root)?)?;
        return Ok(Outcome::Done);
    };
    let commands: Vec<clap::Command> = root
        .get_subcommands()
        .filter(|c| c.get_name() != "help")
        .cloned()
        .collect();
    let named = commands
        .into_iter()
        .map(|c| (format!("netmortem-{}.1", c.get_name()), c));
    let alone = [
        ("netmortem.1".to_owned(), root.clone()),
        ("netmortem-record.1".to_owned(), Standalone::command()),
    ];
    // The recorder alone takes what `netmortem record` takes: one page for both, its own.
    let named = named.filter(|(file, _)| file != "netmortem-record.1");
    for (file, command) in named.chain(alone) {
        let path = dir.join(file);
        std::fs::write(&path, page(command)?).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(Outcome::Done)
}

fn page(command: clap::Command) -> anyhow::Result<Vec<u8>> {
    let mut out = vec![];
    clap_mangen::Man::new(command).render(&mut out)?;
    Ok(out)
}
