//! `netmortem man`: manual pages made from the declared command line.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::CommandFactory;

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
    for (file, command) in named.chain([("netmortem.1".to_owned(), root.clone())]) {
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
