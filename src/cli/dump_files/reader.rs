//! Reads the files of a dump, those in archives included, and counts each of them.

use std::borrow::Cow;
use std::io::{self, Cursor, Read, Seek};

use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;
use windtunnel_core::text::one_line;

use super::packed::{self, DEPTH, Packed, START};
use crate::cli::files;
use crate::cli::files::input::{self, Allowance, is_limit};
use crate::dump::{Class, Gathering, Look, Parsed, Source, Wanted, look};

/// Reads files one after the other, and adds them in order of their names.
pub(super) struct Reader<'g, 'w> {
    wanted: Wanted<'w>,
    gathering: &'g mut Gathering<'w>,
    allowance: Allowance,
    parsed: Vec<Parsed>,
    /// The names of files that macOS added.
    added_by_macos: Vec<String>,
    /// The number of files of YAML and JSON.
    count: usize,
}

/// A file, or a member of an archive.
pub(super) struct Member<'m> {
    /// Its path in messages.
    pub(super) path: String,
    /// Its path in the dump or in the innermost archive, without endings of compression.
    pub(super) within: String,
    /// About how many bytes it has; 0 if that is not known.
    pub(super) size: u64,
    pub(super) content: &'m mut dyn Read,
}

/// The reason why reading ends, without the path of the file.
#[derive(Debug)]
pub(super) enum Failure {
    /// A limit is exceeded; the message has the path.
    Limit(String),
    /// The file or the archive is damaged.
    Damaged(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Damaged(error)
    }
}

impl<'g, 'w> Reader<'g, 'w> {
    pub(super) fn new(wanted: Wanted<'w>, gathering: &'g mut Gathering<'w>) -> Self {
        let (parsed, added_by_macos) = (Vec::new(), Vec::new());
        Self { wanted, gathering, allowance: Allowance::new(), parsed, added_by_macos, count: 0 }
    }

    /// Adds the parsed files. Returns the number of files of YAML and JSON, and the names of those that macOS added.
    pub(super) fn finish(mut self) -> (usize, Vec<String>) {
        self.add_parsed();
        (self.count, self.added_by_macos)
    }

    /// Returns whether there are parsed files that are not added yet.
    pub(super) fn has_parsed(&self) -> bool {
        !self.parsed.is_empty()
    }

    /// Starts the limits anew: they are for one file with everything that is packed in it.
    pub(super) fn start_limits(&mut self) {
        self.allowance = Allowance::new();
    }

    /// Adds the parsed files in order of their names.
    pub(super) fn add_parsed(&mut self) {
        self.parsed.sort_by(|one, other| one.path.cmp(&other.path));
        for file in self.parsed.drain(..) {
            self.gathering.add(file);
        }
    }

    /// Counts a file that cannot be read.
    pub(super) fn count_unread(&mut self, path: &str, problem: String) {
        self.count += 1;
        self.gathering.count_unread(path, problem);
    }

    /// Counts a link that is not followed.
    pub(super) fn count_link(&mut self, path: &str) {
        let why = "a link to a folder, to a missing file or out of the dump, which is not followed";
        self.gathering.count(path, Class::NotUnderstood, why);
    }

    /// Counts a file without an object.
    fn count_without_object(&mut self, path: &str, why: &str) {
        self.gathering.count(path, Class::NoObject, why);
    }

    /// Reads a file, and everything that is packed in it.
    ///
    /// # Errors
    /// A limit, or a damaged file.
    pub(super) fn read(&mut self, file: Member<'_>, depth: usize) -> Result<(), Failure> {
        let start = packed::start_of(file.content)?;
        let Some(form) = Packed::of(&file.within, &start) else { return self.read_plain(file, start) };
        if depth == DEPTH {
            let why =
                format!("{}: expected at most {DEPTH} compressions and archives in each other", file.path);
            self.count_unread(&file.path, why);
            return Ok(());
        }
        let Member { path, within, size, content } = file;
        let mut content = Cursor::new(start).chain(content);
        match form {
            Packed::Gzip => {
                let mut content = MultiGzDecoder::new(io::BufReader::new(content));
                let within = packed::unpacked_name(&within);
                self.read(Member { path, within, size: 0, content: &mut content }, depth + 1)
            }
            Packed::Xz => {
                let mut content = XzReader::new_mem_limit(content, true, XZ_MEMORY);
                let within = packed::unpacked_name(&within);
                self.read(Member { path, within, size: 0, content: &mut content }, depth + 1)
            }
            Packed::Tar => self.read_tar(&path, &mut content, depth),
            Packed::Zip => {
                let bytes = self.allowance.keep(content, size)?;
                self.read_zip(&path, Cursor::new(bytes), depth)
            }
            Packed::Unknown(name) => {
                let why = format!("{path}: compressed with {name}; expected tar, gzip, xz or zip");
                self.count_unread(&path, why);
                Ok(())
            }
        }
    }

