//! The other pages: that of `diff` and the index of `batch`. They open, say nothing to the console, ask nothing of the network, have a dark
//! form and fit a narrow window. And a recording whose names are markup: in a real browser they are text.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::super::{rpc, run, sample, tempdir};
use super::browser;
use super::devtools::Browser;
use super::page::keep;

/// Light, dark and 400 pixels wide; nothing beyond the right edge.
fn looks(b: &mut Browser, page: &Path, name: &str) {
    b.size(1300, 900);
    b.open(page, "");
    let ground = "getComputedStyle(document.body).backgroundColor";
    assert_eq!(b.eval(ground), json!("rgb(246, 248, 250)"), "{name}");
    keep(b, name);
    let dark = json!({"features": [{"name": "prefers-color-scheme", "value": "dark"}]});
    b.call("Emulation.setEmulatedMedia", dark);
    assert_eq!(b.eval(ground), json!("rgb(13, 17, 23)"), "{name}: dark");
    keep(b, &format!("{name}-dark"));
    b.call("Emulation.setEmulatedMedia", json!({"features": []}));
    b.size(400, 800);
    b.open(page, "");
    let wide = b.eval("document.documentElement.scrollWidth").as_f64().unwrap();
    assert!(wide <= 400.0, "{name}: the page is {wide} wide");
    keep(b, &format!("{name}-400"));
    assert!(b.complaints().is_empty(), "{name}, the console: {:?}", b.complaints());
    assert!(b.requests().is_empty(), "{name}, the network: {:?}", b.requests());
}

#[test]
fn the_pages_of_diff_and_batch_open_and_fit() {
    let Some(program) = browser() else { return };
    let dir = tempdir("pages");
    let (page, out) = (dir.join("diff.html"), dir.join("batch"));
    let told = run(&[
        "diff",
        &rpc(),
        &sample("neighbour/neighbour.nmb"),
        "-o",
        page.to_str().unwrap(),
    ]);
    assert_eq!(told.status.code(), Some(3), "{}", String::from_utf8_lossy(&told.stderr));
    let told = run(&["batch", &sample("rpc"), &sample("opens"), "-o", out.to_str().unwrap()]);
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));

    let mut b = Browser::start(program, &dir);
    looks(&mut b, &page, "diff");
    // A heading of a table sorts here too.
    let sorted = b.eval(
        "(() => { const h = document.querySelector('main table th .sort'); h.click(); \
         return h.parentNode.getAttribute('aria-sort'); })()",
    );
    assert!(
        sorted == json!("ascending") || sorted == json!("descending"),
        "{sorted}"
    );
    looks(&mut b, &out.join("index.html"), "batch");
    // Each recording leads to its own page, beside the index.
    let links = b.eval("[...document.querySelectorAll('#recordings td.l a')].map(a => a.href)");
    let links = links.as_array().unwrap();
    assert_eq!(links.len(), 2, "{links:?}");
    b.call("Page.navigate", json!({"url": links[0]}));
    b.until("document.readyState === 'complete' && document.querySelector('section#verdict') !== null");
    assert!(b.complaints().is_empty() && b.requests().is_empty());
    drop(b);
    std::fs::remove_dir_all(&dir).unwrap();
}

/// Names of 15 bytes, the longest that the kernel keeps.
const HOSTILE: [(&[u8], &[u8; 15]); 2] = [(b"iperf3", b"<script>ran()//"), (b"ip", b"\"><img onerror>")];

/// A member's name and its bytes.
type Member = (Vec<u8>, Vec<u8>);

/// The members of a ustar, whose names here are all short.
fn members(tar: &[u8]) -> Vec<Member> {
    let (mut at, mut all) = (0, vec![]);
    while tar.get(at).is_some_and(|byte| *byte != 0) {
        let header = &tar[at..at + 512];
        let size = String::from_utf8_lossy(&header[124..135]).into_owned();
        let size = usize::from_str_radix(size.trim_matches(['\0', ' ']), 8).unwrap();
        all.push((header.to_vec(), tar[at + 512..at + 512 + size].to_vec()));
        at += 512 + size.div_ceil(512) * 512;
    }
    all
}

fn written(members: &[Member]) -> Vec<u8> {
    let mut tar = vec![];
    for (header, bytes) in members {
        let mut header = header.clone();
        header[124..136].copy_from_slice(format!("{:011o}\0", bytes.len()).as_bytes());
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        tar.extend(header);
        tar.extend(bytes);
        tar.resize(tar.len().div_ceil(512) * 512, 0);
    }
    tar.resize(tar.len() + 1024, 0);
    tar
}

