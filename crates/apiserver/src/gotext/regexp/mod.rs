//! Regular expressions of Go (RE2 syntax), compiled with the `regex` crate, with Go's messages for invalid
//! ones.

mod translate;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use regex::{Regex, RegexBuilder};

/// Maximum size of a compiled pattern, in bytes.
const SIZE_LIMIT: usize = 32 << 20;

/// Maximum size of a small pattern in bytes, and maximum number of small patterns in the cache.
const SMALL_SIZE: usize = 256 << 10;
const SMALL_COUNT: usize = 256;
/// Maximum number of larger patterns in the cache: enough for a definition that repeats one.
const LARGE_COUNT: usize = 4;

/// Compiles a pattern like `regexp.Compile`: classes contain ASCII only, and syntax that Go lacks is
/// rejected.
///
/// # Errors
/// Go's message, for all common mistakes in a pattern.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    if let Some(known) = known().get(pattern) {
        return Ok(known);
    }
    let wrong = |why: &str| format!("error parsing regexp: {why}");
    let translated = translate::translate(pattern).map_err(|why| wrong(&why))?;
    let build = |limit| RegexBuilder::new(&translated).size_limit(limit).build();
    let built = match build(SMALL_SIZE) {
        Err(regex::Error::CompiledTooBig(_)) => {
            build(SIZE_LIMIT).inspect(|large| remember(&mut known().large, LARGE_COUNT, pattern, large))
        }
        built => built.inspect(|small| remember(&mut known().small, SMALL_COUNT, pattern, small)),
    };
    built.map_err(|error| {
        if matches!(error, regex::Error::CompiledTooBig(_)) {
            return wrong("expression too large");
        }
        let text = error.to_string();
        let why = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
        wrong(&format!("{why}: `{pattern}`"))
    })
}

/// The cache of compiled patterns. Definitions are validated, parsed and compared repeatedly, and all
/// releases and clusters share a few patterns. Compiling them is most of the cost of creating a definition.
#[derive(Debug)]
struct Known {
    small: BTreeMap<String, Regex>,
    large: BTreeMap<String, Regex>,
}

impl Known {
    fn get(&self, pattern: &str) -> Option<Regex> {
        self.small.get(pattern).or_else(|| self.large.get(pattern)).cloned()
    }
}

fn known() -> MutexGuard<'static, Known> {
    static KNOWN: Mutex<Known> = Mutex::new(Known { small: BTreeMap::new(), large: BTreeMap::new() });
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a pattern to a cache of at most `count` entries.
fn remember(known: &mut BTreeMap<String, Regex>, count: usize, pattern: &str, compiled: &Regex) {
    if known.len() >= count {
        known.clear();
    }
    known.insert(pattern.to_owned(), compiled.clone());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_like_in_go() {
        for (pattern, text, found) in [
            (r"^[\w.-]+$", "a_b.c-d", true),
            (r"^\d+$", "٣", false),
            (r"^\w+$", "é", false),
            (r"^\s$", "\u{b}", false),
            (r"^[[:alpha:]\d]+$", "ab1", true),
            (r"^[]a]+$", "]a", true),
            (r"^[^]]$", "]", false),
            (r"^[[&]+$", "[&", true),
            (r"^[a&&b]+$", "&", true),
            (r"^\/\-\_$", "/-_", true),
            (r"\bfoo\b", "a foo b", true),
            (r"^\<a\>$", "<a>", true),
            (r"^\Qa.b\E.$", "a.bc", true),
            (r"^\Qa.b\E.$", "axbc", false),
            (r"^a{,2}$", "a{,2}", true),
            (r"^{a}$", "{a}", true),
            (r"^a{2,3}?$", "aaa", true),
            (r"^\101$", "A", true),
            (r"^[a-z]([-a-z0-9]*[a-z0-9])?$", "a-1", true),
            (r"a$", "a\n", false),
            (r"^[\w-.]+$", "a-.", true),
            (r"^[\pL-:]+$", "ü-:", true),
            (r"^\p{Lu}[\p{Ll}]+\\p$", r"Äb\p", true),
            (r"^[+--]+$", "+,-", true),
            (r"^[+--]+$", ".", false),
            (r"^[[:]+$", "[:", true),
            (r"^[:][[:xdigit:]]{2}$", ":a9", true),
            (r"^[^]:]$", "]", false),
            (r"^[\x41-\x{43}\]]+$", "ABC]", true),
            (r"^[\060-9]+$", "09", true),
            (r"^(?P<a>x)(?<a>y)(?P<1>z)$", "xyz", true),
        ] {
            assert_eq!(compile(pattern).unwrap().is_match(text), found, "{pattern}");
        }
    }

    #[test]
    fn groups_capture_nothing() {
        assert_eq!(compile("^(a|(?P<n>b)|(?<m>c))+$").unwrap().captures_len(), 1);
    }

    #[test]
    fn patterns_of_any_size_are_cached() {
        for (pattern, is_large) in [("^small-[a-z]+$", false), (r"^large-\p{L}{1,20}$", true)] {
            compile(pattern).unwrap();
            let known = known();
            let found = (known.small.contains_key(pattern), known.large.contains_key(pattern));
            assert_eq!(found, (!is_large, is_large), "{pattern}");
        }
    }

    #[test]
    fn reports_mistakes_with_gos_messages() {
        for (pattern, why) in [
            ("a(", "missing closing ): `a(`"),
            ("a)", "unexpected ): `a)`"),
            ("x[a", "missing closing ]: `[a`"),
            ("*a", "missing argument to repetition operator: `*`"),
            ("(+)", "missing argument to repetition operator: `+`"),
            ("a**", "invalid nested repetition operator: `**`"),
            ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("a{3,2}", "invalid repeat count: `{3,2}`"),
            ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
            ("(?<!a)", "invalid or unsupported Perl syntax: `(?<`"),
            ("(?x)a", "invalid or unsupported Perl syntax: `(?x`"),
            ("(?P<a b>c)", "invalid named capture: `(?P<a b>`"),
            ("(?<<a>c)", "invalid named capture: `(?<<a>`"),
            ("(?<>c)", "invalid named capture: `(?<>`"),
            ("(?P<a", "invalid named capture: `(?P<a`"),
            (r"\u0041", r"invalid escape sequence: `\u`"),
            (r"\1", r"invalid escape sequence: `\1`"),
            ("[b-a]", "invalid character class range: `b-a`"),
            ("[b^--]", "invalid character class range: `^--`"),
            (r"[a-\d]", r"invalid escape sequence: `\d`"),
            ("[[:nope:]]", "invalid character class range: `[:nope:]`"),
            ("a\\", "trailing backslash at end of expression: ``"),
        ] {
            assert_eq!(compile(pattern).unwrap_err(), format!("error parsing regexp: {why}"), "{pattern}");
        }
    }
}
