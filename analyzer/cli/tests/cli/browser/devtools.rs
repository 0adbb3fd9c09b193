//! A browser that a test can use as a person does: keys, mouse, sizes of the window, screenshots. Speaks the DevTools protocol over two
//! named pipes (`--remote-debugging-pipe`): JSON, each message ended by a zero byte; no socket, no port.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Longest wait for an answer: the machine may be busy with other work.
const PATIENCE: Duration = Duration::from_secs(90);

/// A running browser with one open page.
pub struct Browser {
    child: Child,
    to: File,
    from: Receiver<Value>,
    session: Option<String>,
    sent: u64,
    /// Everything that was told without being asked.
    events: Vec<Value>,
    profile: PathBuf,
}

impl Browser {
    /// Starts `program` with its profile in `dir`.
    pub fn start(program: &str, dir: &Path) -> Browser {
        let profile = dir.join("devtools");
        std::fs::create_dir_all(&profile).unwrap();
        let (to, from) = (profile.join("to"), profile.join("from"));
        assert!(Command::new("mkfifo").arg(&to).arg(&from).status().unwrap().success());
        let script = "exec timeout 400 \"$0\" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
            --disable-background-networking --disable-component-update --disable-sync --hide-scrollbars \
            --host-resolver-rules='MAP * ~NOTFOUND' --user-data-dir=\"$1\" --remote-debugging-pipe about:blank 3<\"$2\" 4>\"$3\"";
        let child = Command::new("sh")
            .args(["-c", script, program])
            .args([&profile.join("profile"), &to, &from])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Opening a pipe waits for its other end, so the order is that of the script.
        let to = File::options().write(true).open(to).unwrap();
        let mut reader = File::open(from).unwrap();
        let (tell, told) = channel();
        std::thread::spawn(move || {
            let (mut waiting, mut some) = (Vec::new(), vec![0; 1 << 16]);
            while let Ok(n @ 1..) = reader.read(&mut some) {
                waiting.extend_from_slice(&some[..n]);
                while let Some(end) = waiting.iter().position(|byte| *byte == 0) {
                    let message: Vec<u8> = waiting.drain(..=end).collect();
                    let Ok(value) = serde_json::from_slice(&message[..end]) else {
                        return;
                    };
                    if tell.send(value).is_err() {
                        return;
                    }
                }
            }
        });
        let mut browser = Browser {
            child,
            to,
            from: told,
            session: None,
            sent: 0,
            events: Vec::new(),
            profile,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attached = browser.call(
            "Target.attachToTarget",
            json!({"targetId": target["targetId"], "flatten": true}),
        );
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Asks and waits for the answer.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.sent += 1;
        let mut message = json!({"id": self.sent, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&message).unwrap();
        bytes.push(0);
        self.to.write_all(&bytes).unwrap();
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let told = self.from.recv_timeout(left);
            let told = told.unwrap_or_else(|e| panic!("{method}: no answer in {PATIENCE:?}: {e}"));
            if told["id"] == json!(self.sent) {
                assert!(told.get("error").is_none(), "{method}: {told}");
                return told["result"].clone();
            }
            self.events.push(told);
        }
    }

    /// The value of an expression in the page.
    pub fn eval(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let result = self.call("Runtime.evaluate", asked);
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub fn until(&mut self, expression: &str) {
        let until = Instant::now() + PATIENCE;
        while self.eval(expression) != json!(true) {
            assert!(Instant::now() < until, "never true: {expression}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Opens a file, with what stands after `#`.
    pub fn open(&mut self, page: &Path, fragment: &str) {
        // By way of an empty page: a change of the fragment alone would load nothing.
        self.call("Page.navigate", json!({"url": "about:blank"}));
        self.until("location.href === 'about:blank'");
        let coded = |byte: u8| match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        };
        let path: String = page.to_str().unwrap().bytes().map(coded).collect();
        self.call("Page.navigate", json!({"url": format!("file://{path}{fragment}")}));
        self.until("location.protocol === 'file:' && document.readyState === 'complete'");
    }

    /// Size of the window in CSS pixels.
    pub fn size(&mut self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// A PNG of what is in the window.
    pub fn picture(&mut self) -> Vec<u8> {
        let shot = self.call("Page.captureScreenshot", json!({"format": "png"}));
        base64(shot["data"].as_str().unwrap())
    }

    /// The mouse at a place, as `mouseMoved`, `mousePressed` or `mouseReleased`.
    pub fn mouse(&mut self, kind: &str, x: f64, y: f64) {
        let buttons = i32::from(kind != "mouseReleased");
        let mut event = json!({"type": kind, "x": x, "y": y, "buttons": buttons});
        if kind != "mouseMoved" {
            event["button"] = json!("left");
            event["clickCount"] = json!(1);
        }
        self.call("Input.dispatchMouseEvent", event);
    }

    /// A key pressed and released; `text` is what it writes.
    pub fn key(&mut self, key: &str, text: &str) {
        let mut event = json!({"type": "keyDown", "key": key});
        if !text.is_empty() {
            event["text"] = json!(text);
        }
        self.call("Input.dispatchKeyEvent", event);
        self.call("Input.dispatchKeyEvent", json!({"type": "keyUp", "key": key}));
    }

    /// Errors, warnings and messages of the console, and uncaught exceptions.
    pub fn complaints(&self) -> Vec<&Value> {
        let kinds = ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"];
        let events = self.events.iter();
        events
            .filter(|e| e["method"].as_str().is_some_and(|m| kinds.contains(&m)))
            .collect()
    }

    /// Addresses that pages asked for, but files and what a page holds itself.
    pub fn requests(&self) -> Vec<&str> {
        let asked = self
            .events
            .iter()
            .filter(|e| e["method"] == "Network.requestWillBeSent");
        asked
            .filter_map(|e| e["params"]["request"]["url"].as_str())
            .filter(|url| !["file:", "data:", "about:"].iter().any(|own| url.starts_with(own)))
            .collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.session = None;
        let close = br#"{"id":0,"method":"Browser.close"}"#;
        let _ = self.to.write_all(close).and_then(|()| self.to.write_all(&[0]));
        let until = Instant::now() + Duration::from_secs(10);
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}

/// The bytes of RFC 4648 letters.
fn base64(letters: &str) -> Vec<u8> {
    let (mut out, mut word, mut bits) = (Vec::new(), 0_u32, 0);
    for letter in letters.bytes() {
        let six = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => break,
        };
        word = word << 6 | u32::from(six);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((word >> bits) as u8);
            word &= (1 << bits) - 1;
        }
    }
    out
}
