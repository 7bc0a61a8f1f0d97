//! Arguments for faults of an API server.

use std::path::PathBuf;

use windtunnel_core::requests::faults::RandomFaults;

/// The faults of an API server.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct FaultArgs {
    /// Give clients random faults that the Kubernetes API allows: a list of `stale`, `gap`, `slow`, `disconnect`, `410`,
    /// `duplicate`, `conflict`, `429`, `500`, `timeout` and `drop`, or `all`. Keys select the requests and the draws:
    /// `seed=7` [default: random], `rate=20%` [default: 10%], `by=CLIENT` (a user, or a user agent up to its slash),
    /// `verb=VERB`, `kind=KIND`, `name=NAME`.
    #[arg(long, value_name = "FAULTS")]
    pub(in crate::cli) perturb: Option<RandomFaults>,
    /// Write a line for each fault to FILE.
    #[arg(long, value_name = "FILE", requires = "perturb")]
    pub(in crate::cli) fault_log: Option<PathBuf>,
}

impl FaultArgs {
    /// The random faults, with the given or a random seed.
    pub(in crate::cli) fn random_faults(&self) -> Option<RandomFaults> {
        let seed = || {
            let token = windtunnel_apiserver::https::random_token();
            // Short enough to type.
            windtunnel_core::rng::fnv1a(token.as_bytes()) % 100_000
        };
        self.perturb.clone().map(|random_faults| {
            let seed = random_faults.seed.unwrap_or_else(seed);
            RandomFaults { seed: Some(seed), ..random_faults }
        })
    }
}
