//! Recognizes compressed files and archives by their first bytes: tar, gzip, xz and zip, also in each other.

use std::io::{self, Read};

/// The length of a file's start by which it is recognized: the first block of a tar archive.
pub(super) const START: usize = 512;

/// The largest number of compressions and archives in each other.
pub(super) const DEPTH: usize = 8;

/// A form in which files are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packed {
    Gzip,
    Xz,
    Tar,
    Zip,
    /// A form that cannot be unpacked, by its name.
    Unknown(&'static str),
}

impl Packed {
    /// Recognizes a file by its start, and an old or empty tar archive by its name.
    pub(super) fn of(name: &str, start: &[u8]) -> Option<Self> {
        let starts = |magic: &[u8]| start.starts_with(magic);
        match () {
            () if starts(b"\x1f\x8b") => Some(Self::Gzip),
            () if starts(b"\xfd7zXZ\0") => Some(Self::Xz),
            () if starts(b"PK\x03\x04") || starts(b"PK\x05\x06") => Some(Self::Zip),
            () if starts(b"BZh") => Some(Self::Unknown("bzip2")),
            () if starts(b"\x28\xb5\x2f\xfd") => Some(Self::Unknown("zstd")),
            () if starts(b"7z\xbc\xaf") => Some(Self::Unknown("7-Zip")),
            () if start.get(257..262) == Some(b"ustar") => Some(Self::Tar),
            () if start.is_empty() => None,
            // The decoder says what is wrong.
            () => Self::of_name(name),
        }
    }

    /// Returns the form of an archive by its name.
    fn of_name(name: &str) -> Option<Self> {
        let endings = [
            (".tar", Self::Tar),
            (".tgz", Self::Gzip),
            (".tar.gz", Self::Gzip),
            (".txz", Self::Xz),
            (".tar.xz", Self::Xz),
            (".zip", Self::Zip),
        ];
        let name = name.to_lowercase();
        endings.into_iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, form)| form)
    }
}

/// Returns the name of a file without the ending of its compression.
pub(super) fn unpacked_name(name: &str) -> String {
    for (ending, rest) in [(".tgz", ".tar"), (".txz", ".tar"), (".gz", ""), (".xz", "")] {
        if let Some(stem) = name.strip_suffix(ending) {
            return format!("{stem}{rest}");
        }
    }
    name.to_owned()
}

/// Reads the start of a file.
pub(super) fn start_of(content: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    content.take(START as u64).read_to_end(&mut start)?;
    Ok(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_recognized_by_their_content() {
        let mut tar = [0; 512];
        tar[257..262].copy_from_slice(b"ustar");
        for (name, start, expected) in [
            ("a", &b"\x1f\x8b\x08"[..], Some(Packed::Gzip)),
            ("a.json", b"\xfd7zXZ\0\0", Some(Packed::Xz)),
            ("a", b"PK\x03\x04", Some(Packed::Zip)),
            ("a", b"BZh9", Some(Packed::Unknown("bzip2"))),
            ("a", &tar, Some(Packed::Tar)),
            ("old.tar", &[0; 512], Some(Packed::Tar)),
            ("a.tar.gz", b"kind: Node", Some(Packed::Gzip)),
            ("a.yaml.gz", b"kind: Node", None),
            ("a", b"", None),
        ] {
            assert_eq!(Packed::of(name, start), expected, "{name}");
        }
        assert_eq!(
            ["a.tgz", "a.tar.xz", "a.json.gz", "a"].map(unpacked_name),
            ["a.tar", "a.tar", "a.json", "a"]
        );
    }
}
