//! Fractions and percentages of updated objects.

/// Returns a fraction, from 0 to 1; 1 for nothing of nothing.
pub(crate) fn share(part: usize, whole: usize) -> f64 {
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    if whole == 0 { 1.0 } else { number(part) / number(whole) }
}

/// Formats a fraction as whole percent like `oc` (C's `%.0f`). Unlike [`percent`], it rounds a product of
/// floating-point numbers, and 199 of 200 are 100%.
pub(crate) fn percent_of_oc(share: f64) -> String {
    format!("{:.0}", share * 100.0)
}

/// Returns a percentage for insights. Rounds halves to even, and only the whole is 100. Zero of zero is 100.
pub(crate) fn percent(part: usize, whole: usize) -> i32 {
    if part >= whole {
        return 100;
    }
    let (floor, rest) = (part * 100 / whole, part * 100 % whole);
    let rounded = match (rest * 2).cmp(&whole) {
        std::cmp::Ordering::Greater => floor + 1,
        std::cmp::Ordering::Equal => floor + floor % 2,
        std::cmp::Ordering::Less => floor,
    };
    i32::try_from(rounded.min(99)).unwrap_or(99)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_half_percents_of_oc_to_even() {
        let shown = [1, 3, 5, 7].map(|eighths| percent_of_oc(share(eighths, 8)));
        assert_eq!(shown, ["12", "38", "62", "88"]);
    }

    #[test]
    fn only_the_whole_is_100_percent_in_insights() {
        let parts = [(0, 0), (0, 3), (1, 8), (3, 8), (1, 3), (2, 3), (199, 200), (200, 200)];
        let percents = parts.map(|(part, whole)| percent(part, whole));
        assert_eq!(percents, [100, 0, 12, 38, 33, 67, 99, 100]);
        assert_eq!(percent_of_oc(share(199, 200)), "100");
    }
}
