//! Saves memory in records of long runs: folding turns old states into patches, as in the file form.

use windtunnel_core::{ByKey, Object, patch};

use super::{Entry, Event, WriteEvent};

/// The number of entries from which a record is folded.
const MANY: usize = 15_000;
/// The number of latest entries that are not folded, because expectations and failure reports still read
/// them.
const RECENT: usize = 2_000;
/// The minimum number of entries to fold at once.
const BATCH: usize = 1_000;

/// The progress of folding a record.
#[derive(Debug, Clone, Default)]
pub(crate) struct Folding {
    done: usize,
    /// The last state of each object in these entries.
    states: ByKey<State>,
}

#[derive(Debug, Clone)]
struct State {
    /// The original object.
    whole: Object,
    /// The same object as a chain of patches.
    folded: Object,
}

impl Folding {
    /// Folds entries that are old enough by now.
    pub(crate) fn keep_up(&mut self, entries: &mut [Entry]) {
        if entries.len() >= MANY {
            self.fold_up_to(entries, RECENT, BATCH);
        }
    }

    fn fold_up_to(&mut self, entries: &mut [Entry], recent: usize, batch: usize) {
        // Entries of failed attempts are removed from a record.
        self.done = self.done.min(entries.len());
        if entries.len() < self.done + recent + batch {
            return;
        }
        let end = entries.len() - recent;
        for entry in &mut entries[self.done..end] {
            if let Event::Write(write) = &mut entry.event {
                self.fold(write);
            }
        }
        self.done = end;
    }

    fn fold(&mut self, write: &mut WriteEvent) {
        let state = write.state_after().cloned();
        let known = self.states.get(&write.key);
        let known =
            known.filter(|known| write.before.as_ref().is_some_and(|before| before.is_same(&known.whole)));
        let patch = match (&write.before, &write.after) {
            (Some(before), Some(after)) if !before.is_same(after) => patch::between(before, after),
            _ => None,
        };
        if let Some(known) = known {
            write.before = Some(known.folded.clone());
        }
        if let (Some(before), Some(patch)) = (&write.before, patch)
            && let Some(after) = before.with_patch(&patch)
        {
            write.after = Some(after);
        }
        match (state, write.state_after()) {
            (Some(whole), Some(folded)) => {
                self.states.insert(&write.key, State { whole, folded: folded.clone() });
            }
            _ => drop(self.states.remove(&write.key)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::clock::Time;
    use windtunnel_core::resources::NODES;

    use super::*;
    use crate::record::{Header, Record};

    #[test]
    fn a_folded_record_has_the_same_file_form() {
        let state = |n: u32| {
            Object::new(json!({"metadata": {"name": "a", "resourceVersion": n.to_string()}, "l": [n]}))
        };
        let states: Vec<Object> = (0..90).map(state).collect();
        let write = |(n, after): (usize, &Object)| {
            let event = WriteEvent {
                by: "b".to_owned(),
                process: String::new(),
                verb: "update".to_owned(),
                kind: "Node".to_owned(),
                key: NODES.key("", "a"),
                subresource: String::new(),
                code: if n % 7 == 3 { 409 } else { 200 },
                message: String::new(),
                before: n.checked_sub(1).map(|n| states[n - usize::from(n > 0 && n % 7 == 3)].clone()),
                after: Some(after.clone()).filter(|_| n % 7 != 3),
            };
            Entry { at: Time::UNIX_EPOCH, event: Event::Write(Box::new(event)) }
        };
        let entries = states.iter().enumerate().map(write).collect();
        let header = Header::default();
        let mut record = Record::new(header, entries);
        let lines = record.to_lines();
        let mut folding = Folding::default();
        for end in [30, 60, 90] {
            folding.fold_up_to(&mut record.entries[..end], 5, 5);
        }
        let is_folded = |entry: &&Entry| match &entry.event {
            Event::Write(write) => write.after.as_ref().is_some_and(Object::is_delta),
            _ => false,
        };
        assert!(record.entries.iter().filter(is_folded).count() > 50);
        assert_eq!(record.to_lines(), lines);
        let parsed = Record::parse(&lines).unwrap();
        assert_eq!(parsed.to_lines(), lines);
    }
}
