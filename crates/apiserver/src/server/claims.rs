//! Permissions for parts of a claim's status: its allocation and consumers, and the reports of each driver
//! (`AuthorizedForBinding`, `AuthorizedForDeviceStatus`).

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::Value;
use windtunnel_core::Identity;

use crate::access::Attributes;
use crate::call::Call;
use crate::field::FieldError;
use crate::kinds::objects::Objects;
use crate::profile::since;
use crate::server::ApiServer;

/// The attribute of a service account that says on which node its pod runs.
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";

impl ApiServer {
    /// The errors about parts of a claim's status that the user may not change.
    pub(crate) fn check_claim_permissions(
        &mut self,
        call: &Call<'_>,
        object: &Value,
        old: &Value,
    ) -> Vec<FieldError> {
        let is_claim = call.kind.is_resource("resource.k8s.io", "resourceclaims");
        let (minor, part) = (self.profile.minor, &*call.path.subresource);
        if !is_claim || part != "status" || minor < since::CLAIM_STATUS_PERMISSIONS {
            return Vec::new();
        }
        let (new, old) = (&object["status"], &old["status"]);
        let mut errors = Vec::new();
        if ["allocation", "reservedFor"].iter().any(|field| new[*field] != old[*field]) {
            errors.extend(self.check_binding(call));
        }
        if !new["allocation"].is_null() {
            for driver in changed_drivers(new, old) {
                errors.extend(self.check_driver(call, driver, node_of(&new["allocation"])));
            }
        }
        errors
    }

    fn check_binding(&mut self, call: &Call<'_>) -> Option<FieldError> {
        let asked = Attributes {
            subresource: "binding".into(),
            namespace: Cow::default(),
            name: Cow::default(),
            ..Attributes::from_request(call.request)
        };
        let why = self.rejection(call, &asked)?;
        let verb = &asked.verb;
        Some(FieldError::forbidden(
            "status.allocation",
            format!(
                "changing status.allocation or status.reservedFor requires resource=\"resourceclaims/binding\", \
                 verb=\"{verb}\" permission: {why}"
            ),
        ))
    }

    /// Checks the permission for the reports of a driver, which may be for those on the user's own node only.
    fn check_driver(&mut self, call: &Call<'_>, driver: &str, node: Option<&str>) -> Option<FieldError> {
        let asked = Attributes::from_request(call.request);
        let own_node = node.is_some_and(|node| runs_on(call.request.user, node));
        let scopes: &[&str] =
            if own_node { &["associated-node", "arbitrary-node"] } else { &["arbitrary-node"] };
        let verbs: Vec<String> = scopes.iter().map(|scope| format!("{scope}:{}", asked.verb)).collect();
        let mut rejections = Vec::new();
        for verb in &verbs {
            let asked = Attributes {
                verb: verb.as_str().into(),
                subresource: "driver".into(),
                name: driver.into(),
                ..asked.clone()
            };
            rejections.push(self.rejection(call, &asked)?);
        }
        let why = rejections.first()?;
        Some(FieldError::forbidden(
            "status.devices",
            format!(
                "changing status.devices requires resource=\"resourceclaims/driver\", verb=\"[{}]\" permission: {why}",
                verbs.join(" ")
            ),
        ))
    }

    /// The message of the authorizers if they do not allow something.
    fn rejection(&mut self, call: &Call<'_>, asked: &Attributes<'_>) -> Option<String> {
        let Self { access, catalog, store, .. } = self;
        let answer = access.check_attributes(Objects { catalog, store }, call.request.user, asked);
        answer.err().map(|rejection| rejection.message.clone())
    }
}

/// The drivers whose reports a write adds, changes or removes (`getModifiedDrivers`).
fn changed_drivers<'a>(new: &'a Value, old: &'a Value) -> BTreeSet<&'a str> {
    let reports = |status: &'a Value| status["devices"].as_array().map(Vec::as_slice).unwrap_or_default();
    let (new, old) = (reports(new), reports(old));
    let changed = new.iter().filter(|one| !old.contains(one));
    let removed = old.iter().filter(|one| !new.contains(one));
    changed.chain(removed).map(|report| report["driver"].as_str().unwrap_or_default()).collect()
}

/// The only node of an allocation, if its selector names one (`nodeNameFromAllocation`).
fn node_of(allocation: &Value) -> Option<&str> {
    let [term] = allocation["nodeSelector"]["nodeSelectorTerms"].as_array()?.as_slice() else { return None };
    let [field] = term["matchFields"].as_array()?.as_slice() else { return None };
    let has_labels = term["matchExpressions"].as_array().is_some_and(|list| !list.is_empty());
    let [name] = field["values"].as_array()?.as_slice() else { return None };
    let names_node = field["key"] == "metadata.name" && field["operator"] == "In" && !has_labels;
    name.as_str().filter(|_| names_node)
}

/// Whether a user is a service account whose pod runs on a node (`saAssociatedWithAllocatedNode`).
fn runs_on(user: &Identity, node: &str) -> bool {
    let nodes = user.extra.get(NODE_NAME).map(Vec::as_slice).unwrap_or_default();
    user.user.starts_with("system:serviceaccount:") && matches!(nodes, [only] if only == node)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn drivers_of_changed_and_removed_reports_are_found() {
        let report = |driver: &str, pool: &str| json!({ "driver": driver, "pool": pool, "device": "d" });
        let old = json!({ "devices": [report("a", "p"), report("b", "p"), report("c", "p")] });
        let new = json!({ "devices": [report("a", "p"), report("b", "q")] });
        assert_eq!(changed_drivers(&new, &old).into_iter().collect::<Vec<_>>(), ["b", "c"]);
    }

    #[test]
    fn a_selector_by_name_is_for_one_node() {
        let field = json!({ "key": "metadata.name", "operator": "In", "values": ["n"] });
        let allocation = json!({ "nodeSelector": { "nodeSelectorTerms": [{ "matchFields": [field] }] } });
        assert_eq!(node_of(&allocation), Some("n"));
        let user = Identity {
            extra: [(NODE_NAME.to_owned(), vec!["n".to_owned()])].into(),
            ..Identity::new("system:serviceaccount:a:b", &[])
        };
        assert!(runs_on(&user, "n") && !runs_on(&Identity::admin(), "n"));
    }
}
