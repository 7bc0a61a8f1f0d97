//! Arguments of what plays: which scenarios, what is written about them, and how to look at them.

use std::path::PathBuf;

/// A part of all scenarios, for machines that share the work: `2/3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) struct Shard {
    /// Which part, from 1.
    index: usize,
    /// How many parts there are.
    count: usize,
}

impl Shard {
    /// Whether the scenario of this number, from 0, is in it.
    pub(in crate::cli) fn has(self, number: usize) -> bool {
        number % self.count == self.index - 1
    }
}

/// Reads `2/3`, or `1+1/3` for who counts from 0 and cannot add.
fn shard(text: &str) -> Result<Shard, String> {
    let sum = |text: &str| match text.strip_suffix("+1") {
        Some(before) => before.parse::<usize>().ok()?.checked_add(1),
        None => text.parse().ok(),
    };
    let parts = text.split_once('/').and_then(|(index, count)| Some((sum(index)?, count.parse().ok()?)));
    let found = parts.map(|(index, count)| Shard { index, count });
    found
        .filter(|shard| (1..=shard.count).contains(&shard.index))
        .ok_or_else(|| "expected a part of all, such as 2/3, or 0+1/3 for the first".to_owned())
}

/// Which scenarios are played.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Selection {
    /// Play only this part of the scenarios, such as `2/3`: every third, beginning with the second.
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub(in crate::cli) shard: Option<Shard>,
    /// Begin no other scenario when one has failed; those that were not begun are told of as skipped.
    #[arg(long)]
    pub(in crate::cli) fail_fast: bool,
    /// Play only scenarios whose tags fit, such as `@rollback and not @slow`; ids of scenarios are tags as well.
    #[cfg(feature = "gherkin")]
    #[arg(long, value_name = "EXPRESSION", value_parser = tags)]
    pub(in crate::cli) tags: Option<Tags>,
    /// Play a scenario that failed again, with the next seed, up to N times. One that passes then is told of as a flake.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(in crate::cli) retry: u64,
}

/// An expression of tags, and how it was written.
#[cfg(feature = "gherkin")]
#[derive(Debug, Clone)]
pub(in crate::cli) struct Tags {
    /// The expression.
    pub(in crate::cli) wanted: crate::steps::TagOperation,
    /// Its text.
    pub(in crate::cli) text: String,
}

/// Reads `@rollback and not @slow`.
#[cfg(feature = "gherkin")]
fn tags(text: &str) -> Result<Tags, String> {
    let wanted = text
        .parse()
        .map_err(|error| format!("expected an expression such as `@rollback and not @slow`: {error}"))?;
    Ok(Tags { wanted, text: text.to_owned() })
}

impl Selection {
    /// Whether the scenario of this number, from 0, is to be played.
    pub(in crate::cli) fn has(&self, number: usize) -> bool {
        self.shard.is_none_or(|shard| shard.has(number))
    }

    /// Whether a scenario with these tags and ids is to be played.
    pub(in crate::cli) fn fits(&self, tags: &[String], ids: &[String]) -> bool {
        #[cfg(feature = "gherkin")]
        return self
            .tags
            .as_ref()
            .is_none_or(|wanted| crate::steps::matches_tags(&wanted.wanted, tags.iter().chain(ids)));
        #[cfg(not(feature = "gherkin"))]
        return tags.len() + ids.len() < usize::MAX;
    }
}

/// To stop and look, or to play again.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Look {
    /// Play again whenever a file that was read changes, until Ctrl-C.
    #[cfg(feature = "watch")]
    #[arg(long, conflicts_with_all = ["record", "until"])]
    pub(in crate::cli) watch: bool,
    /// Stop at this time of the cluster, counted from its start, such as `30m`; steps after it are not played.
    #[arg(long, value_name = "TIME", conflicts_with_all = ["check_determinism", "retry"])]
    pub(in crate::cli) until: Option<String>,
    /// Serve the cluster as it is then, standing still, until Ctrl-C: `run my.yaml --until 30m --serve`.
    #[cfg(feature = "serve")]
    #[arg(long, requires = "until")]
    pub(in crate::cli) serve: bool,
    /// Write a kubeconfig for it to FILE.
    #[cfg(feature = "serve")]
    #[arg(long, value_name = "FILE", requires = "serve", default_value = "wind.kubeconfig")]
    pub(in crate::cli) serve_kubeconfig: PathBuf,
}

impl Look {
    /// Whether it is played until somebody ends it.
    pub(in crate::cli) fn watches(&self) -> bool {
        #[cfg(feature = "watch")]
        return self.watch;
        #[cfg(not(feature = "watch"))]
        return false;
    }
}

/// What is written about the results.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Reports {
    /// Write results as JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) junit: Option<PathBuf>,
    /// What a test case of JUnit is.
    #[arg(long, value_name = "WHAT", requires = "junit", value_enum, default_value_t = JunitPer::Scenario)]
    pub(in crate::cli) junit_per: JunitPer,
    /// Write who is to blame for failed updates as JUnit XML: the suite `cluster upgrade`, with the same test cases in every
    /// run.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) junit_upgrade: Option<PathBuf>,
    /// Write the counts and the names of failing scenarios as YAML, as a `test-results.yaml` has them.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) test_results: Option<PathBuf>,
    /// Write the results with their timelines as one HTML page.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) html: Option<PathBuf>,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(in crate::cli) format: Format,
}

impl Reports {
    /// Whether a report tells of whole records, so that these are kept until the end.
    pub(in crate::cli) fn are_of_records(&self) -> bool {
        self.html.is_some() || self.junit_upgrade.is_some() || self.format == Format::Json
    }
}

/// What a test case of JUnit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cli) enum JunitPer {
    /// A scenario.
    Scenario,
    /// A step of a scenario.
    Step,
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cli) enum Format {
    /// For people.
    Text,
    /// For machines: one document.
    Json,
}

/// How timelines are laid out.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Layout {
    /// Columns of a timeline; 0: no line is cut [default: the terminal's, or 160].
    #[arg(long, value_name = "COLUMNS")]
    width: Option<usize>,
}

impl Layout {
    /// How many columns a timeline has.
    pub(in crate::cli) fn width(&self) -> usize {
        /// Narrower than this a timeline says nothing.
        const LEAST: usize = 80;
        self.width.unwrap_or_else(|| terminal().map_or(160, |columns| columns.max(LEAST)))
    }
}

/// The columns of the terminal that is printed to.
#[cfg(feature = "progress")]
fn terminal() -> Option<usize> {
    let stdout = console::Term::stdout();
    stdout.is_term().then(|| stdout.size_checked()).flatten().map(|(_, columns)| columns.into())
}

/// Nothing is known of terminals.
#[cfg(not(feature = "progress"))]
fn terminal() -> Option<usize> {
    None
}