/// `comm` is an array of 16 bytes in every event.
fn renamed(mut bytes: Vec<u8>) -> (Vec<u8>, usize) {
    let mut n = 0;
    for (name, hostile) in HOSTILE {
        let mut comm = [0; 16];
        comm[..name.len()].copy_from_slice(name);
        let places: Vec<usize> = bytes
            .windows(16)
            .enumerate()
            .filter(|(_, w)| *w == comm)
            .map(|(at, _)| at)
            .collect();
        for at in places {
            bytes[at..at + 15].copy_from_slice(hostile);
            n += 1;
        }
    }
    (bytes, n)
}

/// A real recording as it would be had its programs called themselves so.
fn hostile_recording(to: &Path) {
    let tar = std::fs::read(sample("sawtooth/sawtooth.nmb")).unwrap();
    let mut all = members(&tar);
    let mut n = 0;
    for (header, bytes) in &mut all {
        if header.starts_with(b"trace/") {
            let (pages, found) = renamed(zstd::decode_all(&bytes[..]).unwrap());
            *bytes = zstd::encode_all(&pages[..], 1).unwrap();
            n += found;
        } else if header.starts_with(b"saved_cmdlines") {
            let mut text = String::from_utf8_lossy(bytes).into_owned();
            for (name, hostile) in HOSTILE {
                let name = format!(" {}\n", String::from_utf8_lossy(name));
                text = text.replace(&name, &format!(" {}\n", String::from_utf8_lossy(hostile)));
            }
            *bytes = text.into_bytes();
        }
    }
    assert!(n > 1_000, "{n} names");
    std::fs::write(to, written(&all)).unwrap();
}

#[test]
fn hostile_names_of_processes_stay_text() {
    let Some(program) = browser() else { return };
    let dir = tempdir("hostile-names");
    let (input, page) = (dir.join("hostile.nmb"), dir.join("report.html"));
    hostile_recording(&input);
    let told = run(&["report", input.to_str().unwrap(), "-o", page.to_str().unwrap()]);
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let mut b = Browser::start(program, &dir);
    b.open(&page, "");
    // They are there, in tables and in pictures, letter for letter.
    for (_, hostile) in HOSTILE {
        let name = String::from_utf8_lossy(hostile).into_owned();
        let cells = format!(
            "[...document.querySelectorAll('td')].filter(c => c.textContent.includes({})).length",
            json!(name)
        );
        let n = b.eval(&cells).as_f64().unwrap();
        assert!(n >= 1.0, "{name} is in {n} cells");
    }
    let text =
        b.eval("[...document.querySelectorAll('svg text, td')].some(t => t.textContent.includes('<script>ran()//'))");
    assert_eq!(text, json!(true));
    let made = b.eval("[document.images.length, document.scripts.length, document.querySelectorAll('iframe,object,embed,link').length, typeof window.ran]");
    assert_eq!(made, json!([0, 1, 0, "undefined"]));
    // Sorting, finding and copying handle them as text too.
    b.eval("navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }");
    b.eval(
        "(() => { const f = document.querySelector('.find input'); f.value = '<script>ran'; f.dispatchEvent(new Event('input')); \
         const c = [...document.querySelectorAll('td')].find(c => !c.closest('tr').hidden && c.textContent.includes('<script>ran()//')); \
         c.closest('table').querySelector('th .sort')?.click(); })()",
    );
    let again = b.eval("[document.images.length, document.scripts.length]");
    assert_eq!(again, json!([0, 1]));
    assert!(b.complaints().is_empty(), "the console: {:?}", b.complaints());
    assert!(b.requests().is_empty(), "the network: {:?}", b.requests());
    drop(b);
    std::fs::remove_dir_all(&dir).unwrap();
}

/// A device can call itself so (`ip link add '<b>xy</b>'`), up to 15 characters; this has as many as the one it stands for.
const DEVICE: (&str, &str) = ("flannel.1", "<b>xy</b>");

/// All places of a name of the same length.
fn replaced(mut bytes: Vec<u8>, (name, hostile): (&str, &str)) -> (Vec<u8>, usize) {
    assert_eq!(name.len(), hostile.len());
    let is = |w: &(usize, &[u8])| w.1 == name.as_bytes();
    let places: Vec<usize> = bytes
        .windows(name.len())
        .enumerate()
        .filter(is)
        .map(|(at, _)| at)
        .collect();
    for at in &places {
        bytes[*at..at + name.len()].copy_from_slice(hostile.as_bytes());
    }
    (bytes, places.len())
}

