//! The namespaces that every cluster has. The server creates missing ones again within a minute (`systemnamespaces`).

use jiff::SignedDuration;
use serde_json::json;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::resources::NAMESPACES;
use windtunnel_core::{Identity, Write};

use super::own_request;
use crate::server::ApiServer;
use crate::server::change::{Change, Derived};

/// The namespaces that every cluster has.
const OWN: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];
/// The interval in which the server looks for missing ones.
const INTERVAL: SignedDuration = SignedDuration::from_secs(60);

/// Plans the creation of missing namespaces after one was removed.
pub(in crate::server) struct OwnNamespaces;

impl Derived for OwnNamespaces {
    fn follow(&self, server: &mut ApiServer, change: &Change<'_>) {
        let is_missing = |name: &&str| server.store.get(server.tables.namespaces, "", name).is_none();
        if change.kind.table == server.tables.namespaces
            && server.missing_namespaces.is_none()
            && OWN.iter().any(is_missing)
        {
            server.missing_namespaces = Some(after(change.now, INTERVAL));
        }
    }
}

impl ApiServer {
    /// Creates the missing namespaces.
    pub(crate) fn create_own_namespaces(&mut self, now: Time) {
        let admin = Identity::admin();
        for name in OWN {
            if self.store.get(self.tables.namespaces, "", name).is_none() {
                let namespace =
                    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
                self.handle(&own_request(&Write::create(&NAMESPACES, namespace), &admin), now);
            }
        }
    }

    /// Creates missing namespaces if it is time.
    pub(crate) fn restore_own_namespaces(&mut self, now: Time) {
        if self.missing_namespaces.is_some_and(|due| due <= now) && self.store.stalled().is_none() {
            self.missing_namespaces = None;
            self.create_own_namespaces(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Time {
        Time::from_second(1_700_000_000 + seconds).unwrap()
    }

    #[test]
    fn a_removed_namespace_is_created_again_within_a_minute() {
        let mut server = ApiServer::builder().build(at(0));
        let exists =
            |server: &ApiServer| server.store.get(server.tables.namespaces, "", "kube-node-lease").is_some();
        let admin = Identity::admin();
        server.write(&Write::delete(&NAMESPACES, "", "kube-node-lease"), &admin, at(0)).unwrap();
        let finalize = Write::update(
            &NAMESPACES,
            json!({ "metadata": { "name": "kube-node-lease" }, "spec": { "finalizers": [] } }),
        );
        server.write(&Write { subresource: Some("finalize"), ..finalize }, &admin, at(1)).unwrap();
        assert!(!exists(&server));
        server.restore_own_namespaces(at(59));
        assert!(!exists(&server));
        server.restore_own_namespaces(at(61));
        assert!(exists(&server));
    }
}
