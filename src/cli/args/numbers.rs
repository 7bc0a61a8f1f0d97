//! Whole numbers as values of flags.

use std::num::NonZeroUsize;

/// Parses a number that may be zero, such as a seed.
pub(in crate::cli) fn number<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    whole_number(text, 0, u64::MAX)
}

/// Parses a number of things, at least one.
pub(in crate::cli) fn count(text: &str) -> Result<u32, String> {
    whole_number(text, 1, u32::MAX.into())
}

/// Parses the number of runs at a time, at least one.
pub(in crate::cli) fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    let jobs: u32 = count(text)?;
    usize::try_from(jobs).ok().and_then(NonZeroUsize::new).ok_or_else(|| format!("`{text}` is too large"))
}

/// Parses a TCP port; 0 is any free one.
#[cfg(feature = "serve")]
pub(in crate::cli) fn port(text: &str) -> Result<u16, String> {
    whole_number(text, 0, u16::MAX.into())
}

fn whole_number<T: TryFrom<u64>>(text: &str, low: u64, high: u64) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| (low..=high).contains(number));
    number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
        let to = if high == u64::MAX { String::new() } else { format!(" to {high}") };
        format!("expected a whole number from {low}{to}")
    })
}
