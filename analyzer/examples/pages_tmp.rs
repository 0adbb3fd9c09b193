#![allow(clippy::print_stdout)]
use std::path::Path;
fn facts(f: &str) -> netmortem_analyzer::Facts {
    let capture = netmortem_formats::open_path(Path::new(f)).unwrap().unwrap();
    netmortem_analyzer::analyze(&capture, &Default::default())
}
fn main() {
    let w: Vec<String> = std::env::args().skip(1).collect();
    if w.len() == 1 {
        let f = facts(&w[0]);
        let a = netmortem_analyzer::analyses::answer(&f);
        for l in &a.verdict {
            println!("{l:#?}");
        }
        let n = f.turnarounds.iter().filter(|t| t.asleep_on.is_some()).count();
        println!("asleep_on {n} of {}", f.turnarounds.len());
    } else {
        let d = netmortem_analyzer::diff::compare(&[&facts(&w[0])], &[&facts(&w[1])], &Default::default());
        println!("{:?}\n{}", d.verdict.outcome, d.verdict.sentence);
        for (o, l) in &d.verdict.lines {
            println!("{o:?} {l}");
        }
    }
}
