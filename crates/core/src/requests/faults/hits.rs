//! Which of the matching requests a fault affects.

/// The subset of matching requests that a fault affects: from the `first` one on (1 is the next), for a
/// number of `times` or until the fault is healed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hits {
    /// The number of the first affected match, from 1.
    pub first: u32,
    /// The number of affected matches; `None` for all.
    pub times: Option<u32>,
    /// The number of matches so far.
    seen: u32,
}

impl Hits {
    /// Affects `times` matches, beginning with number `first`.
    pub fn new(first: u32, times: Option<u32>) -> Self {
        Self { first: first.max(1), times, seen: 0 }
    }

    /// Counts a match and returns whether it is affected.
    pub fn count_match(&mut self) -> bool {
        self.seen = self.seen.saturating_add(1);
        self.seen >= self.first && !self.is_past(self.seen - 1)
    }

    /// Whether every match is affected.
    pub fn are_all(&self) -> bool {
        self.first == 1 && self.times.is_none()
    }

    /// Whether no further match will be affected.
    pub fn is_over(&self) -> bool {
        self.is_past(self.seen)
    }

    fn is_past(&self, seen: u32) -> bool {
        self.times.is_some_and(|times| seen >= self.first.saturating_add(times) - 1)
    }
}

impl std::fmt::Display for Hits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.first, self.times) {
            (1, None) => Ok(()),
            (1, Some(1)) => f.write_str(" once"),
            (1, Some(times)) => write!(f, " {times} times"),
            (first, None) => write!(f, " from number {first} on"),
            (first, Some(1)) => write!(f, ", number {first}"),
            (first, Some(times)) => write!(f, ", numbers {first} to {}", first.saturating_add(times) - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_affect_the_requested_range_of_matches() {
        let pattern = |first, times| {
            let mut hits = Hits::new(first, times);
            let struck: String = (0..5).map(|_| if hits.count_match() { 'x' } else { '.' }).collect();
            (struck, hits.is_over())
        };
        assert_eq!(pattern(1, None), ("xxxxx".to_owned(), false));
        assert_eq!(pattern(1, Some(2)), ("xx...".to_owned(), true));
        assert_eq!(pattern(3, Some(1)), ("..x..".to_owned(), true));
        assert_eq!(pattern(4, None), ("...xx".to_owned(), false));
        assert!(!Hits::new(1, Some(1)).is_over());
    }
}
