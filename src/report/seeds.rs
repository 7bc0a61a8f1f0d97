//! The outcomes of one scenario with several seeds.

use std::collections::BTreeMap;

use super::ScenarioResult;

/// The runs of one scenario with different seeds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeedRuns {
    /// The number of runs that were not skipped.
    pub count: usize,
    /// The seeds of failed runs, with the line of the failed step; 0 if unknown.
    pub failed: BTreeMap<u64, usize>,
}

impl SeedRuns {
    /// Returns the runs behind a result: its own one, or those that were combined in it.
    pub fn of(result: &ScenarioResult) -> Self {
        if let Some(runs) = &result.seed_runs {
            return runs.clone();
        }
        let line = result.failed_at.map_or(0, |(line, _)| line);
        let failed = result.failure.iter().map(|_| (result.seed, line)).collect();
        Self { count: usize::from(result.skipped.is_none()), failed }
    }

    /// Returns these runs and others.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.count += other.count;
        self.failed.extend(other.failed);
        self
    }

    /// Returns the failed seeds by the line of the failed step: `3 of 50 seeds fail: 4, 17 (line 10), 33 (line 20)`; `None`
    /// if no run failed.
    pub fn failures(&self) -> Option<String> {
        let mut by_line: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for (seed, line) in &self.failed {
            by_line.entry(*line).or_default().push(seed.to_string());
        }
        let groups = by_line.into_iter().map(|(line, seeds)| match line {
            0 => seeds.join(", "),
            line => format!("{} (line {line})", seeds.join(", ")),
        });
        let groups: Vec<String> = groups.collect();
        let fail = if self.failed.len() == 1 { "fails" } else { "fail" };
        let Self { count, failed } = self;
        (!failed.is_empty())
            .then(|| format!("{} of {count} seeds {fail}: {}", failed.len(), groups.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(seed: u64, failed_at: Option<usize>) -> SeedRuns {
        let mut result = ScenarioResult::not_started("a", "a.yaml", &[], seed);
        result.failure = failed_at.map(|_| "no".to_owned());
        result.failed_at = failed_at.filter(|line| *line > 0).map(|line| (line, 3));
        SeedRuns::of(&result)
    }

    #[test]
    fn failures_are_grouped_by_the_line_of_the_failed_step() {
        let all = |runs: &[SeedRuns]| runs.iter().cloned().fold(SeedRuns::default(), SeedRuns::and);
        assert_eq!(all(&[run(1, None), run(2, None)]).failures(), None);
        let one = all(&[run(1, None), run(7, Some(0))]);
        assert_eq!(one.failures().as_deref(), Some("1 of 2 seeds fails: 7"));
        let several = all(&[run(33, Some(20)), run(17, Some(10)), run(4, Some(10)), run(1, None)]);
        assert_eq!(several.failures().as_deref(), Some("3 of 4 seeds fail: 4, 17 (line 10), 33 (line 20)"));
    }
}
