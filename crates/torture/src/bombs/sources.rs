//! The bombs: what each command reads, and how it must end.

use std::fs;
use std::io;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use super::makers::{aliases, gzip_zeros, repeat, tar_of_many, tar_that_lies, tar_zeros};

/// The most memory of a command, in bytes.
const MEMORY_MAX: u64 = 1 << 30;

/// The source of the input of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// A file of the system.
    System(&'static str),
    /// A pipe into which another process writes without end.
    EndlessPipe,
    /// A socket, which nobody can open.
    Socket,
    /// A file that is made for it.
    File(Made),
}

/// A file that is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Made {
    /// YAML with aliases of aliases.
    Aliases,
    /// Lists in lists, of YAML and JSON.
    DeepLists,
    /// Maps in maps, of YAML and JSON.
    DeepMaps,
    /// Maps in maps by indentation.
    DeepBlocks,
    /// One line of 64 MiB.
    LongLine,
    /// A record whose line is 64 MiB long.
    LongString,
    /// Two million documents.
    ManyDocuments,
    /// A gzip file of 8 GiB of zeros.
    Gzip,
    /// A compressed archive with a file of 8 GiB of zeros.
    Tar,
    /// An archive whose header promises an exbibyte.
    LyingTar,
    /// A compressed archive with 20,000 files.
    ManyFiles,
    /// A feature with 30,000 steps.
    ManySteps,
}

/// A command and its input.
#[derive(Debug)]
pub(super) struct Bomb {
    pub(super) name: &'static str,
    pub(super) source: Source,
    /// The arguments, with `INPUT` for the path of the input.
    pub(super) arguments: &'static [&'static str],
    /// The exit codes that the documentation allows.
    pub(super) codes: &'static [i32],
    /// Further arguments that limit what the command reads.
    pub(super) limits: &'static [&'static str],
    pub(super) memory_max: u64,
}

impl Source {
    /// Makes the input in a folder, and returns its path.
    pub(super) fn make(self, folder: &Path) -> io::Result<PathBuf> {
        match self {
            Self::System(path) => Ok(path.into()),
            Self::EndlessPipe => Ok("/dev/stdin".into()),
            Self::Socket => {
                let path = folder.join("socket.yaml");
                UnixListener::bind(&path)?;
                Ok(path)
            }
            Self::File(made) => {
                let path = folder.join(made.name());
                made.make(&path)?;
                Ok(path)
            }
        }
    }
}

impl Made {
    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "input.yaml.gz",
            Self::Tar | Self::ManyFiles => "input.tar.gz",
            Self::LyingTar => "input.tar",
            Self::ManySteps => "input.feature",
            Self::LongString => "input.jsonl",
            _ => "input.yaml",
        }
    }

    fn make(self, at: &Path) -> io::Result<()> {
        const MIB: usize = 1 << 20;
        const GIB: u64 = 1 << 30;
        match self {
            Self::Aliases => aliases(at, 12),
            Self::DeepLists => repeat(at, "", "[", MIB, ""),
            Self::DeepMaps => repeat(at, "", "{\"a\":", 5 * MIB, ""),
            Self::DeepBlocks => deep_blocks(at, 4_000),
            Self::LongLine => repeat(at, "name: ", "x", 64 * MIB, "\n"),
            Self::LongString => repeat(at, "{\"at\":\"", "x", 64 * MIB, "\"}\n"),
            Self::ManyDocuments => repeat(at, "", "---\na: 1\n", 18 * MIB, ""),
            Self::Gzip => gzip_zeros(at, 8 * GIB),
            Self::Tar => tar_zeros(at, 8 * GIB),
            Self::LyingTar => tar_that_lies(at, 1 << 60),
            Self::ManyFiles => tar_of_many(at, 20_000),
            Self::ManySteps => repeat(at, "Feature: f\n  Scenario: s\n", "    Given nothing\n", MIB / 2, ""),
        }
    }
}

fn deep_blocks(at: &Path, levels: usize) -> io::Result<()> {
    let lines = (0..levels).map(|level| format!("{}a:\n", " ".repeat(level)));
    fs::write(at, lines.collect::<String>())
}

