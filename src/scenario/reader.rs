//! Parses typed values from a YAML tree and collects all errors.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use semver::Version;
use windtunnel_core::text::{did_you_mean, truncate};
use windtunnel_core::yaml::{Kind, Node};
use windtunnel_openshift::release::{Architecture, Release};

use super::kinds::Kinds;
use super::{Releases, ScenarioError, ScenarioErrors};
use crate::plan::{Plan, Snapshot, TextMatch};

/// The greatest number of keys that an error lists.
const KEYS_SHOWN: usize = 6;

/// The parser's state. A value that cannot be parsed is `None` or left out, and adds an error.
pub(super) struct Reader<'a> {
    file: &'a str,
    releases: &'a dyn Releases,
    /// The architecture of the scenario's releases, once it is known.
    pub(super) architecture: Architecture,
    /// The kinds that the scenario can name, up to the current step.
    pub(super) kinds: Kinds,
    /// The names under which steps keep the state of the cluster, up to the current step.
    pub(super) kept_clusters: BTreeSet<String>,
    /// The releases from payload folders that the scenario names.
    from_folders: BTreeMap<Version, Release>,
    errors: Vec<ScenarioError>,
    /// Errors of included files, which come last.
    included: Vec<ScenarioError>,
    /// The number of includes that lead to this file.
    depth: usize,
}

/// A map with only known keys.
pub(super) struct Map<'n> {
    node: &'n Node,
    what: &'static str,
}

