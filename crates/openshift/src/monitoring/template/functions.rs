//! The functions of templates.

use std::cmp::Ordering;

use super::Item;
use super::humanize::{duration, metric, metric_1024, percentage, timestamp};
use crate::promql::{self, Metrics, Sample, Value};

/// Calls a function. `None` if there is no such function, or it does not take these arguments.
pub(super) fn call(name: &str, arguments: &[Item], metrics: &dyn Metrics) -> Option<Item> {
    match (name, arguments) {
        ("true", []) => Some(Item::Flag(true)),
        ("false", []) => Some(Item::Flag(false)),
        ("query", [Item::Text(query)]) => samples(query, metrics).map(Item::Samples),
        ("first", [Item::Samples(samples)]) => {
            Some(samples.first().cloned().map_or(Item::Nothing, Item::Sample))
        }
        ("value", [Item::Sample(sample)]) => Some(Item::Number(sample.value)),
        ("label", [Item::Text(name), Item::Sample(sample)]) => {
            Some(Item::Text(sample.labels.get(name).cloned().unwrap_or_default()))
        }
        // The first sample of none.
        ("label", [Item::Text(_), Item::Nothing]) => Some(Item::Text(String::new())),
        ("len", [Item::Text(text)]) => size(text.len()),
        ("len", [Item::Samples(samples)]) => size(samples.len()),
        ("len", [Item::Labels(labels)]) => size(labels.len()),
        ("not", [item]) => Some(Item::Flag(!item.is_true())),
        ("and", [.., last]) => Some(arguments.iter().find(|item| !item.is_true()).unwrap_or(last).clone()),
        ("or", [.., last]) => Some(arguments.iter().find(|item| item.is_true()).unwrap_or(last).clone()),
        ("title", [Item::Text(text)]) => Some(Item::Text(title(text))),
        ("toUpper", [Item::Text(text)]) => Some(Item::Text(text.to_uppercase())),
        ("toLower", [Item::Text(text)]) => Some(Item::Text(text.to_lowercase())),
        ("print", [item]) => item.text().map(Item::Text),
        _ => compare(name, arguments).or_else(|| humanized(name, arguments)),
    }
}

fn samples(query: &str, metrics: &dyn Metrics) -> Option<Vec<Sample>> {
    match promql::evaluate(&promql::parse(query).ok()?, metrics).ok()? {
        Value::Vector(samples) => Some(samples),
        Value::Scalar(value) => Some(vec![Sample { labels: promql::Labels::new(), value }]),
        _ => None,
    }
}

fn size(length: usize) -> Option<Item> {
    u32::try_from(length).ok().map(|length| Item::Number(f64::from(length)))
}

fn compare(name: &str, arguments: &[Item]) -> Option<Item> {
    let (first, others) = arguments.split_first().filter(|(_, others)| !others.is_empty())?;
    let order = |other: &Item| match (first, other) {
        (Item::Text(one), Item::Text(other)) => Some(one.cmp(other)),
        (Item::Number(one), Item::Number(other)) => one.partial_cmp(other),
        (Item::Flag(one), Item::Flag(other)) => Some(one.cmp(other)),
        _ => None,
    };
    let orders: Vec<Ordering> = others.iter().map(order).collect::<Option<_>>()?;
    let holds = match (name, orders.as_slice()) {
        ("eq", orders) => orders.contains(&Ordering::Equal),
        ("ne", [order]) => order.is_ne(),
        ("lt", [order]) => order.is_lt(),
        ("le", [order]) => order.is_le(),
        ("gt", [order]) => order.is_gt(),
        ("ge", [order]) => order.is_ge(),
        _ => return None,
    };
    Some(Item::Flag(holds))
}

fn humanized(name: &str, arguments: &[Item]) -> Option<Item> {
    let number = match arguments {
        [Item::Number(number)] => *number,
        [Item::Text(text)] => text.parse().ok()?,
        _ => return None,
    };
    let text = match name {
        "humanize" => metric(number),
        "humanize1024" => metric_1024(number),
        "humanizeDuration" => duration(number),
        "humanizePercentage" => percentage(number),
        "humanizeTimestamp" => timestamp(number)?,
        _ => return None,
    };
    Some(Item::Text(text))
}

/// A text whose words begin with capital letters.
fn title(text: &str) -> String {
    let mut begins = true;
    let letters = text.chars().map(|letter| {
        let shown = if begins { letter.to_ascii_uppercase() } else { letter };
        begins = !letter.is_alphanumeric();
        shown
    });
    letters.collect()
}
