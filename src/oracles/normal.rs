//! Texts without what differs between equal causes: numbers, hashes and generated names.

use std::sync::LazyLock;

use regex::Regex;

/// The greatest length of a normalised text, in characters.
const LENGTH_MAX: usize = 160;

/// The parts of texts that differ between equal causes.
static VARYING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    // Hashes, then the suffixes that Kubernetes generates, then numbers.
    Regex::new(r"\b[0-9a-f]{8,}\b|-[bcdfghjklmnpqrstvwxz2456789]{5}\b|-[bcdfghjklmnpqrstvwxz2456789]{8,10}\b|\d+(?:\.\d+)*").ok()
});

/// Returns the first line of a text with `#` in place of numbers, hashes and generated suffixes. A long line ends with `…`.
pub fn normalise(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let line = VARYING
        .as_ref()
        .map_or_else(|| line.to_owned(), |varying| varying.replace_all(line, "#").into_owned());
    match line.char_indices().nth(LENGTH_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_causes_have_equal_texts() {
        let one = "worker-0 reboots into rendered-worker-0123456789abcdef at 0:01:02\nmore";
        assert_eq!(normalise(one), "worker-# reboots into rendered-worker-# at #:#:#");
        assert_eq!(normalise("pod version-4.14.8-x7k2p is gone"), "pod version-## is gone");
        assert_eq!(normalise("pod web-fwjk486884-5ktlq is gone"), "pod web## is gone");
        assert_eq!(normalise("the operator degraded"), "the operator degraded");
        assert_eq!(normalise(&"é".repeat(LENGTH_MAX)), "é".repeat(LENGTH_MAX));
        assert_eq!(normalise(&"é".repeat(LENGTH_MAX + 1)), format!("{}…", "é".repeat(LENGTH_MAX)));
    }
}
