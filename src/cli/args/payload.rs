//! The argument of `--payload`.

use std::path::PathBuf;

use semver::Version;

/// Parses `VERSION=DIR`.
///
/// # Errors
/// The expected syntax.
pub(in crate::cli) fn parse(text: &str) -> Result<(Version, PathBuf), String> {
    let (version, folder) = text.split_once('=').ok_or("expected VERSION=DIR, such as 4.18.9=payload")?;
    let version = Version::parse(version)
        .map_err(|_| format!("expected a version such as 4.14.8 before `=`, found `{version}`"))?;
    if folder.is_empty() {
        return Err("expected a folder after `=`".to_owned());
    }
    Ok((version, PathBuf::from(folder)))
}
