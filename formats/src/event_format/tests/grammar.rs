//! The grammar of the text, line by line.

use crate::endian::Endian;
use crate::error::FormatErrorKind;
use crate::event_format::{EventFormat, FieldKind, IntAccess};

const COMMON: &str = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
    \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
    \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n";

fn text(fields: &str) -> String {
    format!("name: event\nID: 77\nformat:\n{COMMON}\n{fields}\nprint fmt: \"x=%d\", REC->x\n")
}

/// A text of one own field.
fn one(declaration: &str, size: u32) -> EventFormat {
    let line = format!("\tfield:{declaration};\toffset:8;\tsize:{size};\tsigned:0;\n");
    EventFormat::parse("sys", text(&line).as_bytes()).unwrap()
}

#[test]
fn a_whole_text() {
    let f = EventFormat::parse(
        "sys",
        text("\tfield:int x;\toffset:8;\tsize:4;\tsigned:1;\n").as_bytes(),
    )
    .unwrap();
    assert_eq!(
        (f.key().as_str(), f.id, f.print_fmt.as_str()),
        ("sys:event", 77, "\"x=%d\", REC->x")
    );
    let common: Vec<&str> = f.common.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(
        common,
        ["common_type", "common_flags", "common_preempt_count", "common_pid"]
    );
    assert_eq!(f.fields.len(), 1);
    let x = f.field("x").unwrap();
    assert_eq!(
        (x.declaration.as_str(), x.offset, x.size, x.signed, x.kind),
        ("int", 8, 4, true, FieldKind::Int)
    );
    assert_eq!(f.field("y"), None);
}

#[test]
fn declarations() {
    let array = |size, count, text| FieldKind::Array { size, count, text };
    #[rustfmt::skip]
    let cases = [
        ("int x", 4, "int", FieldKind::Int),
        ("unsigned long long x", 8, "unsigned long long", FieldKind::Int),
        ("bool x", 1, "bool", FieldKind::Int),
        ("char x", 1, "char", FieldKind::Int),
        ("enum skb_drop_reason x", 4, "enum skb_drop_reason", FieldKind::Int),
        ("const void * x", 8, "const void *", FieldKind::Int),
        ("void *x", 4, "void *", FieldKind::Int),
        ("struct napi_struct * x", 8, "struct napi_struct *", FieldKind::Int),
        ("const char *const * x", 8, "const char *const *", FieldKind::Int),
        ("const char __attribute__((user)) * x", 8, "const char __attribute__((user)) *", FieldKind::Int),
        ("int (*x)(struct work_struct *)", 8, "void *", FieldKind::Int),
        // struct __kernel_timespec by value: 16 bytes, and one that happens to have 8.
        ("struct pair x", 16, "struct pair", FieldKind::Opaque),
        ("struct pair x", 8, "struct pair", FieldKind::Opaque),
        ("u128 x", 16, "u128", FieldKind::Opaque),
        ("int x", 3, "int", FieldKind::Opaque),
        ("char x[16]", 16, "char[16]", array(1, 16, true)),
        ("const char x[16]", 16, "const char[16]", array(1, 16, true)),
        ("unsigned char x[6]", 6, "unsigned char[6]", array(1, 6, false)),
        ("__u8 x[28]", 28, "__u8[28]", array(1, 28, false)),
        ("unsigned long x[6]", 48, "unsigned long[6]", array(8, 6, false)),
        ("unsigned long x[6]", 24, "unsigned long[6]", array(4, 6, false)),
        ("u16 x[2][4]", 16, "u16[2][4]", array(2, 8, false)),
        ("struct pair x[2]", 32, "struct pair[2]", array(16, 2, false)),
        // Symbols in the brackets, as older kernels print them: the element comes from the type.
        ("__u8 x[sizeof(struct sockaddr_in6)]", 28, "__u8[sizeof(struct sockaddr_in6)]", array(1, 28, false)),
        ("char x[TASK_COMM_LEN]", 16, "char[TASK_COMM_LEN]", array(1, 16, true)),
        ("u32 x[N]", 12, "u32[N]", array(4, 3, false)),
        ("dev_t x[N]", 12, "dev_t[N]", array(0, 0, false)),
        // To the end of the record.
        ("char x[]", 0, "char[]", array(1, 0, true)),
        ("unsigned long x[]", 0, "unsigned long[]", array(0, 0, false)),
        ("char x[0]", 0, "char[0]", array(1, 0, true)),
        // A count that contradicts the size: the size is right.
        ("u32 x[5]", 16, "u32[5]", array(4, 4, false)),
        ("__data_loc char[] x", 4, "__data_loc char[]", FieldKind::DataLoc { text: true }),
        ("__data_loc char[] x", 2, "__data_loc char[]", FieldKind::DataLoc { text: true }),
        ("__data_loc const char[] x", 4, "__data_loc const char[]", FieldKind::DataLoc { text: true }),
        ("__data_loc u8[] x", 4, "__data_loc u8[]", FieldKind::DataLoc { text: false }),
        ("__data_loc cpumask_t x", 4, "__data_loc cpumask_t", FieldKind::DataLoc { text: false }),
        ("__data_loc char[] x", 8, "__data_loc char[]", FieldKind::Opaque),
        ("__rel_loc char[] x", 4, "__rel_loc char[]", FieldKind::RelLoc { text: true }),
        ("__rel_loc unsigned long[] x", 4, "__rel_loc unsigned long[]", FieldKind::RelLoc { text: false }),
        ("__rel_loc char x[]", 2, "__rel_loc char[]", FieldKind::RelLoc { text: true }),
    ];
    for (declaration, size, type_text, kind) in cases {
        let f = one(declaration, size);
        let x = f.field("x").unwrap_or_else(|| panic!("{declaration}: {:?}", f.fields));
        assert_eq!(
            (x.declaration.as_str(), x.kind),
            (type_text, kind),
            "{declaration} of {size}"
        );
    }
}

