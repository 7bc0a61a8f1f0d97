//! Sets of indexes as text, such as `1,3-5` (`validateIndexesFormat`).

use crate::gotext;

/// The first and the last index of an interval.
type Interval = (i64, i64);

/// Counts the indexes of a set.
///
/// # Errors
/// The problem of the set.
pub(super) fn count(set: &str, completions: i64) -> Result<i64, String> {
    if set.is_empty() {
        return Ok(0);
    }
    let (mut total, mut last) = (0, None);
    for part in set.split(',') {
        let (first, end) = interval(part, completions)?;
        if let Some(last) = last.filter(|last| *last >= first) {
            return Err(order(last, first));
        }
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}

/// The first index that is in both sets, which must be valid and in order; invalid intervals are skipped
/// (`validateFailedIndexesNotOverlapCompleted`).
pub(super) fn overlap(set: &str, other: &str, completions: i64) -> Option<i64> {
    let read = |set: &str| -> Vec<Interval> {
        set.split(',').filter_map(|part| interval(part, completions).ok()).collect()
    };
    let (left, right) = (read(set), read(other));
    let (mut l, mut r) = (0, 0);
    while let (Some(one), Some(two)) = (left.get(l), right.get(r)) {
        if one.0 <= two.1 && two.0 <= one.1 {
            return Some(one.0.max(two.0));
        }
        if one.0 <= two.0 {
            l += 1;
        } else {
            r += 1;
        }
    }
    None
}

fn interval(part: &str, completions: i64) -> Result<Interval, String> {
    let limits: Vec<&str> = part.split('-').collect();
    let read = |limit: &str| {
        let number: i64 = limit
            .parse()
            .map_err(|_| format!("cannot convert string to integer for index: {}", gotext::quote(limit)))?;
        if number >= completions {
            return Err(format!("too large index: {}", gotext::quote(limit)));
        }
        Ok(number)
    };
    match limits.as_slice() {
        [only] => read(only).map(|index| (index, index)),
        [first, last] => {
            let (first, last) = (read(first)?, read(last)?);
            if first >= last { Err(order(first, last)) } else { Ok((first, last)) }
        }
        _ => Err(format!(
            "the fragment {} violates the requirement that an index interval can have at most two parts separated by '-'",
            gotext::quote(part)
        )),
    }
}

fn order(previous: i64, current: i64) -> String {
    format!("non-increasing order, previous: {previous}, current: {current}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_the_indexes_of_valid_sets() {
        for (set, result) in [
            ("", Ok(0)),
            ("1,3-5", Ok(4)),
            ("0-9", Ok(10)),
            ("5-2", Err("non-increasing order, previous: 5, current: 2")),
            ("3,3", Err("non-increasing order, previous: 3, current: 3")),
            ("10", Err("too large index: \"10\"")),
            ("a", Err("cannot convert string to integer for index: \"a\"")),
            ("1-", Err("cannot convert string to integer for index: \"\"")),
        ] {
            assert_eq!(count(set, 10), result.map_err(str::to_owned), "{set}");
        }
    }

    #[test]
    fn finds_the_first_index_in_both_sets() {
        assert_eq!(overlap("0-3,7", "4-5,7-8", 10), Some(7));
        assert_eq!(overlap("0-3", "2-5", 10), Some(2));
        assert_eq!(overlap("0,2", "1,3", 10), None);
    }
}
