//! Counts every file of a dump once: what was read, what holds no object, what was not understood, and what its source could not
//! collect.

use std::collections::BTreeMap;

use windtunnel_core::text::{grouped, one_line};

use super::Age;

/// What a file of a dump is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Objects or alerts. A list may be empty.
    Read,
    /// Logs, text, metrics and other files that hold no object.
    NoObject,
    /// A file that cannot be parsed, or objects of unknown kinds.
    NotUnderstood,
    /// The report of the program that wrote the dump that it could not collect something.
    NotCollected,
}

impl Class {
    /// All classes, in the order of messages.
    pub const ALL: [Self; 4] = [Self::Read, Self::NoObject, Self::NotUnderstood, Self::NotCollected];

    /// Returns the name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::NoObject => "no object",
            Self::NotUnderstood => "not understood",
            Self::NotCollected => "not collected",
        }
    }
}

/// A file of a dump.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// Its path; `:` separates an archive from its members.
    pub path: String,
    /// What it is.
    pub class: Class,
    /// The number of its objects.
    pub objects: usize,
    /// The reason for its class, or more about its content; may be empty.
    pub remark: String,
}

/// Something that the program that wrote the dump could not collect. It may exist in the cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Uncollected {
    /// The kind, or another name of what is missing.
    pub what: String,
    /// The error of the program.
    pub why: String,
    /// The file that reports it.
    pub path: String,
}

/// All files of a dump.
#[derive(Debug, Clone, Default)]
pub struct Inventory {
    files: Vec<FileEntry>,
    uncollected: Vec<Uncollected>,
    /// Objects that occur once more in the same state.
    copies: usize,
    /// Objects that occur once more in another state; one of the two is kept.
    replaced: usize,
    /// Objects of another cluster, which are not kept.
    strangers: usize,
}

impl Inventory {
    /// Adds a file.
    pub(super) fn add(&mut self, file: FileEntry) {
        self.files.push(file);
    }

    /// Adds what could not be collected.
    pub(super) fn add_uncollected(&mut self, uncollected: impl IntoIterator<Item = Uncollected>) {
        self.uncollected.extend(uncollected);
    }

    /// Counts a second state of an object.
    pub(super) fn count_second(&mut self, age: Age) {
        match age {
            Age::Copy | Age::FullerCopy => self.copies += 1,
            Age::Older | Age::Newer => self.replaced += 1,
            Age::Stranger => self.strangers += 1,
        }
    }

    /// Sorts the files by their paths.
    pub(super) fn sort(&mut self) {
        self.files.sort_by(|one, other| one.path.cmp(&other.path));
        self.uncollected.sort();
        self.uncollected.dedup();
    }

    /// Returns all files, sorted by their paths.
    pub fn files(&self) -> &[FileEntry] {
        &self.files
    }

    /// Returns everything that could not be collected.
    pub fn uncollected(&self) -> &[Uncollected] {
        &self.uncollected
    }

    /// Returns the number of files of a class.
    pub fn count(&self, class: Class) -> usize {
        self.files.iter().filter(|file| file.class == class).count()
    }

    /// Returns the number of objects in all files, those that occur twice included.
    pub fn objects(&self) -> usize {
        self.files.iter().map(|file| file.objects).sum()
    }

    /// Returns the number of objects that are kept.
    pub fn kept(&self) -> usize {
        self.objects() - self.copies - self.replaced - self.strangers
    }

    /// Returns how often an object occurs once more: in the same state, and in another one.
    pub fn seconds(&self) -> (usize, usize) {
        (self.copies, self.replaced)
    }

    /// Returns one line with the number of files of each class, and of objects.
    pub fn summary(&self) -> String {
        let files = self.files.len();
        let plural = if files == 1 { "" } else { "s" };
        let [read, without, not_understood, not_collected] =
            Class::ALL.map(|class| grouped(self.count(class)));
        format!(
            "{} file{plural}: {read} read ({}), {without} without objects, {not_understood} not understood, \
             {not_collected} not collected",
            grouped(files),
            self.objects_in_words()
        )
    }

    /// Returns the number of objects, of their copies and of states that are not kept.
    fn objects_in_words(&self) -> String {
        let counted = |count: usize, one: &str, many: &str| {
            format!("{} {}", grouped(count), if count == 1 { one } else { many })
        };
        let mut text = counted(self.kept(), "object", "objects");
        if self.copies > 0 {
            text += &format!(" and {}", counted(self.copies, "copy", "copies"));
        }
        if self.replaced > 0 {
            text +=
                &format!(", {} replaced by newer or fuller ones", counted(self.replaced, "state", "states"));
        }
        if self.strangers > 0 {
            text += &format!(", {} of another cluster not kept", grouped(self.strangers));
        }
        text
    }

    /// Returns a line for each thing that could not be collected, with the files that report it, by their paths below the dump.
    pub fn uncollected_lines(&self, dump: &str) -> Vec<String> {
        let mut reasons: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
        for Uncollected { what, why, path } in &self.uncollected {
            reasons.entry((what, why)).or_default().push(path);
        }
        let lines = reasons.into_iter().map(|((what, why), paths)| {
            let more = if paths.len() > 1 { format!(" and {} more", paths.len() - 1) } else { String::new() };
            let [what, why, path] = [what, why, below(paths[0], dump)].map(one_line);
            format!("not collected: {what}: {why} ({path}{more})")
        });
        lines.collect()
    }
}

/// Returns the path of a file below the path of its dump.
pub fn below<'p>(path: &'p str, dump: &str) -> &'p str {
    let rest = path.strip_prefix(dump).map(|rest| rest.trim_start_matches(['/', ':']));
    rest.filter(|rest| !rest.is_empty()).unwrap_or(path)
}
