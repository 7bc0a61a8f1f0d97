//! Parses `Accept` headers like goautoneg, the library that the real server uses.

/// A clause of an `Accept` header: a media range with parameters.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Clause<'a> {
    main: &'a str,
    sub: &'a str,
    quality: f64,
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> Clause<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';');
        let range = parts.next()?.trim();
        let (main, sub) = match range.split_once('/') {
            Some((main, sub)) => (main.trim(), sub.trim()),
            None if range == "*" => ("*", "*"),
            None => return None,
        };
        let mut clause = Self { main, sub, quality: 1.0, parameters: Vec::new() };
        for (key, value) in parts.filter_map(|part| part.trim().split_once('=')) {
            if key == "q" {
                clause.quality = value.parse().unwrap_or(1.0);
            } else {
                clause.parameters.push((key, value.trim_matches('"')));
            }
        }
        Some(clause)
    }

    /// The value of a parameter; empty if it is not given.
    pub(super) fn parameter(&self, name: &str) -> &'a str {
        self.parameters.iter().find(|(key, _)| *key == name).map_or("", |(_, value)| value)
    }

    /// Whether a media type is within the range.
    pub(super) fn covers(&self, media: &str) -> bool {
        match (self.main, self.sub) {
            ("*", "*") => true,
            (main, "*") => media.split('/').next() == Some(main),
            (main, sub) => media.split_once('/') == Some((main, sub)),
        }
    }
}

/// The clauses of a header, sorted by quality, then from the narrowest range to the widest, then in header order.
pub(super) fn clauses(header: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<Clause<'_>> = header.split(',').filter_map(Clause::read).collect();
    clauses.sort_by(|one, other| {
        let width = |clause: &Clause<'_>| (clause.main == "*", clause.sub == "*");
        other.quality.total_cmp(&one.quality).then_with(|| width(one).cmp(&width(other)))
    });
    clauses
}

/// Whether the router accepts a request: the header names one of the media types or `*/*`, whatever the quality.
pub(super) fn is_routed<const N: usize>(header: &str, served: [&str; N]) -> bool {
    header.split(',').any(|clause| {
        let range = clause.split(';').next().unwrap_or_default().trim();
        range == "*/*" || served.contains(&range)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_are_sorted_by_quality_then_width() {
        let ranges: Vec<String> = clauses("*/*, a/*;q=0.9, nonsense, a/b;q=0.9;x=1, c/d")
            .iter()
            .map(|clause| format!("{}/{}", clause.main, clause.sub))
            .collect();
        assert_eq!(ranges, ["c/d", "*/*", "a/b", "a/*"]);
        assert_eq!(clauses("a/b;x=1")[0].parameter("x"), "1");
    }

    #[test]
    fn router_rejects_half_wildcards() {
        assert!(is_routed("a/b;q=0", ["a/b"]));
        assert!(!is_routed("a/*", ["a/b"]));
    }
}
