//! A scene's head: what the ticket says, what is planted, and the words that name it.

use std::path::Path;

use anyhow::{Context, bail};

/// What is made of a scene's recordings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A report.
    Single,
    /// A comparison of two.
    Pair,
    /// A report that must not alarm.
    Healthy,
    /// A comparison of two of which nobody is worse off: it must not alarm.
    Harmless,
}

impl Kind {
    /// The recordings it has.
    pub const fn sides(self) -> &'static [&'static str] {
        match self {
            Kind::Pair | Kind::Harmless => &["before", "after"],
            Kind::Single | Kind::Healthy => &["after"],
        }
    }
    /// Whether nothing is wrong in it.
    pub const fn is_quiet(self) -> bool {
        matches!(self, Kind::Healthy | Kind::Harmless)
    }
}

/// One scene. Words are lines of alternatives.
#[derive(Debug, Clone)]
pub struct Scene {
    /// Its name: that of its file.
    pub name: String,
    /// See there.
    pub kind: Kind,
    /// What the people say whom it happens to.
    pub ticket: String,
    /// The truth.
    pub planted: String,
    /// Of each of these one must be in the first sentence.
    pub first: Vec<Vec<String>>,
    /// Of each of these one must be on the first page.
    pub page: Vec<Vec<String>>,
    /// None of these may be in the first sentence.
    pub never: Vec<String>,
}

impl Scene {
    /// Reads the head of a script.
    fn parse(name: &str, script: &str) -> anyhow::Result<Scene> {
        let mut scene = Scene {
            name: name.to_owned(),
            kind: Kind::Single,
            ticket: String::new(),
            planted: String::new(),
            first: vec![],
            page: vec![],
            never: vec![],
        };
        let either = |words: &str| words.split(" | ").map(str::to_owned).collect::<Vec<_>>();
        for line in script.lines().map_while(|l| l.strip_prefix("# ")) {
            let (key, of) = line.split_once(": ").with_context(|| format!("{name}: {line:?}"))?;
            match key {
                "kind" if of == "pair" => scene.kind = Kind::Pair,
                "kind" if of == "healthy" => scene.kind = Kind::Healthy,
                "kind" if of == "harmless" => scene.kind = Kind::Harmless,
                "ticket" => of.clone_into(&mut scene.ticket),
                "planted" => of.clone_into(&mut scene.planted),
                "first" => scene.first.push(either(of)),
                "page" => scene.page.push(either(of)),
                "never" => scene.never.push(of.to_owned()),
                _ => bail!("{name}: what is {line:?}?"),
            }
        }
        let asks = !scene.first.is_empty() || !scene.page.is_empty() || !scene.never.is_empty();
        if scene.ticket.is_empty() || scene.planted.is_empty() || !asks {
            bail!("{name}: a head has ticket, planted, and first, page or never");
        }
        Ok(scene)
    }
}

/// All scenes, or those named.
pub fn scenes(names: &[String]) -> anyhow::Result<Vec<Scene>> {
    let folder = super::home().join("scenes");
    let mut all = vec![];
    for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|n| n.to_str()).unwrap_or_default().to_owned();
        if path.extension() == Some("sh".as_ref()) {
            all.push(Scene::parse(&name, &read(&path)?)?);
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(unknown) = names.iter().find(|n| all.iter().all(|s| s.name != **n)) {
        bail!("no scene {unknown} in {}", folder.display());
    }
    all.retain(|s| names.is_empty() || names.contains(&s.name));
    Ok(all)
}

fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_say_what_is_asked() {
        let all = scenes(&[]).unwrap();
        assert!(all.len() >= 30, "{}", all.len());
        for s in &all {
            assert_eq!(s.kind.is_quiet(), s.first.is_empty(), "{}", s.name);
        }
        // What the documents say of how many there are.
        let quiet = all.iter().filter(|s| s.kind.is_quiet()).count();
        let causes = all.len() - quiet;
        let read = |path: &str| read(&super::super::home().join("../../..").join(path)).unwrap();
        let told = read("docs/incidents.md");
        assert!(
            told.contains(&format!("\n{causes} causes as they happen to people")),
            "{causes}"
        );
        assert!(
            told.contains(&format!(": with them {} scenes.", all.len())),
            "{}",
            all.len()
        );
        let line = format!("{causes} planted incidents and {quiet} scenes in which nothing is wrong");
        assert!(read("README.md").contains(&line), "{line}");
        let pair = all.iter().find(|s| s.name == "fewer_workers").unwrap();
        assert_eq!(pair.kind.sides(), ["before", "after"]);
        let two = Scene::parse(
            "x",
            "# ticket: t\n# planted: p\n# first: a | b\n# first: c\nplant() {\n# not: read",
        )
        .unwrap();
        assert_eq!(two.first, [vec!["a".to_owned(), "b".to_owned()], vec!["c".to_owned()]]);
        for wrong in [
            "# ticket: t\n# planted: p\nplant",
            "# ticket: t\n# planted: p\n# frist: x\n",
        ] {
            assert!(Scene::parse("x", wrong).is_err(), "{wrong}");
        }
    }
}
