//! What makes an update long: nodes that are updated one after another, and drains that wait for pods.
//!
//! Everything comes from the record of a run: when each node got another config, and which pod left it last before its reboot.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use windtunnel_core::Object;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::text::{counted, short_duration};

use super::run::Rehearsed;
use crate::record::{Event, Record, WriteEvent};

/// The wait of a drain from which on it is worth a line. Most pods leave within a minute.
const LONG: SignedDuration = SignedDuration::from_mins(10);
/// The number of turns from which on a pool is slow because its nodes take turns.
const TURNS: usize = 4;
/// The most drains of a pool that have a line.
const DRAINS_MAX: usize = 3;

/// The annotations of a node with its configs.
const CURRENT: &str = "machineconfiguration.openshift.io/currentConfig";
const DESIRED: &str = "machineconfiguration.openshift.io/desiredConfig";

/// Something that makes the update of a pool long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slow {
    /// The pool.
    pub pool: String,
    /// What makes it long.
    pub text: String,
}

/// The update of one node.
#[derive(Debug, Clone)]
struct Turn {
    node: String,
    pool: String,
    began: Time,
    ended: Time,
    /// The pod that left the node last before it was updated, with its grace period in seconds.
    last_pod: Option<(Time, String, i64)>,
}

impl Turn {
    /// How long the drain waited for its last pod.
    fn drain(&self) -> SignedDuration {
        self.last_pod.as_ref().map_or(SignedDuration::ZERO, |(left, ..)| left.duration_since(self.began))
    }

    fn length(&self) -> SignedDuration {
        self.ended.duration_since(self.began)
    }
}

/// Finds what makes a run long.
pub(super) fn find(record: &Record, run: &Rehearsed) -> Vec<Slow> {
    let stalls = stalls(record, run);
    let mut pools: BTreeMap<String, Vec<Turn>> = BTreeMap::new();
    for turn in turns(record) {
        pools.entry(turn.pool.clone()).or_default().push(turn);
    }
    let mut found = Vec::new();
    for (pool, turns) in pools {
        // A node that waits at a stop is slow because of the stop.
        let is_free = |turn: &&Turn| !stalls.iter().any(|(from, to)| turn.began < *to && *from < turn.ended);
        let free: Vec<&Turn> = turns.iter().filter(is_free).collect();
        let texts = in_turns(&pool, &turns, &free).into_iter().chain(drains(&free));
        found.extend(texts.map(|text| Slow { pool: pool.clone(), text }));
    }
    found
}

/// The times without progress at the stops of a run.
fn stalls(record: &Record, run: &Rehearsed) -> Vec<(Time, Time)> {
    let first = run.requests.first().map_or(SignedDuration::ZERO, |(_, at)| *at);
    let (mut lost, mut found) = (SignedDuration::ZERO, Vec::new());
    for stop in &run.stops {
        let began = first.saturating_add(stop.at).saturating_add(lost);
        found.push((after(record.header.epoch, began), after(record.header.epoch, stop.found_at)));
        lost = lost.saturating_add(stop.found_at.saturating_sub(began));
    }
    found
}

/// The updates of all nodes, in the order of their ends.
fn turns(record: &Record) -> Vec<Turn> {
    let (mut open, mut done): (BTreeMap<String, Turn>, Vec<Turn>) = (BTreeMap::new(), Vec::new());
    for entry in &record.entries {
        let Event::Write(write) = &entry.event else { continue };
        match write.kind.as_str() {
            "Node" if write.code < 400 && !record.is_set_up(entry) => {
                let Some(node) = &write.after else { continue };
                done.extend(follow_node(node, entry.at, &mut open));
            }
            "Pod" if write.removes() => follow_pod(write, entry.at, &mut open),
            _ => {}
        }
    }
    done
}

/// Notes when a node gets another config, and returns its turn when it has it.
fn follow_node(node: &Object, at: Time, open: &mut BTreeMap<String, Turn>) -> Option<Turn> {
    let [current, desired] = [CURRENT, DESIRED].map(|name| node.annotation(name).unwrap_or_default());
    if current == desired {
        return open.remove(node.name()).map(|turn| Turn { ended: at, ..turn });
    }
    let pool = desired.strip_prefix("rendered-").and_then(|name| name.rsplit_once('-'))?.0;
    open.entry(node.name().to_owned()).or_insert_with(|| Turn {
        node: node.name().to_owned(),
        pool: pool.to_owned(),
        began: at,
        ended: at,
        last_pod: None,
    });
    None
}

