//! Every arm of the record grammar, in both byte orders and word sizes; loss flags; damage.

use super::synthetic::Seen::{self, Err as Bad, Lost, Rec};
use super::synthetic::{Page, all, layout, shapes};
use crate::endian::Endian;
use crate::error::{FormatErrorKind, Limit};
use crate::sub_buffer::PageLayout;

const MISSED: u32 = 1 << 31;
const STORED: u32 = 1 << 30;

fn each_shape(test: impl Fn(PageLayout)) {
    shapes().into_iter().for_each(test);
}

fn kinds(seen: &[Seen]) -> Vec<Option<(FormatErrorKind, &'static str)>> {
    seen.iter()
        .map(|s| if let Bad(e) = s { Some((e.kind, e.what)) } else { None })
        .collect()
}

#[test]
fn every_short_length() {
    each_shape(|l| {
        let mut p = Page::new(l, 100);
        let payloads: Vec<Vec<u8>> = (1..=28u8).map(|n| vec![n; n as usize * 4]).collect();
        payloads.iter().for_each(|b| {
            p.short(2, b);
        });
        let want: Vec<Seen> = payloads
            .iter()
            .enumerate()
            .map(|(i, b)| Rec(100 + 2 * (i as u64 + 1), b.clone()))
            .collect();
        assert_eq!(all(l, &p.bytes()), want);
    });
}

#[test]
fn first_delta_counts_and_zero_delta_keeps_order() {
    each_shape(|l| {
        let mut p = Page::new(l, 1 << 40);
        p.short(7, b"aaaa").short(0, b"bbbb").short((1 << 27) - 1, b"cccc");
        let t = (1u64 << 40) + 7;
        assert_eq!(
            all(l, &p.bytes()),
            [
                Rec(t, b"aaaa".into()),
                Rec(t, b"bbbb".into()),
                Rec(t + (1 << 27) - 1, b"cccc".into())
            ]
        );
    });
}

#[test]
fn long_records_round_up_to_four() {
    each_shape(|l| {
        let mut p = Page::new(l, 0);
        let sizes = [0usize, 1, 2, 3, 4, 5, 113, 136, 1000];
        sizes.iter().for_each(|n| {
            p.long(1, &vec![9; *n]);
        });
        let want: Vec<Seen> = sizes
            .iter()
            .enumerate()
            .map(|(i, n)| Rec(i as u64 + 1, vec![9; *n]))
            .collect();
        assert_eq!(all(l, &p.bytes()), want);
    });
}

#[test]
fn tcp_probe_states_140_for_136_bytes() {
    each_shape(|l| {
        let mut p = Page::new(l, 0);
        p.header(0, 0).u32(140).data.extend([5; 136]);
        p.short(1, b"next");
        assert_eq!(all(l, &p.bytes()), [Rec(0, vec![5; 136]), Rec(1, b"next".into())]);
    });
}

#[test]
fn time_extend_adds() {
    each_shape(|l| {
        let mut p = Page::new(l, 50);
        let gap = (12345u64 << 27) | 678;
        p.time(30, gap)
            .short(3, b"aaaa")
            .time(30, (1 << 59) - 1)
            .time(30, 1)
            .short(0, b"bbbb");
        assert_eq!(
            all(l, &p.bytes()),
            [Rec(53 + gap, b"aaaa".into()), Rec(53 + gap + (1 << 59), b"bbbb".into())]
        );
    });
}

#[test]
fn time_stamp_sets_59_bits_and_keeps_the_top_five() {
    each_shape(|l| {
        for top in [0u64, 1 << 59, 0x1f << 59] {
            let now = top | (77 << 27);
            let mut p = Page::new(l, now);
            p.time(31, (78 << 27) | 5).short(2, b"aaaa");
            assert_eq!(all(l, &p.bytes()), [Rec(top + (78 << 27) + 7, b"aaaa".into())]);
        }
    });
}

#[test]
fn time_stamp_wraps_forward_but_a_small_step_back_stays() {
    each_shape(|l| {
        let near_end = (1u64 << 59) - 5;
        for base in [near_end, near_end | 3 << 59] {
            let mut p = Page::new(l, base);
            p.time(31, 10).short(0, b"wrap");
            assert_eq!(all(l, &p.bytes()), [Rec(base + 15, b"wrap".into())]);
        }
        // An unstable clock went back by 40: shown as it was.
        let base = (3u64 << 59) | 1000;
        let mut p = Page::new(l, base);
        p.time(31, 960).short(0, b"back");
        assert_eq!(all(l, &p.bytes()), [Rec(base - 40, b"back".into())]);
    });
}

