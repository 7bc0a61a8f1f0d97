//! Texts that fulfil the restrictions of a schema.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::dice::Dice;
use super::regular::{Effort, Pattern};
use crate::schema::Limits;

/// Texts of the forms that configurations have. The first ones fit most schemas.
const COMMON: [&str; 42] = [
    "a",
    "abc",
    "a.example.com",
    "https://a.example.com",
    "10.0.0.1",
    "10.0.0.0/16",
    "fd00::1",
    "fd00::/48",
    "fd00::10.0.0.1/112",
    "fd00:0:0:0:0:0:0:0/64",
    "192.168.0.0/24",
    "10.0.0.0/8",
    "172.16.0.4/30",
    "2001:db8::/125",
    "::/0",
    "0.0.0.0/0",
    "1",
    "10%",
    "1h",
    "100m",
    "2024-01-01T00:00:00Z",
    "2024-01-01",
    "a/b",
    "a:b",
    "True",
    "A",
    "a_b",
    "a b",
    "-a",
    "a-",
    ".a",
    "a..b",
    "",
    " ",
    "a@example.com",
    "YQ==",
    "0f8fad5b-d9cb-469f-a165-70867728950e",
    "0fd00.1",
    "arn:aws:iam::123456789012:role/a",
    "quay.io/a/b@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "http://10.0.0.1:80/a?b=c#d",
    "\u{e9}",
];

/// An example of each format.
const FORMATS: [(&str, &[&str]); 14] = [
    ("date-time", &["2024-01-01T00:00:00Z"]),
    ("date", &["2024-01-01"]),
    ("ipv4", &["10.0.0.1", "192.168.0.255"]),
    ("ipv6", &["fd00::1", "::", "2001:db8:0:1:1:1:1:1"]),
    ("cidr", &["10.0.0.0/16", "fd00::/48"]),
    ("uri", &["https://a.example.com", "a://b"]),
    ("email", &["a@example.com"]),
    ("hostname", &["a.example.com"]),
    ("uuid", &["0f8fad5b-d9cb-469f-a165-70867728950e"]),
    ("uuid4", &["0f8fad5b-d9cb-469f-a165-70867728950e"]),
    ("byte", &["YQ==", "YWJj"]),
    ("duration", &["1h", "90s"]),
    ("mac", &["00:00:5e:00:53:01"]),
    ("hexcolor", &["#fff"]),
];

/// The most samples for one text.
const SAMPLES: usize = 150;

/// Parsed patterns, and texts that occur in rules.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    patterns: RefCell<BTreeMap<String, Option<Rc<Pattern>>>>,
    hints: Vec<String>,
}

/// The restrictions of a text.
#[derive(Debug, Default)]
pub(crate) struct Wanted<'w> {
    pub(crate) limits: Limits,
    /// Patterns that the text must not match.
    pub(crate) avoided: &'w [String],
    /// Texts and patterns that occur in the rules of this text.
    pub(crate) local: Vec<String>,
}

impl Texts {
    /// A source that also uses the texts of all rules.
    pub(crate) fn with_hints(hints: Vec<String>) -> Self {
        Self { hints, ..Self::default() }
    }

    fn pattern(&self, text: &str) -> Option<Rc<Pattern>> {
        let mut known = self.patterns.borrow_mut();
        known.entry(text.to_owned()).or_insert_with(|| Pattern::parse(text).map(Rc::new)).clone()
    }

    /// A text that fulfils restrictions. `None` if none of many samples does.
    pub(crate) fn text(&self, wanted: &Wanted<'_>, dice: &mut Dice) -> Option<String> {
        let limits = &wanted.limits;
        let parse = |texts: &[String]| -> Vec<Rc<Pattern>> {
            texts.iter().filter_map(|text| self.pattern(text)).collect()
        };
        let (matched, unmatched) = (parse(&limits.patterns), parse(wanted.avoided));
        let fits = |text: &String| {
            let length = text.chars().count() as u64;
            limits.min_length.is_none_or(|least| length >= least)
                && limits.max_length.is_none_or(|most| length <= most)
                && matched.iter().all(|pattern| pattern.matches(text))
                && !unmatched.iter().any(|pattern| pattern.matches(text))
        };
        if dice.is_minimal() {
            let mut common = examples(limits).map(str::to_owned).chain(limits.min_length.and_then(padded));
            if let Some(found) = common.find(|text| fits(text)) {
                return Some(found);
            }
        }
        (0..SAMPLES).map(|attempt| self.sample(wanted, &matched, attempt, dice)).find(fits)
    }

    /// A text that may fit.
    fn sample(
        &self,
        wanted: &Wanted<'_>,
        matched: &[Rc<Pattern>],
        attempt: usize,
        dice: &mut Dice,
    ) -> String {
        let limits = &wanted.limits;
        let is_formatted = !limits.formats.is_empty() && has_examples(limits);
        match dice.any_index(8) {
            0 | 1 if !wanted.local.is_empty() => {
                let text = self.of_rules(&wanted.local, attempt, dice);
                if limits.formats.iter().any(|format| format == "byte") { encoded(&text) } else { text }
            }
            2..=4 if !matched.is_empty() => {
                let effort = Effort::of(attempt, limits.max_length);
                matched[dice.any_index(matched.len())].sample(dice, effort)
            }
            5 if !is_formatted && !self.hints.is_empty() => {
                self.hints[dice.any_index(self.hints.len())].clone()
            }
            6 if !is_formatted => {
                let length = [limits.min_length, limits.max_length][dice.any_index(2)];
                length.and_then(padded).unwrap_or_default()
            }
            _ if !matched.is_empty() => {
                matched[dice.any_index(matched.len())].sample(dice, Effort::of(attempt, None))
            }
            _ => {
                let all: Vec<&str> = examples(limits).collect();
                all[dice.any_index(all.len())].to_owned()
            }
        }
    }

    /// A text of a rule, one that matches a pattern of a rule, or several joined.
    fn of_rules(&self, local: &[String], attempt: usize, dice: &mut Dice) -> String {
        let one = |dice: &mut Dice| {
            let text = &local[dice.any_index(local.len())];
            match self.pattern(text).filter(|_| text.contains(['[', '(', '^', '$'])) {
                Some(pattern) => pattern.sample(dice, Effort::of(attempt, None)),
                None => text.clone(),
            }
        };
        match dice.any_index(4) {
            0 => one(dice) + COMMON[dice.any_index(COMMON.len())],
            1 => COMMON[dice.any_index(COMMON.len())].to_owned() + &one(dice),
            2 => one(dice) + &one(dice),
            _ => one(dice),
        }
    }
}

fn encoded(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

fn has_examples(limits: &Limits) -> bool {
    limits.formats.iter().any(|name| FORMATS.iter().any(|(format, _)| format == name))
}

/// The examples of the formats; without a format, common texts.
fn examples(limits: &Limits) -> impl Iterator<Item = &'static str> {
    let of = |name: &String| FORMATS.iter().find(|(format, _)| format == name).map(|(_, texts)| *texts);
    let known: Vec<&'static [&'static str]> = limits.formats.iter().filter_map(of).collect();
    let texts = if known.is_empty() { vec![&COMMON[..]] } else { known };
    texts.into_iter().flatten().copied()
}

/// A text of this length.
fn padded(length: u64) -> Option<String> {
    Some("a".repeat(usize::try_from(length).ok().filter(|length| *length <= 100_000)?))
}
