//! The conditions under which an area runs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::clock::Deadline;
use crate::stop::Stop;

/// The conditions under which an area runs: the program, the seed, the time, and folders.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The program `windtunnel`.
    pub program: PathBuf,
    /// The seed of all draws.
    pub seed: u64,
    /// When the area ends.
    pub deadline: Deadline,
    /// Whether the user wants to stop.
    pub stop: Stop,
    /// A folder that is deleted after the run.
    pub scratch: PathBuf,
    /// A folder that keeps the evidence of findings.
    pub evidence: PathBuf,
}

impl Trial {
    /// Whether the area must end.
    pub fn is_over(&self) -> bool {
        self.stop.is_set() || self.deadline.left().is_zero()
    }

    /// A span, or less if the area ends before.
    pub(crate) fn at_most(&self, span: Duration) -> Duration {
        span.min(self.deadline.left())
    }

    /// An empty folder below the scratch folder.
    ///
    /// # Errors
    /// It cannot be created.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf, String> {
        let folder = self.scratch.join(name);
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(folder)
    }

    /// Copies a file into the folder of evidence, and returns the path of the copy.
    ///
    /// # Errors
    /// It cannot be copied.
    pub(crate) fn keep(&self, file: &Path, name: &str) -> Result<PathBuf, String> {
        let copy = self.evidence.join(name);
        let copied = std::fs::create_dir_all(&self.evidence).and_then(|()| std::fs::copy(file, &copy));
        copied.map_err(|error| format!("{}: {error}", copy.display()))?;
        Ok(copy)
    }

    /// The generator of the draws of a part of the run.
    pub(crate) fn draws(&self, part: &str) -> fastrand::Rng {
        let name = windtunnel_core::rng::fnv1a(part.as_bytes());
        fastrand::Rng::with_seed(self.seed ^ name)
    }
}
