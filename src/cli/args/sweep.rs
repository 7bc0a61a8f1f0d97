//! Arguments of `windtunnel sweep`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use jiff::SignedDuration;
use semver::Version;
use windtunnel_core::text::parse_duration;

use super::{numbers, payload};
use crate::engine::sweep::Moments;

/// `windtunnel sweep`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  windtunnel sweep scenarios/rollback/enum-trap.yaml
  windtunnel sweep my-update.yaml --rollback-at \"every 5m\" --svg sweep.svg
  windtunnel sweep my-update.yaml --rollback-at each-operator --abort 4.14.9
  windtunnel sweep my-update.yaml --rollback-at 10m,1h --kill cluster-version-operator
  windtunnel sweep my-update.yaml --rollback-at each-operator --restored

Exit codes: 0 the cluster arrives from every moment (with --restored: and is what it was); 1 it does
not from some moment, or the scenario itself fails; 2 wrong usage or unreadable input.")]
pub(in crate::cli) struct SweepArgs {
    /// Scenario with an update; its expectations hold for the update that is not taken back.
    pub(in crate::cli) scenario: PathBuf,
    /// Moments at which a copy of the cluster is asked to go back: `every-write`, `each-operator` (whenever one
    /// reports another version), `every 5m`, or times since the start, such as `10m,1h30m`.
    #[arg(long, value_name = "MOMENTS", default_value = "every-write", value_parser = moments)]
    pub(in crate::cli) rollback_at: Moments,
    /// Ask each copy to go to this third release instead of back; the scenario must know the release.
    #[arg(long, value_name = "VERSION", value_parser = super::version::version, conflicts_with = "kill")]
    pub(in crate::cli) abort: Option<Version>,
    /// Kill this component in each copy, and let the update continue.
    #[arg(long, value_name = "COMPONENT")]
    pub(in crate::cli) kill: Option<String>,
    /// Cluster time that each copy has to arrive.
    #[arg(long, value_name = "DURATION", default_value = "6h", value_parser = duration)]
    pub(in crate::cli) within: SignedDuration,
    /// Report a copy that goes back and is not what the cluster was before the update as `left over`.
    #[arg(long, conflicts_with_all = ["abort", "kill"])]
    pub(in crate::cli) restored: bool,
    /// Seed of every random draw.
    #[arg(long, default_value_t = 1, value_parser = numbers::number::<u64>)]
    pub(in crate::cli) seed: u64,
    /// Number of copies that run at a time [default: the number of cores].
    #[arg(long, short, value_name = "N", value_parser = numbers::jobs)]
    pub(in crate::cli) jobs: Option<NonZeroUsize>,
    /// Write the picture of the update, with a colour for each moment, as SVG.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) svg: Option<PathBuf>,
    /// Write a scenario for the first moment of each part of the table into this folder. It expects that the cluster
    /// arrives.
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) emit: Option<PathBuf>,
    /// Read the payload of a release from a folder, as for `windtunnel run`.
    #[arg(long, value_name = "VERSION=DIR", value_parser = payload::parse)]
    pub(in crate::cli) payload: Vec<(Version, PathBuf)>,
    /// Print the result, with every moment, as one JSON document.
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

fn duration(text: &str) -> Result<SignedDuration, String> {
    let span = parse_duration(text).filter(|span| *span > SignedDuration::ZERO);
    span.ok_or_else(|| format!("expected a duration such as `6h` or `90m`, not `{text}`"))
}

fn moments(text: &str) -> Result<Moments, String> {
    match text {
        "every-write" => Ok(Moments::EveryWrite),
        "each-operator" => Ok(Moments::EachOperator),
        _ => match text.strip_prefix("every ") {
            Some(span) => duration(span).map(Moments::Every),
            None => times(text),
        },
    }
}

fn times(text: &str) -> Result<Moments, String> {
    let times = text.split(',').map(|time| parse_duration(time.trim())).collect::<Option<Vec<_>>>();
    let times = times.map(|mut times| {
        times.sort_unstable();
        times.dedup();
        Moments::At(times)
    });
    times.ok_or_else(|| {
        format!(
            "expected `every-write`, `each-operator`, `every 5m`, or times such as `10m,1h`, not `{text}`"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_words_distances_or_times() {
        assert_eq!(moments("every-write"), Ok(Moments::EveryWrite));
        assert_eq!(moments("each-operator"), Ok(Moments::EachOperator));
        assert_eq!(moments("every 5m"), Ok(Moments::Every(SignedDuration::from_mins(5))));
        let times = [SignedDuration::from_mins(10), SignedDuration::from_hours(1)];
        assert_eq!(moments("1h, 10m,1h"), Ok(Moments::At(times.to_vec())));
        for wrong in ["", "every", "every 0s", "each operator", "10m,soon", "-5m"] {
            assert!(moments(wrong).is_err(), "{wrong}");
        }
    }
}
