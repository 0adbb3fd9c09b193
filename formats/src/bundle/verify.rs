//! Checksums of the members: read every byte, so only when asked (`netmortem check`).

use std::collections::HashMap;

use sha2::{Digest, Sha256};

use super::manifest::End;
use super::names;
use super::writer::hex;
use crate::capture::{Capture, Problem};
use crate::error::{FormatError, FormatErrorKind};
use crate::item::Locus;

/// Compares every member with the SHA-256 in `end.json`. Empty means that all agree; a bundle without `end.json`
/// yields the one problem that nothing could be compared.
pub fn verify(capture: &Capture) -> Vec<Problem> {
    let end = capture
        .end
        .as_ref()
        .and_then(|e| <End as serde::Deserialize>::deserialize(e).ok());
    let Some(end) = end else {
        let message = "no checksums: end.json is missing, so the members cannot be verified".to_owned();
        return vec![Problem {
            error: None,
            message,
            member: String::new(),
        }];
    };
    let stated: HashMap<&str, &str> = end
        .members
        .iter()
        .map(|m| (m.name.as_str(), m.sha256.as_str()))
        .collect();
    let mut problems = Vec::new();
    for (i, m) in capture.members.iter().enumerate() {
        let bytes = usize::try_from(m.range.start)
            .ok()
            .zip(usize::try_from(m.range.end).ok())
            .and_then(|(a, b)| capture.bytes.get(a..b))
            .unwrap_or(&[]);
        let message = match stated.get(m.name.as_str()) {
            None if m.name == names::END => continue,
            None => format!(
                "{}: not listed in end.json, so not part of the recording as it was written",
                m.name
            ),
            Some(want) if *want == hex(&Sha256::digest(bytes)) => continue,
            Some(_) => format!(
                "{}: its bytes are not the ones that were recorded (SHA-256 differs)",
                m.name
            ),
        };
        let member = crate::MemberId(u32::try_from(i).unwrap_or(u32::MAX));
        let locus = Locus {
            member,
            stream: 0,
            offset: m.range.start,
        };
        let error = Some(FormatError::new(FormatErrorKind::Checksum, "bundle member", locus));
        problems.push(Problem {
            error,
            message,
            member: m.name.clone(),
        });
    }
    problems
}
