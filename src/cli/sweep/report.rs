//! The result of a sweep as text and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::text::{columns, counted, one_line, truncate};

use super::groups::{Group, word};
use super::picture;
use super::times::time;
use crate::cli::args::SweepArgs;
use crate::engine::restored::{Leftover, What};
use crate::engine::sweep::{Branch, NodeStates, RejectedWrite, Request, Sweep, Verdict};
use crate::plan::Plan;

/// The greatest number of lines about what is left over, and of characters of each.
const LEFT_OVER_MAX: usize = 20;
const LINE_MAX: usize = 150;

/// The result of a sweep, with its request.
pub(super) struct Report<'a> {
    pub(super) plan: &'a Plan,
    pub(super) request: &'a Request,
    pub(super) sweep: &'a Sweep,
    pub(super) groups: Vec<Group<'a>>,
    seed: u64,
    within: SignedDuration,
}

impl<'a> Report<'a> {
    pub(super) fn new(plan: &'a Plan, args: &SweepArgs, request: &'a Request, sweep: &'a Sweep) -> Self {
        let groups = Group::all(&sweep.branches);
        Self { plan, request, sweep, groups, seed: args.seed, within: args.within }
    }

    /// Whether there are moments, and the cluster arrives from each.
    pub(super) fn passes(&self) -> bool {
        let branches = &self.sweep.branches;
        self.sweep.failure.is_none()
            && !branches.is_empty()
            && branches.iter().all(|branch| branch.verdict == Verdict::Safe)
    }

    /// The request to each copy, in a few words.
    pub(super) fn asked(&self) -> String {
        match self.request {
            Request::GoTo(version) => format!("asked to go to {version}"),
            Request::Kill(component) => format!("after {component} was killed"),
        }
    }

    /// Renders the result for people.
    pub(super) fn to_text(&self) -> String {
        let Sweep { branches, writes, length, .. } = self.sweep;
        let mut text = format!(
            "{}: {} in {} of cluster time, {} {}\n",
            one_line(&self.plan.file),
            counted(*writes, "write"),
            time(*length),
            counted(branches.len(), "moment"),
            self.asked(),
        );
        if let Some(failure) = &self.sweep.failure {
            let _ = writeln!(
                text,
                "the scenario fails at line {}, so there are no later moments: {}: {}",
                failure.line,
                failure.step,
                failure.error.to_string().replace('\n', "\n  ")
            );
        }
        if branches.is_empty() {
            text.push_str(
                "no such moment lies in an update: the scenario requests none, or it ends before\n",
            );
            return text;
        }
        text.push('\n');
        text.push_str(&picture::strip(branches));
        text.push('\n');
        text.push_str(&self.table());
        text.push_str(&self.point_of_no_return());
        text.push_str(&self.left_over());
        text
    }

    /// The differences of clusters that arrived to the cluster before the update, each with its first moment.
    fn left_over(&self) -> String {
        let mut firsts: BTreeMap<String, (SignedDuration, What)> = BTreeMap::new();
        for branch in &self.sweep.branches {
            for leftover in branch.left_over.iter().filter(|leftover| leftover.counts()) {
                firsts.entry(leftover.to_string()).or_insert((branch.moment.at, leftover.what));
            }
        }
        if firsts.is_empty() {
            return String::new();
        }
        let mut text = format!(
            "\n{} not as before the update, each with its first moment:\n",
            counted(firsts.len(), "thing")
        );
        let mut firsts: Vec<_> = firsts.into_iter().collect();
        firsts.sort_by_key(|(_, first)| *first);
        for (line, (at, what)) in firsts.iter().take(LEFT_OVER_MAX) {
            let line = format!("{}: {line}", what.name().replace('-', " "));
            let _ = writeln!(text, "  {}  {}", time(*at), truncate(&line, LINE_MAX));
        }
        let more = firsts.len().saturating_sub(LEFT_OVER_MAX);
        if more > 0 {
            let _ = writeln!(text, "  and {more} more; --json lists all");
        }
        text
    }

