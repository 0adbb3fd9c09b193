//! The report as one HTML file: style sheet, script and pictures inside, nothing fetched.
//!
//! ```text
//! Document --maud--> <head> CSP, style  <nav> contents  <section> per section: lead, blocks (blocks.rs, table.rs)  <script>
//! ```
//! The page is whole without its script (`script/`), which adds zoom, hover values, sorting, filtering and copying. The
//! Content-Security-Policy forbids everything but the inline style and, by its hash, this one script, so that even text that should escape
//! its escaping could not act. All text comes as [`crate::clean::Text`] and is escaped by maud; the only unescaped parts are the SVG of
//! `chart::svg` (escaped there), the style and the script.

mod blocks;
mod ids;
mod table;

use maud::{DOCTYPE, Markup, PreEscaped, html as markup};
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::chart;
use crate::document::{Document, Section};

const STYLE: &str = include_str!("style.css");
/// One script in five files: each is a part of the function that the first opens and the last ends.
const SCRIPT: &str = concat!(
    include_str!("script/base.js"),
    include_str!("script/charts.js"),
    include_str!("script/curves.js"),
    include_str!("script/tables.js"),
    include_str!("script/begin.js")
);

/// Nothing but the inline style and the one script.
fn policy() -> String {
    let hash = base64(&Sha256::digest(SCRIPT.as_bytes()));
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hash}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
}

/// RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let word = (0..3).fold(0_u32, |word, at| {
            word << 8 | u32::from(three.get(at).copied().unwrap_or(0))
        });
        for at in 0..4 {
            let letter = LETTERS
                .get((word >> (18 - 6 * at) & 63) as usize)
                .copied()
                .unwrap_or(b'=');
            out.push(if at as usize <= three.len() {
                char::from(letter)
            } else {
                '='
            });
        }
    }
    out
}

/// What is used up or filled while the blocks are written.
struct Page {
    /// The SVG of every figure in reading order, taken one by one.
    pictures: std::vec::IntoIter<Result<String, chart::ChartError>>,
    /// Anchors of rows.
    anchors: table::Anchors,
    /// What commands call the recording.
    input: String,
    /// Whether ids in sentences are links.
    links: bool,
}

impl Page {
    /// A sentence, its ids as links and its commands as code.
    fn said(&self, text: &str) -> Markup {
        ids::coded(text, |part| match self.links {
            true => ids::linked(part, &self.input),
            false => markup! { (part) },
        })
    }
}

/// The whole page.
#[must_use]
pub fn html(document: &Document) -> String {
    let figures = document.figures();
    let drawn: Vec<_> = figures
        .par_iter()
        .map(|(_, figure)| chart::svg(&figure.chart, &figure.alt))
        .collect();
    let mut state = Page {
        pictures: drawn.into_iter(),
        anchors: table::Anchors::new(),
        input: document.input().to_owned(),
        links: document.one_recording,
    };
    let sections: Vec<Markup> = document
        .sections
        .iter()
        .map(|section| section_markup(section, &mut state))
        .collect();
    let page = markup! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { (document.title.as_str()) }
                style { (PreEscaped(STYLE)) }
            }
            body data-input=(document.input()) {
                a.skip href="#content" { "Skip to the report" }
                div.page {
                    header {
                        h1 { (document.title.as_str()) }
                        p { (document.subtitle.as_str()) }
                    }
                    div.cols {
                        nav aria-label="Contents" {
                            h2 { "Contents" }
                            ol { @for section in &document.sections { li { a href={ "#" (section.id) } { (section.title.as_str()) } } } }
                        }
                        main #content { @for section in sections { (section) } }
                    }
                    footer {
                        (document.footer.as_str())
                        @if !state.anchors.is_empty() {
                            " Behind an id (" code { "rx:" i { "N" } } " and the like): " code { "netmortem explain " (document.input()) " ID" }
                            " prints its rows and its events, each with member, CPU and offset."
                        }
                    }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

fn section_markup(section: &Section, page: &mut Page) -> Markup {
    let blocks: Vec<Markup> = section
        .blocks
        .iter()
        .map(|block| blocks::block(section.id, block, page))
        .collect();
    markup! {
        section #(section.id) aria-labelledby={ (section.id) "-title" } {
            h2 #{ (section.id) "-title" } { a href={ "#" (section.id) } { (section.title.as_str()) } }
            @if !section.lead.is_empty() && section.findings().is_empty() { p.lead { (page.said(section.lead.as_str())) } }
            @for block in blocks { (block) }
        }
    }
}

#[cfg(test)]
mod contrast;
#[cfg(test)]
mod tests;