/// Notes a pod that left a node.
fn follow_pod(write: &WriteEvent, at: Time, open: &mut BTreeMap<String, Turn>) {
    let Some(pod) = &write.before else { return };
    let Some(turn) = open.get_mut(pod.text("/spec/nodeName")) else { return };
    let grace = pod.number("/spec/terminationGracePeriodSeconds").unwrap_or_default();
    // DaemonSets replace their pods also while the node is updated, and drains leave them.
    if !pod.list("/metadata/ownerReferences").iter().any(|owner| owner["kind"] == "DaemonSet") {
        turn.last_pod = Some((at, format!("{}/{}", write.key.namespace, write.key.name), grace));
    }
}

/// A pool whose nodes take many turns.
fn in_turns(pool: &str, turns: &[Turn], free: &[&Turn]) -> Option<String> {
    let at_a_time = at_a_time(turns);
    let count = turns.len().div_ceil(at_a_time.max(1));
    if count < TURNS {
        return None;
    }
    let mut lengths: Vec<SignedDuration> = free.iter().map(|turn| turn.length()).collect();
    lengths.sort_unstable();
    let typical = lengths.get(lengths.len() / 2).map(|length| format!(", about {} each", rounded(*length)));
    Some(format!(
        "{}, {at_a_time} at a time{}: compare `--what-if {pool}.maxUnavailable={}`",
        counted(turns.len(), "node"),
        typical.unwrap_or_default(),
        at_a_time * 2,
    ))
}

/// The most nodes of a pool that were updated at the same time.
fn at_a_time(turns: &[Turn]) -> usize {
    let overlapping = |at: Time| turns.iter().filter(|turn| turn.began <= at && at < turn.ended).count();
    turns.iter().map(|turn| overlapping(turn.began)).max().unwrap_or_default()
}

/// A time in whole minutes.
fn rounded(time: SignedDuration) -> String {
    short_duration(SignedDuration::from_mins((time.as_secs() + 30) / 60))
}

/// The drains that waited long for a pod, the longest first.
fn drains(free: &[&Turn]) -> Vec<String> {
    let mut slow: Vec<&&Turn> = free.iter().filter(|turn| turn.drain() >= LONG).collect();
    slow.sort_by_key(|turn| (std::cmp::Reverse(turn.drain()), turn.node.clone()));
    let text = |turn: &&&Turn| {
        let (_, pod, grace) = turn.last_pod.as_ref()?;
        let grace = short_duration(SignedDuration::from_secs(*grace));
        let (node, drain) = (&turn.node, rounded(turn.drain()));
        Some(format!(
            "the drain of node {node} takes {drain}: Pod {pod} leaves last, with a grace period of {grace}"
        ))
    };
    slow.iter().take(DRAINS_MAX).filter_map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(node: &str, began: i64, ended: i64, pod: Option<(i64, i64)>) -> Turn {
        let at = |minutes| after(Time::UNIX_EPOCH, SignedDuration::from_mins(minutes));
        Turn {
            node: node.to_owned(),
            pool: "worker".to_owned(),
            began: at(began),
            ended: at(ended),
            last_pod: pod.map(|(left, grace)| (at(left), "shop/till".to_owned(), grace)),
        }
    }

    #[test]
    fn nodes_that_take_many_turns_make_a_pool_slow() {
        let turns: Vec<Turn> =
            (0..8).map(|turn| self::turn("n", turn / 2 * 10, turn / 2 * 10 + 9, None)).collect();
        let free: Vec<&Turn> = turns.iter().collect();
        assert_eq!(
            in_turns("worker", &turns, &free).unwrap(),
            "8 nodes, 2 at a time, about 9m each: compare `--what-if worker.maxUnavailable=4`"
        );
        assert_eq!(in_turns("worker", &turns[..6], &free), None);
    }

    #[test]
    fn a_drain_that_waits_for_a_pod_names_it() {
        let turns = [turn("a", 0, 99, Some((60, 3600))), turn("b", 0, 9, Some((1, 30)))];
        assert_eq!(
            drains(&turns.iter().collect::<Vec<_>>()),
            ["the drain of node a takes 1h: Pod shop/till leaves last, with a grace period of 1h"]
        );
    }
}
