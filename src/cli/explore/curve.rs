//! The number of known states after each batch of an exploration.

use serde::{Deserialize, Serialize};

/// The greatest number of points. With more, every second one is dropped.
const POINTS_MAX: usize = 512;

/// The growth of the number of states.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Curve {
    points: Vec<Point>,
}

/// A moment of an exploration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Point {
    pub(super) runs: u64,
    pub(super) states: u64,
}

impl Curve {
    /// Adds a moment, if there were runs since the last one.
    pub(super) fn push(&mut self, runs: u64, states: usize) {
        let states = u64::try_from(states).unwrap_or(u64::MAX);
        if self.points.last().is_some_and(|last| last.runs >= runs) {
            return;
        }
        self.points.push(Point { runs, states });
        if self.points.len() > POINTS_MAX {
            let mut number = 0;
            self.points.retain(|_| {
                number += 1;
                number % 2 == 1
            });
        }
    }

    /// Takes the longer of two curves: those of shards share no axis.
    pub(super) fn add(&mut self, other: &Self) {
        let runs = |curve: &Self| curve.points.last().map_or(0, |last| last.runs);
        if runs(other) > runs(self) {
            self.clone_from(other);
        }
    }

    pub(super) fn points(&self) -> &[Point] {
        &self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_keeps_its_ends() {
        let mut curve = Curve::default();
        for runs in 1..=2000 {
            curve.push(runs, 10);
            curve.push(runs, 11);
        }
        let points = curve.points();
        assert!(points.len() <= POINTS_MAX && points.len() > POINTS_MAX / 4, "{}", points.len());
        assert_eq!((points[0].runs, points[0].states), (1, 10));
        assert!(points.last().unwrap().runs > 1990);
        assert!(points.is_sorted_by(|one, other| one.runs < other.runs));
    }
}
