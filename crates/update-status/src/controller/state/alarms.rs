//! Times at which objects must be reassessed even if nothing changes.

use std::collections::{BTreeMap, BTreeSet};

use windtunnel_core::clock::Time;

/// At most one time per name.
#[derive(Debug, Default)]
pub(in crate::controller) struct Alarms {
    by_name: BTreeMap<String, Time>,
    by_time: BTreeSet<(Time, String)>,
}

impl Alarms {
    /// Sets the time for `name`, or clears it.
    pub(in crate::controller) fn set(&mut self, name: &str, at: Option<Time>) {
        if let Some(earlier) = self.by_name.remove(name) {
            self.by_time.remove(&(earlier, name.to_owned()));
        }
        if let Some(at) = at {
            self.by_name.insert(name.to_owned(), at);
            self.by_time.insert((at, name.to_owned()));
        }
    }

    /// Returns the earliest time.
    pub(in crate::controller) fn next(&self) -> Option<Time> {
        self.by_time.first().map(|(at, _)| *at)
    }

    /// Removes and returns the names whose time has come.
    pub(in crate::controller) fn due(&mut self, now: Time) -> Vec<String> {
        let mut names = Vec::new();
        while self.next().is_some_and(|at| at <= now)
            && let Some((_, name)) = self.by_time.pop_first()
        {
            self.by_name.remove(&name);
            names.push(name);
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_time_set_for_a_name_counts() {
        let at = |text: &str| Some(format!("2024-01-01T{text}:00Z").parse::<Time>().unwrap());
        let mut alarms = Alarms::default();
        alarms.set("a", at("01:00"));
        alarms.set("b", at("02:00"));
        alarms.set("a", at("03:00"));
        assert_eq!(alarms.next(), at("02:00"));
        assert_eq!(alarms.due(at("02:00").unwrap()), ["b"]);
        alarms.set("a", None);
        assert_eq!((alarms.next(), alarms.due(Time::MAX).len()), (None, 0));
    }
}
