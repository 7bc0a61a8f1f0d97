//! Reads compressed files and archives: `.gz`, `.tar`, `.tar.gz`, `.tgz`.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _, SeekFrom};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use windtunnel_core::text::one_line;

use crate::cli::files;
use crate::cli::files::input::{self, Allowance};
use crate::cli::output::Shown as _;
use crate::dump::{Gathering, Parsed, Source, Wanted};

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
    let mut file = input::open(path)?;
    let size = unpacked_size(&mut file)?;
    Allowance::new().keep(MultiGzDecoder::new(BufReader::new(file)), size)
}

/// Returns the size at the end of a compressed file: modulo 4 GiB, of its last part, and possibly a lie.
fn unpacked_size(file: &mut File) -> io::Result<u64> {
    let mut size = [0; 4];
    if file.metadata()?.len() >= size.len() as u64 {
        file.seek(SeekFrom::End(-4))?;
        file.read_exact(&mut size)?;
        file.rewind()?;
    }
    Ok(u64::from(u32::from_le_bytes(size)))
}

/// Adds the files of an archive that may contain objects of wanted kinds. Returns the number of these files, and a line for each
/// unreadable one. Reads the archive twice, first for the names: most of a must-gather are logs, which are not kept.
///
/// # Errors
/// The archive cannot be read.
pub(super) fn read(
    path: &Path,
    wanted: Wanted<'_>,
    gathering: &mut Gathering<'_>,
) -> Result<(usize, Vec<String>), String> {
    let failed = |error: io::Error| format!("{}: {error}", path.shown());
    let mut names = Vec::new();
    each(path, |name, _, _| {
        names.push(name);
        Ok(())
    })
    .map_err(failed)?;
    let selected = super::select_readable(path, names, wanted);
    let (mut parsed, mut problems, mut exceeded) = (Vec::new(), Vec::new(), None);
    let mut allowance = Allowance::new();
    let read = each(path, |name, size, file| {
        if selected.binary_search(&name).is_err() {
            return Ok(());
        }
        let full_name = format!("{}:{}", path.shown(), one_line(&name));
        let text = if is_compressed(Path::new(&name)) {
            allowance.keep(MultiGzDecoder::new(file), 0).map_err(|error| format!("{full_name}: {error}"))
        } else {
            Ok(allowance
                .keep(file, size)
                .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", one_line(&name))))?)
        };
        match text.and_then(|bytes| files::text(&full_name, bytes)) {
            Ok(text) => match gathering.parse(Source { path: full_name, text }) {
                Ok(file) => parsed.push(file),
                Err(limit) => {
                    exceeded = Some(limit);
                    return Err(io::ErrorKind::Other.into());
                }
            },
            Err(problem) => problems.push(problem),
        }
        Ok(())
    });
    if let Some(limit) = exceeded {
        return Err(input::with_advice(&limit));
    }
    read.map_err(failed)?;
    let count = parsed.len();
    parsed.sort_by(|one: &Parsed, other| one.path.cmp(&other.path));
    for file in parsed {
        gathering.add(file);
    }
    Ok((count, problems))
}

/// Visits the files of an archive, each with its name and its size.
fn each(path: &Path, mut visit: impl FnMut(String, u64, &mut dyn Read) -> io::Result<()>) -> io::Result<()> {
    let file = BufReader::new(input::open(path)?);
    let mut allowance = Allowance::new();
    let is_plain = path.extension().is_some_and(|extension| extension == "tar");
    let bytes: Box<dyn Read> = if is_plain { Box::new(file) } else { Box::new(MultiGzDecoder::new(file)) };
    for entry in tar::Archive::new(allowance.archive(bytes)).entries()? {
        allowance.member()?;
        let mut entry = entry?;
        if entry.header().entry_type().is_file() {
            let name = entry.path()?.to_string_lossy().trim_start_matches("./").to_owned();
            let size = entry.size();
            visit(name, size, &mut entry)?;
        }
    }
    Ok(())
}
