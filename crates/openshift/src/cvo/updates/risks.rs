//! Evaluation of risks: rules in order, with a cache and a rate limit of PromQL queries.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use windtunnel_core::clock::Time;

use crate::graph::{MatchingRule, Risk};

/// The minimum time between two queries.
const BETWEEN_QUERIES: SignedDuration = SignedDuration::from_secs(1);
/// How long a cached answer is used.
const FRESH: SignedDuration = SignedDuration::from_hours(1);
/// How long a cached answer is used if a new query must wait.
const USABLE: SignedDuration = SignedDuration::from_hours(24);

type Outcome = Result<bool, String>;

/// The cache of query results.
#[derive(Debug, Clone, Default)]
pub(super) struct Queries {
    answers: BTreeMap<String, (Time, Outcome)>,
    last: Option<Time>,
    retry_at: Option<Time>,
}

impl Queries {
    /// The time at which a delayed query may be made.
    pub(super) fn retry_at(&self) -> Option<Time> {
        self.retry_at
    }

    /// Starts a round of evaluations and forgets the delayed queries of the previous one.
    pub(super) fn begin(&mut self) {
        self.retry_at = None;
    }

    /// Returns whether the cluster is exposed to a risk: the result of its first rule that can be evaluated.
    pub(super) fn exposed(&mut self, risk: &Risk, query: &dyn Fn(&str) -> Outcome, now: Time) -> Outcome {
        let mut errors = Vec::new();
        for rule in &risk.rules {
            let outcome = match rule {
                MatchingRule::Always => return Ok(true),
                MatchingRule::PromQl(text) => self.cached_query(text, query, now),
                MatchingRule::Other(_) => continue,
            };
            match outcome {
                Ok(exposed) => return Ok(exposed),
                Err(error) => errors.push(error),
            }
        }
        match errors.as_slice() {
            [one] => Err(one.clone()),
            several => Err(format!("[{}]", several.join(", "))),
        }
    }

    fn cached_query(&mut self, text: &str, query: &dyn Fn(&str) -> Outcome, now: Time) -> Outcome {
        let known = self.answers.get(text).filter(|(at, _)| now.duration_since(*at) < USABLE);
        if let Some((at, outcome)) = known
            && now.duration_since(*at) < FRESH
        {
            return outcome.clone();
        }
        if let Some(last) = self.last.filter(|last| now.duration_since(*last) < BETWEEN_QUERIES) {
            self.retry_at = Some(last + BETWEEN_QUERIES);
            return known.map_or_else(|| Err(throttled(now.duration_since(last))), |(_, old)| old.clone());
        }
        let outcome = query(text);
        self.last = Some(now);
        self.answers.insert(text.to_owned(), (now, outcome.clone()));
        outcome
    }
}

fn throttled(elapsed: SignedDuration) -> String {
    format!(
        "client-side throttling: only {}ms has elapsed since the last match call completed for this cluster condition backend; this cached cluster condition request has been queued for later execution",
        elapsed.as_millis()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Time {
        Time::from_second(1_700_000_000 + seconds).unwrap()
    }

    fn risk(rules: &[&str]) -> Risk {
        let rules = rules.iter().map(|text| match *text {
            "Always" => MatchingRule::Always,
            query => MatchingRule::PromQl(query.to_owned()),
        });
        let (name, url) = ("R".to_owned(), "https://example.com/r".to_owned());
        Risk { name, url, message: "m".to_owned(), rules: rules.collect() }
    }

    /// The result of a query by its first character: `0` is false, `1` is true, others fail.
    fn answer(text: &str) -> Outcome {
        match text.chars().next() {
            Some('0') => Ok(false),
            Some('1') => Ok(true),
            _ => Err(format!("no {text}")),
        }
    }

    #[test]
    fn the_first_rule_that_can_be_evaluated_decides() {
        let exposed = |rules: &[&str]| {
            let mut queries = Queries::default();
            queries.exposed(&risk(rules), &answer, at(0))
        };
        assert_eq!(exposed(&["0", "Always"]), Ok(false));
        assert_eq!(exposed(&["x", "Always"]), Ok(true));
        assert_eq!(exposed(&["x"]), Err("no x".to_owned()));
    }

    #[test]
    fn makes_one_query_per_second_and_repeats_each_after_an_hour() {
        let mut queries = Queries::default();
        let queried = std::cell::RefCell::new(Vec::new());
        let mut evaluate = |text: &str, second: i64| {
            queries.begin();
            let query = |text: &str| {
                queried.borrow_mut().push(format!("{second} {text}"));
                answer(text)
            };
            let outcome = queries.exposed(&risk(&[text]), &query, at(second));
            (outcome, queries.retry_at())
        };
        assert_eq!(evaluate("0", 0), (Ok(false), None));
        let (outcome, retry_at) = evaluate("1", 0);
        assert!(outcome.unwrap_err().starts_with("client-side throttling: only 0ms has elapsed"));
        assert_eq!(retry_at, Some(at(1)));
        assert_eq!(evaluate("1", 1), (Ok(true), None));
        assert_eq!(evaluate("0", 3_599), (Ok(false), None));
        assert_eq!(evaluate("1", 3_600), (Ok(true), None));
        assert_eq!(evaluate("0", 3_600), (Ok(false), None));
        assert_eq!(evaluate("1", 3_600), (Ok(true), None));
        assert_eq!(*queried.borrow(), ["0 0", "1 1", "3600 0"]);
        assert_eq!(evaluate("1", 3_601), (Ok(true), None));
        assert_eq!(queried.borrow().last().map(String::as_str), Some("3601 1"), "an hour is over");
        assert_eq!(evaluate("0", 7_200), (Ok(false), None));
        assert_eq!(evaluate("1", 7_200).1, None, "the answer is still fresh");
    }
}