    /// Reads the members of a tar archive.
    fn read_tar(&mut self, archive: &str, content: &mut dyn Read, depth: usize) -> Result<(), Failure> {
        let bounded = self.allowance.archive(content);
        for entry in tar::Archive::new(bounded).entries()? {
            self.allowance.member()?;
            let mut entry = entry?;
            if !entry.header().entry_type().is_file() {
                continue;
            }
            let within = entry.path()?.to_string_lossy().trim_start_matches("./").to_owned();
            let (path, size) = (member_path(archive, &within), entry.size());
            self.read_member(archive, Member { path, within, size, content: &mut entry }, depth, false)?;
        }
        Ok(())
    }

    /// Reads the members of a zip archive.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(super) fn read_zip(
        &mut self,
        archive: &str,
        content: impl Read + Seek,
        depth: usize,
    ) -> Result<(), Failure> {
        let mut members = zip::ZipArchive::new(content).map_err(io::Error::from)?;
        for index in 0..members.len() {
            self.allowance.member()?;
            let name = members.name_for_index(index).map(|name| name.map(Cow::into_owned));
            let mut member = match members.by_index(index) {
                Ok(member) => member,
                Err(error) => {
                    let name = name.and_then(Result::ok).unwrap_or_else(|| format!("member {index}"));
                    let path = member_path(archive, &name);
                    self.count_unread(&path, format!("{path}: {error}"));
                    continue;
                }
            };
            if !member.is_file() {
                continue;
            }
            let name = member.name().map_err(io::Error::from)?;
            let within = name.replace('\\', "/").trim_start_matches("./").to_owned();
            let (path, size) = (member_path(archive, &within), member.size());
            let mut content = self.allowance.archive(&mut member);
            let member = Member { path, within, size, content: &mut content };
            self.read_member(archive, member, depth, true)?;
        }
        Ok(())
    }

    /// Reads a member of an archive. If it is packed itself and damaged, it alone is not understood; also if the members are
    /// independent of each other.
    fn read_member(
        &mut self,
        archive: &str,
        member: Member<'_>,
        depth: usize,
        is_independent: bool,
    ) -> Result<(), Failure> {
        let mut content = Watched { content: member.content, failed: false };
        let (path, within) = (member.path.clone(), member.within.clone());
        let watched =
            Member { path: member.path, within: member.within, size: member.size, content: &mut content };
        match self.read(watched, depth + 1) {
            Err(Failure::Damaged(error)) if is_limit(&error) => {
                Err(Failure::Limit(format!("{archive}: {}: {error}", one_line(&within))))
            }
            // The archive itself is damaged.
            Err(Failure::Damaged(error)) if content.failed && !is_independent => Err(Failure::Damaged(error)),
            Err(Failure::Damaged(error)) => {
                self.count_unread(&path, format!("{path}: {error}"));
                Ok(())
            }
            read => read,
        }
    }

    /// Reads a file that is not packed, if it may hold objects.
    fn read_plain(&mut self, file: Member<'_>, start: Vec<u8>) -> Result<(), Failure> {
        let Member { path, within, size, content } = file;
        match look(&within, &start, self.wanted) {
            Look::NoObject(why) => {
                if why == MACOS {
                    self.added_by_macos.push(within);
                }
                self.count_without_object(&path, why);
                return Ok(());
            }
            Look::Unwanted => return Ok(()),
            Look::Read => {}
        }
        let bytes = if start.len() < START {
            self.allowance.keep(Cursor::new(start), size)?
        } else {
            self.allowance.keep(Cursor::new(start).chain(content), size)?
        };
        if (bytes.len() as u64) < size {
            let why = format!("expected {size} bytes, found {}", bytes.len());
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why).into());
        }
        match text(&path, bytes) {
            Ok(text) => {
                self.count += 1;
                let source = Source { path, text };
                let parsed = self.gathering.parse(source, &within);
                self.parsed.push(parsed.map_err(|limit| Failure::Limit(input::with_advice(&limit)))?);
            }
            Err(problem) => self.count_unread(&path, problem),
        }
        Ok(())
    }
}

/// The most memory for the dictionary of a file compressed with xz, in KiB: four times what `xz -9` needs.
const XZ_MEMORY: u32 = 256 << 10;

/// The reason of [`Look::NoObject`] for files that macOS added.
const MACOS: &str = "macOS added it";

/// Returns the path of a member of an archive in messages.
fn member_path(archive: &str, name: &str) -> String {
    format!("{archive}:{}", one_line(name))
}

/// Decodes UTF-8, and UTF-16 as PowerShell writes it, with or without the mark at the start.
fn text(path: &str, mut bytes: Vec<u8>) -> Result<String, String> {
    let units: Option<fn([u8; 2]) -> u16> = match bytes.get(..2) {
        Some([0xff, 0xfe]) => Some(u16::from_le_bytes),
        Some([0xfe, 0xff]) => Some(u16::from_be_bytes),
        _ => None,
    };
    if let Some(unit) = units {
        let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        return String::from_utf16(&units)
            .map_err(|error| format!("{path}:1:1: expected text in UTF-16: {error}"));
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    files::text(path, bytes)
}

/// A reader that remembers whether it failed, to tell a damaged archive from a damaged member.
struct Watched<'c> {
    content: &'c mut dyn Read,
    failed: bool,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.content.read(buffer).inspect_err(|_| self.failed = true)
    }
}
