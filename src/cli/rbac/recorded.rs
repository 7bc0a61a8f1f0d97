//! The users of a record.

use std::path::Path;

use serde_json::{Value, json};

use crate::cli::files::records;
use crate::cli::output::Shown as _;

/// Returns the users of a record, in the form of a cluster's answer.
///
/// # Errors
/// The record is unreadable or has no requests of users.
pub(super) fn users(path: &Path) -> Result<Value, String> {
    let record = records::read(path)?;
    if record.rights.is_empty() {
        let path = path.shown();
        return Err(format!(
            "{path}: the record has no requests of users: its run had no `programs`, its programs sent no request, or an \
             older windtunnel wrote it; for a cluster that you use by hand, ask `windtunnel serve` with --kubeconfig"
        ));
    }
    Ok(json!({ "users": record.rights }))
}
