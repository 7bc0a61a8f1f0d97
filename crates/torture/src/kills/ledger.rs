//! The book of all writes: which state each object must have after a crash.

use std::collections::BTreeMap;

/// An object that a server shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The value that was written.
    pub value: String,
    /// Its resource version.
    pub version: u64,
}

/// The state of an object: absent, or with a value.
type State = Option<Found>;

/// A write that was sent.
#[derive(Debug, Clone)]
enum Pending {
    Value(String),
    Deletion,
}

/// The knowledge of the clients about one object.
#[derive(Debug, Clone, Default)]
struct Entry {
    /// The last acknowledged state.
    known: State,
    /// A write without an answer. It may have happened or not.
    pending: Option<Pending>,
    /// The highest resource version that anybody saw when the pending write began.
    before: u64,
}

/// All writes and their answers.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    entries: BTreeMap<String, Entry>,
    highest: u64,
    acknowledged: u64,
}

impl Ledger {
    /// The number of acknowledged writes.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Whether the object exists, if all its writes were answered.
    pub fn exists(&self, name: &str) -> bool {
        self.entries.get(name).is_some_and(|entry| entry.known.is_some())
    }

    /// Notes that a write is sent: a value, or a deletion.
    pub fn begin(&mut self, name: &str, value: Option<String>) {
        let before = self.highest;
        let entry = self.entries.entry(name.to_owned()).or_default();
        entry.pending = Some(value.map_or(Pending::Deletion, Pending::Value));
        entry.before = before;
    }

    /// Notes that the server acknowledged the pending write, for a value with its resource version. Returns what
    /// is wrong with that.
    pub fn acknowledge(&mut self, name: &str, version: Option<u64>) -> Option<String> {
        let entry = self.entries.get_mut(name)?;
        let written = entry.pending.take()?;
        self.acknowledged += 1;
        entry.known = match written {
            Pending::Value(value) => Some(Found { value, version: version.unwrap_or_default() }),
            Pending::Deletion => None,
        };
        self.highest = self.highest.max(version.unwrap_or_default());
        let before = entry.before;
        version
            .filter(|version| *version <= before)
            .map(|version| format!("{name}: version {version} after version {before} was seen"))
    }

    /// Notes a resource version that a client saw. Returns an error if a higher one was seen before.
    pub fn see(&mut self, version: u64) -> Option<String> {
        let highest = self.highest;
        self.highest = highest.max(version);
        (version < highest).then(|| format!("the revision went back from {highest} to {version}"))
    }

    /// Compares all objects after a crash with the book. Returns what is wrong, and takes the objects as the new
    /// state.
    pub fn check(&mut self, objects: &BTreeMap<String, Found>) -> Vec<String> {
        let mut wrong = Vec::new();
        for (name, entry) in &mut self.entries {
            let found = objects.get(name).cloned();
            if !entry.allows(found.as_ref()) {
                wrong.push(format!("{name}: {}, not {}", describe(found.as_ref()), entry.expected()));
            }
            *entry = Entry { known: found, ..Entry::default() };
        }
        let unknown = objects.keys().filter(|name| !self.entries.contains_key(*name));
        wrong.extend(unknown.map(|name| format!("{name}: nobody wrote it")));
        wrong
    }
}

impl Entry {
    /// Whether an object may have this state after a crash.
    fn allows(&self, found: Option<&Found>) -> bool {
        if self.known.as_ref() == found {
            return true;
        }
        match (&self.pending, found) {
            (Some(Pending::Value(value)), Some(found)) => {
                found.value == *value && found.version > self.before_own()
            }
            (Some(Pending::Deletion), None) => true,
            _ => false,
        }
    }

    /// The version of the object before the pending write.
    fn before_own(&self) -> u64 {
        self.known.as_ref().map_or(0, |known| known.version)
    }

    fn expected(&self) -> String {
        let known = describe(self.known.as_ref());
        match &self.pending {
            None => known,
            Some(Pending::Deletion) => format!("{known} or absent"),
            Some(Pending::Value(value)) => format!("{known} or `{}`", shorten(value)),
        }
    }
}

fn describe(state: Option<&Found>) -> String {
    match state {
        None => "absent".to_owned(),
        Some(found) => format!("`{}` of version {}", shorten(&found.value), found.version),
    }
}

/// The beginning of a value, which is unique.
fn shorten(value: &str) -> String {
    value.chars().take(20).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(objects: &[(&str, &str, u64)]) -> BTreeMap<String, Found> {
        let found = |(name, value, version): &(&str, &str, u64)| {
            ((*name).to_owned(), Found { value: (*value).to_owned(), version: *version })
        };
        objects.iter().map(found).collect()
    }

    fn written() -> Ledger {
        let mut ledger = Ledger::default();
        for (name, version) in [("a", 5), ("b", 6)] {
            ledger.begin(name, Some(format!("{name}1")));
            assert_eq!(ledger.acknowledge(name, Some(version)), None);
        }
        ledger
    }

    #[test]
    fn acknowledged_writes_must_be_there_and_deleted_objects_must_not_return() {
        let mut ledger = written();
        ledger.begin("b", None);
        assert_eq!(ledger.acknowledge("b", None), None);
        assert_eq!(ledger.acknowledged(), 3);
        assert_eq!(ledger.clone().check(&objects(&[("a", "a1", 5)])), [""; 0]);
        let wrong = ledger.check(&objects(&[("b", "b1", 6), ("c", "c1", 9)]));
        let expected =
            ["a: absent, not `a1` of version 5", "b: `b1` of version 6, not absent", "c: nobody wrote it"];
        assert_eq!(wrong, expected);
    }

    #[test]
    fn a_write_without_an_answer_may_have_happened_or_not() {
        let mut ledger = written();
        ledger.begin("a", Some("a2".to_owned()));
        ledger.begin("b", None);
        for after in [
            objects(&[("a", "a1", 5), ("b", "b1", 6)]),
            objects(&[("a", "a2", 7)]),
            objects(&[("a", "a1", 5)]),
        ] {
            assert_eq!(ledger.clone().check(&after), [""; 0]);
        }
        let wrong = ledger.check(&objects(&[("a", "a2", 4), ("b", "b1", 6)]));
        assert_eq!(wrong, ["a: `a2` of version 4, not `a1` of version 5 or `a2`"]);
        // From now on the state that was found is the known one.
        assert_eq!(ledger.check(&objects(&[("a", "a2", 4), ("b", "b1", 6)])), [""; 0]);
    }

    #[test]
    fn versions_never_go_back() {
        let mut ledger = written();
        ledger.begin("c", Some("c1".to_owned()));
        assert_eq!(
            ledger.acknowledge("c", Some(6)),
            Some("c: version 6 after version 6 was seen".to_owned())
        );
        assert_eq!(ledger.see(9), None);
        assert_eq!(ledger.see(8), Some("the revision went back from 9 to 8".to_owned()));
    }
}
