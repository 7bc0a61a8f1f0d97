//! The TLS certificate of the endpoint for deliveries, which may be renewed while it runs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;
use windtunnel_apiserver::https::ServerCertificate;

use crate::cli::files;
use crate::cli::output::Shown as _;
use crate::cli::print_notice;

/// How often the files are read again.
const PERIOD: Duration = Duration::from_secs(60);

/// The pause between two attempts to read files that are missing.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// The files of a certificate, and their content.
pub(super) struct CertificateFiles {
    chain: PathBuf,
    key: PathBuf,
    current: ServerCertificate,
    read_at: Instant,
}

impl CertificateFiles {
    /// Reads the files.
    ///
    /// # Errors
    /// A file cannot be read, or they are no certificate and its key.
    pub(super) fn read(chain: PathBuf, key: PathBuf) -> Result<Self, String> {
        let current = load(&chain, &key)?;
        Ok(Self { chain, key, current, read_at: Instant::now() })
    }

    /// Waits until the files can be read.
    pub(super) async fn wait(chain: &Path, key: &Path) -> Self {
        loop {
            tokio::time::sleep(RETRY_DELAY).await;
            match Self::read(chain.to_owned(), key.to_owned()) {
                Ok(read) => return read,
                Err(why) if chain.exists() && key.exists() => print_notice(&why),
                Err(_) => {}
            }
        }
    }

    /// Returns the certificate, read again if that was long ago. If it is broken, the old one stays.
    pub(super) fn current(&mut self) -> ServerCertificate {
        if self.read_at.elapsed() > PERIOD {
            self.read_at = Instant::now();
            match load(&self.chain, &self.key) {
                Ok(read) => self.current = read,
                Err(why) => print_notice(&format!("the old certificate stays in use: {why}")),
            }
        }
        self.current.clone()
    }
}

fn load(chain: &Path, key: &Path) -> Result<ServerCertificate, String> {
    let read = ServerCertificate { chain_pem: files::read(chain)?, key_pem: files::read(key)? };
    let checked = read.acceptor();
    checked.map_err(|error| format!("{} and {}: {error}", chain.shown(), key.shown()))?;
    Ok(read)
}
