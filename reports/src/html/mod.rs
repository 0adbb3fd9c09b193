//! The report as one HTML file: style sheet and pictures inside, no script, nothing fetched.
//!
//! ```text
//! Document --maud--> <head> CSP, style  <nav> contents  <section> per section: lead, blocks (blocks.rs, table.rs)
//! ```
//! The Content-Security-Policy forbids everything but the inline style, so that even text that should escape its escaping could not act.
//! All text comes as [`crate::clean::Text`] and is escaped by maud; the only unescaped parts are the SVG of `chart::svg` (escaped there) and the style.

mod blocks;
mod table;

use maud::{DOCTYPE, Markup, PreEscaped, html as markup};
use rayon::prelude::*;

use crate::chart;
use crate::document::{Document, Section};

const STYLE: &str = include_str!("style.css");
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// The SVG of every figure in reading order, taken one by one while the blocks are written.
type Pictures = std::vec::IntoIter<Result<String, chart::ChartError>>;

/// The whole page.
#[must_use]
pub fn html(document: &Document) -> String {
    let figures = document.figures();
    let drawn: Vec<_> = figures
        .par_iter()
        .map(|(_, figure)| chart::svg(&figure.chart, &figure.alt))
        .collect();
    let mut pictures = drawn.into_iter();
    let sections: Vec<Markup> = document
        .sections
        .iter()
        .map(|section| section_markup(section, &mut pictures))
        .collect();
    let page = markup! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { (document.title.as_str()) }
                style { (PreEscaped(STYLE)) }
            }
            body {
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
                    footer { (document.footer.as_str()) }
                }
            }
        }
    };
    page.into_string()
}

fn section_markup(section: &Section, pictures: &mut Pictures) -> Markup {
    let blocks: Vec<Markup> = section
        .blocks
        .iter()
        .map(|block| blocks::block(section.id, block, pictures))
        .collect();
    markup! {
        section #(section.id) aria-labelledby={ (section.id) "-title" } {
            h2 #{ (section.id) "-title" } { a href={ "#" (section.id) } { (section.title.as_str()) } }
            @if !section.lead.is_empty() { p.lead { (section.lead.as_str()) } }
            @for block in blocks { (block) }
        }
    }
}

#[cfg(test)]
mod tests;
