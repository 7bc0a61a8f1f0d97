//! An index of the actors by the changes that wake them. The cost of a change depends on its readers, not on
//! the size of the cluster.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windtunnel_core::resources::PODS;
use windtunnel_core::{ByKey, Change, Resource, pod};

use crate::Interest;

/// The number of an actor in a [`Schedule`](super::Schedule). Numbers of removed actors are not used again.
pub type ActorId = usize;

/// The actors that changes of one kind wake.
#[derive(Debug, Clone, Default)]
struct Readers {
    everywhere: BTreeSet<ActorId>,
    by_namespace: BTreeMap<String, BTreeSet<ActorId>>,
    by_label: BTreeMap<String, BTreeSet<ActorId>>,
}

impl Readers {
    /// The actors that a change wakes.
    fn of_change(&self, change: &Change) -> impl Iterator<Item = &ActorId> {
        let by_namespace = self.by_namespace.get(&change.key.namespace);
        let by_label = self.by_label.iter().filter(|(name, _)| change.object.label(name).is_some());
        let by_label = by_label.flat_map(|(_, readers)| readers);
        self.everywhere.iter().chain(by_namespace.into_iter().flatten()).chain(by_label)
    }
}

/// Readers by group and plural.
type Kinds = BTreeMap<Cow<'static, str>, BTreeMap<Cow<'static, str>, Readers>>;

/// The index of all interests.
#[derive(Debug, Clone, Default)]
pub(super) struct Router {
    everything: BTreeSet<ActorId>,
    kinds: Kinds,
    objects: ByKey<BTreeSet<ActorId>>,
    nodes: BTreeMap<String, BTreeSet<ActorId>>,
    ownership: BTreeSet<ActorId>,
    counted: BTreeMap<&'static str, BTreeSet<ActorId>>,
    /// The interests of each actor, so that its removal does not search those of all others.
    of_actors: BTreeMap<ActorId, Arc<[Interest]>>,
}

impl Router {
    /// Adds an actor's interests.
    pub(super) fn add(&mut self, actor: ActorId, interests: Vec<Interest>) {
        for interest in &interests {
            self.interested_in(interest).insert(actor);
        }
        self.of_actors.insert(actor, interests.into());
    }

    /// Removes an actor.
    pub(super) fn remove(&mut self, actor: ActorId) {
        for interest in &*self.of_actors.remove(&actor).unwrap_or_default() {
            self.interested_in(interest).remove(&actor);
        }
    }

    /// The actors with this interest.
    fn interested_in(&mut self, interest: &Interest) -> &mut BTreeSet<ActorId> {
        match interest {
            Interest::Everything => &mut self.everything,
            Interest::Kind(resource) => &mut self.kind(resource).everywhere,
            Interest::In(resource, namespace) => {
                self.kind(resource).by_namespace.entry(namespace.clone()).or_default()
            }
            Interest::Labelled(resource, label) => {
                self.kind(resource).by_label.entry(label.clone()).or_default()
            }
            Interest::Object(key) => self.objects.get_or_default(key.clone()),
            Interest::PodsOn(node) => self.nodes.entry(node.clone()).or_default(),
            Interest::Ownership => &mut self.ownership,
            Interest::Counted(metric) => self.counted.entry(metric).or_default(),
        }
    }

    /// The actors that a change wakes, in the order of their numbers.
    pub(super) fn readers(&self, change: &Change) -> Vec<ActorId> {
        let key = &change.key;
        let mut readers: Vec<ActorId> = self.everything.iter().copied().collect();
        if let Some(of_kind) = self.kinds.get(&*key.group).and_then(|plurals| plurals.get(&*key.plural)) {
            readers.extend(of_kind.of_change(change));
        }
        readers.extend(self.objects.get(key).into_iter().flatten());
        if !self.ownership.is_empty() && change.affects_ownership() {
            readers.extend(&self.ownership);
        }
        if key.is_kind(&PODS) {
            readers.extend(self.nodes.get(pod::node_name(&change.object)).into_iter().flatten());
        }
        readers.sort_unstable();
        readers.dedup();
        readers
    }

    /// The actors that scrape a metric.
    pub(super) fn scrapers(&self, metric: &str) -> impl Iterator<Item = ActorId> {
        self.counted.get(metric).into_iter().flatten().copied()
    }

    fn kind(&mut self, resource: &Resource) -> &mut Readers {
        self.kinds.entry(resource.group.clone()).or_default().entry(resource.plural.clone()).or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::resources::NODES;
    use windtunnel_core::{ChangeKind, Object};

    use super::*;

    #[test]
    fn no_change_wakes_a_removed_actor() {
        let interests = [
            Interest::Everything,
            Interest::Kind(PODS),
            Interest::Kind(NODES),
            Interest::In(PODS, "ns".to_owned()),
            Interest::Labelled(PODS, "l".to_owned()),
            Interest::Object(PODS.key("ns", "a")),
            Interest::PodsOn("n".to_owned()),
            Interest::Ownership,
            Interest::Counted("m"),
        ];
        let pod = json!({
            "metadata": { "namespace": "ns", "name": "a", "labels": { "l": "" }, "deletionTimestamp": "t" },
            "spec": { "nodeName": "n" },
        });
        let object = Object::new(pod);
        let change = Change { key: PODS.key("ns", "a"), kind: ChangeKind::Added, object, old: None };
        for interest in interests.clone() {
            let mut router = Router::default();
            router.add(1, interests.to_vec());
            router.add(2, vec![interest.clone()]);
            router.remove(1);
            let woken: Vec<ActorId> =
                router.readers(&change).into_iter().chain(router.scrapers("m")).collect();
            let expected: &[ActorId] = if interest == Interest::Kind(NODES) { &[] } else { &[2] };
            assert_eq!(woken, expected, "{interest:?}");
        }
    }
}
