//! The report without the command: how long each part of it takes.
//!
//! ```text
//! cargo run --release -p netmortem-reports --example report -- FILE             seconds of each step, as JSON
//! cargo run --release -p netmortem-reports --example report -- --parts FILE     and of each question and section, one after the other
//! cargo run --release -p netmortem-reports --example report -- --digest FILE    a hash of each answer and of the page, no times
//! cargo run --release -p netmortem-reports --example report -- --write PAGE.html DIR FILE    the page, and every chart as PNGs
//! ```
//!
//! Two builds whose digests are equal say the same of one file.
#![allow(clippy::print_stdout)] // a program that measures has to say what it measured

use std::path::Path;
use std::time::Instant;

use netmortem_analyzer::analyses::{self, Answers};
use netmortem_analyzer::ingest::Options;
use netmortem_reports::{html, sections};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (mut out, mut pictures) = (None, None);
    let (flag, file) = match words.as_slice() {
        [file] => ("", file),
        [flag, page, dir, file] if flag == "--write" => {
            (out, pictures) = (Some(page), Some(dir));
            ("", file)
        }
        [flag, file] if flag == "--parts" || flag == "--digest" => (flag.as_str(), file),
        _ => return Err("usage: report [--parts|--digest|--write PAGE DIR] FILE".into()),
    };
    let mut steps = Steps::default();
    let capture = steps.time("open", || netmortem_formats::open_path(Path::new(file)))??;
    let facts = steps.time("analyze", || netmortem_analyzer::analyze(&capture, &Options::default()));
    if flag == "--parts" {
        parts(&facts);
    }
    let answers = steps.time("answer", || analyses::answer(&facts));
    let document = steps.time("document", || sections::document(&facts, &answers));
    let page = steps.time("html", || html(&document));
    if let Some(path) = out {
        std::fs::write(path, &page)?;
    }
    if let Some(dir) = pictures {
        netmortem_reports::write_pngs(&document, Path::new(dir))?;
    }
    match flag {
        "--digest" => digests(&answers, &page)?,
        _ => println!("{}", Value::Object(steps.seconds)),
    }
    Ok(())
}

/// Wall-clock seconds by step.
#[derive(Default)]
struct Steps {
    seconds: Map<String, Value>,
}

impl Steps {
    fn time<T>(&mut self, step: &str, work: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let made = work();
        let seconds = json!((started.elapsed().as_secs_f64() * 1e4).round() / 1e4);
        self.seconds.insert(step.into(), seconds);
        made
    }
}

/// Each question and each section alone.
fn parts(facts: &netmortem_analyzer::Facts) {
    let mut of = Steps::default();
    of.time("quality", || analyses::quality::answer(facts));
    let ledgers = of.time("units", || analyses::units::Ledgers::of(facts));
    of.time("receive", || analyses::receive::answer(facts, &ledgers.rx));
    of.time("transmit", || analyses::transmit::answer(facts, &ledgers.tx));
    of.time("lifetimes", || analyses::lifetimes::answer(facts));
    of.time("napi", || analyses::napi::answer(facts));
    of.time("drops", || analyses::drops::answer(facts));
    of.time("tcp", || analyses::tcp::answer(facts));
    of.time("exemplars", || analyses::exemplars::answer(facts, &ledgers));
    of.time("over_time", || analyses::overtime::answer(facts, &ledgers));
    of.time("breakdown", || analyses::breakdown::answer(facts, &ledgers));
    println!("{}", Value::Object(of.seconds));
    let answers = analyses::answer(facts);
    let input = sections::Input {
        facts,
        answers: &answers,
    };
    let mut of = Steps::default();
    for section in &sections::SECTIONS {
        of.time(section.folder, || (section.build)(&input));
    }
    println!("{}", Value::Object(of.seconds));
}

/// A hash of each answer, by its name, and of the page.
fn digests(answers: &Answers, page: &str) -> Result<(), Failure> {
    let show = |name: &str, bytes: &[u8]| {
        let hash = Sha256::digest(bytes);
        let hex: String = hash.iter().take(8).map(|b| format!("{b:02x}")).collect();
        println!("{hex} {:>9} {name}", bytes.len());
    };
    let Value::Object(all) = serde_json::to_value(answers)? else {
        return Err("the answers are no object".into());
    };
    for (name, answer) in &all {
        show(name, &serde_json::to_vec(answer)?);
    }
    show("page", page.as_bytes());
    Ok(())
}
