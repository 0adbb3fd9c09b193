use super::answers::{Names, Samples, text};
use crate::query;
#[test]
fn probe() {
    let Ok(all) = std::fs::read_to_string("/tmp/sql14.sql") else {
        return;
    };
    let mut out = String::new();
    for sql in all
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
    {
        let got = std::panic::catch_unwind(|| match query(&[&Samples, &Names], sql, None) {
            Ok(rows) => super::cells(&rows)
                .iter()
                .map(|r| r.iter().map(text).collect::<Vec<_>>().join(" "))
                .collect::<Vec<_>>()
                .join(", "),
            Err(e) => format!("ERR {}", e.to_string().replace('\n', " ")),
        });
        out += &format!("{}\n", got.unwrap_or_else(|_| "ERR panic".into()));
    }
    std::fs::write("/tmp/sql14.out", out).unwrap();
}
#[test]
fn serve() {
    use netmortem_analyzer::table::Cell;
    use std::io::Write;
    let Ok(all) = std::fs::read_to_string("/tmp/serve.in") else {
        return;
    };
    let mut out = std::fs::File::create("/tmp/serve.out").unwrap();
    for line in all.lines() {
        let (dir, sql) = line.split_once('\t').unwrap();
        let began = std::time::Instant::now();
        let got = std::panic::catch_unwind(|| match crate::query_dataset(std::path::Path::new(dir), sql) {
            Ok(rows) => serde_json::json!([
                "ok",
                super::cells(&rows)
                    .iter()
                    .map(|r| r
                        .iter()
                        .map(|c| match c {
                            Cell::Null => serde_json::Value::Null,
                            Cell::I64(v) => serde_json::json!(v),
                            Cell::U64(v) => serde_json::json!(v),
                            Cell::F64(v) => serde_json::json!(v),
                            Cell::Bool(v) => serde_json::json!(v),
                            Cell::Str(s) => serde_json::json!(s.to_string()),
                        })
                        .collect::<Vec<_>>())
                    .collect::<Vec<_>>()
            ]),
            Err(e) => serde_json::json!(["error", e.to_string()]),
        });
        let got = got.unwrap_or_else(|_| serde_json::json!(["panic", "panic"]));
        writeln!(out, "{}\t{}", began.elapsed().as_millis(), got).unwrap();
    }
}