fn bomb(name: &'static str, source: Source, arguments: &'static [&'static str]) -> Bomb {
    Bomb { name, source, arguments, codes: &[2], limits: &[], memory_max: MEMORY_MAX }
}

/// All bombs. Each of them is unreadable input, with exit code 2.
pub(super) fn bombs() -> Vec<Bomb> {
    const ZERO: Source = Source::System("/dev/zero");
    const RANDOM: Source = Source::System("/dev/urandom");
    use Source::{EndlessPipe, File, Socket};
    let mut bombs = vec![
        bomb("lint-zero", ZERO, &["lint", "INPUT"]),
        bomb("lint-random", RANDOM, &["lint", "INPUT"]),
        bomb("lint-pipe", EndlessPipe, &["lint", "INPUT"]),
        bomb("lint-socket", Socket, &["lint", "INPUT"]),
        bomb("lint-aliases", File(Made::Aliases), &["lint", "INPUT"]),
        bomb("lint-deep-lists", File(Made::DeepLists), &["lint", "INPUT"]),
        bomb("lint-deep-maps", File(Made::DeepMaps), &["lint", "INPUT"]),
        bomb("lint-deep-blocks", File(Made::DeepBlocks), &["lint", "INPUT"]),
        bomb("lint-long-line", File(Made::LongLine), &["lint", "INPUT"]),
        bomb("lint-documents", File(Made::ManyDocuments), &["lint", "INPUT"]),
        bomb("lint-steps", File(Made::ManySteps), &["lint", "INPUT"]),
        bomb("run-aliases", File(Made::Aliases), &["run", "INPUT"]),
        bomb("run-zero", ZERO, &["run", "INPUT"]),
        bomb("test-steps", File(Made::ManySteps), &["test", "INPUT"]),
        bomb("status-zero", ZERO, &["status", "--from", "INPUT"]),
        bomb("status-pipe", EndlessPipe, &["status", "--from", "INPUT"]),
        bomb("status-socket", Socket, &["status", "--from", "INPUT"]),
        bomb("status-gzip", File(Made::Gzip), &["status", "--from", "INPUT"]),
        bomb("status-tar", File(Made::Tar), &["status", "--from", "INPUT"]),
        bomb("status-lying-tar", File(Made::LyingTar), &["status", "--from", "INPUT"]),
        bomb("status-aliases", File(Made::Aliases), &["status", "--from", "INPUT"]),
        bomb("status-deep-lists", File(Made::DeepLists), &["status", "--from", "INPUT"]),
        bomb("status-deep-maps", File(Made::DeepMaps), &["status", "--from", "INPUT"]),
        bomb("serve-gzip", File(Made::Gzip), &["serve", "--port", "0", "--from", "INPUT"]),
        bomb("serve-deep-maps", File(Made::DeepMaps), &["serve", "--port", "0", "--from", "INPUT"]),
        bomb("risks-zero", ZERO, &["risks", "INPUT"]),
        bomb("risks-over-gzip", File(Made::Gzip), &["risks", ".", "--over", "INPUT"]),
    ];
    for bomb in &mut bombs {
        // Without this limit, windtunnel unpacks 2 GiB.
        if matches!(bomb.source, File(Made::Gzip | Made::Tar)) {
            bomb.limits = &["--unpack-limit", "134217728"];
        }
    }
    // oc, too, ends with an error if a cluster has no ClusterVersion.
    bombs.push(Bomb {
        codes: &[1, 2],
        ..bomb("status-files", File(Made::ManyFiles), &["status", "--from", "INPUT"])
    });
    bombs.extend(records());
    bombs
}

/// Every command that reads a record, with bombs of a record.
fn records() -> Vec<Bomb> {
    const COMMANDS: [(&str, &[&str]); 6] = [
        ("report", &["report", "INPUT"]),
        ("check", &["check", "INPUT"]),
        ("logs", &["logs", "INPUT"]),
        ("status", &["status", "INPUT"]),
        ("must-gather", &["must-gather", "INPUT", "-o", "out"]),
        ("scenario-from", &["scenario-from", "INPUT"]),
    ];
    const SOURCES: [Source; 5] = [
        Source::System("/dev/zero"),
        Source::EndlessPipe,
        Source::File(Made::DeepLists),
        Source::File(Made::DeepMaps),
        Source::File(Made::LongString),
    ];
    let pairs = COMMANDS.iter().flat_map(|command| SOURCES.iter().map(move |source| (command, source)));
    pairs.map(|((name, arguments), source)| bomb(name, *source, arguments)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_bombs_are_made_in_their_folder() {
        let folder = tempfile::tempdir().unwrap();
        for made in [Made::Aliases, Made::DeepBlocks, Made::LyingTar, Made::DeepLists] {
            let path = Source::File(made).make(folder.path()).unwrap();
            assert!(fs::metadata(&path).unwrap().len() > 500, "{made:?}");
            assert_eq!(path.parent(), Some(folder.path()));
        }
        let text = fs::read_to_string(folder.path().join("input.yaml")).unwrap();
        assert_eq!(text, "[".repeat(1 << 20));
    }

    #[test]
    fn every_bomb_names_its_input() {
        for bomb in bombs() {
            assert!(bomb.arguments.contains(&"INPUT"), "{}", bomb.name);
        }
    }
}
