//! The page in use: zoom, hover, filter, sort, copy, deep links, dark mode, narrow and wide windows, hostile names.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::super::{run, sample, tempdir};
use super::browser;
use super::devtools::Browser;

/// Bytes below which a picture of this page can only be blank.
const BLANK: usize = 15_000;

fn report(input: &str, page: &Path) {
    let done = run(&["report", input, "-o", page.to_str().unwrap()]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// Keeps a screenshot where `cargo test` keeps its temporary files.
pub fn keep(browser: &mut Browser, name: &str) {
    let png = browser.picture();
    assert!(
        png.starts_with(b"\x89PNG") && png.len() > BLANK,
        "{name}: {} bytes",
        png.len()
    );
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("report-{name}.png"));
    std::fs::write(out, png).unwrap();
}

fn range(b: &mut Browser) -> (f64, f64) {
    let told = b.eval("(() => { const t = document.querySelector('.range'); return t.textContent; })()");
    let mut parts = told.as_str().unwrap().split(" to ");
    let seconds = |text: &str| text.split(' ').next().unwrap().parse::<f64>().unwrap();
    (seconds(parts.next().unwrap()), seconds(parts.next().unwrap()))
}

#[test]
fn a_person_can_zoom_filter_sort_copy_and_follow_links() {
    let Some(program) = browser() else { return };
    let dir = tempdir("page");
    let page = dir.join("report.html");
    report(&sample("sawtooth/sawtooth.nmb"), &page);
    let mut b = Browser::start(program, &dir);
    b.size(1300, 900);
    b.open(&page, "");
    keep(&mut b, "top");
    let tall = b.eval(
        "[...document.querySelectorAll('main thead')].filter(t => t.getBoundingClientRect().height > 110) \
         .map(t => t.closest('table').textContent.slice(0, 60))",
    );
    assert_eq!(tall, json!([]), "headings of columns that are towers");

    zoom(&mut b, &page);
    tables(&mut b);
    links(&mut b, &page);
    looks(&mut b, &page);

    assert!(b.complaints().is_empty(), "the console: {:?}", b.complaints());
    assert!(b.requests().is_empty(), "the network: {:?}", b.requests());
    drop(b);
    std::fs::remove_dir_all(&dir).unwrap();
}

/// By keys, by the mouse and by the address; every chart over time shows the same part.
fn zoom(b: &mut Browser, page: &Path) {
    let whole = range(b);
    assert!(whole.1 - whole.0 > 4.0, "{whole:?}");
    b.eval("document.querySelector('#tcp .draw:has(.time)').focus()");
    b.key("+", "+");
    let half = range(b);
    assert!(
        ((half.1 - half.0) / (whole.1 - whole.0) - 0.5).abs() < 0.02,
        "{half:?} of {whole:?}"
    );
    b.key("0", "0");
    assert_eq!(range(b), whole);

    b.eval("document.querySelector('#tcp').scrollIntoView()");
    let place = b.eval(
        "(() => { const s = document.querySelector('#tcp svg'), t = s.querySelector('.time').dataset, r = s.getBoundingClientRect(), \
         k = r.width / 800; return [r.x + t.left * k, r.y + 120 * k, (t.right - t.left) * k, t.from / 1e9, t.to / 1e9]; })()",
    );
    let at: Vec<f64> = place.as_array().unwrap().iter().map(number).collect();
    let (left, y, width) = (at[0], at[1], at[2]);
    b.mouse("mouseMoved", left + width * 0.25, y);
    b.until("document.querySelector('.tip').style.display === 'block'");
    let tip = b.eval("document.querySelector('.tip').innerText");
    let tip = tip.as_str().unwrap();
    assert!(
        tip.contains("cwnd ≈ ") && tip.contains("srtt ≈ ") && tip.contains(" ms"),
        "{tip}"
    );
    b.mouse("mousePressed", left + width * 0.25, y);
    for part in [0.3, 0.4, 0.5] {
        b.mouse("mouseMoved", left + width * part, y);
    }
    b.mouse("mouseReleased", left + width * 0.5, y);
    // The axis began with the recording, so a quarter of the window is a quarter of it.
    let (from, to) = range(b);
    let part = |share: f64| whole.0 + (whole.1 - whole.0) * share;
    assert!(
        (from - part(0.25)).abs() < 0.05 && (to - part(0.5)).abs() < 0.05,
        "{from}..{to} of {whole:?}"
    );
    let shown = b.eval("[...new Set([...document.querySelectorAll('.range')].map(r => r.textContent))].length");
    assert_eq!(shown, json!(1), "one axis for all");
    let zoomed = b.eval("[...document.querySelectorAll('svg:has(.time)')].every(s => s.classList.contains('zoomed'))");
    assert_eq!(zoomed, json!(true));
    keep(b, "zoomed");
    let hash = b.eval("location.hash");
    assert!(hash.as_str().unwrap().contains("t="), "{hash}");
    b.open(page, hash.as_str().unwrap());
    let again = range(b);
    assert!(
        (again.0 - from).abs() < 0.01 && (again.1 - to).abs() < 0.01,
        "{again:?} from {hash}"
    );

    curves(b, page);

    // A legend hides its line and says so.
    b.open(page, "#tcp");
    let pressed = b.eval(
        "(() => { const l = document.querySelector('#tcp .lg[data-n=cwnd]'); l.dispatchEvent(new MouseEvent('click', {bubbles: true})); \
         const line = document.querySelector('#tcp .ln[data-n=cwnd]'); \
         return [l.getAttribute('role'), l.getAttribute('aria-pressed'), getComputedStyle(line).display]; })()",
    );
    assert_eq!(pressed, json!(["button", "false", "none"]));
}

/// The share under the pointer of an ECDF, by keys too; a row of the waterfall; ids in sentences.
fn curves(b: &mut Browser, page: &Path) {
    b.open(page, "#receive-path");
    let box_of = "document.querySelector('#receive-path-compared .draw')";
    b.eval(&format!("{box_of}.scrollIntoView({{block: 'center'}})"));
    let place = b.eval(&format!(
        "(() => {{ const c = {box_of}.querySelector('.curves').dataset, s = {box_of}.querySelector('svg'), r = s.getBoundingClientRect(), \
         k = r.width / 800, x = c.x.split(' ').map(Number), y = c.y.split(' ').map(Number); \
         return [r.x + x[0] * k, r.x + x[1] * k, r.y + (y[0] + y[1]) / 2 * k]; }})()"
    ));
    let at: Vec<f64> = place.as_array().unwrap().iter().map(number).collect();
    let shares = |b: &mut Browser, part: f64| -> Vec<f64> {
        b.mouse("mouseMoved", at[0] + (at[1] - at[0]) * part, at[2]);
        b.until("document.querySelector('.tip').innerText.includes('at or below')");
        let tip = b.eval("document.querySelector('.tip').innerText");
        let lines = tip.as_str().unwrap().lines().skip(1).map(str::to_owned);
        let share = |line: String| {
            line.rsplit("\u{2248} ")
                .next()
                .unwrap()
                .trim_end_matches(" %")
                .parse()
                .unwrap()
        };
        lines.map(share).collect()
    };
    let (low, high) = (shares(b, 0.2), shares(b, 0.995));
    assert!(low.len() > 1 && low.len() == high.len(), "{low:?} {high:?}");
    assert!(low.iter().zip(&high).all(|(low, high)| low <= high), "{low:?} {high:?}");
    assert!(high.iter().any(|share| *share > 99.0), "{high:?}");
    b.eval(&format!("{box_of}.focus()"));
    b.key("ArrowRight", "");
    b.until("document.querySelector('.said').textContent.includes('at or below')");

    let told = b.eval("[...document.querySelectorAll('#receive-path-waterfall g.h')].map(g => g.dataset.t).find(t => t.includes('p50 '))");
    let told = told.as_str().unwrap();
    assert!(
        told.contains(" | ") && told.contains("p50 ") && told.contains("of the summed time"),
        "{told}"
    );
    let said =
        b.eval("[...document.querySelectorAll('#verdict .findings a.id, #verdict .strip a.id')].map(a => a.title)");
    let said = said.as_array().unwrap();
    assert!(
        !said.is_empty()
            && said
                .iter()
                .all(|t| t.as_str().unwrap().contains("sawtooth/sawtooth.nmb")),
        "{said:?}"
    );
}

/// Rows of the table of stages of the receive path.
fn tables(b: &mut Browser) {
    b.eval("window.t = [...document.querySelectorAll('#receive-path table')].find(t => t.caption && t.caption.textContent === 'Stages')");
    let rows = number(&b.eval("t.tBodies[0].rows.length"));
    assert_eq!(rows, 20.0, "18 stages, the rest, the whole");
    // Sorting by p99: every known value not above the one before it, unknown ones last.
    let sorted = b.eval(
        "(() => { const h = [...t.tHead.rows[0].cells]; const at = h.findIndex(c => c.textContent.startsWith('p99')); \
         h[at].querySelector('button').click(); \
         const v = [...t.tBodies[0].rows].map(r => r.cells[at].dataset.v === undefined ? null : Number(r.cells[at].dataset.v)); \
         const known = v.filter(x => x !== null); \
         return [h[at].getAttribute('aria-sort'), known.length, known.every((x, i) => i === 0 || known[i - 1] >= x), \
                 v.slice(known.length).every(x => x === null)]; })()",
    );
    assert_eq!(sorted[0], "descending");
    assert!(number(&sorted[1]) > 5.0, "{sorted}");
    assert_eq!((&sorted[2], &sorted[3]), (&json!(true), &json!(true)));
    // Filtering: what is shown is what holds the word.
    let filtered = b.eval(
        "(() => { const box = t.closest('.scroll').previousElementSibling.querySelector('input'); box.value = 'Reader'; \
         box.dispatchEvent(new Event('input')); \
         const all = [...t.tBodies[0].rows]; \
         return [all.filter(r => !r.hidden).map(r => r.cells[0].textContent).sort(), \
                 all.filter(r => r.hidden).some(r => r.textContent.toLowerCase().includes('reader'))]; })()",
    );
    assert_eq!(filtered, json!([["reader asleep", "reader running"], false]));
    // Copying: the rows shown, whole nanoseconds, a line each.
    b.eval("navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }");
    b.eval("[...t.closest('.scroll').previousElementSibling.querySelectorAll('button')].find(x => x.textContent === 'Copy as CSV').click()");
    b.until("typeof window.copied === 'string'");
    let csv = b.eval("window.copied");
    let lines: Vec<&str> = csv.as_str().unwrap().trim_end().split("\r\n").collect();
    assert!(
        lines[0].starts_with("stage,n,p50 (ns),p90 (ns),p99 (ns),max (ns),share"),
        "{}",
        lines[0]
    );
    assert_eq!(lines.len(), 3, "{lines:?}");
    for line in &lines[1..] {
        let times: Vec<&str> = line.split(',').skip(2).take(4).collect();
        assert!(times.iter().all(|ns| ns.parse::<i64>().is_ok()), "{line}");
    }
    // Finding, in all tables.
    let found = b.eval(
        "(() => { const f = document.querySelector('.find input'); f.value = 'iperf3'; f.dispatchEvent(new Event('input')); \
         const rows = [...document.querySelectorAll('main tbody tr')]; \
         return rows.every(r => r.hidden || r.textContent.includes('iperf3')) && rows.some(r => !r.hidden); })()",
    );
    assert_eq!(found, json!(true));
}

/// An address leads to the row, unfolding what it is in.
fn links(b: &mut Browser, page: &Path) {
    b.open(page, "");
    let folded = b.eval("[...document.querySelectorAll('details tr[id]')].map(r => r.id).find(id => /^rx=/.test(id))");
    let id = folded.as_str().unwrap().to_owned();
    assert_eq!(
        b.eval(&format!("document.getElementById('{id}').closest('details').open")),
        json!(false)
    );
    for fragment in [format!("#{id}"), format!("#{}", id.replace("rx", "skb"))] {
        b.open(page, &fragment);
        b.until("document.querySelector('tr.hit') !== null");
        let seen = b.eval(
            "(() => { const r = document.querySelector('tr.hit'), box = r.getBoundingClientRect(); \
             return [r.id, r.closest('details').open, box.top >= 0 && box.bottom <= innerHeight]; })()",
        );
        assert_eq!(seen, json!([id, true, true]), "{fragment}");
        // The command names the recording.
        let command = b.eval("document.querySelector('tr.hit a.id').title");
        let command = command.as_str().unwrap();
        assert!(command.starts_with("netmortem explain "), "{command}");
        assert!(command.contains("sawtooth/sawtooth.nmb"), "{command}");
        assert!(command.ends_with(&format!(" {}", id.replace('=', ":"))), "{command}");
    }
    b.open(page, "#drops");
    let top = number(&b.eval("document.getElementById('drops').getBoundingClientRect().top"));
    assert!((0.0..60.0).contains(&top), "{top}");
}

/// Dark and light, 400 and 3840 pixels, and without the script.
fn looks(b: &mut Browser, page: &Path) {
    let ground = "getComputedStyle(document.body).backgroundColor";
    let ink = "getComputedStyle(document.querySelector('svg text')).fill";
    let light = (b.eval(ground), b.eval(ink));
    b.call(
        "Emulation.setEmulatedMedia",
        json!({"features": [{"name": "prefers-color-scheme", "value": "dark"}]}),
    );
    let dark = (b.eval(ground), b.eval(ink));
    assert_eq!(light, (json!("rgb(246, 248, 250)"), json!("rgb(27, 31, 36)")));
    assert_eq!(dark, (json!("rgb(13, 17, 23)"), json!("rgb(230, 237, 243)")));
    b.eval("scrollTo(0, 0)");
    keep(b, "dark");
    b.call("Emulation.setEmulatedMedia", json!({"features": []}));
    for (width, height) in [(400, 800), (3840, 2160)] {
        b.size(width, height);
        b.open(page, "");
        let wide = number(&b.eval("document.documentElement.scrollWidth"));
        assert!(wide <= f64::from(width), "{width}: the page is {wide} wide");
        let cut = b.eval(
            "[...document.querySelectorAll('main p, main .strip, main .tile, main h2, main .tools')].filter(e => e.getClientRects().length) \
             .filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.textContent.slice(0, 40))",
        );
        assert_eq!(cut, json!([]), "{width}: beyond the right edge");
        keep(b, &width.to_string());
    }
    b.size(1300, 900);
    b.call("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    b.call("Page.reload", json!({}));
    b.until("document.readyState === 'complete' && document.querySelector('.tools') === null");
    let whole = b.eval("[...document.querySelectorAll('section')].every(s => s.getClientRects().length === 1)");
    assert_eq!(whole, json!(true));
    keep(b, "no-script");
    b.call("Emulation.setScriptExecutionDisabled", json!({"value": false}));
}

/// A file whose name is markup: its name is text, nothing of it runs.
#[test]
fn a_hostile_file_name_stays_text() {
    let Some(program) = browser() else { return };
    let dir = tempdir("hostile");
    let name = "<img src=x onerror=alert(1)>'\"&lt;.nmb";
    let input = dir.join(name);
    std::fs::copy(sample("rpc/rpc.nmb"), &input).unwrap();
    let page = dir.join("report.html");
    report(input.to_str().unwrap(), &page);
    let mut b = Browser::start(program, &dir);
    b.open(&page, "#skb=%3Cimg src=x onerror=alert(2)%3E");
    assert_eq!(
        b.eval("document.querySelector('h1').textContent"),
        json!(format!("Postmortem of {name}"))
    );
    let made = b.eval("[document.images.length, document.scripts.length, document.querySelectorAll('iframe,object,embed,link').length]");
    assert_eq!(made, json!([0, 1, 0]));
    // The policy holds even for what would have been let in.
    let ran = b.eval(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.appendChild(s); \
         return typeof window.ran; })()",
    );
    assert_eq!(ran, json!("undefined"));
    let dialogs = b
        .complaints()
        .iter()
        .filter(|e| e.to_string().contains("alert("))
        .count();
    assert_eq!((dialogs, b.requests()), (0, vec![]));
    drop(b);
    std::fs::remove_dir_all(&dir).unwrap();
}
