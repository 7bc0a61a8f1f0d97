//! Arguments of `run` and `test`: selection, reports, and stops.

use std::path::PathBuf;

use super::numbers;

/// One part of all scenarios, for machines that share the work: `2/3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) struct Shard {
    /// The number of the part, from 1.
    index: usize,
    /// The number of parts.
    count: usize,
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl Shard {
    /// The number of the part, from 1, and the number of parts.
    pub(in crate::cli) fn numbers(self) -> (usize, usize) {
        (self.index, self.count)
    }

    /// Returns whether the part contains the scenario with this index.
    pub(in crate::cli) fn has(self, number: usize) -> bool {
        number % self.count == self.index - 1
    }
}

/// Parses `2/3`, or `1+1/3` for CI systems that count from 0.
pub(in crate::cli) fn shard(text: &str) -> Result<Shard, String> {
    let sum = |text: &str| match text.strip_suffix("+1") {
        Some(before) => before.parse::<usize>().ok()?.checked_add(1),
        None => text.parse().ok(),
    };
    let parts = text.split_once('/').and_then(|(index, count)| Some((sum(index)?, count.parse().ok()?)));
    let found = parts.map(|(index, count)| Shard { index, count });
    found
        .filter(|shard| (1..=shard.count).contains(&shard.index))
        .ok_or_else(|| "expected one part of several, such as 2/3, or 0+1/3 for the first".to_owned())
}

/// The scenarios to run.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Selection {
    /// Run only this part of the scenarios, such as `2/3`: every third, starting with the second.
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub(in crate::cli) shard: Option<Shard>,
    /// Run only scenarios whose names match this regular expression.
    #[arg(long, value_name = "REGEX", value_parser = name)]
    pub(in crate::cli) name: Option<regex::Regex>,
    /// Print the scenarios that would run, and run none.
    #[arg(long)]
    pub(in crate::cli) list: bool,
    /// Run at most N scenarios at the same time [default: the number of cores].
    #[arg(long, short, value_name = "N", value_parser = numbers::jobs)]
    pub(in crate::cli) jobs: Option<std::num::NonZeroUsize>,
    /// Start no other scenario after a failure; report the rest as skipped.
    #[arg(long)]
    pub(in crate::cli) fail_fast: bool,
    /// Run all scenarios despite failures, the default; overrides an earlier `--fail-fast`.
    #[arg(long, overrides_with = "fail_fast")]
    pub(in crate::cli) keep_going: bool,
    /// Run only scenarios with matching tags, such as `@rollback and not @slow`; ids are tags as well.
    #[cfg(feature = "gherkin")]
    #[arg(long, value_name = "EXPRESSION", value_parser = tags)]
    pub(in crate::cli) tags: Option<Tags>,
    /// Rerun a failed scenario up to N times, each time with the next seed; report a later pass as a flake.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = numbers::number::<u64>)]
    pub(in crate::cli) retry: u64,
}

/// A tag expression, and its text.
#[cfg(feature = "gherkin")]
#[derive(Debug, Clone)]
pub(in crate::cli) struct Tags {
    /// The parsed expression.
    pub(in crate::cli) wanted: crate::steps::TagOperation,
    /// The text from the command line.
    pub(in crate::cli) text: String,
}

/// Parses `@rollback and not @slow`.
#[cfg(feature = "gherkin")]
pub(in crate::cli) fn tags(text: &str) -> Result<Tags, String> {
    let wanted = text
        .parse()
        .map_err(|error| format!("expected an expression such as `@rollback and not @slow`: {error}"))?;
    Ok(Tags { wanted, text: text.to_owned() })
}

/// Parses a regular expression for names.
pub(in crate::cli) fn name(text: &str) -> Result<regex::Regex, String> {
    regex::Regex::new(text).map_err(|error| {
        let error = error.to_string();
        let reason = error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        format!("expected a regular expression such as `rollback|etcd`: {reason}")
    })
}

impl Selection {
    /// Returns whether the regular expression matches this name.
    pub(in crate::cli) fn fits_name(&self, name: &str) -> bool {
        self.name.as_ref().is_none_or(|wanted| wanted.is_match(name))
    }

    /// Returns whether the shard contains the scenario with this index.
    pub(in crate::cli) fn has(&self, number: usize) -> bool {
        self.shard.is_none_or(|shard| shard.has(number))
    }

    /// Returns whether the tag expression matches these tags and ids.
    pub(in crate::cli) fn fits(&self, tags: &[String], ids: &[String]) -> bool {
        #[cfg(feature = "gherkin")]
        return self
            .tags
            .as_ref()
            .is_none_or(|wanted| crate::steps::matches_tags(&wanted.wanted, tags.iter().chain(ids)));
        #[cfg(not(feature = "gherkin"))]
        return tags.len() + ids.len() < usize::MAX;
    }

