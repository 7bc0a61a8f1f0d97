//! Who wants to know of which change, by index: a change costs what its readers cost, not what the cluster does.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::actors::Interest;
use crate::model::resources::PODS;
use crate::model::{Change, Key, Resource};

/// Number of an actor in the simulation; never used again after it is gone.
pub(super) type ActorId = usize;

/// Group and plural.
type Kind = (Cow<'static, str>, Cow<'static, str>);

/// The index of all interests.
#[derive(Debug, Default)]
pub(super) struct Router {
    kinds: BTreeMap<Kind, BTreeSet<ActorId>>,
    namespaces: BTreeMap<(Kind, String), BTreeSet<ActorId>>,
    objects: BTreeMap<Key, BTreeSet<ActorId>>,
    nodes: BTreeMap<String, BTreeSet<ActorId>>,
    ownership: BTreeSet<ActorId>,
}

impl Router {
    /// Adds an actor's interests.
    pub(super) fn add(&mut self, actor: ActorId, interests: Vec<Interest>) {
        for interest in interests {
            let readers = match interest {
                Interest::Kind(resource) => self.kinds.entry(kind(&resource)).or_default(),
                Interest::In(resource, namespace) => {
                    self.namespaces.entry((kind(&resource), namespace)).or_default()
                }
                Interest::Object(key) => self.objects.entry(key).or_default(),
                Interest::PodsOn(node) => self.nodes.entry(node).or_default(),
                Interest::Ownership => &mut self.ownership,
            };
            readers.insert(actor);
        }
    }

    /// Forgets an actor that is gone.
    pub(super) fn remove(&mut self, actor: ActorId) {
        for readers in self.kinds.values_mut().chain(self.namespaces.values_mut()) {
            readers.remove(&actor);
        }
        for readers in self.objects.values_mut().chain(self.nodes.values_mut()) {
            readers.remove(&actor);
        }
        self.ownership.remove(&actor);
    }

    /// The actors that want to know of a change, in the order of their numbers.
    pub(super) fn readers(&self, change: &Change) -> BTreeSet<ActorId> {
        let key = &change.key;
        let kind = (key.group.clone(), key.plural.clone());
        let mut readers = self.kinds.get(&kind).cloned().unwrap_or_default();
        readers.extend(self.objects.get(key).into_iter().flatten());
        if !key.namespace.is_empty() {
            readers.extend(self.namespaces.get(&(kind, key.namespace.clone())).into_iter().flatten());
        }
        if !self.ownership.is_empty() && change.moves_ownership() {
            readers.extend(&self.ownership);
        }
        if key.is(&PODS) {
            readers.extend(self.nodes.get(change.object.text("/spec/nodeName")).into_iter().flatten());
        }
        readers
    }
}

fn kind(resource: &Resource) -> Kind {
    (resource.group.clone(), resource.plural.clone())
}
