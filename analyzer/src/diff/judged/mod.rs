//! How far both sides are apart, how sure that is, and what is no difference of what it seems to be.

pub(in crate::diff) mod above;
pub(in crate::diff) mod apart;
pub(in crate::diff) mod beside;
pub(in crate::diff) mod beside_work;
pub(in crate::diff) mod compare;
pub(in crate::diff) mod fewer;
pub(in crate::diff) mod kinds;
pub(in crate::diff) mod mix;
pub(in crate::diff) mod mixture;
pub(in crate::diff) mod moved;
pub(in crate::diff) mod nobody;
mod one_kind;
mod ranked;
pub(in crate::diff) mod rates;
pub(in crate::diff) mod recurs;
pub(in crate::diff) mod seen_only;
pub(in crate::diff) mod slowest;
mod strata;
mod strata_words;
pub(in crate::diff) mod tails;
pub(in crate::diff) mod transfers;
pub(in crate::diff) mod unfelt;
pub(in crate::diff) mod unread;
pub(in crate::diff) mod upstream;
pub(in crate::diff) mod weights;
mod with_answers;
