//! State that the server derives from stored objects, such as the kinds that definitions add and the rules of aggregated roles.
//!
//! [`DERIVED`] lists all of it, in the order in which it follows a change. [`ApiServer::follow`] is the only way in after a
//! write or a removal, [`ApiServer::follow_load`] and [`ApiServer::follow_undo`] after objects changed in another way.
//!
//! A storage that is opened ([`ApiServer::restore`]) or that rejects writes ([`ApiServer::rewind`]) changes objects in such a
//! way.
//!
//! Indexes that are cheaper to update when they are read follow the history of the store instead, and only need to know of an
//! undone write: the permissions of users and the allocated addresses of Services.

use std::sync::Arc;

use windtunnel_core::Key;
use windtunnel_core::clock::Time;

use crate::kinds::Kind;
use crate::server::ApiServer;
use crate::server::change::{Change, Derived, Reload};
use crate::server::control_plane::{FlowSchemaConditions, OwnNamespaces, ServiceAddresses};
use crate::server::definitions::lifecycle::ServedDefinitions;
use crate::server::expiry::EventExpiry;
use crate::storage::Saved;
use crate::store::TableId;

/// Number by which the revision jumps at a restart. Revisions that clients may have seen without being stored
/// are not used again.
const GAP: u64 = 10_000;

/// All derived state.
const DERIVED: [&dyn Derived; 8] = [
    &ServedDefinitions,
    &EventExpiry,
    &ServiceAddresses,
    &OwnNamespaces,
    &AdmissionConfiguration,
    &FlowSchemaConditions,
    &AggregatedRoles,
    &LazyIndexes,
];

impl ApiServer {
    /// Updates all derived state after a write or a removal.
    pub(crate) fn follow(&mut self, change: &Change<'_>) {
        for derived in DERIVED {
            derived.follow(self, change);
        }
    }

    /// Updates all derived state after the objects of all kinds were restored or imported.
    pub(crate) fn follow_load(&mut self, now: Time) {
        for kind in self.definitions_first() {
            let keys: Vec<Key> = self
                .store
                .list(kind.table, "")
                .map(|(namespace, name, _)| kind.key(namespace, name))
                .collect();
            self.reload(&Reload { kind: &kind, keys: &keys, is_undo: false, now });
        }
    }

    /// Updates all derived state after writes of these objects were undone.
    pub(crate) fn follow_undo(&mut self, undone: &[(TableId, Key)], now: Time) {
        for kind in self.definitions_first() {
            let keys: Vec<Key> =
                undone.iter().filter(|(table, _)| *table == kind.table).map(|(_, key)| key.clone()).collect();
            if !keys.is_empty() {
                self.reload(&Reload { kind: &kind, keys: &keys, is_undo: true, now });
            }
        }
    }

    /// Restores the content of a storage, before anything else is written.
    pub(crate) fn restore(&mut self, saved: Saved, now: Time) {
        for (key, object) in saved.objects {
            let table = match self.catalog.versions(&key.group, &key.plural).first() {
                Some(kind) => kind.table,
                None => self.custom_table(&key.group, &key.plural),
            };
            self.store.restore(table, &key, &object);
        }
        if saved.revision > 0 {
            self.store.advance_to(saved.revision.saturating_add(GAP));
        }
        self.follow_load(now);
        // No client has seen these changes.
        self.store.compact();
    }

    /// Reverts the writes that are not durable, and everything that the server derived from them, because the storage rejects
    /// writes.
    pub(crate) fn rewind(&mut self, why: &str, now: Time) {
        let reverted = self.store.rewind(why);
        self.follow_undo(&reverted, now);
    }

    fn reload(&mut self, reload: &Reload<'_>) {
        for derived in DERIVED {
            derived.follow_reload(self, reload);
        }
    }

    /// All served kinds. Nothing is derived from custom objects alone, so the kinds that a restored definition adds are not needed.
    fn definitions_first(&self) -> Vec<Arc<Kind>> {
        let definitions = self.tables.definitions;
        let mut kinds: Vec<_> = self.catalog.served().cloned().collect();
        kinds.sort_by_key(|kind| kind.table != definitions);
        kinds
    }
}

/// Webhooks, policies and quotas, and what plug-ins have read.
struct AdmissionConfiguration;

impl Derived for AdmissionConfiguration {
    fn follow(&self, server: &mut ApiServer, change: &Change<'_>) {
        server.admission.follow(change.kind, std::slice::from_ref(change.key), &server.store);
    }

    fn follow_reload(&self, server: &mut ApiServer, reload: &Reload<'_>) {
        server.admission.follow(reload.kind, reload.keys, &server.store);
    }
}

/// The rules of aggregated ClusterRoles.
struct AggregatedRoles;

impl AggregatedRoles {
    fn update(server: &mut ApiServer, kind: &Kind) {
        if kind.table == server.access.policy.tables().cluster_roles {
            server.access.aggregate_roles(&mut server.store);
        }
    }
}

impl Derived for AggregatedRoles {
    fn follow(&self, server: &mut ApiServer, change: &Change<'_>) {
        Self::update(server, change.kind);
    }

    fn follow_reload(&self, server: &mut ApiServer, reload: &Reload<'_>) {
        // The storage rejects a write of the rules as well; they were written together with the role.
        if !reload.is_undo {
            Self::update(server, reload.kind);
        }
    }
}

/// The indexes that follow the history. Its revisions are used a second time after an undo.
struct LazyIndexes;

impl Derived for LazyIndexes {
    fn follow_reload(&self, server: &mut ApiServer, reload: &Reload<'_>) {
        if reload.is_undo {
            server.access.policy.reset();
            server.allocations.forget_services();
        }
    }
}
