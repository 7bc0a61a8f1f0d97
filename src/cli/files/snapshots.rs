//! Files next to scenarios and features with expected statuses.

use std::path::Path;

use crate::plan::Snapshot;

/// Returns the file `name`, relative to `file`, to compare with.
///
/// # Errors
/// As [`to_write`], or the file cannot be read.
pub(in crate::cli) fn read(file: &str, name: &str) -> Result<Snapshot, String> {
    let snapshot = to_write(file, name)?;
    let text =
        super::read(Path::new(&snapshot.path)).map_err(|error| format!("{error}; `--update` writes it"))?;
    Ok(Snapshot { text: Some(text), ..snapshot })
}

/// Returns the file `name`, relative to `file`, to write.
///
/// # Errors
/// The path is a folder, or leads out of the folders that the file may use.
pub(in crate::cli) fn to_write(file: &str, name: &str) -> Result<Snapshot, String> {
    let path = super::allowed::named(file, name)?;
    let path_text = path.display().to_string();
    if path.is_dir() {
        return Err(format!("{path_text}: expected a file, found a folder"));
    }
    Ok(Snapshot { path: path_text, text: None })
}

/// Writes texts to their files.
///
/// # Errors
/// All files that cannot be written.
pub(in crate::cli) fn write<'a>(snapshots: impl IntoIterator<Item = &'a Snapshot>) -> Result<(), String> {
    let written = snapshots.into_iter().filter_map(|Snapshot { path, text }| {
        let text = text.as_deref()?;
        let path = Path::new(path);
        let folder = path.parent().unwrap_or(Path::new(""));
        super::create_folder(folder).and_then(|()| super::overwrite(path, text)).err()
    });
    let errors: Vec<String> = written.collect();
    if errors.is_empty() { Ok(()) } else { Err(errors.join("\n")) }
}
