//! The addresses and node ports of services. The index follows their history, so that creating a service does
//! not scan all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use serde_json::Value;

use crate::store::{EventKind, Table};

/// The addresses and ports of all services, up to some revision.
#[derive(Debug, Clone, Default)]
pub(crate) struct AllocatedAddresses {
    seen: Option<u64>,
    /// The address and ports of each service, by namespace and name.
    services: BTreeMap<(String, String), Own>,
    pub(super) addresses: BTreeSet<Ipv4Addr>,
    pub(super) ports: BTreeSet<i64>,
}

/// The address and ports of one service.
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
            ports: ports
                .map(|port| &port["nodePort"])
                .chain([&service["spec"]["healthCheckNodePort"]])
                .filter_map(Value::as_i64)
                .collect(),
        }
    }
}

impl AllocatedAddresses {
    /// Applies the changes of services since the last call.
    pub(crate) fn update_from_history(&mut self, services: &Table) {
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

    /// Calls `work` with an index that lacks the address and ports of one service.
    pub(super) fn without<T>(&mut self, namespace: &str, name: &str, work: impl FnOnce(&Self) -> T) -> T {
        let key = (namespace.to_owned(), name.to_owned());
        let own = self.set(key.clone(), None);
        let result = work(self);
        self.set(key, own);
        result
    }

    /// Records the address and ports of a service, and returns its previous ones.
    fn set(&mut self, key: (String, String), own: Option<Own>) -> Option<Own> {
        let before = self.services.remove(&key);
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
            self.services.insert(key, own);
        }
        before
    }
}