#[test]
fn hostile_names_of_devices_stay_text() {
    let Some(program) = browser() else { return };
    let dir = tempdir("hostile-devices");
    let (input, page) = (dir.join("hostile.nmb"), dir.join("report.html"));
    let mut all = members(&std::fs::read(sample("overlay/overlay.nmb")).unwrap());
    let (mut in_events, mut in_texts) = (0, 0);
    for (header, bytes) in &mut all {
        if header.starts_with(b"trace/") {
            let (pages, found) = replaced(zstd::decode_all(&bytes[..]).unwrap(), DEVICE);
            *bytes = zstd::encode_all(&pages[..], 1).unwrap();
            in_events += found;
        } else if !bytes.starts_with(b"\x28\xb5\x2f\xfd") {
            let (text, found) = replaced(std::mem::take(bytes), DEVICE);
            *bytes = text;
            in_texts += found;
        }
    }
    assert!(in_events > 100 && in_texts > 0, "{in_events} {in_texts}");
    std::fs::write(&input, written(&all)).unwrap();
    let told = run(&["report", input.to_str().unwrap(), "-o", page.to_str().unwrap()]);
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let mut b = Browser::start(program, &dir);
    b.open(&page, "");
    for places in ["td", "svg text", "main li"] {
        let there =
            format!("[...document.querySelectorAll('{places}')].some(t => t.textContent.includes('<b>xy</b>'))");
        assert_eq!(b.eval(&there), json!(true), "in no {places}");
    }
    let made = b.eval("[...document.querySelectorAll('b')].filter(e => e.textContent === 'xy').length");
    assert_eq!(made, json!(0), "a name became an element");
    assert!(b.complaints().is_empty(), "the console: {:?}", b.complaints());
    drop(b);
    std::fs::remove_dir_all(&dir).unwrap();
}

/// On paper everything that is folded is open, and no table is wider than the sheet.
#[test]
fn the_page_prints_whole() {
    let Some(program) = browser() else { return };
    let dir = tempdir("print");
    let page = dir.join("report.html");
    let told = run(&["report", &rpc(), "-o", page.to_str().unwrap()]);
    assert!(told.status.success());
    let mut b = Browser::start(program, &dir);
    // A4 at 96 pixels an inch, without its margins.
    b.size(703, 1000);
    b.open(&page, "");
    let folded = "document.querySelectorAll('details:not([open])').length";
    let before = b.eval(folded).as_f64().unwrap();
    assert!(before > 0.0);
    b.call("Emulation.setEmulatedMedia", json!({"media": "print"}));
    b.eval("window.dispatchEvent(new Event('beforeprint'))");
    assert_eq!(b.eval(folded), json!(0));
    let cut = b.eval(
        "[...document.querySelectorAll('main table, main svg, main p, main pre')].filter(e => e.getClientRects().length) \
         .filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.textContent.slice(0, 60))",
    );
    assert_eq!(cut, json!([]), "beyond the right edge of the sheet");
    // An id is one word, and nothing is smaller than 6 points (8 pixels).
    let split = b.eval(
        "[...document.querySelectorAll('a.id')].filter(e => e.getClientRects().length > 1).map(e => e.textContent)",
    );
    assert_eq!(split, json!([]), "ids on two lines");
    let small = b.eval(
        "[...document.querySelectorAll('main td, main th, main td *, main p, main dd, main li, main svg text')] \
         .filter(e => e.textContent.trim() && e.getClientRects().length && !e.closest('.vh')) \
         .filter(e => { const k = e.ownerSVGElement ? e.getScreenCTM().a : 1; return parseFloat(getComputedStyle(e).fontSize) * k < 7.99; }) \
         .map(e => e.textContent.slice(0, 40)).slice(0, 9)",
    );
    assert_eq!(small, json!([]), "too small to read");
    let alone = "[...document.querySelectorAll('main h2, main h3, main summary, main thead, main caption')] \
         .filter(e => getComputedStyle(e).breakAfter !== 'avoid').map(e => e.textContent.slice(0, 40)).slice(0, 9)";
    assert_eq!(
        b.eval(alone),
        json!([]),
        "a heading may stand alone at the foot of a page"
    );
    b.eval("window.dispatchEvent(new Event('afterprint'))");
    assert_eq!(b.eval(folded).as_f64().unwrap(), before);
    drop(b);
    // And as a file: the browser's own print.
    let pdf = dir.join("report.pdf");
    let done = Command::new("timeout")
        .args([
            "120",
            program,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-pdf-header-footer",
        ])
        .arg(format!("--user-data-dir={}", dir.join("profile").display()))
        .arg(format!("--print-to-pdf={}", pdf.display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(std::fs::read(&pdf).unwrap().starts_with(b"%PDF"));
    std::fs::remove_dir_all(&dir).unwrap();
}
