//! Random values: uids, generated names and the durations of watches, each from its own stream.

use std::collections::BTreeMap;

use windtunnel_core::Resource;
use windtunnel_core::rng::{Stream, Streams, fnv1a};

/// The number of letters that the server appends to a `generateName`.
const SUFFIX_LENGTH: usize = 5;

/// The random streams of a server. After a restart with a storage they differ, so that no value repeats.
#[derive(Debug, Clone)]
pub(crate) struct Draws {
    streams: Streams,
    /// The number of previous starts.
    starts: u64,
    uids: Stream,
    own_uids: Stream,
    watch_seconds: Stream,
    error_order: Stream,
    /// The number of streams that were split off.
    splits: u64,
    /// The number of generated names, by the hash of kind, namespace and prefix.
    generated: BTreeMap<u64, u32>,
}

impl Draws {
    pub(crate) fn new(seed: u64, starts: u64) -> Self {
        let streams = Streams::new(seed);
        let stream = |name: &str| stream(streams, name, starts);
        Self {
            streams,
            starts,
            uids: stream("apiserver/uid"),
            own_uids: stream("apiserver/own-uid"),
            watch_seconds: stream("apiserver/watch-timeout"),
            error_order: stream("apiserver/error-order"),
            splits: 0,
            generated: BTreeMap::new(),
        }
    }

    /// Streams for a copy of the server, whose values this server never draws.
    pub(crate) fn split(&mut self) -> Self {
        self.splits += 1;
        let name = format!("apiserver/split/{}", self.splits);
        Self::new(stream(self.streams, &name, self.starts).bits(), self.starts)
    }

    /// The uid of a new object.
    pub(crate) fn uid(&mut self) -> String {
        self.uids.uuid()
    }

    /// The uid of a new object that the server itself creates.
    pub(crate) fn own_uid(&mut self) -> String {
        self.own_uids.uuid()
    }

    /// The duration of a watch in seconds, between two bounds.
    pub(crate) fn watch_seconds(&mut self, low: u64, high: u64) -> u64 {
        self.watch_seconds.between(low, high)
    }

    /// The index of the next of `count` properties that validation visits.
    pub(crate) fn next_property(&mut self, count: usize) -> usize {
        let last = u64::try_from(count).unwrap_or(u64::MAX).saturating_sub(1);
        usize::try_from(self.error_order.between(0, last)).unwrap_or_default()
    }

    /// The suffix of a generated name. The stream depends on kind, namespace and prefix, so that an additional generated name
    /// does not change names with another kind, namespace or prefix.
    pub(crate) fn name_suffix(&mut self, kind: &Resource, namespace: &str, prefix: &str) -> String {
        let name = format!("apiserver/generate-name/{}/{}/{namespace}/{prefix}", kind.group, kind.plural);
        let count = self.generated.entry(fnv1a(name.as_bytes())).or_insert(0);
        *count += 1;
        stream(self.streams, &format!("{name}/{count}"), self.starts).suffix(SUFFIX_LENGTH)
    }
}

fn stream(streams: Streams, name: &str, starts: u64) -> Stream {
    match starts {
        0 => streams.stream(name),
        starts => streams.stream(&format!("{name}/{starts}")),
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_core::resources::{JOBS, PODS};

    use super::*;

    #[test]
    fn name_suffix_is_independent_of_other_kinds_namespaces_and_prefixes() {
        let draw = |others: bool| {
            let mut draws = Draws::new(7, 0);
            if others {
                for (kind, namespace, prefix) in
                    [(&JOBS, "a", "web-"), (&PODS, "b", "web-"), (&PODS, "a", "db-")]
                {
                    draws.name_suffix(kind, namespace, prefix);
                }
            }
            [(); 3].map(|()| draws.name_suffix(&PODS, "a", "web-"))
        };
        assert_eq!(draw(false), draw(true));
        let [first, second, third] = draw(false);
        assert!(first != second && second != third && first != third);
    }

    #[test]
    fn restarted_server_generates_different_names() {
        let first = |starts| Draws::new(7, starts).name_suffix(&PODS, "a", "web-");
        assert_ne!(first(0), first(1));
    }
}
