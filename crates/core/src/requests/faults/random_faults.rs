//! Random faults within the contract of the Kubernetes API, for test suites.

use std::collections::BTreeSet;
use std::fmt;

use super::{RequestFilter, VERBS};
use crate::text::did_you_mean;

/// A kind of random fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RandomFaultKind {
    /// A client sees the past of a kind for a while, on its watches and in reads of the cache.
    Stale,
    /// As `Stale`, and then only the last state of each object arrives.
    Gap,
    /// The events of each kind arrive with a delay of its own.
    Slow,
    /// A watch ends.
    Disconnect,
    /// A watch ends with 410 instead of an event.
    Expired,
    /// A watch ends with 410 after an event.
    Duplicate,
    /// 409 to a write with a resource version.
    Conflict,
    /// 429 with a `Retry-After`.
    TooManyRequests,
    /// 500.
    InternalError,
    /// 504, half of them after the write.
    Timeout,
    /// The connection closes without an answer, half of them after the write.
    Dropped,
}

use RandomFaultKind as Kind;

const KINDS: [(Kind, &str); 11] = [
    (Kind::Stale, "stale"),
    (Kind::Gap, "gap"),
    (Kind::Slow, "slow"),
    (Kind::Disconnect, "disconnect"),
    (Kind::Expired, "410"),
    (Kind::Duplicate, "duplicate"),
    (Kind::Conflict, "conflict"),
    (Kind::TooManyRequests, "429"),
    (Kind::InternalError, "500"),
    (Kind::Timeout, "timeout"),
    (Kind::Dropped, "drop"),
];

/// The keys with a value in the text of random faults.
const KEYS: [&str; 6] = ["seed", "rate", "by", "verb", "kind", "name"];

/// The default share of requests and events with a fault, in percent.
const RATE: u32 = 10;

impl RandomFaultKind {
    /// Its name, such as `stale`.
    pub fn name(self) -> &'static str {
        KINDS.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }
}

/// Random faults of a server: which ones, how often, and for which requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RandomFaults {
    /// The kinds of faults.
    pub kinds: BTreeSet<RandomFaultKind>,
    /// The seed of all draws; `None` if the text has none.
    pub seed: Option<u64>,
    /// The share of requests and events with a fault, in percent.
    pub rate: u32,
    /// The requests that may have a fault.
    pub requests: RequestFilter,
}

impl RandomFaults {
    /// Whether a kind of fault is selected.
    pub fn has(&self, kind: RandomFaultKind) -> bool {
        self.kinds.contains(&kind)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let text = || Some(value.to_owned()).filter(|value| !value.is_empty());
        match key {
            "seed" => {
                let seed = value.parse().map_err(|_| format!("seed: expected a number, found `{value}`"))?;
                self.seed = Some(seed);
            }
            "rate" => {
                let rate = value.strip_suffix('%').unwrap_or(value).parse().ok();
                self.rate = rate
                    .filter(|rate| (1..=100).contains(rate))
                    .ok_or_else(|| format!("rate: expected a percentage from 1% to 100%, found `{value}`"))?;
            }
            "by" => self.requests.by = text(),
            "kind" => self.requests.kind = text(),
            "name" => self.requests.name = text(),
            _ => {
                if !VERBS.contains(&value) {
                    let hint = did_you_mean(value, VERBS);
                    return Err(format!(
                        "verb: unknown verb `{value}`{hint}; it is one of {}",
                        VERBS.join(", ")
                    ));
                }
                self.requests.verb = text();
            }
        }
        Ok(())
    }
}

impl std::str::FromStr for RandomFaults {
    type Err = String;

    /// Parses a list such as `stale,conflict,seed=7,rate=20%,by=manager`. `all` selects every kind of fault.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut random_faults =
            Self { kinds: BTreeSet::new(), seed: None, rate: RATE, requests: RequestFilter::default() };
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            if let Some((key, value)) = word.split_once('=').filter(|(key, _)| KEYS.contains(key)) {
                random_faults.set(key, value)?;
                continue;
            }
            let selected = KINDS.iter().filter(|(_, name)| *name == word || word == "all");
            let selected: Vec<Kind> = selected.map(|(kind, _)| *kind).collect();
            if selected.is_empty() {
                return Err(unknown(word));
            }
            random_faults.kinds.extend(selected);
        }
        if random_faults.kinds.is_empty() {
            return Err(format!("expected at least one of {}, or `all`", names()));
        }
        Ok(random_faults)
    }
}

fn names() -> String {
    KINDS.map(|(_, name)| format!("`{name}`")).join(", ")
}

fn unknown(word: &str) -> String {
    let known = KINDS.iter().map(|(_, name)| *name).chain(["all"]).chain(KEYS);
    let hint = did_you_mean(word.split('=').next().unwrap_or(word), known);
    format!("unknown fault `{word}`{hint}; it is one of {}, `all`, or a key such as `seed=7`", names())
}

impl fmt::Display for RandomFaults {
    /// The text that [`RandomFaults::from_str`] parses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words: Vec<String> = self.kinds.iter().map(|kind| kind.name().to_owned()).collect();
        words.extend(self.seed.map(|seed| format!("seed={seed}")));
        if self.rate != RATE {
            words.push(format!("rate={}%", self.rate));
        }
        let RequestFilter { verb, kind, name, by, .. } = &self.requests;
        for (key, value) in [("by", by), ("verb", verb), ("kind", kind), ("name", name)] {
            words.extend(value.as_ref().map(|value| format!("{key}={value}")));
        }
        f.write_str(&words.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_round_trip() {
        for text in ["stale", "stale,410,conflict,seed=7,rate=25%,by=manager*,verb=update,kind=Pod,name=a"] {
            assert_eq!(text.parse::<RandomFaults>().unwrap().to_string(), text);
        }
        let all: RandomFaults = "all, seed=3".parse().unwrap();
        assert_eq!((all.kinds.len(), all.seed, all.rate), (KINDS.len(), Some(3), RATE));
    }

    #[test]
    fn errors_name_the_word_and_what_is_expected() {
        let error = |text: &str| text.parse::<RandomFaults>().unwrap_err();
        assert!(error("stalé,conflikt").contains("unknown fault `stalé`"));
        assert!(error("conflikt").contains("did you mean `conflict`?"));
        assert!(error("sed=1").contains("did you mean `seed`?"));
        assert!(error("stale,rate=0").contains("rate: expected a percentage from 1% to 100%, found `0`"));
        assert!(error("stale,seed=x").contains("seed: expected a number, found `x`"));
        assert!(error("stale,verb=write").contains("verb: unknown verb `write`"));
        assert!(error("seed=1").contains("expected at least one of `stale`"));
    }
}
