//! `header_event` texts.

use crate::error::FormatErrorKind;
use crate::sub_buffer::check_header_event;

/// As 6.18 prints it.
const TODAY: &str = "# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n\
    \tpadding     : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31\n\tdata max type_len  == 28\n";

#[test]
fn today_and_not_recorded() {
    assert_eq!(check_header_event(TODAY.as_bytes()), Ok(()));
    assert_eq!(
        check_header_event(TODAY.replace("\ttime_stamp : type == 31\n", "").trim_end().as_bytes()),
        Ok(())
    );
    assert_eq!(check_header_event(b""), Ok(()));
    assert_eq!(check_header_event(b"\xff\xff: 3 bits\n"), Ok(()));
}

#[test]
fn the_grammar_until_2_6_30_is_refused() {
    let old =
        "# compressed entry header\n\ttype        :    2 bits\n\tlen         :    3 bits\n\ttime_delta  :   27 bits\n";
    let e = check_header_event(old.as_bytes()).unwrap_err();
    assert_eq!(
        (e.kind, e.what, e.locus.offset, e.have),
        (FormatErrorKind::UnsupportedVersion, "header_event", 26, 2)
    );
    let other = TODAY.replace("27 bits", "26 bits");
    assert_eq!(check_header_event(other.as_bytes()).unwrap_err().need, 27);
}
