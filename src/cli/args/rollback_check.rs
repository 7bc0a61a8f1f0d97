//! Arguments of `windtunnel rollback-check`.

use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use windtunnel_core::text::did_you_mean;
use windtunnel_rollback::check::MINORS;
use windtunnel_rollback::trap::Harm;

/// `windtunnel rollback-check`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  windtunnel rollback-check --from 4.14.1 --to 4.13.20
  windtunnel rollback-check --from crds/4.20 --to crds/4.19 --kubernetes all --format markdown
  windtunnel rollback-check --series crds --format markdown
  windtunnel rollback-check --from payload-new --to payload-old --objects must-gather --baseline traps.json --level status

Exit codes: 0 no trap at or above --level, 1 at least one, 2 wrong usage or unreadable input.")]
pub(in crate::cli) struct RollbackCheckArgs {
    /// Takes releases without `--from` and `--to`, to explain that they need these.
    #[arg(hide = true, value_parser = without_flag)]
    pub(in crate::cli) _releases: Vec<String>,
    /// Newer release: a version such as 4.14.1, the folder of a payload (`oc adm release extract`), or
    /// CustomResourceDefinitions: a folder or a file.
    #[arg(long, value_name = "NEWER", required_unless_present = "series")]
    pub(in crate::cli) from: Option<PathBuf>,
    /// Older release, to which the cluster rolls back; as for --from.
    #[arg(long, value_name = "OLDER", required_unless_present = "series")]
    pub(in crate::cli) to: Option<PathBuf>,
    /// Folder with a folder per release, named by its version: check each release against the one before it.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["from", "to"])]
    pub(in crate::cli) series: Option<PathBuf>,
    /// Minor of Kubernetes that judges, such as 1.27; `all` adds a column for each [default: that of the older release].
    #[arg(long, value_name = "MINOR|all", value_parser = judges)]
    pub(in crate::cli) kubernetes: Option<Judges>,
    /// Judge as upstream Kubernetes 1.31 and 1.32 do, without OpenShift's backport of ratcheting for status updates.
    #[arg(long)]
    pub(in crate::cli) upstream: bool,
    /// Feature set of the definitions, such as TechPreviewNoUpgrade [default: the default set].
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true, value_parser = feature_set)]
    pub(in crate::cli) feature_set: String,
    /// Check only definitions whose names contain this text.
    #[arg(long, value_name = "CRD")]
    pub(in crate::cli) only: Option<String>,
    /// Least harm to list, and to fail for: definition, status, edits, lost, again or note.
    #[arg(long, value_name = "LEVEL", default_value = "again")]
    pub(in crate::cli) level: Harm,
    /// Check the way forward as well: objects of the older release that the newer one rejects or changes.
    #[arg(long)]
    pub(in crate::cli) both: bool,
    /// Fail only for traps that are not in this report of an earlier check (`--format json`).
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) baseline: Option<PathBuf>,
    /// Dump of a cluster (as for `serve --from`) or a record: traps that its objects meet come first.
    #[arg(long, value_name = "DUMP")]
    pub(in crate::cli) objects: Option<PathBuf>,
    /// Write a scenario for each trap into this folder, which fails as long as the trap is there.
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) emit: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = ReportFormat::Table)]
    pub(in crate::cli) format: ReportFormat,
    /// Seed of all random choices.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(in crate::cli) seed: u64,
    /// Number of random objects of each kind that are tried besides.
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub(in crate::cli) random_objects: usize,
    /// Check at most N definitions at the same time [default: the number of cores].
    #[arg(long, short, value_name = "N")]
    pub(in crate::cli) jobs: Option<NonZeroUsize>,
}

/// The minors that judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Judges {
    /// This minor.
    Minor(u32),
    /// The older release's, and a column for each minor.
    All,
}

/// The output format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cli) enum ReportFormat {
    /// Table for people.
    Table,
    /// JSON document with all traps, notes, witnesses and requests.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Markdown page.
    Markdown,
    /// HTML page without other files.
    Html,
}

fn without_flag(text: &str) -> Result<String, String> {
    Err(format!(
        "expected the newer release as `--from` and the older one as `--to`, such as `--from 4.14.1 --to 4.13.20`, not `{text}`"
    ))
}

fn judges(text: &str) -> Result<Judges, String> {
    if text == "all" {
        return Ok(Judges::All);
    }
    let minors: RangeInclusive<u32> = MINORS;
    let minor = text.strip_prefix("1.").unwrap_or(text).parse().ok().filter(|minor| minors.contains(minor));
    minor.map(Judges::Minor).ok_or_else(|| {
        format!("expected `all` or a minor from 1.{} to 1.{}, such as 1.27", minors.start(), minors.end())
    })
}

/// The feature sets of OpenShift; the default set has an empty name.
const FEATURE_SETS: [&str; 5] =
    ["Default", "TechPreviewNoUpgrade", "DevPreviewNoUpgrade", "CustomNoUpgrade", "OKD"];

fn feature_set(name: &str) -> Result<String, String> {
    match name {
        "" | "Default" => Ok(String::new()),
        name if FEATURE_SETS.contains(&name) => Ok(name.to_owned()),
        name => {
            Err(format!("expected one of {}{}", FEATURE_SETS.join(", "), did_you_mean(name, FEATURE_SETS)))
        }
    }
}
