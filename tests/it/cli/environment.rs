//! A folder and an environment in which only the test decides what the program finds.

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use tempfile::TempDir;

/// An empty folder, in which the program runs with an empty environment.
pub(crate) struct TestEnvironment {
    folder: TempDir,
}

/// Exit code and output of a command. Paths, times and hashes that differ from run to run are replaced.
pub(crate) struct Output {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl TestEnvironment {
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("windtunnel-").tempdir().unwrap();
        for own in ["home", "tmp", "work"] {
            fs::create_dir(folder.path().join(own)).unwrap();
        }
        Self { folder }
    }

    /// An environment with these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let environment = Self::new();
        for (name, text) in files {
            environment.write(name, text);
        }
        environment
    }

    /// The working directory of the program.
    pub(crate) fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.work().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.work().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Names of all files, in order.
    pub(crate) fn files(&self) -> Vec<String> {
        fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { collect(&path, found) } else { found.push(path) }
            }
        }
        let (work, mut found) = (self.work(), Vec::new());
        collect(&work, &mut found);
        found.sort();
        found.iter().map(|path| path.strip_prefix(&work).unwrap().display().to_string()).collect()
    }

    /// The command, ready to be started.
    pub(crate) fn command(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_windtunnel"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.folder.path().join("home"))
            .env("TMPDIR", self.folder.path().join("tmp"))
            .current_dir(self.work());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.output_of(self.command(arguments))
    }

    /// Runs a command that a test has changed.
    pub(crate) fn output_of(&self, command: std::process::Command) -> Output {
        let output = assert_cmd::Command::from_std(command).output().unwrap();
        Output {
            code: output.status.code(),
            stdout: self.redacted(&output.stdout),
            stderr: self.redacted(&output.stderr),
        }
    }

    fn redacted(&self, text: &[u8]) -> String {
        let text = String::from_utf8(text.to_vec()).unwrap();
        let text = text.replace(&self.work().display().to_string(), "$DIR");
        let rules = [
            // Of the same length as the name, so that columns keep their places.
            (r"version--[a-z0-9]{5}\b", "version--xxxxx"),
            (r"installed: \d{3} objects", "installed: NNN objects"),
            (r"record [0-9a-f]{64}, \d+ ms", "record $$HASH, $$TIME"),
            (r"of cluster time, \d+\.\d s", "of cluster time, $$TIME"),
            (r"in \d+\.\d+ s \(\d+ times as fast\)", "in $$TIME ($$N times as fast)"),
        ];
        rules
            .iter()
            .fold(text, |text, (from, to)| Regex::new(from).unwrap().replace_all(&text, *to).into_owned())
    }
}

impl std::fmt::Display for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let code = self.code.map_or_else(|| "none".to_owned(), |code| code.to_string());
        write!(f, "exit {code}\n{}", self.stdout)?;
        if self.stderr.is_empty() { Ok(()) } else { write!(f, "--- stderr\n{}", self.stderr) }
    }
}

/// Runs the program in an environment with these files. Returns exit code and output as one text.
pub(crate) fn check(files: &[(&str, &str)], arguments: &[&str]) -> String {
    TestEnvironment::with(files).run(arguments).to_string()
}

/// Gives other processes time.
#[expect(clippy::disallowed_methods, reason = "other processes live in the wall's time")]
pub(crate) fn pause(millis: u64) {
    std::thread::sleep(std::time::Duration::from_millis(millis));
}
