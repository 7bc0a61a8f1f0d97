//! Indexed Jobs (`completionMode: Indexed`), each of whose indexes has to succeed once.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use windtunnel_core::Object;

use super::number;

/// The annotation of a pod with its index; since Kubernetes 1.28 also a label.
const INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// The first Kubernetes minor version with the label (`PodIndexLabel`).
const LABELLED_SINCE: u32 = 28;

pub(super) fn is_indexed(job: &Object) -> bool {
    job["spec"]["completionMode"] == "Indexed"
}

/// The completion index of a pod.
pub(super) fn index_of(pod: &Object) -> Option<i64> {
    pod.annotation(INDEX)?.parse().ok()
}

/// A set of indexes in the format of the Job status: `0,3-5`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Indexes(BTreeSet<i64>);

impl Indexes {
    /// Parses a set of indexes and ignores invalid parts.
    pub(super) fn parse(text: &str) -> Self {
        /// An upper bound for the indexes of a Job.
        const MOST: i64 = 100_000;
        let ranges = text.split(',').filter_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some(first.parse().ok()?..=last.parse::<i64>().ok()?.min(MOST))
        });
        Self(ranges.flatten().collect())
    }

    /// The number of indexes.
    pub(super) fn len(&self) -> i64 {
        number(self.0.len())
    }

    pub(super) fn has(&self, index: i64) -> bool {
        self.0.contains(&index)
    }

    pub(super) fn insert(&mut self, index: i64) {
        self.0.insert(index);
    }

    /// The text in the status.
    pub(super) fn render(&self) -> String {
        let mut ranges: Vec<(i64, i64)> = Vec::new();
        for index in &self.0 {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == *index => *last = *index,
                _ => ranges.push((*index, *index)),
            }
        }
        let parts = ranges.into_iter().map(|(first, last)| match last - first {
            0 => first.to_string(),
            1 => format!("{first},{last}"),
            _ => format!("{first}-{last}"),
        });
        parts.collect::<Vec<_>>().join(",")
    }
}

/// The `count` lowest indexes below `completions` that are neither done nor assigned to a pod.
pub(super) fn missing(completions: i64, done: &Indexes, active: &[&Object], count: usize) -> Vec<i64> {
    let taken: BTreeSet<i64> = active.iter().filter_map(|pod| index_of(pod)).collect();
    (0..completions).filter(|index| !done.has(*index) && !taken.contains(index)).take(count).collect()
}

/// Assigns an index to a pod of `job`.
pub(super) fn give(pod: &mut Value, job: &str, index: i64, minor: u32) {
    let text = index.to_string();
    pod["metadata"]["generateName"] = json!(format!("{job}-{index}-"));
    pod["metadata"]["annotations"][INDEX] = json!(text);
    let labelled = minor >= LABELLED_SINCE;
    if labelled {
        pod["metadata"]["labels"][INDEX] = json!(text);
    }
    pod["spec"]["hostname"] = json!(format!("{job}-{index}"));
    let place = if labelled { "labels" } else { "annotations" };
    let from = json!({ "fieldRef": { "fieldPath": format!("metadata.{place}['{INDEX}']") } });
    let variable = json!({ "name": "JOB_COMPLETION_INDEX", "valueFrom": from });
    for list in ["initContainers", "containers"] {
        for container in pod["spec"].get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            if container["env"].is_null() {
                container["env"] = json!([]);
            }
            let env = container["env"].as_array_mut();
            if let Some(env) = env.filter(|env| env.iter().all(|one| one["name"] != "JOB_COMPLETION_INDEX")) {
                env.push(variable.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_rendered_as_ranges_and_parsed_back() {
        for (text, count) in [("", 0), ("3", 1), ("0,1", 2), ("0,3-5", 4), ("1-3,7,9,10", 6)] {
            let indexes = Indexes::parse(text);
            assert_eq!((indexes.len(), indexes.render().as_str()), (count, text));
        }
        assert_eq!(Indexes::parse("x,2-1,-4,5").render(), "5");
    }
}
