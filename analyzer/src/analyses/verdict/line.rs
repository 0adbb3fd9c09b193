//! A line of the verdict, its colour, and in which order lines are said.

/// How a line is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    /// Nothing to do.
    Ok,
    /// Look here.
    Notice,
    /// Something is wrong.
    Bad,
    /// No answer.
    Unknown,
}

/// One line of the verdict.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Line {
    /// `quality`, `opens`, `datagrams`, `application`, `receive`, `transmit`, `drops`, `tcp`, `napi`: the section it leads to.
    pub subject: &'static str,
    /// How it is coloured.
    pub tone: Tone,
    /// The sentence.
    pub sentence: String,
    /// What it says in few words, for the head of a page; empty where it is neither `notice` nor `bad`, or another line says it there.
    pub headline: String,
    /// said there after the others of its tone: nobody waited for it, or not for long.
    #[serde(skip)]
    pub minor: bool,
    /// The headline begins with a cause that has a name: it stands before others of its tone.
    #[serde(skip)]
    pub names_cause: bool,
    /// Neither good nor bad, where its tone is `ok`: nothing of that kind happened, or nothing is judged of what did.
    #[serde(skip)]
    pub neutral: bool,
    /// The subject of the line that says why: what this one says became of the very connections that lost packets there (inferred).
    pub follows: Option<&'static str>,
}

/// In which order the lines of a tone are said: what only follows of another last, causes that have a name before others, what nobody waited for behind them.
pub fn order(follows: bool, names_cause: bool, minor: bool) -> (bool, bool, bool) {
    (follows, !names_cause, minor)
}

impl Line {
    /// A line that stands for itself.
    pub(super) fn of(subject: &'static str, tone: Tone, sentence: String, headline: String) -> Line {
        Line {
            subject,
            tone,
            sentence,
            headline,
            minor: false,
            names_cause: false,
            neutral: false,
            follows: None,
        }
    }
}
