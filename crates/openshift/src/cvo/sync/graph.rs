//! The order of tasks in a pass, and the number of parallel workers (`payload.TaskGraph`).

use std::ops::Range;

use windtunnel_core::rng::Streams;

use crate::cvo::payload::Task;

/// Workers while updating.
const WORKERS_UPDATING: usize = 16;
/// Workers while reconciling.
const WORKERS_RECONCILING: usize = 2;
/// Failed passes in a row that rotate the same order, before a new order is drawn.
const ROTATIONS: u32 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cvo) enum ApplyMode {
    /// The first installation: everything is applied at once.
    Initializing,
    /// An update to another release: run levels are applied in order.
    Updating,
    /// Corrections of an applied release, in random order.
    Reconciling,
}

/// A task node: tasks that are applied one after the other, as indices into the payload.
pub(in crate::cvo) type TaskNode = Vec<usize>;

/// Steps that run one after the other. The nodes of one step run in parallel.
#[derive(Debug, Clone, Default)]
pub(in crate::cvo) struct TaskGraph {
    pub(in crate::cvo) steps: Vec<Vec<TaskNode>>,
    /// How many nodes are applied at a time.
    pub(in crate::cvo) workers: usize,
}

impl TaskGraph {
    /// The order for a pass after `attempt` failed passes in a row.
    pub(in crate::cvo) fn build(tasks: &[Task], mode: ApplyMode, attempt: u32, streams: Streams) -> Self {
        let mut steps = Vec::new();
        for part in between_jobs(tasks) {
            let levels = by_level_and_component(tasks, part);
            if mode == ApplyMode::Updating {
                steps.extend(merged(levels));
                continue;
            }
            let mut nodes: Vec<TaskNode> = levels.into_iter().flatten().collect();
            if mode == ApplyMode::Reconciling {
                permute(&mut nodes, attempt, streams);
            }
            steps.push(nodes);
        }
        let workers = match mode {
            ApplyMode::Initializing => steps.iter().map(Vec::len).max().unwrap_or(0),
            ApplyMode::Updating => WORKERS_UPDATING,
            ApplyMode::Reconciling => WORKERS_RECONCILING,
        };
        Self { steps, workers }
    }
}

/// Splits the tasks at Jobs (`SplitOnJobs`). Each Job is a part of its own: it starts when everything before
/// it is done, and everything after it waits for it.
fn between_jobs(tasks: &[Task]) -> Vec<Range<usize>> {
    let mut cuts = vec![0];
    for (index, _) in tasks.iter().enumerate().filter(|(_, task)| task.is_job()) {
        cuts.extend([index, index + 1]);
    }
    cuts.push(tasks.len());
    cuts.windows(2).map(|cut| cut[0]..cut[1]).filter(|part| !part.is_empty()).collect()
}

/// Run levels in order, each with one node per component. Files without a run level in their name form a step
/// per component.
fn by_level_and_component(tasks: &[Task], part: Range<usize>) -> Vec<Vec<TaskNode>> {
    let mut levels: Vec<Vec<TaskNode>> = Vec::new();
    let mut last: Option<&Task> = None;
    for (index, task) in part.clone().zip(&tasks[part]) {
        let same_level = last.is_some_and(|last| last.place.run_level == task.place.run_level);
        let same_component = last.is_some_and(|last| last.place.component == task.place.component);
        let numbered = !task.place.run_level.is_empty();
        if !(same_level && (same_component || numbered)) {
            levels.push(Vec::new());
        }
        let Some(level) = levels.last_mut() else { continue };
        match level.last_mut().filter(|_| same_component) {
            Some(node) => node.push(index),
            None => level.push(vec![index]),
        }
        last = Some(task);
    }
    levels
}

/// Merges consecutive levels that have only one component into one node.
fn merged(levels: Vec<Vec<TaskNode>>) -> Vec<Vec<TaskNode>> {
    let mut steps: Vec<Vec<TaskNode>> = Vec::new();
    for mut level in levels {
        match (steps.last_mut().map(Vec::as_mut_slice), level.as_mut_slice()) {
            (Some([before]), [node]) => before.append(node),
            _ => steps.push(level),
        }
    }
    steps
}