    /// Returns the error if there is no scenario to run.
    pub(in crate::cli) fn found_nothing(&self) -> String {
        #[cfg(feature = "gherkin")]
        if let Some(tags) = &self.tags {
            return format!("--tags: no scenario matches `{}`", tags.text);
        }
        if let Some(name) = &self.name {
            return format!("--name: no scenario matches `{name}`; `--list` prints all names");
        }
        "found no scenario".to_owned()
    }
}

/// Flags to write a scenario step by step: repeat a run, or stop it to inspect the cluster.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Interactive {
    /// Rerun whenever an input file changes, until Ctrl-C.
    #[cfg(feature = "watch")]
    #[arg(long, conflicts_with_all = ["record", "until"])]
    pub(in crate::cli) watch: bool,
    /// Stop at this cluster time, such as `30m` after its start; later steps do not run.
    #[arg(long, value_name = "TIME", conflicts_with = "retry")]
    pub(in crate::cli) until: Option<String>,
    /// Serve the cluster from that moment, until Ctrl-C: `run my.yaml --until 30m --serve`. Its clock is stopped; with
    /// `--speed 60x` it continues.
    #[cfg(feature = "serve")]
    #[arg(long, requires = "until")]
    pub(in crate::cli) serve: bool,
    /// Write the kubeconfig of the served cluster to FILE.
    #[cfg(feature = "serve")]
    #[arg(long, value_name = "FILE", requires = "serve", default_value = "wind.kubeconfig")]
    pub(in crate::cli) serve_kubeconfig: PathBuf,
}

impl Interactive {
    /// Returns whether `--watch` was given.
    pub(in crate::cli) fn watches(&self) -> bool {
        #[cfg(feature = "watch")]
        return self.watch;
        #[cfg(not(feature = "watch"))]
        return false;
    }
}

/// Reports of the results.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Reports {
    /// Write results as JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) junit: Option<PathBuf>,
    /// Unit of a JUnit test case.
    #[arg(long, value_name = "UNIT", requires = "junit", value_enum, default_value_t = JunitPer::Scenario)]
    pub(in crate::cli) junit_per: JunitPer,
    /// Write the component responsible for each failed update as JUnit XML: the suite `cluster upgrade`, with the same
    /// test cases in every run.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) junit_upgrade: Option<PathBuf>,
    /// Write counts and the names of failed scenarios as YAML, in the format of `test-results.yaml`.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) test_results: Option<PathBuf>,
    /// Write results as Cucumber's JSON.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) cucumber_json: Option<PathBuf>,
    /// Append a summary in Markdown to FILE, or to the file that GITHUB_STEP_SUMMARY names.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[expect(clippy::option_option, reason = "clap distinguishes a flag without a value so")]
    pub(in crate::cli) github_summary: Option<Option<PathBuf>>,
    /// Write results with timelines as one HTML page.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) html: Option<PathBuf>,
    /// Output format of the results.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(in crate::cli) format: Format,
}

impl Reports {
    /// Returns whether a report needs the records of all scenarios, which then stay in memory until the end.
    pub(in crate::cli) fn need_records(&self) -> bool {
        self.junit_upgrade.is_some() || self.format == Format::Json
    }

    /// Returns whether a report needs the record of a scenario with this outcome.
    pub(in crate::cli) fn need_record_of(&self, failed: bool) -> bool {
        self.need_records() || failed && self.junit.is_some()
    }
}

/// The unit of a JUnit test case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cli) enum JunitPer {
    /// One test case per scenario.
    Scenario,
    /// One test case per step of a scenario.
    Step,
}

/// The output format of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cli) enum Format {
    /// Text for people.
    Text,
    /// One JSON document.
    Json,
}

/// The layout of timelines.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Layout {
    /// Width of a timeline in columns; 0 cuts no line [default: the terminal's, or 160].
    #[arg(long, value_name = "COLUMNS")]
    width: Option<usize>,
}

impl Layout {
    /// Returns the columns of a timeline.
    pub(in crate::cli) fn width(&self) -> usize {
        /// A narrower timeline is unreadable.
        const LEAST: usize = 80;
        self.width.unwrap_or_else(|| terminal().map_or(160, |columns| columns.max(LEAST)))
    }
}

/// Returns the columns of the terminal at standard output.
#[cfg(feature = "progress")]
fn terminal() -> Option<usize> {
    let stdout = console::Term::stdout();
    stdout.is_term().then(|| stdout.size_checked()).flatten().map(|(_, columns)| columns.into())
}

/// Returns `None`: without the feature `progress`, terminals are not detected.
#[cfg(not(feature = "progress"))]
fn terminal() -> Option<usize> {
    None
}
