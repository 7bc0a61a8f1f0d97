//! Sends random cases to two servers, and collects what they answer differently.

mod findings;
mod recorded;
mod report;
mod shrink;

use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::StreamExt as _;
use futures_util::stream;
use serde_json::Value;

use crate::areas::Area;
use crate::compare::{Class, Difference, differences};
use crate::oracle::OracleKinds;
use crate::player::{Answered, Player, Server};

pub use findings::{Finding, Findings};
pub use recorded::corpus_file;
pub use report::{report, summary};
pub use shrink::shrink_all as shrink;

/// What to send.
#[derive(Debug, Clone)]
pub struct Options {
    /// The seed of all cases.
    pub seed: u64,
    /// The number of the first case.
    pub first: u64,
    /// The number of requests after which no case begins.
    pub requests: u64,
    /// The areas, in turn.
    pub areas: Vec<Area>,
    /// The only plural to vary.
    pub only: Option<String>,
    /// The number of cases at a time.
    pub in_flight: usize,
    /// The number of agreeing cases to keep.
    pub sample: usize,
}

/// Two servers: the one that is right by definition, and the one to check.
#[derive(Debug)]
pub struct Pair {
    right: Server,
    checked: Server,
    tail: AtomicU64,
}

/// The answers of both servers to a step.
#[derive(Debug)]
pub struct Compared {
    /// The pointer of the step in the case.
    pub at: String,
    /// The answer that is right.
    pub right: Value,
    /// The answer to check.
    pub checked: Value,
    /// What differs.
    pub differences: Vec<Difference>,
}

impl Pair {
    /// Two servers.
    pub fn new(right: Server, checked: Server) -> Self {
        let tail = fastrand::Rng::new().u64(0..300_000_000);
        Self { right, checked, tail: AtomicU64::new(tail) }
    }

    /// Names that no other case has.
    fn next_tail(&self) -> String {
        let mut number = self.tail.fetch_add(1, Ordering::Relaxed);
        let mut letters = [b'a'; 6];
        for letter in &mut letters {
            *letter += u8::try_from(number % 26).unwrap_or_default();
            number /= 26;
        }
        letters.map(char::from).iter().collect()
    }

    /// Runs a case on both servers.
    pub async fn compare(&self, case: &Value) -> Vec<Compared> {
        let tail = self.next_tail();
        let (right, checked) = tokio::join!(
            Player::new(&self.right, &tail).play(case),
            Player::new(&self.checked, &tail).play(case)
        );
        let mut answers: Vec<Compared> =
            right.into_iter().zip(checked).map(|(right, checked)| compared(case, right, checked)).collect();
        if case["stateful"] == true {
            // What comes after a difference in the data follows from it.
            let is_other_data =
                |answer: &Compared| answer.differences.iter().any(|found| found.class == Class::A);
            let end = answers.iter().position(is_other_data).map_or(answers.len(), |at| at + 1);
            answers.truncate(end);
        }
        answers
    }
}

fn compared(case: &Value, right: Answered, checked: Answered) -> Compared {
    let step = case.pointer(&right.at).unwrap_or(&Value::Null);
    // A real server closes the connection when a handler of it panics. That is no answer to compare with.
    let has_answer = right.answer["status"] != 0;
    // Which versions are too old depends on the time since the last compaction: a real server compacts every five
    // minutes, by its clock.
    let is_expired = [&right, &checked].iter().any(|answered| answered.answer["status"] == 410);
    let differences = if has_answer && !is_expired {
        let [right, checked] = [&right, &checked].map(|answered| without_other_groups(&answered.answer));
        differences(&about(step), &right, &checked)
    } else {
        Vec::new()
    };
    Compared { at: right.at, right: right.answer, checked: checked.answer, differences }
}

/// An answer without the API groups of the definitions of other cases, which run at the same time, and which a real server
/// removes late.
fn without_other_groups(answer: &Value) -> Value {
    let mut answer = answer.clone();
    for (list, name) in [("/body/groups", "/name"), ("/body/items", "/metadata/name")] {
        let is_discovery = answer["body"]["kind"].as_str().is_some_and(|kind| kind.starts_with("APIGroup"));
        if let Some(Value::Array(groups)) = answer.pointer_mut(list).filter(|_| is_discovery) {
            groups.retain(|group| {
                let name = group.pointer(name).and_then(Value::as_str).unwrap_or_default();
                !name.ends_with(".example.com") || name.starts_with("<case>")
            });
        }
    }
    answer
}

/// What a step is about: the plural and the subresource in its path.
fn about(step: &Value) -> String {
    if step.get("crd").is_some() {
        return "customresourcedefinitions".to_owned();
    }
    let request = if step.get("watch").is_some() { &step["watch"] } else { &step["request"] };
    let path = request["path"].as_str().unwrap_or_default();
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let skip = match parts.first() {
        Some(&"api") => 2,
        Some(&"apis") => 3,
        _ => return parts.first().copied().unwrap_or("/").to_owned(),
    };
    let parts = parts.get(skip..).unwrap_or_default();
    let parts = if parts.first() == Some(&"namespaces") && parts.len() > 2 { &parts[2..] } else { parts };
    match parts {
        [plural, _, subresource, ..] => format!("{plural}/{subresource}"),
        [plural, ..] => (*plural).to_owned(),
        [] => "discovery".to_owned(),
    }
}

/// Runs random cases until enough requests were sent. After each case, `observe` gets the findings so far and the causes
/// that are new in them.
pub async fn search(
    pair: &Pair,
    oracle: &OracleKinds,
    options: &Options,
    mut observe: impl FnMut(&Findings, &[String]),
) -> Findings {
    let mut findings = Findings::new(options.sample);
    let sent = AtomicU64::new(0);
    let sent = &sent;
    let numbers = (options.first..).take_while(|_| sent.load(Ordering::Relaxed) < options.requests);
    let cases = numbers.map(|number| async move {
        let area = options.areas[usize::try_from(number).unwrap_or_default() % options.areas.len()];
        let case = area.case(oracle, options.seed, number, options.only.as_deref());
        let compared = pair.compare(&case).await;
        sent.fetch_add(compared.len() as u64, Ordering::Relaxed);
        (area, number, case, compared)
    });
    let mut cases = Box::pin(stream::iter(cases).buffer_unordered(options.in_flight));
    while let Some((area, number, case, compared)) = cases.next().await {
        let new = findings.add(area, number, &case, &compared);
        observe(&findings, &new);
    }
    findings
}
