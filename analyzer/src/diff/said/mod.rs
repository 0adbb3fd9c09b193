//! What is said of it: the verdict and its lines.

pub(in crate::diff) mod alike;
pub(in crate::diff) mod causes;
pub(in crate::diff) mod forwarding;
pub(in crate::diff) mod lead;
pub(in crate::diff) mod lines;
pub(in crate::diff) mod manifold;
pub(in crate::diff) mod prevented;
pub(in crate::diff) mod reports;
pub(in crate::diff) mod resent;
pub(in crate::diff) mod reserve;
mod unmoved;
pub(in crate::diff) mod verdict;
pub(in crate::diff) mod weigh;
