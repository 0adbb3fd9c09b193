//! The pictures: right size, not blank, letters in them, the colours of the chart in them.

use super::*;
use crate::layout;

fn decode(bytes: &[u8]) -> (u32, u32, Vec<u8>) {
    let mut reader = ::png::Decoder::new(bytes).read_info().unwrap();
    let mut rgb = vec![0; reader.output_buffer_size()];
    let info = reader.next_frame(&mut rgb).unwrap();
    (info.width, info.height, rgb)
}

fn dark(pixel: &[u8]) -> bool {
    pixel.iter().all(|value| *value < 0x60)
}

#[test]
fn every_figure_is_a_picture_with_letters_and_colours() {
    let document = layout::document();
    // One of each kind, the hostile one and the empty one.
    let wanted = [
        "waterfall",
        "ecdf",
        "tx",
        "rx-zero",
        "none",
        "softirq",
        "reasons",
        "sawtooth",
        "names",
    ];
    let figures: Vec<_> = document
        .figures()
        .into_iter()
        .filter(|(_, figure)| wanted.contains(&figure.id.as_str()))
        .collect();
    assert_eq!(figures.len(), wanted.len());
    for (section, figure) in figures {
        let name = format!("{section}-{}", figure.id);
        let (width, height, rgb) = decode(&encode_png(&figure.chart).unwrap());
        let per_logical = scale(figure.chart.size);
        assert_eq!(
            (width, height),
            (
                figure.chart.size.width() * per_logical,
                chart::height(&figure.chart) * per_logical
            ),
            "{name}"
        );
        assert!(width >= 1_400, "{name}");

        let mut colors: Vec<&[u8]> = rgb.chunks_exact(3).collect();
        colors.sort_unstable();
        colors.dedup();
        assert!(colors.len() > 20, "{name}: {} colours", colors.len());
        // The title: ink in the first 28 logical rows, between 0.5 % and 30 % of them.
        let rows = (28 * per_logical * width * 3) as usize;
        let (ink, all) = (rgb[..rows].chunks_exact(3).filter(|p| dark(p)).count(), rows / 3);
        assert!(
            ink * 200 > all && ink * 10 < all * 3,
            "{name}: {ink} of {all} pixels of the title row are ink"
        );
        // Nothing touches the edge: not cut.
        let row_bytes = (width * 3) as usize;
        let edges = rgb[..row_bytes]
            .iter()
            .chain(&rgb[rgb.len() - row_bytes..])
            .all(|value| *value == 255);
        assert!(edges, "{name}: something at the upper or lower edge");
        let sides = rgb
            .chunks_exact(row_bytes)
            .all(|row| row[..3] == [255; 3] && row[row_bytes - 3..] == [255; 3]);
        assert!(sides, "{name}: something at the left or right edge");
    }
}

#[test]
fn the_bars_have_the_colour_of_the_page() {
    let document = layout::document();
    let (_, figure) = document
        .figures()
        .into_iter()
        .find(|(_, figure)| figure.id == "reasons")
        .unwrap();
    let (_, _, rgb) = decode(&encode_png(&figure.chart).unwrap());
    let red = rgb.chunks_exact(3).filter(|p| *p == [0xD0, 0x33, 0x3A]).count();
    assert!(red > 20_000, "{red} pixels");
}

#[test]
fn files_are_named_after_section_and_figure_and_stay_in_the_directory() {
    assert_eq!(file_name("tcp", "saw/../../tooth", ""), "tcp-saw-------tooth.png");
    assert_eq!(file_name("tcp", &"x".repeat(500), "").len(), 84);

    let dir = std::env::temp_dir().join(format!("netmortem-png-{}", std::process::id()));
    let mut document = layout::document();
    document.sections.retain(|section| section.id == "napi");
    let paths = write_pngs(&document, &dir).unwrap();
    let names: Vec<_> = paths
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        names,
        [
            "napi-work.png",
            "napi-work-small.png",
            "napi-softirq.png",
            "napi-softirq-small.png"
        ]
    );
    for two in paths.chunks(2) {
        let [large, small] = [0, 1].map(|at: usize| decode(&std::fs::read(&two[at]).unwrap()));
        assert_eq!(
            (large.0, large.1),
            (small.0 * 3, small.1 * 3),
            "half-width figures: 480 and 1440 pixels"
        );
        let ink = small.2.chunks_exact(3).filter(|p| dark(p)).count();
        assert!(ink > 200, "{:?} is blank: {ink} dark pixels", two[1]);
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn a_directory_that_cannot_be_made_is_an_error_that_names_it() {
    let error = write_pngs(&layout::document(), Path::new("/proc/netmortem")).unwrap_err();
    assert!(error.to_string().contains("/proc/netmortem"), "{error}");
}

#[test]
fn halving_takes_the_mean() {
    let rgb = [0, 0, 0, 100, 0, 255, 200, 0, 0, 100, 4, 255];
    assert_eq!(raster::halve(&rgb, 2), [100, 1, 128]);
}