/// Shuffles the nodes, and rotates the order after each failed pass.
fn permute(nodes: &mut [TaskNode], attempt: u32, streams: Streams) {
    shuffle(nodes, attempt / ROTATIONS, streams);
    let turn = usize::try_from(attempt % ROTATIONS).unwrap_or(0) * nodes.len();
    nodes.rotate_left(turn / usize::try_from(ROTATIONS).unwrap_or(1));
}

/// A Fisher-Yates shuffle.
fn shuffle(nodes: &mut [TaskNode], draw: u32, streams: Streams) {
    let mut stream = streams.stream(&format!("reconcile-order/{draw}"));
    for last in (1..nodes.len()).rev() {
        let other = stream.between(0, u64::try_from(last).unwrap_or(u64::MAX));
        nodes.swap(last, usize::try_from(other).unwrap_or(last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    use crate::cvo::payload::testing::{counted, object};

    fn steps(names: &[(&str, &str)], mode: ApplyMode, attempt: u32) -> Vec<Vec<TaskNode>> {
        let tasks: Vec<Task> = names.iter().map(|(level, component)| counted(level, component)).collect();
        TaskGraph::build(&tasks, mode, attempt, Streams::new(1)).steps
    }

    #[test]
    fn components_of_a_run_level_are_parallel_and_the_next_level_waits() {
        let names = [("10", "a"), ("10", "a"), ("10", "b"), ("20", "c"), ("20", "d")];
        assert_eq!(
            steps(&names, ApplyMode::Updating, 0),
            [vec![vec![0, 1], vec![2]], vec![vec![3], vec![4]]]
        );
    }

    #[test]
    fn consecutive_run_levels_with_one_component_become_one_node() {
        let names = [("05", "a"), ("10", "a"), ("11", "b"), ("20", "c"), ("20", "d"), ("30", "e")];
        assert_eq!(
            steps(&names, ApplyMode::Updating, 0),
            [vec![vec![0, 1, 2]], vec![vec![3], vec![4]], vec![vec![5]]]
        );
    }

    #[test]
    fn files_without_a_run_level_are_applied_in_sequence() {
        let names = [("10", "a"), ("10", "b"), ("", "x.yaml"), ("", "y.yaml")];
        assert_eq!(steps(&names, ApplyMode::Updating, 0), [vec![vec![0], vec![1]], vec![vec![2, 3]]]);
        assert_eq!(steps(&names, ApplyMode::Initializing, 0).len(), 1);
    }

    #[test]
    fn a_job_waits_for_all_tasks_before_it_and_blocks_all_after_it() {
        let manifest = json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "j" } });
        let tasks = [counted("10", "a"), object("10", "a", manifest), counted("10", "a"), counted("10", "b")];
        let order = |mode| TaskGraph::build(&tasks, mode, 0, Streams::new(1));
        let parts = [vec![vec![0]], vec![vec![1]], vec![vec![2], vec![3]]];
        assert_eq!(order(ApplyMode::Updating).steps, parts);
        assert_eq!(order(ApplyMode::Initializing).steps, parts);
        assert_eq!(order(ApplyMode::Initializing).workers, 2);
        assert_eq!(order(ApplyMode::Reconciling).steps[..2], parts[..2]);
    }

    #[test]
    fn reconciling_shuffles_nodes_and_rotates_them_after_failures() {
        let names: Vec<(String, String)> = (0..16).map(|n| (n.to_string(), format!("c{n}"))).collect();
        let names: Vec<(&str, &str)> = names.iter().map(|(l, c)| (l.as_str(), c.as_str())).collect();
        let order = |attempt| steps(&names, ApplyMode::Reconciling, attempt).remove(0);
        let first = order(0);
        assert_ne!(first, steps(&names, ApplyMode::Initializing, 0)[0], "shuffled");
        let mut rotated = first.clone();
        rotated.rotate_left(2);
        assert_eq!(order(1), rotated);
        assert_ne!(order(8), first);
        let mut sorted = order(8);
        sorted.sort();
        assert_eq!(sorted, steps(&names, ApplyMode::Initializing, 0)[0], "nothing is lost");
    }
}