#[test]
fn padding_without_delta_ends_the_sub_buffer() {
    each_shape(|l| {
        let mut p = Page::new(l, 0);
        p.short(1, b"aaaa").header(29, 0).u32(0xdead_beef).short(1, b"gone");
        let mut q = Page::new(l, 90);
        q.short(1, b"next");
        let chunk = [p.bytes(), q.bytes()].concat();
        assert_eq!(all(l, &chunk), [Rec(1, b"aaaa".into()), Rec(91, b"next".into())]);
    });
}

#[test]
fn discarded_events_are_passed_over_with_their_time() {
    each_shape(|l| {
        let mut p = Page::new(l, 0);
        // As rb_event_discard() leaves them: array[0] is the length behind the header word, itself included.
        p.short(10, b"aaaa").header(29, 5).u32(12).data.extend([0; 8]);
        p.short(1, b"bbbb").header(29, 1).u32(8).data.extend([0; 4]);
        p.short(1, b"cccc");
        // 10, +5 +1; the delta 1 stands for 0.
        assert_eq!(
            all(l, &p.bytes()),
            [
                Rec(10, b"aaaa".into()),
                Rec(16, b"bbbb".into()),
                Rec(17, b"cccc".into())
            ]
        );
    });
}

#[test]
fn losses_come_before_the_first_record() {
    each_shape(|l| {
        let mut p = Page::new(l, 0);
        p.short(1, b"aaaa");
        p.flags = MISSED;
        assert_eq!(
            all(l, &p.bytes()),
            [Lost(None), Rec(1, b"aaaa".into())],
            "flag without a number"
        );
        p.flags = MISSED | STORED;
        p.missed = Some(77_777);
        assert_eq!(all(l, &p.bytes()), [Lost(Some(77_777)), Rec(1, b"aaaa".into())]);
        p.data.clear();
        assert_eq!(
            all(l, &p.bytes()),
            [Lost(Some(77_777))],
            "a loss in a sub-buffer without records"
        );
    });
}

#[test]
fn a_count_that_does_not_fit_is_unknown() {
    each_shape(|l| {
        let mut p = Page::new(l, 0);
        p.flags = MISSED | STORED;
        let room = (l.size - l.data_offset) as usize;
        p.long(1, &vec![1; room - 8]);
        assert_eq!(p.data.len(), room);
        assert_eq!(all(l, &p.bytes()), [Lost(None), Rec(1, vec![1; room - 8])]);
    });
}

#[test]
fn larger_sub_buffers() {
    for kib in [8u32, 16, 64] {
        for shape in shapes() {
            let l = shape.with_size(kib * 1024);
            let mut chunk = Vec::new();
            let mut want = Vec::new();
            for page in 0..3u64 {
                let mut p = Page::new(l, page * 1_000_000);
                while p.data.len() + 64 < (l.size - l.data_offset) as usize {
                    p.short(1, &[page as u8; 60]);
                    want.push(Rec(page * 1_000_000 + p.data.len() as u64 / 64, vec![page as u8; 60]));
                }
                chunk.extend(p.bytes());
            }
            assert_eq!(all(l, &chunk), want, "{kib} KiB");
        }
    }
}

#[test]
fn commit_beyond_the_sub_buffer_is_an_error_and_the_next_one_is_read() {
    each_shape(|l| {
        let mut p = Page::new(l, 0);
        p.short(1, b"aaaa").commit = Some(l.size);
        let mut q = Page::new(l, 5);
        q.short(1, b"bbbb");
        let seen = all(l, &[p.bytes(), q.bytes()].concat());
        let Bad(e) = &seen[0] else { panic!("{seen:?}") };
        assert_eq!(
            (e.kind, e.what, e.limited_by),
            (FormatErrorKind::BadLength, "sub-buffer commit", Limit::SubBuffer)
        );
        assert_eq!(
            (e.need, e.have, e.locus.offset, e.locus.stream),
            (l.size.into(), (l.size - l.data_offset).into(), 1000, 3)
        );
        assert_eq!(seen[1..], [Rec(6, b"bbbb".into())]);
    });
}

