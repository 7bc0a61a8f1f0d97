//! Who wants to know of which change, by index: a change costs what its readers cost, not what the cluster does.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::actors::Interest;
use crate::model::resources::PODS;
use crate::model::{ByKey, Change, Resource};

/// Number of an actor in the simulation; never used again after it is gone.
pub(super) type ActorId = usize;

/// Who wants to know of one kind.
#[derive(Debug, Clone, Default)]
struct Readers {
    everywhere: BTreeSet<ActorId>,
    by_namespace: BTreeMap<String, BTreeSet<ActorId>>,
}

/// By group and plural.
type Kinds = BTreeMap<Cow<'static, str>, BTreeMap<Cow<'static, str>, Readers>>;

/// The index of all interests.
#[derive(Debug, Clone, Default)]
pub(super) struct Router {
    kinds: Kinds,
    objects: ByKey<BTreeSet<ActorId>>,
    nodes: BTreeMap<String, BTreeSet<ActorId>>,
    ownership: BTreeSet<ActorId>,
}

impl Router {
    /// Adds an actor's interests.
    pub(super) fn add(&mut self, actor: ActorId, interests: Vec<Interest>) {
        for interest in interests {
            let readers = match interest {
                Interest::Kind(resource) => &mut self.kind(resource).everywhere,
                Interest::In(resource, namespace) => {
                    self.kind(resource).by_namespace.entry(namespace).or_default()
                }
                Interest::Object(key) => self.objects.get_or_default(key),
                Interest::PodsOn(node) => self.nodes.entry(node).or_default(),
                Interest::Ownership => &mut self.ownership,
            };
            readers.insert(actor);
        }
    }

    /// Forgets an actor that is gone.
    pub(super) fn remove(&mut self, actor: ActorId) {
        for readers in self.kinds.values_mut().flat_map(BTreeMap::values_mut) {
            readers.everywhere.remove(&actor);
            readers.by_namespace.values_mut().for_each(|readers| {
                readers.remove(&actor);
            });
        }
        self.objects.change_each(|readers| {
            readers.remove(&actor);
        });
        for readers in self.nodes.values_mut() {
            readers.remove(&actor);
        }
        self.ownership.remove(&actor);
    }

    /// The actors that want to know of a change, in the order of their numbers.
    pub(super) fn readers(&self, change: &Change) -> Vec<ActorId> {
        let key = &change.key;
        let mut readers = Vec::new();
        if let Some(of_kind) = self.kinds.get(&*key.group).and_then(|plurals| plurals.get(&*key.plural)) {
            readers.extend(&of_kind.everywhere);
            readers.extend(of_kind.by_namespace.get(&key.namespace).into_iter().flatten());
        }
        readers.extend(self.objects.get(key).into_iter().flatten());
        if !self.ownership.is_empty() && change.moves_ownership() {
            readers.extend(&self.ownership);
        }
        if key.is(&PODS) {
            readers.extend(self.nodes.get(change.object.text("/spec/nodeName")).into_iter().flatten());
        }
        readers.sort_unstable();
        readers.dedup();
        readers
    }

    fn kind(&mut self, resource: Resource) -> &mut Readers {
        self.kinds.entry(resource.group).or_default().entry(resource.plural).or_default()
    }
}