#[test]
fn real_time_kernels_have_more_common_fields() {
    let more = "\tfield:unsigned char common_migrate_disable;\toffset:8;\tsize:1;\tsigned:0;\n\
        \tfield:unsigned char common_preempt_lazy_count;\toffset:9;\tsize:1;\tsigned:0;\n";
    let own = "\tfield:u64 x;\toffset:16;\tsize:8;\tsigned:0;\n";
    let f = EventFormat::parse(
        "s",
        format!("name: e\nID: 1\nformat:\n{COMMON}{more}\n{own}").as_bytes(),
    )
    .unwrap();
    assert_eq!((f.common.len(), f.fields.len()), (6, 1));
    let mut payload = [0u8; 24];
    payload[9] = 3;
    payload[16] = 9;
    assert_eq!(
        IntAccess::bind(&f, "common_preempt_lazy_count", Endian::Little)
            .unwrap()
            .u64(&payload),
        Some(3)
    );
    assert_eq!(
        IntAccess::bind(&f, "x", Endian::Little).unwrap().u64(&payload),
        Some(9),
        "behind the hole"
    );
}

#[test]
fn unknown_lines_and_keys_are_passed_over() {
    let t = "name: e\nID: 9\nnote: what\nformat:\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\tmagic:7;\n\n\
        \tfield:int x;\tfilter_type:3;\toffset:8;\tsize:4;\n";
    let f = EventFormat::parse("s", t.as_bytes()).unwrap();
    assert_eq!((f.common.len(), f.fields.len(), f.print_fmt.as_str()), (1, 1, ""));
    assert!(!f.fields[0].signed, "no signed key");
}

#[test]
fn the_end_may_come_without_a_newline() {
    let whole = text("\tfield:int x;\toffset:8;\tsize:4;\tsigned:1;\n");
    let cut = EventFormat::parse("s", whole.trim_end().as_bytes()).unwrap();
    assert_eq!(cut, EventFormat::parse("s", whole.as_bytes()).unwrap());
    let f = EventFormat::parse(
        "s",
        b"name: e\nformat:\n\tfield:int x; offset:8; size:4; signed:0;\n\nID: 5",
    )
    .unwrap();
    assert_eq!((f.id, f.fields.len()), (5, 1));
}

#[test]
fn fields_with_the_prefix_of_common_ones_stay_own() {
    let own = "\tfield:int common_denominator;\toffset:8;\tsize:4;\tsigned:1;\n";
    let f = EventFormat::parse("s", text(own).as_bytes()).unwrap();
    assert_eq!((f.common.len(), f.fields.len()), (4, 1));
}

#[test]
fn print_fmt_of_several_lines_is_kept_whole() {
    let f = EventFormat::parse("s", b"name: e\nID: 1\nprint fmt: \"a\",\n REC->a,\n REC->b\n").unwrap();
    assert_eq!(f.print_fmt, "\"a\",\n REC->a,\n REC->b");
}

#[test]
fn errors_say_what_and_where() {
    let error = |t: &str| {
        let e = EventFormat::parse("s", t.as_bytes()).unwrap_err();
        (e.kind, e.what, e.locus.offset)
    };
    assert_eq!(error(""), (FormatErrorKind::Missing, "format name", 0));
    assert_eq!(error("name: e\n"), (FormatErrorKind::Missing, "format ID", 0));
    assert_eq!(error("name: e\nID: x\n"), (FormatErrorKind::BadText, "format ID", 8));
    assert_eq!(
        error("name: e\nID: 65536\n"),
        (FormatErrorKind::BadValue, "format ID", 8)
    );
    let at = text("").find("\nprint fmt").unwrap() as u64;
    assert_eq!(
        error(&text("\tfield:int x;\tsize:4;\n")),
        (FormatErrorKind::BadText, "field offset", at)
    );
    assert_eq!(
        error(&text("\tfield:int x;\toffset:8;\n")),
        (FormatErrorKind::BadText, "field size", at)
    );
    assert_eq!(
        error(&text("\tfield:;\toffset:8;\tsize:4;\n")),
        (FormatErrorKind::BadText, "field declaration", at)
    );
    assert_eq!(
        error(&text("\tfield:int x;\toffset:99999999999;\tsize:4;\n")),
        (FormatErrorKind::BadText, "field offset", at)
    );
}
