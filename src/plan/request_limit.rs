//! A limit for the requests of clients.

use std::fmt;

use jiff::SignedDuration;
use windtunnel_core::requests::faults::RequestFilter;
use windtunnel_core::text::short_duration;

/// Requests, and how many of them there may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLimit {
    /// The requests.
    pub requests: RequestFilter,
    /// Whether only those count that got 403, because no role allows them.
    pub refused: bool,
    /// The most requests.
    pub at_most: u32,
    /// The span of time that the limit is for, whenever it begins; `None` for the whole run.
    pub within: Option<SignedDuration>,
}

impl fmt::Display for RequestLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.at_most, self.refused) {
            (0, true) => write!(f, "no refused {}", self.requests)?,
            (at_most, true) => write!(f, "at most {at_most} times a refused {}", self.requests)?,
            (at_most, false) => write!(f, "at most {at_most} times {}", self.requests)?,
        }
        self.within.map_or(Ok(()), |span| write!(f, " in any {}", short_duration(span)))
    }
}
