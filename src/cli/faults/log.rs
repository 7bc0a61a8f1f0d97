//! The log of faults: a line for each thing that a fault did to a client.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use windtunnel_apiserver::service::Shared;
use windtunnel_core::requests::faults::RandomFaults;

use crate::cli::{files, print_notice};

/// The most incidents that the server keeps between two looks.
const KEPT: usize = 100_000;
/// The time between two looks.
const INTERVAL: Duration = Duration::from_millis(200);

/// The log, in a file or on standard error.
pub(in crate::cli) struct FaultLog {
    shared: Shared,
    file: Option<File>,
}

impl FaultLog {
    /// Gives clients of a server random faults, and opens the log.
    ///
    /// # Errors
    /// The file cannot be created.
    pub(in crate::cli) fn begin(
        shared: &Shared,
        random_faults: RandomFaults,
        file: Option<&Path>,
    ) -> Result<Self, String> {
        let file = file.map(files::create_log).transpose()?;
        shared.with(|server| {
            server.keep_incidents(KEPT);
            server.perturb(random_faults);
        });
        Ok(Self { shared: shared.clone(), file })
    }

    /// Writes new lines until it is dropped.
    pub(in crate::cli) async fn follow(mut self) {
        loop {
            tokio::time::sleep(INTERVAL).await;
            self.write();
        }
    }

    /// Writes the lines of all faults since the last call.
    fn write(&mut self) {
        for incident in self.shared.with(windtunnel_apiserver::ApiServer::take_incidents) {
            match &mut self.file {
                // A full disk must not end the server.
                Some(file) => drop(writeln!(file, "{incident}")),
                None => print_notice(&incident.to_string()),
            }
        }
    }
}

impl Drop for FaultLog {
    fn drop(&mut self) {
        self.write();
    }
}
