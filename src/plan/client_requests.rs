//! Expectations about the requests of clients: how many there may be, and who may write.

use std::fmt;

use jiff::SignedDuration;
use windtunnel_core::requests::faults::RequestFilter;
use windtunnel_core::text::short_duration;

use super::Since;

/// Requests, and how many of them there may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLimit {
    /// The requests.
    pub requests: RequestFilter,
    /// Whether only those count that got 403, because no role allows them.
    pub refused: bool,
    /// The most requests.
    pub at_most: u32,
    /// The span of time that the limit is for, whenever it begins; `None` for the whole time since `since`.
    pub within: Option<SignedDuration>,
    /// The moment from which requests count.
    pub since: Since,
}

impl fmt::Display for RequestLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.at_most, self.refused) {
            (0, true) => write!(f, "no refused {}", self.requests)?,
            (at_most, true) => write!(f, "at most {at_most} times a refused {}", self.requests)?,
            (at_most, false) => write!(f, "at most {at_most} times {}", self.requests)?,
        }
        self.within.map_or(Ok(()), |span| write!(f, " in any {}", short_duration(span)))?;
        if self.since == Since::default() { Ok(()) } else { write!(f, " {}", self.since) }
    }
}

/// The rule that only the holder of a Lease writes, its candidates, and the expected changes of the holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leadership {
    /// Namespace of the Lease.
    pub namespace: String,
    /// Name of the Lease.
    pub name: String,
    /// The clients that may want the Lease, by their names in the record, besides those that have held it.
    pub candidates: Vec<String>,
    /// How often it passed from one holder to another since the start of the run; `None` for any number.
    pub handovers: Option<u32>,
    /// The longest time between the last renewal (or the release) by a holder and the next holder; `None` for any.
    pub gap: Option<SignedDuration>,
}

impl Leadership {
    /// Returns the leadership of the Lease `NAMESPACE/NAME`, with any handovers.
    ///
    /// # Errors
    /// The text names no Lease.
    pub fn of(lease: &str) -> Result<Self, String> {
        let parts = lease.split_once('/').filter(|(namespace, name)| {
            !namespace.is_empty() && !name.is_empty() && !name.contains(['/', '*'])
        });
        let Some((namespace, name)) = parts else {
            return Err(format!("expected a Lease as `NAMESPACE/NAME`, found `{lease}`"));
        };
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        Ok(Self { namespace, name, candidates: Vec::new(), handovers: None, gap: None })
    }
}

impl fmt::Display for Leadership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "only the holder of Lease {}/{} to write", self.namespace, self.name)?;
        if !self.candidates.is_empty() {
            write!(f, ", of {}", self.candidates.join(" and "))?;
        }
        match self.handovers {
            None => {}
            Some(1) => write!(f, ", 1 handover")?,
            Some(count) => write!(f, ", {count} handovers")?,
        }
        self.gap.map_or(Ok(()), |gap| write!(f, ", gaps of at most {}", short_duration(gap)))
    }
}
