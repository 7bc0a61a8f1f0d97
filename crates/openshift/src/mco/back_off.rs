//! The pauses of the parts of a daemon after failures.

use jiff::SignedDuration;

/// The first and the longest pause.
const FIRST: SignedDuration = SignedDuration::from_secs(1);
const LONGEST: SignedDuration = SignedDuration::from_secs(60);

/// A pause that doubles with each failure.
#[derive(Debug, Clone)]
pub(super) struct BackOff {
    next: SignedDuration,
}

impl Default for BackOff {
    fn default() -> Self {
        Self { next: FIRST }
    }
}

impl BackOff {
    /// The pause after one more failure.
    pub(super) fn fail(&mut self) -> SignedDuration {
        let pause = self.next;
        self.next = (pause * 2).min(LONGEST);
        pause
    }

    /// Starts again with the first pause, after a success.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_doubles_up_to_a_minute_and_starts_again_after_a_success() {
        let mut back_off = BackOff::default();
        let seconds: Vec<_> = (0..8).map(|_| back_off.fail().as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
        back_off.reset();
        assert_eq!(back_off.fail(), FIRST);
    }
}
