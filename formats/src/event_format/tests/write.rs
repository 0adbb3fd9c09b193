//! What is written is read as what was written.

use super::texts::{live, recorded};
use crate::event_format::EventFormat;

#[test]
fn a_format_survives_being_written() {
    let mut all: Vec<_> = ["6.1.192", "6.12.117", "6.18.44", "other"]
        .into_iter()
        .flat_map(recorded)
        .collect();
    all.extend(live().unwrap_or_default());
    assert!(all.len() >= 311, "{}", all.len());
    for (system, text) in all {
        let read = EventFormat::parse(&system, &text).unwrap();
        let again = EventFormat::parse(&system, read.text().as_bytes()).unwrap();
        assert_eq!(again, read);
    }
}

/// As the kernel wrote it, byte for byte, but for what the reader does not keep.
#[test]
fn a_format_is_written_as_the_kernel_does() {
    let text = "name: made\nID: 7\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
        \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:1;\n\
        \tfield:const void * skbaddr;\toffset:32;\tsize:8;\tsigned:0;\n\n\
        print fmt: \"%s\", REC->comm\n";
    assert_eq!(EventFormat::parse("x", text.as_bytes()).unwrap().text(), text);
}
