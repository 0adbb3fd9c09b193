//! A bundle cut anywhere yields everything before the cut and says what is missing.

use super::*;

fn opens_to_a_prefix(whole: &Capture, bytes: &[u8], at: usize) {
    let Ok(c) = crate::open_bytes("cut", Bytes::Owned(bytes[..at].to_vec())) else {
        // Fewer bytes than the name of the first member and its end: nobody can tell what it is.
        assert!(at <= names::MANIFEST.len(), "cut at {at} is not recognised");
        return;
    };
    assert!(!c.complete, "cut at {at}");
    assert!(!c.problems.is_empty(), "cut at {at}");
    for cpu in 0..3 {
        let (have, all) = (events(&c, cpu), events(whole, cpu));
        assert!(
            all.starts_with(&have),
            "cut at {at}, cpu {cpu}: {} of {}",
            have.len(),
            all.len()
        );
        // Whole members before the cut are all there.
        let stream = whole.streams.iter().find(|s| s.cpu == cpu).unwrap();
        let members = stream.chunks.iter().take_while(|k| k.range.end <= at as u64).count();
        let chunks = c.streams.iter().find(|s| s.cpu == cpu).map_or(0, |s| s.chunks.len());
        assert!(
            chunks >= members,
            "cut at {at}, cpu {cpu}: {chunks} chunks of {members}"
        );
    }
    let before = |m: &&crate::Member| m.range.end <= at as u64 && m.name.starts_with("snapshots/");
    assert_eq!(
        c.snapshots.len(),
        whole.members.iter().filter(before).count(),
        "cut at {at}"
    );
}

#[test]
fn every_prefix_opens() {
    let bytes = bundle();
    let whole = open(bytes.clone());
    let mut points: Vec<usize> = (0..bytes.len()).step_by(23).collect();
    for m in &whole.members {
        for edge in [
            m.range.start - 512,
            m.range.start,
            m.range.end,
            m.range.end.next_multiple_of(512),
        ] {
            let edge = usize::try_from(edge).unwrap();
            points.extend((edge.saturating_sub(3)..edge + 4).filter(|p| *p < bytes.len()));
        }
    }
    assert!(points.len() > 1000);
    for at in points {
        opens_to_a_prefix(&whole, &bytes, at);
    }
}

#[test]
fn the_frame_that_was_cut_gives_its_whole_sub_buffers() {
    // Values that do not compress, so that the frame has many blocks.
    let pages: Vec<u8> = (0..256).flat_map(|i| sub_buffer(i * 200, 200)).collect();
    let mut w = BundleWriter::new(Vec::new(), &manifest()).unwrap();
    w.append(names::HEADER_PAGE, HEADER_PAGE.as_bytes()).unwrap();
    let frame = PagesEncoder::new(1).unwrap().encode(&pages).unwrap();
    w.append_pages(PagesName { cpu: 0, sequence: 1 }, &frame).unwrap();
    let bytes = w.finish(End::default()).unwrap().0;
    let m = open(bytes.clone())
        .members
        .iter()
        .find(|m| m.name.starts_with("trace/"))
        .unwrap()
        .range
        .clone();
    let mut before = 0;
    for part in 1..20 {
        let at = m.start + (m.end - m.start) * part / 20;
        let c = open(bytes[..usize::try_from(at).unwrap()].to_vec());
        let have = events(&c, 0);
        assert_eq!(have, (0..have.len() as u64).collect::<Vec<_>>());
        assert_eq!(have.len() % 200, 0, "a sub-buffer that was cut is not shown in part");
        assert!(have.len() >= before);
        before = have.len();
        assert!(
            messages(&c).contains("trace/cpu0/000001.pages.zst: cut after"),
            "{}",
            messages(&c)
        );
    }
    // A zstd block holds 128 KiB, so all but the last block or two of 1 MiB were salvaged at 95 %.
    assert!(before >= 200 * 256 * 3 / 4, "{before}");
}

#[test]
fn what_is_missing_is_named() {
    let bytes = bundle();
    let whole = open(bytes.clone());
    let range = |name: &str| whole.members.iter().find(|m| m.name == name).unwrap().range.clone();
    let cut = |at: u64| open(bytes[..usize::try_from(at).unwrap()].to_vec());
    let c = cut(range("end.json").start);
    assert!(messages(&c).contains("end.json: cut after 0 of"), "{}", messages(&c));
    let c = cut(range("end.json").end);
    assert!(messages(&c).contains("without an end of archive"), "{}", messages(&c));
    assert_eq!(c.cpu_stats, end().cpu_stats);
    let c = cut(range("manifest.json").end - 1);
    assert!(messages(&c).contains("manifest.json: cut after"), "{}", messages(&c));
    let c = cut(range("saved_cmdlines").end.next_multiple_of(512));
    assert!(messages(&c).contains("end.json is missing"), "{}", messages(&c));
    assert_eq!(events(&c, 0).len(), 200);
}

#[test]
fn a_member_removed_from_the_middle_is_a_loss_that_is_said() {
    let bytes = bundle();
    let whole = open(bytes.clone());
    let r = &whole
        .members
        .iter()
        .find(|m| m.name == "trace/cpu0/000002.pages.zst")
        .unwrap()
        .range;
    let (from, to) = (r.start - 512, r.end.next_multiple_of(512));
    let without = [
        &bytes[..usize::try_from(from).unwrap()],
        &bytes[usize::try_from(to).unwrap()..],
    ]
    .concat();
    let c = open(without);
    assert!(!c.complete);
    assert!(
        messages(&c).contains("trace/cpu0: member 3 where 2 was due"),
        "{}",
        messages(&c)
    );
    assert!(
        messages(&c).contains("trace/cpu0/000002.pages.zst: listed in end.json, but missing"),
        "{}",
        messages(&c)
    );
}

#[test]
fn damage_in_the_middle_keeps_what_was_before() {
    let bytes = bundle();
    let whole = open(bytes.clone());
    let header = whole
        .members
        .iter()
        .find(|m| m.name == "trace/cpu0/000003.pages.zst")
        .unwrap()
        .range
        .start
        - 512;
    let mut bad = bytes;
    bad[usize::try_from(header).unwrap() + 130] ^= 0x15;
    let c = open(bad);
    assert_eq!(events(&c, 0).len(), 190);
    assert!(
        messages(&c).contains(&format!("no tar header at byte {header}")),
        "{}",
        messages(&c)
    );
}
