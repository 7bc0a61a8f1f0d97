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
    /// Reads a clause; `None` if its range is not `type/subtype`.
    fn read(text: &'a str) -> Option<Self> {
        let text = spaceless(text);
        let (range, rest) = text.split_once(';').unwrap_or((text, ""));
        let (main, sub) = range.split_once('/').unwrap_or((range, ""));
        let (main, sub) = match (spaceless(main), sub) {
            ("*", "") => ("*", "*"),
            (_, "") => return None,
            (_, sub) if sub.split_once('/').is_some_and(|(_, more)| !more.is_empty()) => return None,
            (main, sub) => (main, spaceless(sub.trim_end_matches('/'))),
        };
        let mut clause = Self { main, sub, quality: 1.0, parameters: Vec::new() };
        for (key, value) in rest.split(';').filter_map(|part| part.split_once('=')) {
            let value = value.strip_suffix('=').unwrap_or(value);
            match spaceless(key) {
                _ if value.is_empty() || value.contains('=') => {}
                "q" => clause.quality = value.parse().unwrap_or_default(),
                key => clause.parameters.push((key, spaceless(value))),
            }
        }
        Some(clause)
    }

    /// The value of a parameter; empty if it is not given. The last of several counts.
    pub(super) fn parameter(&self, name: &str) -> &'a str {
        self.parameters.iter().rfind(|(key, _)| *key == name).map_or("", |(_, value)| value)
    }

    /// Whether the library's sort puts the clause before another one (`acceptSlice.Less`).
    fn precedes(&self, other: &Self) -> bool {
        self.quality > other.quality
            || self.main != "*" && other.main == "*"
            || self.sub != "*" && other.sub == "*"
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

/// The clauses of a header in the library's order: by quality, then specific ranges before wildcards. It compares two
/// clauses so that a specific range also precedes a wildcard of higher quality, which depends on its insertion sort.
pub(super) fn clauses(header: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<Clause<'_>> = header.split(',').filter_map(Clause::read).collect();
    for end in 1..clauses.len() {
        let mut at = end;
        while at > 0 && clauses[at].precedes(&clauses[at - 1]) {
            clauses.swap(at, at - 1);
            at -= 1;
        }
    }
    clauses
}

/// Whether the router accepts a request: the header names one of the media types or `*/*`, whatever the quality.
pub(super) fn is_routed(header: &str, produced: &[&str]) -> bool {
    header.split(',').any(|clause| {
        let range = spaceless(clause.split(';').next().unwrap_or_default());
        range == "*/*" || produced.iter().any(|produced| matches!(*produced, "*/*") || *produced == range)
    })
}

/// A text without spaces at its ends.
fn spaceless(text: &str) -> &str {
    text.trim_matches(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_are_sorted_like_those_of_the_library() {
        let ranges: Vec<String> = clauses("*/*, a/*;q=0.9, nonsense, a/b;q=0.9;x=1, c/d")
            .iter()
            .map(|clause| format!("{}/{}", clause.main, clause.sub))
            .collect();
        assert_eq!(ranges, ["c/d", "a/b", "a/*", "*/*"]);
        assert_eq!(clauses("a/b;x=1;y=;z=1=2; v = 3")[0].parameters, [("x", "1"), ("v", "3")]);
        assert_eq!(clauses("a, a/b/c, *, a/").len(), 1);
    }

    #[test]
    fn router_rejects_half_wildcards() {
        assert!(is_routed("a/b;q=0", &["a/b"]));
        assert!(!is_routed("a/*", &["a/b"]));
        assert!(is_routed("c/d", &["*/*"]));
    }
}
