//! Arguments of `windtunnel mutate`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use regex::Regex;
use semver::Version;

use super::run_options::{Shard, name, shard};
#[cfg(feature = "gherkin")]
use super::run_options::{Tags, tags};
use super::{numbers, payload};

/// `windtunnel mutate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  windtunnel mutate scenarios/nodes/drain-blocked.yaml --list
  windtunnel mutate scenarios/nodes features --mutants 6 --jobs 2
  windtunnel mutate my.feature --component machine-config-daemon --strict

Exit codes: 0 every scenario kills a mutant (--strict: and a mutant breaks every expectation); 1 a scenario
kills none, fails without mutants, or (--strict) has an expectation that no mutant breaks; 2 wrong usage or
unreadable input.")]
pub(in crate::cli) struct MutateArgs {
    /// Scenario and feature files, or folders to search for `*.yaml` and `*.feature`.
    #[arg(required = true)]
    pub(in crate::cli) paths: Vec<PathBuf>,
    /// Seed of every random draw, and of the sample of mutants.
    #[arg(long, default_value_t = 1, value_parser = numbers::number::<u64>)]
    pub(in crate::cli) seed: u64,
    /// Number of mutants per scenario, a sample of all [default: all].
    #[arg(long, value_name = "N", value_parser = numbers::count)]
    pub(in crate::cli) mutants: Option<u32>,
    /// Break only this component, such as `cluster-version-operator`, `operator`, `kubelet`, or
    /// `update-status-controller`; repeat the flag for more.
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) component: Vec<String>,
    /// List the mutants and run none.
    #[arg(long)]
    pub(in crate::cli) list: bool,
    /// Run to the end after a failed expectation, and fail if there is an expectation that no mutant breaks.
    #[arg(long)]
    pub(in crate::cli) strict: bool,
    /// Run only scenarios with matching tags, such as `@rollback and not @slow`; ids are tags as well.
    #[cfg(feature = "gherkin")]
    #[arg(long, value_name = "EXPRESSION", value_parser = tags)]
    pub(in crate::cli) tags: Option<Tags>,
    /// Run only scenarios whose names match.
    #[arg(long, value_name = "REGEX", value_parser = name)]
    pub(in crate::cli) name: Option<Regex>,
    /// Run only this part of the scenarios, such as `2/3`: every third, starting with the second.
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub(in crate::cli) shard: Option<Shard>,
    /// Number of mutants that run at a time [default: the number of cores].
    #[arg(long, short, value_name = "N", value_parser = numbers::jobs)]
    pub(in crate::cli) jobs: Option<NonZeroUsize>,
    /// Read the payload of a release from a folder, as for `windtunnel run`.
    #[arg(long, value_name = "VERSION=DIR", value_parser = payload::parse)]
    pub(in crate::cli) payload: Vec<(Version, PathBuf)>,
    /// Print the report as one JSON document.
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

impl MutateArgs {
    /// Returns whether the tag expression and the pattern of names match.
    pub(in crate::cli) fn fits(&self, name: &str, tags: &[String], ids: &[String]) -> bool {
        #[cfg(feature = "gherkin")]
        let has_tags = self
            .tags
            .as_ref()
            .is_none_or(|wanted| crate::steps::matches_tags(&wanted.wanted, tags.iter().chain(ids)));
        #[cfg(not(feature = "gherkin"))]
        let has_tags = tags.len() + ids.len() < usize::MAX;
        has_tags && self.name.as_ref().is_none_or(|wanted| wanted.is_match(name))
    }
}
