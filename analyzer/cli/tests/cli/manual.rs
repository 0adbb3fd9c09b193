//! Help, manual pages and completions.

use crate::{stdout, tempdir};

#[test]
fn every_help_ends_with_examples_and_every_command_is_in_the_manual() {
    let help = stdout(&["--help"]);
    let commands = [
        "record",
        "report",
        "show",
        "tables",
        "query",
        "check",
        "explain",
        "convert",
        "inspect",
        "completions",
        "man",
    ];
    let (dir, main) = (tempdir("man"), stdout(&["man"]));
    stdout(&["man", "-o", dir.to_str().unwrap()]);
    for c in commands {
        assert!(help.contains(&format!("\n  {c} ")), "{c} is not in --help");
        let own = stdout(&[c, "--help"]);
        let at = own
            .find("\nExamples:\n")
            .unwrap_or_else(|| panic!("{c} --help has no examples"));
        assert!(
            own[at..].contains(&format!("netmortem {c}")) && !own[at..].contains("Options:"),
            "{own}"
        );
        assert!(
            main.contains(&format!("netmortem\\-{c}")),
            "{c} is not in the manual page"
        );
        assert!(
            std::fs::read_to_string(dir.join(format!("netmortem-{c}.1")))
                .unwrap()
                .contains(".TH")
        );
    }
    let recorder = std::fs::read_to_string(dir.join("netmortem-record.1")).unwrap();
    assert!(
        recorder.contains("netmortem\\-record \\-\\-flight"),
        "its examples: {recorder}"
    );
    std::fs::remove_dir_all(dir).unwrap();
    for shell in ["bash", "zsh", "fish"] {
        assert!(stdout(&["completions", shell]).contains("netmortem"), "{shell}");
        // The recorder alone has its own, by its own name.
        let recorder = stdout(&["completions", shell, "--recorder"]);
        assert!(
            recorder.contains("netmortem-record") && recorder.contains("max-bundles"),
            "{shell}"
        );
    }
}
