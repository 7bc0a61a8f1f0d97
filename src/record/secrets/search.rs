//! Finds values in texts, also in base64.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use hashbrown::HashMap;

use super::canonical;

/// The number of bytes that identify a form, which is the minimum length of forms.
const KEY: usize = 8;
/// The number of bytes of a form that are compared: a text that contains these is taken to contain all of it. This limits the
/// memory for long values.
const COMPARED: usize = 4096;
/// The length of the lines of base64 that `base64` prints.
const WRAPPED_AT: usize = 76;

/// The characters behind a value in base64 of base64 that contain bits of it: those of a last character and its padding.
const TWICE: usize = 5;

/// The forms of values, by eight bytes from their middle: many values have the same start.
#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    forms: Vec<Form>,
    by_middle: HashMap<[u8; KEY], Vec<usize>>,
    middles: Filter,
}

/// A way to write a value, in its canonical form.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Form {
    bytes: Box<[u8]>,
    /// The length without the limit.
    length: usize,
    /// The characters of base64 around the form that contain bits of the value, before and behind it.
    edges: (usize, usize),
}

impl Index {
    /// Adds a value in plain text and in base64, also as a part of a longer text.
    pub(super) fn add(&mut self, value: &str) {
        self.add_plain(value);
        if value.contains(' ') {
            // A form of a web page.
            self.add_plain(&value.replace(' ', "+"));
        }
        for shift in 0..3 {
            let behind = usize::from(!(shift + value.len()).is_multiple_of(3));
            self.add_form(&encoded(value.as_bytes(), shift), (shift.min(1), behind));
        }
        let once = encoded(value.as_bytes(), 0);
        self.add_form(&encoded(once.as_bytes(), 0), (0, TWICE));
        if once.len() > WRAPPED_AT {
            let lines: Vec<&str> = lines_of(&once);
            self.add_form(&encoded(lines.join("\n").as_bytes(), 0), (0, TWICE));
        }
    }

    /// Adds a value in plain text only.
    pub(super) fn add_plain(&mut self, value: &str) {
        self.add_form(value, (0, 0));
    }

    /// Adds a value that is base64 already.
    pub(super) fn add_encoded(&mut self, value: &str) {
        self.add_form(value.trim_end_matches('='), (0, 1));
    }

    fn add_form(&mut self, text: &str, edges: (usize, usize)) {
        let mut bytes = canonical::bytes(text);
        let length = bytes.len();
        bytes.truncate(COMPARED);
        let form = Form { bytes: bytes.into(), length, edges };
        let Some(&key) = form.bytes.get(form.middle()..).and_then(<[u8]>::first_chunk) else { return };
        self.middles.add(key);
        let others = self.by_middle.entry(key).or_default();
        if others.iter().all(|other| self.forms.get(*other) != Some(&form)) {
            others.push(self.forms.len());
            self.forms.push(form);
        }
    }

    /// Returns whether there is a value to find.
    pub(super) fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// Returns whether a text contains a value. `canonical` is memory for its canonical form.
    pub(super) fn is_in(&self, text: &str, canonical: &mut Vec<u8>) -> bool {
        if self.forms.is_empty() || text.len() < KEY {
            return false;
        }
        canonical::fill(canonical, text);
        self.find(canonical).next().is_some()
    }

    /// Returns a text with a replacement for all values; `None` if it contains none.
    pub(super) fn replace(&self, text: &str, replacement: &str) -> Option<String> {
        let mut canonical = Vec::new();
        if !self.is_in(text, &mut canonical) {
            return None;
        }
        let found = self.find(&canonical);
        let places = canonical::places(text);
        let found = found.map(|(form, start)| form.with_edges(start, &canonical, &places));
        let (mut replaced, mut end) = (String::new(), 0);
        for range in joined(found.collect()) {
            let (Some(first), Some(last)) = (places.get(range.start), places.get(range.end - 1)) else {
                continue;
            };
            // Two found values may share an escape.
            let start = boundary_before(text, first.start).max(end);
            replaced.push_str(text.get(end..start).unwrap_or_default());
            replaced.push_str(replacement);
            end = boundary_after(text, last.end).max(end);
        }
        replaced.push_str(text.get(end..).unwrap_or_default());
        Some(replaced)
    }

    /// Returns the forms in a canonical text, with their places.
    fn find<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = (&'a Form, usize)> {
        let middles = text.windows(KEY).enumerate().filter_map(|(at, window)| {
            let key = window.first_chunk::<KEY>().filter(|key| self.middles.may_have(**key))?;
            Some((at, self.by_middle.get(key)?))
        });
        middles.flat_map(move |(at, forms)| {
            let forms = forms.iter().filter_map(|index| self.forms.get(*index));
            forms.filter_map(move |form| Some((form, form.start(text, at)?)))
        })
    }
}

/// Tells most keys that no form has from the others, faster than a hash map: nearly all texts of a run contain no value.
#[derive(Debug, Clone)]
struct Filter(Box<[u64; Self::WORDS]>);

impl Filter {
    const WORDS: usize = 1 << 10;

    fn add(&mut self, key: [u8; KEY]) {
        let (word, bit) = Self::place(key);
        self.0[word] |= bit;
    }

    fn may_have(&self, key: [u8; KEY]) -> bool {
        let (word, bit) = Self::place(key);
        self.0[word] & bit != 0
    }

