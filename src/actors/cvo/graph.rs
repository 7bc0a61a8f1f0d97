//! In which order tasks are done, and how many at a time (`payload.TaskGraph`).

use super::payload::Task;
use crate::base::rng::Streams;

/// How many workers apply manifests at a time while updating.
const WORKERS_UPDATING: usize = 16;
/// The same while reconciling.
const WORKERS_RECONCILING: usize = 2;
/// A failed pass begins with another part of the same order this many times, before the order is drawn anew.
const ROTATIONS: u32 = 8;

/// In which frame of mind a payload is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// For the first time: everything at once.
    Initializing,
    /// From one release to another: run levels in order.
    Updating,
    /// Keeping what is there.
    Reconciling,
}

/// Tasks that are done one after the other, by their numbers in the payload.
pub(super) type Node = Vec<usize>;

/// Steps, one after the other, each of nodes that do not wait for one another.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// The steps in order.
    pub(super) steps: Vec<Vec<Node>>,
    /// How many nodes are worked on at a time.
    pub(super) workers: usize,
}

impl Graph {
    /// The order for a pass after `attempt` failed ones in a row.
    pub(super) fn of(tasks: &[Task], mode: Mode, attempt: u32, streams: Streams) -> Self {
        let levels = by_level_and_component(tasks);
        if mode == Mode::Updating {
            return Self { steps: merged(levels), workers: WORKERS_UPDATING };
        }
        let mut nodes: Vec<Node> = levels.into_iter().flatten().collect();
        let mut workers = nodes.len();
        if mode == Mode::Reconciling {
            shuffle(&mut nodes, attempt / ROTATIONS, streams);
            let turn = usize::try_from(attempt % ROTATIONS).unwrap_or(0) * nodes.len();
            let middle = turn / usize::try_from(ROTATIONS).unwrap_or(1);
            nodes.rotate_left(middle);
            workers = WORKERS_RECONCILING;
        }
        Self { steps: vec![nodes], workers }
    }
}

/// Run levels in order, each with a node for each component; files that are named otherwise stand by themselves.
fn by_level_and_component(tasks: &[Task]) -> Vec<Vec<Node>> {
    let mut levels: Vec<Vec<Node>> = Vec::new();
    let mut last: Option<&Task> = None;
    for (index, task) in tasks.iter().enumerate() {
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

/// Levels of a single component that follow each other are one node.
fn merged(levels: Vec<Vec<Node>>) -> Vec<Vec<Node>> {
    let mut steps: Vec<Vec<Node>> = Vec::new();
    for mut level in levels {
        match (steps.last_mut().map(Vec::as_mut_slice), level.as_mut_slice()) {
            (Some([before]), [node]) => before.append(node),
            _ => steps.push(level),
        }
    }
    steps
}

/// Draws an order (Fisher and Yates).
fn shuffle(nodes: &mut [Node], draw: u32, streams: Streams) {
    let mut stream = streams.stream(&format!("reconcile-order/{draw}"));
    for last in (1..nodes.len()).rev() {
        let other = stream.between(0, u64::try_from(last).unwrap_or(u64::MAX));
        nodes.swap(last, usize::try_from(other).unwrap_or(last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::cvo::payload::testing::counted;

    fn steps(names: &[(&str, &str)], mode: Mode, attempt: u32) -> Vec<Vec<Node>> {
        let tasks: Vec<Task> = names.iter().map(|(level, component)| counted(level, component)).collect();
        Graph::of(&tasks, mode, attempt, Streams::new(1)).steps
    }

    #[test]
    fn components_of_a_level_are_parallel_and_the_next_level_waits() {
        let names = [("10", "a"), ("10", "a"), ("10", "b"), ("20", "c"), ("20", "d")];
        assert_eq!(steps(&names, Mode::Updating, 0), [vec![vec![0, 1], vec![2]], vec![vec![3], vec![4]]]);
    }

    #[test]
    fn levels_of_one_component_in_a_row_are_one_node() {
        let names = [("05", "a"), ("10", "a"), ("11", "b"), ("20", "c"), ("20", "d"), ("30", "e")];
        assert_eq!(
            steps(&names, Mode::Updating, 0),
            [vec![vec![0, 1, 2]], vec![vec![3], vec![4]], vec![vec![5]]]
        );
    }

    #[test]
    fn files_with_names_of_their_own_stand_one_after_the_other() {
        let names = [("10", "a"), ("10", "b"), ("", "x.yaml"), ("", "y.yaml")];
        assert_eq!(steps(&names, Mode::Updating, 0), [vec![vec![0], vec![1]], vec![vec![2, 3]]]);
        assert_eq!(steps(&names, Mode::Initializing, 0).len(), 1);
    }

    #[test]
    fn reconciling_draws_an_order_that_failures_rotate_and_then_draw_anew() {
        let names: Vec<(String, String)> = (0..16).map(|n| (n.to_string(), format!("c{n}"))).collect();
        let names: Vec<(&str, &str)> = names.iter().map(|(l, c)| (l.as_str(), c.as_str())).collect();
        let order = |attempt| steps(&names, Mode::Reconciling, attempt).remove(0);
        let first = order(0);
        assert_ne!(first, steps(&names, Mode::Initializing, 0)[0], "shuffled");
        let mut rotated = first.clone();
        rotated.rotate_left(2);
        assert_eq!(order(1), rotated);
        assert_ne!(order(8), first);
        let mut sorted = order(8);
        sorted.sort();
        assert_eq!(sorted, steps(&names, Mode::Initializing, 0)[0], "nothing is lost");
    }
}
