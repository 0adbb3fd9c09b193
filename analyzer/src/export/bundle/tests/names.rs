//! Lists of names that are kept.

use super::super::list::ListError;
use super::Names;

fn some() -> Names {
    let mut names = Names::new_list();
    for name in [&b"nginx"[..], b"\xff\xfe bytes", b"\"quoted\"\n"] {
        names.task(name);
    }
    names.dev(b"eth0");
    names.other(b"web");
    for ip in ["10.0.0.1", "10.0.0.2", "fd00::1", "ff02::1:ff12:3456"] {
        names.ip(ip.parse().unwrap());
    }
    names.link([0x16, 0xc7, 0xdc, 0xa6, 0x65, 6]);
    names
}

/// What is kept gives the same pseudonyms, and new ones to what is new.
#[test]
fn a_list_that_was_kept_is_the_same() {
    let mut names = some();
    let text = names.to_list();
    let mut kept = Names::from_list(text.as_bytes()).unwrap();
    // One use more, and the same names.
    let (first, second) = (names.list().to_vec(), kept.list().to_vec());
    assert_eq!((first.len(), second.len(), &second[..1]), (1, 2, &first[..]));
    assert_eq!(kept.to_list().replace(&format!(",\n    \"{}\"", second[1]), ""), text);
    assert_ne!(
        Names::from_list(text.as_bytes()).unwrap().list(),
        second,
        "a copy goes on apart"
    );
    for n in [&mut names, &mut kept] {
        assert_eq!(n.task(b"\xff\xfe bytes"), b"t1");
        assert_eq!(n.task(b"redis"), b"t3");
        assert_eq!(n.dev(b"eth1"), b"d1");
        assert_eq!(n.ip("10.0.0.2".parse().unwrap()).to_string(), "240.0.0.2");
        assert_eq!(n.ip("10.0.0.9".parse().unwrap()).to_string(), "240.0.0.3");
        assert_eq!(n.ip("fd00::2".parse().unwrap()).to_string(), "2001:db8::2");
        assert_eq!(
            n.ip("ff02::1:ff12:3457".parse().unwrap()).to_string(),
            "ff02::1:ffff:fffe"
        );
        assert_eq!(n.link([2, 0, 0, 0, 0, 9]), [0x02, 0x4e, 0x4d, 0, 0, 2]);
    }
    assert_ne!(Names::new_list().list(), names.list());
    let mut many = some();
    for _ in 0..300 {
        many = Names::from_list(many.to_list().as_bytes()).unwrap();
    }
    assert_eq!(many.list().len(), 256);
}

/// A list from which rows were taken, or to which wrong ones were added, would give one pseudonym to two names.
#[test]
fn a_list_that_was_changed_is_refused() {
    let whole: serde_json::Value = serde_json::from_str(&some().to_list()).unwrap();
    let refused = |change: fn(&mut serde_json::Value)| {
        let mut v = whole.clone();
        change(&mut v);
        Names::from_list(v.to_string().as_bytes()).unwrap_err()
    };
    let all: [fn(&mut serde_json::Value); 12] = [
        |v| v["names"][0]["pseudonym"] = v["names"][0]["name"].clone(),
        |v| v["names"][0]["pseudonym"] = "".into(),
        |v| v["names"][0]["pseudonym"] = "a\n".into(),
        |v| v["names"][0]["pseudonym"] = "x".repeat(300).into(),
        |v| drop(v["addresses"].as_array_mut().unwrap().remove(0)),
        |v| v["addresses"][0]["pseudonym"] = "240.0.0.2".into(),
        |v| v["addresses"][0]["pseudonym"] = "10.0.0.2".into(),
        |v| v["addresses"][0]["pseudonym"] = "fd00::7".into(),
        |v| v["addresses"][1]["name"] = "10.0.0.1".into(),
        |v| v["names"][0]["pseudonym"] = v["names"][1]["pseudonym"].clone(),
        |v| v["link"][0]["pseudonym"] = serde_json::json!([2, 78, 77, 0, 0, 9]),
        |v| v["solicited"][0]["pseudonym"] = serde_json::json!([255, 255, 0]),
    ];
    for change in all {
        assert!(matches!(refused(change), ListError::Changed(_)));
    }
    assert_eq!(refused(|v| v["netmortem_names"] = 2.into()), ListError::Version(2));
    for json in ["", "[]", "{}", "{\"netmortem_names\":1}"] {
        assert!(matches!(Names::from_list(json.as_bytes()), Err(ListError::Form(_))));
    }
}
