//! One block of a section as HTML.

use maud::{Markup, PreEscaped, html as markup};

use super::{Page, table};
use crate::chart::Size;
use crate::clauses::{nested, steps};
use crate::clean::Text;
use crate::document::{Block, Figure, Finding, Findings, Severity, Strip};

pub fn block(section: &str, block: &Block, page: &mut Page) -> Markup {
    match block {
        Block::Paragraph(text) => markup! { p { (page.said(text.as_str())) } },
        Block::List(items) => markup! { ul { @for item in items { li { (page.said(item.as_str())) } } } },
        Block::Strip(strip) => strip_markup(strip, page),
        Block::Findings(findings) => markup! { @for of in findings { (findings_markup(of, page)) } },
        Block::Table(data) => table::table(data, page),
        Block::Figure(figure) => figure_markup(section, figure, page),
        Block::Figures(figures) => {
            let drawn: Vec<Markup> = figures
                .iter()
                .map(|figure| figure_markup(section, figure, page))
                .collect();
            markup! { div.pair { @for figure in drawn { (figure) } } }
        }
        Block::KeyValues(pairs) => markup! {
            dl { @for (key, value) in pairs { dt { (key.as_str()) } dd { (page.said(value.as_str())) } } }
        },
        Block::Tiles(tiles) => markup! {
            dl.tiles { @for tile in tiles {
                div class={ "tile " (class(tile.severity)) } {
                    dt { (tile.label.as_str()) " " b { (tile.severity.word()) } }
                    dd { strong { (tile.value.as_str()) } " " small { (page.said(tile.detail.as_str())) } }
                }
            } }
        },
        Block::Code(lines) => markup! { pre { code { @for line in lines { (line.as_str()) "\n" } } } },
        Block::Details { summary, blocks } => {
            let inside: Vec<Markup> = blocks.iter().map(|inner| self::block(section, inner, page)).collect();
            markup! { details { summary { (summary.as_str()) } @for part in inside { (part) } } }
        }
    }
}

pub const fn class(severity: Severity) -> &'static str {
    match severity {
        Severity::Good => "good",
        Severity::Info => "info",
        Severity::Notice => "notice",
        Severity::Bad => "bad",
        Severity::Unknown => "unknown",
    }
}

fn see(section: Option<&str>) -> Markup {
    markup! { @if let Some(section) = section { " " a href={ "#" (section) } aria-label={ "See why: " (section) } { "See why" } } }
}

fn findings_markup(of: &Findings, page: &Page) -> Markup {
    markup! {
        div class={ "findings " (class(of.severity)) } {
            h3 { (of.title.as_str()) }
            ul {
                @for finding in &of.said { (finding_markup(finding, page)) }
                @if of.more > 0 { li { (Finding::more(of.more, of.severity)) } }
            }
        }
    }
}

/// What was found in its steps, the first of which stands out, and what followed of it.
fn finding_markup(finding: &Finding, page: &Page) -> Markup {
    let steps = steps(finding.text.as_str());
    let (first, rest) = steps.split_at(steps.len().min(1));
    // Not between a colon and what it announces.
    let last = rest.len();
    markup! {
        li {
            @for step in first { strong { (page.said(step)) } }
            @if last == 0 { (see(finding.see)) }
            @if !rest.is_empty() || !finding.so.is_empty() {
                ul {
                    @for (at, step) in rest.iter().enumerate() {
                        li { (page.said(step)) @if at + 1 == last { (see(finding.see)) } }
                    }
                    @if !finding.so.is_empty() { li { (Finding::SO) (what_followed(&finding.so, page)) } }
                }
            }
        }
    }
}

fn what_followed(so: &[(Text, Option<&'static str>)], page: &Page) -> Markup {
    markup! { ul { @for (so, section) in so { li { (page.said(so.as_str())) (see(*section)) } } } }
}

fn strip_markup(strip: &Strip, page: &Page) -> Markup {
    let all = nested(strip.sentence.as_str());
    let (first, rest) = all.split_at(all.len().min(1));
    // Each with those that stand under it.
    let under: Vec<(&str, Vec<&str>)> = (rest.iter().enumerate())
        .filter(|(_, (deep, _))| *deep == 1)
        .map(|(at, (_, clause))| {
            let own = rest.iter().skip(at + 1).take_while(|(deep, _)| *deep > 1);
            (*clause, own.map(|(_, clause)| *clause).collect())
        })
        .collect();
    markup! {
        div class={ "strip " (class(strip.severity)) } {
            b { (strip.severity.word()) }
            div {
                @for (_, clause) in first { (page.said(clause)) }
                (see(strip.see))
                @if !under.is_empty() {
                    ul {
                        @for (clause, own) in &under {
                            li {
                                (page.said(clause))
                                @if !own.is_empty() { ul { @for clause in own { li { (page.said(clause)) } } } }
                            }
                        }
                    }
                }
                @if let Some(detail) = &strip.detail { small { (page.said(detail.as_str())) } }
            }
        }
    }
}

fn figure_markup(section: &str, figure: &Figure, page: &mut Page) -> Markup {
    let width = if figure.chart.size == Size::Half {
        "half"
    } else {
        "full"
    };
    let picture = match page.pictures.next() {
        Some(Ok(svg)) => markup! { (PreEscaped(svg)) },
        Some(Err(error)) => markup! { p { "This figure could not be drawn: " (error.to_string()) } },
        None => markup! { p { "This figure could not be drawn." } },
    };
    markup! {
        figure id={ (section) "-" (figure.id) } class=(width) {
            // Wide charts scroll on narrow screens; with the keyboard too.
            div.draw tabindex="0" role="group" aria-label=(figure.chart.title.as_str()) { (picture) }
            @if !figure.caption.is_empty() { figcaption { (page.said(figure.caption.as_str())) } }
        }
    }
}
