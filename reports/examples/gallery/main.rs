//! Renders the layout gallery (made-up numbers, see `layout.rs`) so that a change of the charts or the page can be looked at and timed:
//! `cargo run -p netmortem-reports --example gallery -- DIR`.

mod layout;

use std::path::Path;
use std::time::Instant;

use netmortem_reports::{html, write_pngs};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args().nth(1).unwrap_or_else(|| "target/gallery".to_owned());
    let dir = Path::new(&dir);
    std::fs::create_dir_all(dir)?;
    let document = layout::document();

    let start = Instant::now();
    let page = html(&document);
    let page_time = start.elapsed();
    std::fs::write(dir.join("gallery.html"), &page)?;

    let start = Instant::now();
    let files = write_pngs(&document, dir)?;
    let plain = netmortem_reports::Colors::None;
    let text = netmortem_reports::text(&document, plain, None) + &netmortem_reports::wrote(&files, plain);
    std::fs::write(dir.join("gallery.txt"), text)?;
    std::fs::write(
        dir.join("timing.txt"),
        format!(
            "html {page_time:?}, {} bytes; {} PNG files {:?}\n",
            page.len(),
            files.len(),
            start.elapsed()
        ),
    )?;
    Ok(())
}
