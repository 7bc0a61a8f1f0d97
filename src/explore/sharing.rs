//! Several explorations that know of each other, such as the shards of a Job.

use windtunnel_core::rng::fnv1a;

use super::finding::Finding;
use super::search::Exploration;

/// The seed of a shard: every shard invents other cases. A single shard has the seed itself.
pub fn seed_of_shard(seed: u64, index: usize, count: usize) -> u64 {
    if count < 2 { seed } else { fnv1a(format!("seed {seed} shard {index}/{count}").as_bytes()) }
}

impl Exploration {
    /// Learns what another exploration, of this shard, knows: its states are no longer new, its cases can be continued, and
    /// its shrunk findings are known. Learning the same twice changes nothing.
    pub fn learn(&mut self, other: &Self, shard: &str) {
        self.learn_states(other);
        // The other exploration shrinks the rest itself.
        self.learn_findings(other.findings.iter().filter(|finding| finding.is_shrunk), shard);
    }

    fn learn_states(&mut self, other: &Self) {
        for kept in &other.corpus {
            let is_new = kept.states.iter().any(|state| !self.states.contains_key(state));
            if is_new && !self.corpus.iter().any(|known| known.case == kept.case) {
                self.corpus.push(kept.clone());
            }
        }
        for (state, runs) in &other.states {
            let known = self.states.entry(state.clone()).or_default();
            *known = (*known).max(*runs);
        }
        self.alerts.extend(other.alerts.iter().cloned());
    }

    fn learn_findings<'f>(&mut self, findings: impl Iterator<Item = &'f Finding>, shard: &str) {
        for finding in findings {
            let mut finding = finding.clone();
            if finding.shard.is_empty() {
                shard.clone_into(&mut finding.shard);
            }
            match self.findings.iter_mut().find(|known| known.cause == finding.cause) {
                Some(known) if finding.is_shrunk && !known.is_shrunk => *known = finding,
                Some(_) => {}
                None => self.findings.push(finding),
            }
        }
    }

    /// Adds the runs of another exploration, for the summary of all shards.
    pub fn add(&mut self, other: &Self, shard: &str) {
        self.learn_states(other);
        self.learn_findings(other.findings.iter(), shard);
        for (why, runs) in &other.cut_short {
            *self.cut_short.entry(why.clone()).or_default() += runs;
        }
        self.batches += other.batches;
        self.runs += other.runs;
        self.virtual_seconds += other.virtual_seconds;
        self.shrinking_runs += other.shrinking_runs;
    }
}

#[cfg(test)]
mod tests {
    use super::super::case::Case;
    use super::super::oracles::OracleFinding;
    use super::super::search::Kept;
    use super::*;

    fn exploration(number: u64) -> Exploration {
        let text = format!("name: n\ncluster: {{version: 4.18.{number}}}\ntimeline: [advance: 1m]\n");
        let case = Case::of_scenario(&text).unwrap();
        let states = vec![format!("event E{number}")];
        // Causes have no numbers.
        let cause = if number == 1 { "one" } else { "two" };
        Exploration {
            runs: number,
            states: states.iter().map(|state| (state.clone(), number)).collect(),
            findings: vec![Finding {
                is_shrunk: true,
                ..Finding::new(&case, &OracleFinding::new("quiet", cause))
            }],
            corpus: vec![Kept { case, fork_at: 1, states, picks: 0 }],
            ..Exploration::default()
        }
    }

    #[test]
    fn explorations_learn_from_each_other_once() {
        let mut one = exploration(1);
        one.learn(&exploration(2), "2/3");
        let learnt = one.clone();
        assert_eq!((one.runs, one.states.len(), one.corpus.len()), (1, 2, 2));
        let shards: Vec<&str> = one.findings.iter().map(|finding| &*finding.shard).collect();
        assert_eq!(shards, ["", "2/3"]);
        one.learn(&exploration(2), "2/3");
        assert_eq!(one, learnt);
    }

    #[test]
    fn a_summary_has_the_runs_of_all_shards() {
        let mut all = Exploration::default();
        all.add(&exploration(1), "1/2");
        all.add(&exploration(2), "2/2");
        assert_eq!((all.runs, all.findings.len()), (3, 2));
    }

    #[test]
    fn shards_have_other_seeds_and_a_single_one_has_the_seed_itself() {
        assert_eq!(seed_of_shard(7, 1, 1), 7);
        assert_ne!(seed_of_shard(7, 1, 2), seed_of_shard(7, 2, 2));
    }
}
