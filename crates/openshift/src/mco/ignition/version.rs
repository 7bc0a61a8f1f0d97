//! Which specs of Ignition the machine-config controller of a release reads, and which it writes.

use super::validate::Rules;
use crate::manifests::MajorMinor;

/// The first release that reads specs up to 3.4 in one step.
const CHAINED: MajorMinor = (4, 13);
/// The first release that writes spec 3.4.
const WRITES_4: MajorMinor = (4, 14);
/// The first release that reads and writes spec 3.5.
const WRITES_5: MajorMinor = (4, 19);
/// The first release that lists the specs without spaces.
const LISTS_TIGHTLY: MajorMinor = (4, 20);

/// A version of a config, as three numbers and what follows a dash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SpecVersion {
    pub(super) numbers: [u64; 3],
    pub(super) suffix: String,
}

impl SpecVersion {
    /// Reads a version of exactly three numbers.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (text, _) = text.split_once('+').unwrap_or((text, ""));
        let (numbers, suffix) = text.split_once('-').unwrap_or((text, ""));
        let parts: Vec<&str> = numbers.split('.').collect();
        let [major, minor, patch] = parts[..] else { return None };
        let number = |part: &str| part.parse().ok();
        let numbers = [number(major)?, number(minor)?, number(patch)?];
        Some(Self { numbers, suffix: suffix.to_owned() })
    }

    /// The minor of spec 3, if it is a released one.
    pub(super) fn minor_of_3(&self) -> Option<u64> {
        match self.numbers {
            [3, minor, 0] if self.suffix.is_empty() => Some(minor),
            _ => None,
        }
    }
}

/// The specs that the controller of a release knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mco) struct Dialect {
    /// Major and minor of the release.
    line: MajorMinor,
    /// Whether the config is in the memory of the controller, not from the API server.
    is_in_memory: bool,
}

impl Dialect {
    /// The specs that the controller of a minor knows, for configs from the API server.
    pub(in crate::mco) fn new(line: MajorMinor) -> Self {
        Self { line, is_in_memory: false }
    }

    /// The same for a config that the controller has just merged. Its text has another order of fields.
    pub(in crate::mco) fn in_memory(self) -> Self {
        Self { is_in_memory: true, ..self }
    }

    /// Returns whether the text of the config is in the order of the specs, not sorted.
    pub(super) fn is_in_memory(self) -> bool {
        self.is_in_memory
    }

    /// The minor of spec 3 of rendered configs.
    pub(super) fn writes(self) -> u64 {
        match self.line {
            line if line >= WRITES_5 => 5,
            line if line >= WRITES_4 => 4,
            _ => 2,
        }
    }

    /// The newest minor of spec 3 that it reads.
    pub(super) fn reads(self) -> u64 {
        if self.line >= CHAINED { self.writes().max(4) } else { 2 }
    }

    /// Returns whether it tries one spec after the other, with another message for each.
    pub(super) fn tries_each(self) -> bool {
        self.line < CHAINED
    }

    /// The specs as messages list them.
    pub(super) fn supported(self) -> String {
        let separator = if self.line >= LISTS_TIGHTLY { "," } else { ", " };
        let versions = (0..=self.reads()).map(|minor| format!("3.{minor}"));
        std::iter::once("2.2".to_owned()).chain(versions).collect::<Vec<_>>().join(separator)
    }

    /// The rules for configs of this minor of spec 3.
    pub(super) fn rules(self, minor: u64) -> Rules {
        Rules { minor, are_old: self.tries_each() }
    }
}
