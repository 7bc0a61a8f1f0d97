//! Reads compressed files and archives: `.gz`, `.tar`, `.tar.gz`, `.tgz`.

use std::io::{self, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::cli::files;
use crate::cli::files::input::{self, Allowance};
use crate::dump::{Source, Wanted, select};

/// Returns whether a file is an archive, by its name.
pub(super) fn is_archive(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    [".tar", ".tar.gz", ".tgz"].iter().any(|ending| name.ends_with(ending))
}

/// Returns whether a file is compressed, by its name.
pub(super) fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz")
}

/// Returns the content of a compressed file.
pub(super) fn decompress(path: &Path) -> io::Result<Vec<u8>> {
    Allowance::new().keep(MultiGzDecoder::new(BufReader::new(input::open(path)?)))
}

/// Returns the files of an archive that may contain objects of `wanted` kinds, and a line for each unreadable
/// file. Reads the archive twice, first for the names: most of a must-gather are logs, which are not kept.
///
/// # Errors
/// The archive cannot be read.
pub(super) fn read(path: &Path, wanted: Wanted<'_>) -> io::Result<(Vec<Source>, Vec<String>)> {
    let mut names = Vec::new();
    each(path, |name, _| {
        names.push(name);
        Ok(())
    })?;
    let selected = select(names, wanted);
    let (mut sources, mut problems) = (Vec::with_capacity(selected.len()), Vec::new());
    let mut allowance = Allowance::new();
    each(path, |name, file| {
        if selected.binary_search(&name).is_ok() {
            let full_name = format!("{}:{name}", path.display());
            let text = if is_compressed(Path::new(&name)) {
                allowance.keep(MultiGzDecoder::new(file)).map_err(|error| format!("{full_name}: {error}"))
            } else {
                Ok(allowance.keep(file)?)
            };
            match text.and_then(|bytes| files::text(&full_name, bytes)) {
                Ok(text) => sources.push(Source { path: full_name, text }),
                Err(problem) => problems.push(problem),
            }
        }
        Ok(())
    })?;
    sources.sort_by(|one: &Source, other| one.path.cmp(&other.path));
    Ok((sources, problems))
}

/// Visits the files of an archive, each with its name.
fn each(path: &Path, mut visit: impl FnMut(String, &mut dyn Read) -> io::Result<()>) -> io::Result<()> {
    let file = BufReader::new(input::open(path)?);
    let mut allowance = Allowance::new();
    let is_plain = path.extension().is_some_and(|extension| extension == "tar");
    let bytes: Box<dyn Read> = if is_plain { Box::new(file) } else { Box::new(MultiGzDecoder::new(file)) };
    for entry in tar::Archive::new(allowance.archive(bytes)).entries()? {
        allowance.member()?;
        let mut entry = entry?;
        if entry.header().entry_type().is_file() {
            let name = entry.path()?.to_string_lossy().trim_start_matches("./").to_owned();
            visit(name, &mut entry)?;
        }
    }
    Ok(())
}
