//! `header_page` texts.

use crate::endian::Endian;
use crate::error::FormatErrorKind;
use crate::sub_buffer::PageLayout;

fn text(commit_size: u32, data_offset: u32, data_size: u32) -> String {
    format!(
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:{commit_size};\tsigned:1;\n\
         \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:{data_offset};\tsize:{data_size};\tsigned:1;\n"
    )
}

#[test]
fn both_word_sizes_and_all_sub_buffer_sizes() {
    for kib in [4u32, 8, 16, 64] {
        let wide = PageLayout::parse(text(8, 16, kib * 1024 - 16).as_bytes(), Endian::Little).unwrap();
        assert_eq!(
            (wide.size, wide.commit_offset, wide.commit_size, wide.data_offset),
            (kib * 1024, 8, 8, 16),
            "{kib} KiB, 64-bit long"
        );
        let narrow = PageLayout::parse(text(4, 12, kib * 1024 - 12).as_bytes(), Endian::Big).unwrap();
        assert_eq!(
            (narrow.size, narrow.commit_size, narrow.data_offset),
            (kib * 1024, 4, 12),
            "{kib} KiB, 32-bit long"
        );
    }
}

#[test]
fn with_size_changes_the_size_only() {
    let a = PageLayout::parse(text(8, 16, 4080).as_bytes(), Endian::Little).unwrap();
    assert_eq!(a.with_size(65536), PageLayout { size: 65536, ..a });
}

#[test]
fn no_newline_at_the_end_and_a_trailing_nul_are_fine() {
    let t = text(8, 16, 4080);
    let a = PageLayout::parse(t.trim_end().as_bytes(), Endian::Little).unwrap();
    assert_eq!(
        a,
        PageLayout::parse(format!("{t}\0").as_bytes(), Endian::Little).unwrap()
    );
}

#[test]
fn impossible_layouts_are_refused() {
    let kind = |t: String| PageLayout::parse(t.as_bytes(), Endian::Little).unwrap_err().kind;
    assert_eq!(kind(String::new()), FormatErrorKind::Missing);
    assert_eq!(
        kind(text(8, 16, 4080).replace("commit", "commits")),
        FormatErrorKind::Missing
    );
    assert_eq!(kind(text(2, 16, 4080)), FormatErrorKind::BadValue, "commit of 2 bytes");
    assert_eq!(kind(text(8, 12, 4084)), FormatErrorKind::BadValue, "data inside commit");
    assert_eq!(kind(text(8, 16, 0)), FormatErrorKind::BadValue, "no data");
    assert_eq!(
        kind(text(8, 16, u32::MAX)),
        FormatErrorKind::BadValue,
        "larger than a commit can count"
    );
    assert_eq!(kind("what is this".into()), FormatErrorKind::BadText);
}
