//! The IPAddress objects of the addresses of Services (`ipallocator`), in minors that allocate addresses by objects.

use serde_json::{Value, json};
use windtunnel_core::resources::SERVICES;
use windtunnel_core::{Key, Resource};

use crate::profile::since;
use crate::server::ApiServer;
use crate::server::change::{Change, Derived};
use crate::store::Entry;

const ADDRESSES: Resource = Resource::cluster("networking.k8s.io", "v1", "IPAddress", "ipaddresses");

/// Creates and removes the object of a Service's address after the Service was written or removed.
pub(in crate::server) struct ServiceAddresses;

impl Derived for ServiceAddresses {
    fn follow(&self, server: &mut ApiServer, change: &Change<'_>) {
        let Change { kind, key, old, now } = *change;
        if !kind.is_resource(&SERVICES.group, &SERVICES.plural)
            || server.profile.minor < since::SERVICE_RANGES
        {
            return;
        }
        let current = server.store.get(kind.table, &key.namespace, &key.name).map(Entry::served);
        let (before, after) = (old.and_then(address), current.as_deref().and_then(address));
        if before == after {
            return;
        }
        if let Some(gone) = before {
            server.remove_own(&ADDRESSES, gone, now);
        }
        if let Some(new) = after {
            server.create_if_missing(&ADDRESSES, object(new, key), now);
        }
    }
}

/// The address of a Service in the cluster; `None` if it is headless or has none.
fn address(service: &Value) -> Option<&str> {
    service["spec"]["clusterIP"].as_str().filter(|address| !matches!(*address, "" | "None"))
}

fn object(address: &str, service: &Key) -> Value {
    json!({
        "metadata": { "name": address, "labels": {
            "ipaddress.kubernetes.io/ip-family": "IPv4",
            "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
        } },
        "spec": { "parentRef": {
            "resource": SERVICES.plural, "namespace": service.namespace, "name": service.name,
        } },
    })
}

#[cfg(test)]
mod tests {
    use windtunnel_core::clock::Time;
    use windtunnel_core::{Identity, Write};

    use super::*;

    fn names(server: &ApiServer) -> Vec<String> {
        let kind = server.catalog.find(&ADDRESSES.group, &ADDRESSES.version, &ADDRESSES.plural).unwrap();
        server.store.list(kind.table, "").map(|(_, name, _)| name.to_owned()).collect()
    }

    #[test]
    fn the_address_of_a_service_has_an_object_while_the_service_exists() {
        let now = Time::UNIX_EPOCH;
        let mut server = ApiServer::builder().kubernetes(36).build(now);
        let own = names(&server);
        assert_eq!(own.len(), 1, "that of the server's own Service");
        let free = server.allocations.network().addresses().nth(5).unwrap().to_string();
        let service = json!({
            "metadata": { "name": "s", "namespace": "default" },
            "spec": { "clusterIP": free, "ports": [{ "port": 80 }] },
        });
        let admin = Identity::admin();
        server.write(&Write::create(&SERVICES, service), &admin, now).unwrap();
        assert!(names(&server).contains(&free));
        server.write(&Write::delete(&SERVICES, "default", "s"), &admin, now).unwrap();
        assert_eq!(names(&server), own);
    }
}
