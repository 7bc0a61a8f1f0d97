//! The curve of states over runs, as shapes of an SVG picture.

use serde::Serialize;

use crate::cli::explore::curve::Point;

/// The size of the area of the curve, and its place in the picture, in pixels.
const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 200.0;
const LEFT: f64 = 52.0;
const TOP: f64 = 8.0;

/// The greatest number of marks on an axis.
const MARKS: u64 = 5;

/// The shapes of the curve.
#[derive(Debug, Serialize)]
pub(super) struct Chart {
    /// The points of the line, as SVG writes them.
    line: String,
    /// Marks of the number of runs, with their places from the left.
    runs: Vec<(u64, f64)>,
    /// Marks of the number of states, with their places from the top.
    states: Vec<(u64, f64)>,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Chart {
    /// The chart of at least two points; `None` for fewer.
    pub(super) fn of(points: &[Point]) -> Option<Self> {
        let last = points.last()?;
        let most = points.iter().map(|point| point.states).max()?.max(1);
        let ends = Point { runs: last.runs.max(1), states: most };
        let place = |point: &Point| {
            let (x, y) = (horizontal(point.runs, ends.runs), vertical(point.states, ends.states));
            format!("{x:.1},{y:.1}")
        };
        let start = Point { runs: 0, states: 0 };
        let line: Vec<String> = std::iter::once(&start).chain(points).map(place).collect();
        Some(Self {
            line: line.join(" "),
            runs: marks(ends.runs).map(|runs| (runs, horizontal(runs, ends.runs))).collect(),
            states: marks(ends.states).map(|states| (states, vertical(states, ends.states))).collect(),
            left: LEFT,
            right: LEFT + WIDTH,
            top: TOP,
            bottom: TOP + HEIGHT,
        })
    }
}

fn horizontal(runs: u64, all: u64) -> f64 {
    LEFT + WIDTH * share(runs, all)
}

fn vertical(states: u64, all: u64) -> f64 {
    TOP + HEIGHT * (1.0 - share(states, all))
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn share(part: u64, all: u64) -> f64 {
    part as f64 / all as f64
}

/// Round numbers from 0 to a greatest one.
fn marks(most: u64) -> impl Iterator<Item = u64> {
    let step = (0..).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)));
    let step =
        step.take_while(|step| *step < u64::MAX / 100).find(|step| most / step <= MARKS).unwrap_or(most);
    (0..=most / step).map(move |number| number * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_few() {
        assert_eq!(marks(3).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(marks(1190).collect::<Vec<_>>(), [0, 200, 400, 600, 800, 1000]);
        assert_eq!(marks(80).collect::<Vec<_>>(), [0, 20, 40, 60, 80]);
    }

    #[test]
    fn a_curve_begins_at_nothing_and_ends_in_the_corner() {
        assert!(Chart::of(&[]).is_none());
        let chart = Chart::of(&[Point { runs: 8, states: 100 }, Point { runs: 16, states: 200 }]).unwrap();
        assert_eq!(chart.line, "52.0,208.0 502.0,108.0 952.0,8.0");
    }
}