    /// The word of a key, and its bit there.
    fn place(key: [u8; KEY]) -> (usize, u64) {
        // Multiplication by an odd number spreads the key over the upper bits.
        let hash = u64::from_le_bytes(key).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        (usize::try_from(hash >> 6).unwrap_or_default() % Self::WORDS, 1 << (hash & 63))
    }
}

impl Default for Filter {
    fn default() -> Self {
        Self(Box::new([0; Self::WORDS]))
    }
}

/// Joins places that overlap.
fn joined(mut places: Vec<Range<usize>>) -> Vec<Range<usize>> {
    places.sort_by_key(|place| place.start);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for place in places {
        match joined.last_mut() {
            Some(last) if place.start < last.end => last.end = last.end.max(place.end),
            _ => joined.push(place),
        }
    }
    joined
}

impl Form {
    fn middle(&self) -> usize {
        self.bytes.len().saturating_sub(KEY) / 2
    }

    /// Returns the start of the form whose middle is here in a text.
    fn start(&self, text: &[u8], middle: usize) -> Option<usize> {
        let start = middle.checked_sub(self.middle())?;
        text.get(start..)?.starts_with(&self.bytes).then_some(start)
    }

    /// Returns the place of the form that starts here in a text, with its edges on the same line.
    fn with_edges(&self, start: usize, text: &[u8], places: &[Range<usize>]) -> Range<usize> {
        let (mut start, mut end) = (start, text.len().min(start + self.length));
        let is_connected = |at: usize| places[at - 1].end == places[at].start;
        let is_digit = |at: usize| text[at].is_ascii_alphanumeric() || b"+/".contains(&text[at]);
        let (before, behind) = self.edges;
        for _ in 0..before {
            if start > 0 && is_connected(start) && is_digit(start - 1) {
                start -= 1;
            }
        }
        for _ in 0..behind {
            if end < text.len() && is_connected(end) && is_digit(end) {
                end += 1;
            }
        }
        for _ in 0..2.min(2 * behind) {
            if end < text.len() && is_connected(end) && text[end] == b'=' {
                end += 1;
            }
        }
        start..end
    }
}

/// Returns the base64 of bytes that have `shift` unknown bytes before them and any number behind them: the characters that
/// depend on these bytes alone.
fn encoded(bytes: &[u8], shift: usize) -> String {
    let text = STANDARD_NO_PAD.encode([&[0; 2][..shift], bytes].concat());
    let known = (shift * 8).div_ceil(6)..(shift + bytes.len()) * 8 / 6;
    text.get(known).unwrap_or_default().to_owned()
}

/// Splits base64, which is ASCII, into lines.
fn lines_of(text: &str) -> Vec<&str> {
    let starts = (0..text.len()).step_by(WRAPPED_AT);
    starts.filter_map(|start| text.get(start..text.len().min(start + WRAPPED_AT))).collect()
}

fn boundary_before(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn boundary_after(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

    use super::*;

    fn hidden(values: &[&str], text: &str) -> String {
        let mut index = Index::default();
        for value in values {
            index.add(value);
        }
        index.replace(text, "#").unwrap_or_else(|| text.to_owned())
    }

    #[test]
    fn base64_is_found_at_any_place_of_a_longer_text() {
        for before in ["", "u", "me", "user:", "some-user:"] {
            for (behind, alphabet) in
                [("", &STANDARD), ("\n", &STANDARD), ("?more", &STANDARD), ("~~", &URL_SAFE_NO_PAD)]
            {
                let text = alphabet.encode(format!("{before}correct>horse?{behind}"));
                let found = hidden(&["correct>horse?"], &format!("a {text} b"));
                assert!(found.contains('#') && found.len() < 28, "{before:?} {behind:?}: {found}");
                assert!(!found.contains("Y29y") && found.ends_with(" b"), "{found}");
            }
        }
        let twice = STANDARD.encode(STANDARD.encode("correct>horse?"));
        assert_eq!(hidden(&["correct>horse?"], &format!("a {twice} b")), "a # b");
        // An edge is on the same line.
        let lines = format!("{}\nnext", STANDARD_NO_PAD.encode("correct>horse"));
        assert_eq!(hidden(&["correct>horse"], &lines), "#\nnext");
        assert_eq!(hidden(&["correct>horses!"], &STANDARD.encode("correct>horses!next")), "#bmV4dA==");
    }

    #[test]
    fn overlapping_values_are_replaced_once_and_neighbours_each() {
        assert_eq!(hidden(&["correct horse", "horse battery"], "a correct horse battery b"), "a # b");
        assert_eq!(
            hidden(&["correct horse", "correct horse battery"], "correct horse battery\ncorrect horse"),
            "#\n#"
        );
    }

    #[test]
    fn long_values_are_found_by_their_start_and_hidden_as_a_whole() {
        let mut random = fastrand::Rng::with_seed(1);
        let long: String = (0..20_000).map(|_| random.alphanumeric()).collect();
        assert_eq!(hidden(&[&long], &format!("a {long} b")), "a # b");
        let mut index = Index::default();
        index.add(&long);
        assert!(index.forms.iter().all(|form| form.bytes.len() <= COMPARED));
    }

    #[test]
    fn texts_stay_valid_when_a_value_is_a_part_of_a_character() {
        assert_eq!(hidden(&["%A9abcdefgh"], "éabcdefgh é"), "# é");
    }
}