impl<'n> Map<'n> {
    pub(super) fn get(&self, key: &str) -> Option<&'n Node> {
        self.node.get(key)
    }

    /// Returns the value of a required key; `meaning` describes it in the error.
    pub(super) fn required(&self, reader: &mut Reader<'_>, key: &str, meaning: &str) -> Option<&'n Node> {
        let found = self.get(key);
        if found.is_none() {
            reader.error(self.node, format!("{} needs `{key}`: {meaning}", self.what));
        }
        found
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(file: &'a str, releases: &'a dyn Releases) -> Self {
        let architecture = Architecture::default();
        Self {
            file,
            releases,
            architecture,
            kinds: Kinds::default(),
            kept_clusters: BTreeSet::new(),
            from_folders: BTreeMap::new(),
            errors: Vec::new(),
            included: Vec::new(),
            depth: 0,
        }
    }

    /// Returns names and texts of the YAML files in a folder that this file names.
    pub(super) fn folder(&self, folder: &str) -> Result<Vec<(String, String)>, String> {
        self.releases.files(folder, self.file)
    }

    /// Returns name and text of a file that this file names.
    pub(super) fn text_of(&self, path: &str) -> Result<(String, String), String> {
        self.releases.text(path, self.file)
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Returns the expected output from a file that this file names.
    pub(super) fn snapshot(&self, name: &str) -> Result<Snapshot, String> {
        self.releases.snapshot(name, self.file)
    }

    /// Parses part of another file; its errors keep their position there.
    pub(super) fn in_file<T>(
        &mut self,
        file: &str,
        read: impl FnOnce(&mut Reader<'_>) -> Option<T>,
    ) -> Option<T> {
        let from_folders = self.from_folders.clone();
        let (kinds, kept_clusters) = (self.kinds.clone(), self.kept_clusters.clone());
        let depth = self.depth + 1;
        let mut reader =
            Reader { kinds, kept_clusters, from_folders, depth, ..Reader::new(file, self.releases) };
        let found = read(&mut reader);
        self.kinds = reader.kinds.clone();
        self.kept_clusters = reader.kept_clusters.clone();
        self.included.extend(reader.into_errors().0);
        found
    }

    /// Parses another scenario of the same file, without state from the one before.
    pub(super) fn next_scenario<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        self.architecture = Architecture::default();
        self.kinds = Kinds::default();
        self.kept_clusters = BTreeSet::new();
        read(self)
    }

    pub(super) fn file(&self) -> &str {
        self.file
    }

    /// Returns whether this file has errors so far.
    pub(super) fn has_problems(&self) -> bool {
        !self.errors.is_empty()
    }

    /// Returns all errors, in the order of the text.
    pub(super) fn into_errors(mut self) -> ScenarioErrors {
        self.errors.sort_by_key(|error| (error.line, error.column));
        self.errors.dedup();
        self.errors.append(&mut self.included);
        ScenarioErrors(self.errors)
    }

    pub(super) fn error(&mut self, node: &Node, message: impl Into<String>) {
        self.error_at(node.line, node.column, message);
    }

    pub(super) fn error_at(&mut self, line: usize, column: usize, message: impl Into<String>) {
        // If the YAML library reports no position, the error is at the start of the file.
        let (line, column) = (line.max(1), column.max(1));
        self.errors.push(ScenarioError { file: self.file.to_owned(), line, column, message: message.into() });
    }

    pub(super) fn expected(&mut self, node: &Node, what: &str) {
        self.error(node, format!("expected {what}, found {}", node.describe()));
    }

    /// Checks that the node is a map with only `known` keys.
    pub(super) fn map<'n>(&mut self, node: &'n Node, what: &'static str, known: &[&str]) -> Option<Map<'n>> {
        if !matches!(node.kind, Kind::Map(_)) {
            self.expected_map(node, what, known);
            return None;
        }
        for (key, _) in self.entries(node, what)? {
            let name = key.scalar().unwrap_or_default();
            if !known.contains(&name) {
                let hint = match name.strip_prefix('-').filter(|item| !item.starts_with('-')) {
                    Some(item) => format!("; an item needs a space after `-`: write `- {item}: ...`"),
                    None => did_you_mean(name, known.iter().copied()),
                };
                let known = known.join("`, `");
                let hint = if hint.is_empty() { format!("; it may have `{known}`") } else { hint };
                self.error(key, format!("{what} has no key {}{hint}", key.describe()));
            }
        }
        Some(Map { node, what })
    }

    /// Reports another value in place of a map with `known` keys, and how to write the map.
    fn expected_map(&mut self, node: &Node, what: &str, known: &[&str]) {
        let found = node.describe();
        let keys = known.iter().take(KEYS_SHOWN).map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
        let hint = match (node.scalar(), known) {
            _ if what == "a scenario" && node.scalar().is_none_or(str::is_empty) => {
                "write the keys `name`, `cluster` and `timeline`; `windtunnel new FILE` writes an example"
                    .to_owned()
            }
            (Some(text), [first, rest @ ..]) if what != "a scenario" => {
                let others = if rest.is_empty() { String::new() } else { format!("; its keys are {keys}") };
                format!("write `{{{first}: {}}}`{others}", truncate(text, 60))
            }
            _ => format!("write keys such as {keys}, each with its value"),
        };
        self.error(node, format!("expected {what} (a map), found {found}; {hint}"));
    }

    /// Checks that the node is a map, with any keys.
    pub(super) fn any_map<'n>(&mut self, node: &'n Node, what: &'static str) -> Option<Map<'n>> {
        self.entries(node, what).map(|_| Map { node, what })
    }

    /// Returns the entries of a map with arbitrary keys.
    pub(super) fn entries<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n [(Node, Node)]> {
        if let Kind::Map(entries) = &node.kind {
            return Some(entries);
        }
        let first = if let Kind::List(items) = &node.kind { items.first() } else { None };
        let key = first.and_then(Node::scalar).map(|text| truncate(text, 60));
        let hint =
            key.map(|key| format!("; write `{{{key}: ...}}`, each name with its value")).unwrap_or_default();
        self.error(node, format!("expected {what} (a map), found {}{hint}", node.describe()));
        None
    }

    pub(super) fn list<'n>(&mut self, node: &'n Node, what: &str) -> &'n [Node] {
        if let Kind::List(items) = &node.kind {
            return items;
        }
        let hint = match node.scalar() {
            Some(text) => format!("write `[{}]`", truncate(text, 60)),
            None => "begin each item with `- `".to_owned(),
        };
        self.error(node, format!("expected a list of {what}, found {}; {hint}", node.describe()));
        &[]
    }

    /// Parses a text that is not empty; booleans and numbers count as the text that the user wrote.
    pub(super) fn text(&mut self, node: &Node, what: &str) -> Option<String> {
        match node.scalar() {
            Some(text) if !text.trim().is_empty() => Some(text.to_owned()),
            _ => {
                self.expected(node, what);
                None
            }
        }
    }

    pub(super) fn texts(&mut self, node: &Node, what: &str) -> Vec<String> {
        let items = self.list(node, &format!("texts, each {what}"));
        items.iter().filter_map(|item| self.text(item, what)).collect()
    }

    /// Parses one of a few words.
    pub(super) fn word<'w>(&mut self, node: &Node, words: &[&'w str]) -> Option<&'w str> {
        let text = node.scalar().unwrap_or_default();
        let found = words.iter().find(|word| **word == text);
        if found.is_none() {
            let known = words.join("`, `");
            let hint =
                if text.is_empty() { String::new() } else { did_you_mean(text, words.iter().copied()) };
            self.error(node, format!("expected one of `{known}`, found {}{hint}", node.describe()));
        }
        found.copied()
    }

    /// Parses `true` or `false`.
    pub(super) fn flag(&mut self, node: &Node) -> Option<bool> {
        if let Kind::Bool(value) = node.kind {
            return Some(value);
        }
        self.expected(node, "`true` or `false`");
        None
    }

    /// Parses a whole number in `low..=high`.
    pub(super) fn number(&mut self, node: &Node, low: u32, high: u32) -> Option<u32> {
        let number = match &node.kind {
            Kind::Number(number) => number.as_u64().and_then(|number| u32::try_from(number).ok()),
            _ => None,
        };
        let number = number.filter(|number| (low..=high).contains(number));
        if number.is_none() {
            self.expected(node, &format!("a whole number from {low} to {high}"));
        }
        number
    }

    /// Parses a positive span of virtual time.
    pub(super) fn duration(&mut self, node: &Node) -> Option<SignedDuration> {
        const EXAMPLE: &str = "`45s`, `10m` or `1h30m`";
        let Some(text) = node.scalar() else {
            self.expected(node, &format!("a duration such as {EXAMPLE}"));
            return None;
        };
        super::duration(text, EXAMPLE).map_err(|message| self.error(node, message)).ok()
    }

    pub(super) fn version(&mut self, node: &Node) -> Option<Version> {
        let text = node.scalar().unwrap_or_default();
        let version = Version::parse(text).ok();
        if version.is_none() {
            let hint = version_hint(text);
            self.error(node, format!("expected a version such as `4.14.8`, found {}{hint}", node.describe()));
        }
        version
    }

    /// Parses a version that exists in the run. (A release that the update service does not offer has
    /// `recommended: false`.)
    pub(super) fn existing_version(&mut self, node: &Node, versions: &[Version]) -> Option<Version> {
        let version = self.version(node)?;
        self.has_version(node, &version, versions).then_some(version)
    }

    /// Returns whether a release of this version exists in the run; reports an error if not.
    pub(super) fn has_version(&mut self, node: &Node, version: &Version, versions: &[Version]) -> bool {
        // Without a cluster no versions are known, and the missing cluster is already an error.
        if versions.is_empty() || versions.contains(version) {
            return true;
        }
        let known: Vec<String> = versions.iter().map(ToString::to_string).collect();
        let hint = did_you_mean(&version.to_string(), known.iter().map(String::as_str));
        self.error(node, format!("no release {version} exists in this scenario: add it to `releases`{hint}"));
        false
    }

    /// Parses the version of a release that windtunnel has facts for.
    pub(super) fn release(&mut self, node: &Node) -> Option<Release> {
        let version = self.version(node)?;
        self.releases.find(&version).map_err(|unknown| self.error(node, unknown.to_string())).ok()
    }

    /// Loads the release of this version from a payload folder next to the scenario; all mistakes in the
    /// payload become errors. `words` are the values that are not a folder. A version without facts is
    /// allowed.
    pub(super) fn extracted(&mut self, version: &Node, node: &Node, words: &[&str]) -> Option<Release> {
        let version = self.version(version)?;
        let folder = self.text(node, "the folder of a payload")?;
        let found = self.releases.extracted(&version, &folder, self.file);
        let hint = did_you_mean(&folder, words.iter().copied());
        let errors = match found {
            Ok(release) => {
                self.kinds.define_all_of(&release);
                self.from_folders.insert(version, release.clone());
                return Some(release);
            }
            Err(errors) => errors,
        };
        for text in errors {
            self.error(node, format!("{text}{hint}"));
        }
        self.releases.find(&version).ok()
    }

    /// Replaces the cluster of a plan with the one of a dump. A plan with errors before keeps its cluster.
    pub(super) fn start_from(&mut self, at: &Node, path: &str, ignored: &[String], plan: &mut Plan) {
        if let Err(why) = self.releases.start_from(path, ignored, plan) {
            self.error(at, why);
        }
    }

    /// Returns the releases that exist in every scenario.
    pub(super) fn releases_everywhere(&self) -> Vec<Release> {
        self.releases.common_releases()
    }

    /// Parses one text pattern or a list of them. Trailing line breaks are ignored.
    pub(super) fn text_matches(&mut self, node: &Node) -> Vec<TextMatch> {
        let items = match &node.kind {
            Kind::List(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        let matches = items.iter().filter_map(|item| self.text_match(item));
        matches.map(without_trailing_space).collect()
    }

    /// Returns the image of the release of this version.
    pub(super) fn image_of(&self, version: &Version) -> Result<String, String> {
        if let Some(found) = self.from_folders.get(version) {
            return Ok(found.clone().for_architecture(self.architecture).image);
        }
        let found = self.releases.find(version).map_err(|unknown| unknown.to_string())?;
        Ok(found.for_architecture(self.architecture).image)
    }

    /// Parses a text pattern: plain text, `/regular expression/`, `{contains: text}`, `{lacks: text}` or
    /// `{any-of: [pattern, pattern]}`.
    pub(super) fn text_match(&mut self, node: &Node) -> Option<TextMatch> {
        if let Kind::Map(_) = node.kind {
            let map = self.map(node, "a text to compare with", &["any-of", "contains", "lacks"])?;
            if let Some(list) = map.get("any-of") {
                return self.alternatives(&map, list);
            }
            if let Some(part) = map.get("lacks").filter(|_| map.get("contains").is_none()) {
                return self.text(part, "the part that must be missing").map(TextMatch::Lacks);
            }
            let part = map.required(self, "contains", "the part to look for")?;
            return self.text(part, "the part to look for").map(TextMatch::Contains);
        }
        let Some(text) = node.scalar() else {
            self.expected(
                node,
                "a text, `/a regular expression/`, `{contains: a part}`, `{lacks: a part}` or \
                 `{any-of: [a text, another]}`",
            );
            return None;
        };
        TextMatch::parse(text).map_err(|message| self.error(node, message)).ok()
    }

    /// Parses the alternatives of `any-of`.
    fn alternatives(&mut self, map: &Map<'_>, list: &Node) -> Option<TextMatch> {
        for key in ["contains", "lacks"] {
            if let Some(at) = map.get(key) {
                self.error(
                    at,
                    format!("`{key}` cannot be combined with `any-of`: make it one of the alternatives"),
                );
            }
        }
        let Kind::List(items) = &list.kind else {
            self.expected(list, "a list of alternatives for a text");
            return None;
        };
        if items.len() < 2 {
            self.error(list, "`any-of` needs at least two alternatives".to_owned());
            return None;
        }
        let found: Vec<TextMatch> = items.iter().filter_map(|item| self.text_match(item)).collect();
        (found.len() == items.len()).then_some(TextMatch::AnyOf(found))
    }
}

/// The same comparison without spaces and line breaks at the end of exact texts.
fn without_trailing_space(wanted: TextMatch) -> TextMatch {
    match wanted {
        TextMatch::Equals(text) => TextMatch::Equals(text.trim_end().to_owned()),
        TextMatch::AnyOf(all) => TextMatch::AnyOf(all.into_iter().map(without_trailing_space).collect()),
        other => other,
    }
}

/// Returns what to write in place of a text that is no version: without letters around the numbers, or with a third number.
pub(crate) fn version_hint(text: &str) -> String {
    let without = text.trim_start_matches(['v', 'V']);
    let is_part = |letter: char| letter.is_ascii_digit() || letter == '.';
    let numbers: String = without.chars().take_while(|letter| is_part(*letter)).collect();
    match (Version::parse(without), Version::parse(&format!("{text}.1")), Version::parse(&numbers)) {
        (Ok(_), ..) => format!("; write `{without}`"),
        (_, Ok(_), _) => format!("; a release has three numbers, such as `{text}.1`"),
        (.., Ok(_)) => {
            format!("; `{}` is no part of a version: write `{numbers}`", &without[numbers.len()..])
        }
        _ => String::new(),
    }
}
