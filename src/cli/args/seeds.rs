//! Several seeds as the value of a flag.

use std::collections::BTreeSet;

use super::numbers;

/// The most seeds of a run.
const SEEDS_MAX: u64 = 100_000;

/// The seeds of a run, each once, in ascending order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct Seeds(BTreeSet<u64>);

impl Seeds {
    /// Returns the seeds in ascending order.
    pub(in crate::cli) fn iter(&self) -> impl Iterator<Item = u64> {
        self.0.iter().copied()
    }
}

/// Parses numbers and ranges that include both ends: `1..50`, `7,20..30`.
pub(in crate::cli) fn seeds(text: &str) -> Result<Seeds, String> {
    let wrong = || "expected seeds such as `1..50` or `1,7,20..30`".to_owned();
    let too_many = || format!("expected at most {SEEDS_MAX} seeds");
    let mut found = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once("..").unwrap_or((part, part));
        let number = |text: &str| numbers::number::<u64>(text.trim()).map_err(|_| wrong());
        let (first, last) = (number(first)?, number(last)?);
        let backwards = || format!("expected the smaller seed first: write `{last}..{first}`");
        let distance = last.checked_sub(first).ok_or_else(backwards)?;
        if distance >= SEEDS_MAX {
            return Err(too_many());
        }
        found.extend(first..=last);
        if found.len() as u64 > SEEDS_MAX {
            return Err(too_many());
        }
    }
    Ok(Seeds(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<u64> {
        seeds(text).unwrap().iter().collect()
    }

    #[test]
    fn seeds_are_numbers_and_ranges_with_both_ends() {
        assert_eq!(parsed("1..3"), [1, 2, 3]);
        assert_eq!(parsed("7"), [7]);
        assert_eq!(parsed("20..21, 7,21"), [7, 20, 21]);
        assert_eq!(parsed("18446744073709551615"), [u64::MAX]);
    }

    #[test]
    fn other_texts_and_too_many_seeds_are_errors() {
        for wrong in ["", "1..", "..3", "1,,2", "-1", "1-3", "18446744073709551616"] {
            assert_eq!(
                seeds(wrong),
                Err("expected seeds such as `1..50` or `1,7,20..30`".to_owned()),
                "{wrong}"
            );
        }
        assert_eq!(seeds("3..1"), Err("expected the smaller seed first: write `1..3`".to_owned()));
        for many in ["0..100000", "0..18446744073709551615", "1..99999,200001..200002"] {
            assert_eq!(seeds(many), Err("expected at most 100000 seeds".to_owned()), "{many}");
        }
    }
}