#[test]
fn a_record_beyond_commit_ends_the_sub_buffer_with_its_place() {
    each_shape(|l| {
        let damaged: [(&str, fn(&mut Page)); 7] = [
            ("short data", |p| p.header(3, 1).data.extend([0; 8])),
            ("length word missing", |p| _ = p.header(0, 1)),
            ("length below itself", |p| _ = p.header(0, 1).u32(3)),
            ("long data", |p| _ = p.header(0, 1).u32(400)),
            ("huge data", |p| _ = p.header(0, 1).u32(u32::MAX)),
            ("extend without its word", |p| _ = p.header(30, 1)),
            ("discarded beyond", |p| _ = p.header(29, 9).u32(4000)),
        ];
        for (name, damage) in damaged {
            let mut p = Page::new(l, 0);
            p.short(1, b"aaaa");
            damage(&mut p);
            let seen = all(l, &p.bytes());
            assert_eq!(seen[0], Rec(1, b"aaaa".into()), "{name}");
            let [_, Bad(e)] = &seen[..] else {
                panic!("{name}: {seen:?}")
            };
            assert_eq!(
                (e.kind, e.limited_by),
                (FormatErrorKind::BadLength, Limit::SubBuffer),
                "{name}"
            );
            assert_eq!(
                e.locus.offset,
                1000 + u64::from(l.data_offset) + 8,
                "{name}: the header of the bad record"
            );
        }
    });
}

#[test]
fn commit_that_is_no_multiple_of_four() {
    each_shape(|l| {
        let mut p = Page::new(l, 0);
        p.short(1, b"aaaa").data.extend([1, 2]);
        let seen = all(l, &p.bytes());
        assert_eq!(
            kinds(&seen),
            [None, Some((FormatErrorKind::BadLength, "record header"))]
        );
    });
}

#[test]
fn torn_last_sub_buffer_gives_what_it_has() {
    each_shape(|l| {
        let mut p = Page::new(l, 0);
        p.short(1, b"aaaa").short(1, b"bbbb").short(1, b"cccc");
        let bytes = p.bytes();
        let data = l.data_offset as usize;
        let torn = Some((FormatErrorKind::Truncated, "torn sub-buffer"));
        assert_eq!(
            kinds(&all(l, &bytes[..data + 24])),
            [None; 3],
            "torn behind its records: nothing is missing"
        );
        assert_eq!(kinds(&all(l, &bytes[..data + 23])), [None, None, torn]);
        assert_eq!(
            kinds(&all(l, &bytes[..data + 16])),
            [None, None, torn],
            "torn between two records"
        );
        assert_eq!(kinds(&all(l, &bytes[..data])), [torn]);
        assert_eq!(
            kinds(&all(l, &bytes[..data - 1])),
            [Some((FormatErrorKind::Truncated, "sub-buffer header"))]
        );
        assert_eq!(all(l, &[]), []);
        let Bad(e) = &all(l, &bytes[..data + 17])[2] else {
            panic!()
        };
        assert_eq!((e.need, e.have, e.limited_by), (8, 1, Limit::Member));
    });
}

#[test]
fn clock_overflow_wraps_quietly() {
    each_shape(|l| {
        let mut p = Page::new(l, u64::MAX);
        p.short(2, b"aaaa");
        assert_eq!(all(l, &p.bytes()), [Rec(1, b"aaaa".into())]);
    });
}

#[test]
fn layouts_made_by_hand_cannot_loop_or_read_outside() {
    for size in [0, 1, 3, 12, 20] {
        let l = layout(Endian::Little, 8, 4096).with_size(size);
        let seen = all(l, &[0xff; 100]);
        assert!(
            !seen.is_empty() && seen.iter().all(|s| matches!(s, Bad(_))),
            "size {size}: {seen:?}"
        );
    }
    let wild = PageLayout {
        endian: Endian::Big,
        timestamp_offset: u32::MAX,
        commit_offset: u32::MAX,
        commit_size: 8,
        data_offset: 16,
        size: 64,
    };
    assert_eq!(
        kinds(&all(wild, &[0; 64])),
        [Some((FormatErrorKind::Truncated, "sub-buffer header"))]
    );
}
