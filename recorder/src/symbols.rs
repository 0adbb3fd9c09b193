//! The text symbols of /proc/kallsyms: what an instruction address or a callback can point to.
//!
//! The file is 5 to 20 MB, and most of the CPU time of a short recording: it is read once, in pieces, and only what a bundle
//! keeps of it stays in memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use netmortem_formats::bundle::PagesEncoder;
use netmortem_formats::kallsyms::Deltas;

/// seq_file answers a page for each call, whatever is asked for: more would only be memory.
const READ_BYTES: usize = 16 << 10;

/// What is kept of the symbols.
#[derive(Debug, Default)]
pub struct Symbols {
    deltas: Deltas,
    /// Whether there are any, and whether one has an address.
    any: bool,
    shown: bool,
    /// Lines of the functions asked for, whatever the compiler appended to their names.
    functions: String,
}

impl Symbols {
    /// Reads them; what cannot be read is not there. The lines whose name begins with one of `functions` are kept as text.
    pub fn read(functions: &[&str]) -> Symbols {
        File::open("/proc/kallsyms").map_or_else(|_| Symbols::default(), |file| Symbols::of(file, functions))
    }

    /// The same of any text.
    pub fn of(text: impl Read, functions: &[&str]) -> Symbols {
        let mut this = Symbols::default();
        let mut text = BufReader::with_capacity(READ_BYTES, text);
        let mut line = Vec::new();
        while text.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            this.line(line.strip_suffix(b"\n").unwrap_or(&line), functions);
            line.clear();
        }
        this
    }

    fn line(&mut self, line: &[u8], functions: &[&str]) {
        // "address type name": one letter between two spaces.
        let Some(space) = line.iter().position(|b| *b == b' ') else {
            return;
        };
        if !matches!(line.get(space + 1..space + 3), Some([b't' | b'T' | b'w' | b'W', b' '])) {
            return;
        }
        let (address, name) = (line.get(..space), line.get(space + 3..).unwrap_or_default());
        self.any = true;
        self.shown = self.shown || address.is_some_and(|a| a.iter().any(|b| *b != b'0'));
        self.deltas.push(line);
        if functions.iter().any(|f| name.starts_with(f.as_bytes())) {
            self.functions.push_str(&String::from_utf8_lossy(line));
            self.functions.push('\n');
        }
    }

    /// Whether no line has an address (kptr_restrict, or no CAP_SYSLOG).
    pub fn are_hidden(&self) -> bool {
        self.any && !self.shown
    }

    /// The lines of the functions asked for.
    pub fn functions(&self) -> &str {
        &self.functions
    }

    /// The member of a bundle; empty when there are none, or none with an address: they would all lie at 0.
    pub fn frame(&self) -> io::Result<Vec<u8>> {
        match self.shown {
            // Distances compress no better at the levels that cost two and three times as much.
            true => PagesEncoder::new(1)?.encode(self.deltas.text()),
            false => Ok(Vec::new()),
        }
    }
}