    fn table(&self) -> String {
        let head = ["from", "to", "moments", "outcome", "after", "nodes at first", "nodes in the end"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        rows.extend(self.groups.iter().map(|group| {
            let (first, last) = (group.first(), group.last());
            vec![
                time(first.moment.at),
                time(last.moment.at),
                group.branches.len().to_string(),
                word(group.verdict()).to_owned(),
                spread(group.branches),
                nodes(&first.nodes_before),
                nodes(&first.nodes_after),
            ]
        }));
        columns(&rows)
    }

    /// The first moment from which the cluster does not arrive, and why.
    fn point_of_no_return(&self) -> String {
        let Some(group) = self.groups.iter().find(|group| !group.verdict().arrives()) else {
            return "\nthe cluster arrives from every moment\n".to_owned();
        };
        let moment = &group.first().moment;
        let mut text = format!(
            "\nfirst moment with no way back: {} after the start, after write {}: {}\n",
            time(moment.at),
            moment.writes,
            moment.last_write
        );
        for line in reasons(group.verdict(), self.within) {
            let _ = writeln!(text, "  {line}");
        }
        text
    }

    /// Renders the result, with every moment, for machines.
    pub(super) fn to_json(&self) -> String {
        let moments: Vec<Value> = self.sweep.branches.iter().map(|branch| self.moment(branch)).collect();
        let failure = self.sweep.failure.as_ref();
        let failure = failure.map(|failure| {
            json!({ "line": failure.line, "step": failure.step, "reason": failure.error.to_string() })
        });
        let document = json!({
            "file": self.plan.file,
            "scenario": self.plan.name,
            "seed": self.seed,
            "request": self.asked(),
            "writes": self.sweep.writes,
            "seconds": seconds(self.sweep.length),
            "failure": failure,
            "moments": moments,
        });
        format!("{document:#}\n")
    }

    fn moment(&self, branch: &Branch) -> Value {
        let Branch { moment, verdict, took, nodes_before, nodes_after, left_over, .. } = branch;
        json!({
            "seconds": seconds(moment.at),
            "write": moment.writes,
            "lastWrite": moment.last_write,
            "step": self.plan.timeline.get(moment.step).map(|planned| planned.line),
            "outcome": word(verdict),
            "reasons": reasons(verdict, self.within),
            "tookSeconds": seconds(*took),
            "nodes": { "before": nodes_before, "after": nodes_after },
            "leftOver": left_over.iter().map(Leftover::to_json).collect::<Vec<_>>(),
        })
    }
}

/// Why a cluster does not arrive, a line each.
fn reasons(verdict: &Verdict, within: SignedDuration) -> Vec<String> {
    match verdict {
        Verdict::Safe => Vec::new(),
        Verdict::LeftOver => vec!["it arrived, and is not what it was: see `leftOver`".to_owned()],
        Verdict::Trapped(rejected) => rejected
            .iter()
            .map(|RejectedWrite { write, times, at, message, .. }| {
                format!("{write}{at}, {times} times: {message}")
            })
            .collect(),
        Verdict::Stuck(waiting) if waiting.is_empty() => {
            vec![format!("no component waits for anything after {}", time(within))]
        }
        Verdict::Stuck(waiting) => waiting.clone(),
        Verdict::Failed(why) => vec![why.clone()],
    }
}

/// How long the branches took: the shortest and the longest.
fn spread(branches: &[Branch]) -> String {
    let spans = || branches.iter().map(|branch| branch.took);
    let (low, high) = (spans().min().unwrap_or_default(), spans().max().unwrap_or_default());
    if time(low) == time(high) { time(low) } else { format!("{} to {}", time(low), time(high)) }
}

fn nodes(states: &NodeStates) -> String {
    let states: Vec<String> = states.iter().map(|(state, count)| format!("{count} {state}")).collect();
    states.join(", ")
}

fn seconds(span: SignedDuration) -> f64 {
    span.as_secs_f64()
}
