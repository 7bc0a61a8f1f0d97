//! Which addresses and node ports services have. It follows the history of services, so that nobody has to look at all
//! of them for every new one.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use serde_json::Value;

use crate::store::{EventKind, Table};

/// What all services have, up to some revision.
#[derive(Debug, Clone, Default)]
pub(crate) struct Taken {
    seen: Option<u64>,
    by: BTreeMap<(String, String), Own>,
    pub(super) addresses: BTreeSet<Ipv4Addr>,
    pub(super) ports: BTreeSet<i64>,
}

/// What one service has.
#[derive(Debug, Clone, Default)]
struct Own {
    address: Option<Ipv4Addr>,
    ports: Vec<i64>,
}

impl Own {
    fn read(service: &Value) -> Self {
        let ports = service["spec"]["ports"].as_array().into_iter().flatten();
        Self {
            address: service["spec"]["clusterIP"].as_str().and_then(|text| text.parse().ok()),
            ports: ports.filter_map(|port| port["nodePort"].as_i64()).collect(),
        }
    }
}

impl Taken {
    /// Learns what happened to services since the last time.
    pub(crate) fn follow(&mut self, services: &Table) {
        if let Some(Ok(events)) = self.seen.map(|seen| services.history.since(seen)) {
            for event in events {
                let own = (event.kind != EventKind::Deleted).then(|| Own::read(&event.object));
                self.set((event.key.namespace.clone(), event.key.name.clone()), own);
            }
        } else {
            *self = Self::default();
            for (namespace, named) in &services.objects {
                for (name, entry) in named {
                    self.set((namespace.clone(), name.clone()), Some(Own::read(&entry.served())));
                }
            }
        }
        self.seen = Some(services.history.latest());
    }

    /// Calls `work` while what a service itself has is nobody's.
    pub(super) fn without<T>(&mut self, namespace: &str, name: &str, work: impl FnOnce(&Self) -> T) -> T {
        let key = (namespace.to_owned(), name.to_owned());
        let own = self.set(key.clone(), None);
        let result = work(self);
        self.set(key, own);
        result
    }

    /// Notes what a service has now, and gives what it had.
    fn set(&mut self, key: (String, String), own: Option<Own>) -> Option<Own> {
        let before = self.by.remove(&key);
        if let Some(before) = &before {
            if let Some(address) = &before.address {
                self.addresses.remove(address);
            }
            for port in &before.ports {
                self.ports.remove(port);
            }
        }
        if let Some(own) = own {
            self.addresses.extend(own.address);
            self.ports.extend(&own.ports);
            self.by.insert(key, own);
        }
        before
    }
}
