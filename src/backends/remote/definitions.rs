//! Finds the kinds that a server serves, including those of CustomResourceDefinitions.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use serde_json::{Value, json};
use windtunnel_core::resources::{self, CUSTOM_RESOURCE_DEFINITIONS};
use windtunnel_core::{Object, Rejection, Resource};

use super::link::Link;
use super::watching::follow::follow;

/// The time limit for a definition until its kind is served, and the polling interval.
const ESTABLISHED_WITHIN: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// Follows all known kinds that the server serves, and those of its definitions.
///
/// # Errors
/// Discovery or a list fails.
pub(super) async fn follow_all(link: &Arc<Link>) -> Result<(), Rejection> {
    let mut kinds: Vec<Resource> = Vec::new();
    let versions: BTreeSet<String> = resources::ALL.iter().map(Resource::api_version).collect();
    for version in versions {
        let root = if version.contains('/') { "apis" } else { "api" };
        let answer = link.wire.read(&format!("/{root}/{version}")).await.checked();
        let served = match answer {
            Ok(served) => served,
            Err(rejection) if rejection.code == 404 => continue,
            Err(rejection) => return Err(rejection),
        };
        let can_be_watched = |resource: &&Resource| {
            let found = served["resources"].as_array().into_iter().flatten();
            found.filter(|found| found["name"] == *resource.plural).any(|found| {
                let verbs = found["verbs"].as_array();
                ["list", "watch"].iter().all(|verb| verbs.is_some_and(|verbs| verbs.contains(&json!(verb))))
            })
        };
        let of_version = resources::ALL.iter().filter(|resource| resource.api_version() == version);
        kinds.extend(of_version.filter(can_be_watched).cloned());
    }
    let followed = join_all(kinds.iter().map(|resource| follow(link, resource))).await;
    followed.into_iter().collect::<Result<Vec<()>, Rejection>>()?;
    let definitions = link.wire.read(&CUSTOM_RESOURCE_DEFINITIONS.path("", "")).await.checked()?;
    for definition in definitions["items"].as_array().into_iter().flatten() {
        if let Some(resource) = defined(definition) {
            // A broken conversion webhook can be the reason why a kind cannot be listed.
            let _ = follow(link, &resource).await;
        }
    }
    Ok(())
}

/// Waits until the kind of a definition is served, and follows it.
///
/// # Errors
/// It is not served in time.
pub(super) async fn establish(link: &Arc<Link>, definition: &Object) -> Result<(), Rejection> {
    let Some(resource) = defined(definition) else { return Ok(()) };
    if link.follows(&resource) {
        return Ok(());
    }
    let wait = async {
        let own = CUSTOM_RESOURCE_DEFINITIONS.path("", definition.name());
        loop {
            let now = link.wire.read(&own).await.checked()?;
            if is_established(&now) {
                match follow(link, &resource).await {
                    Err(rejection) if rejection.code == 404 || rejection.code == 503 => {}
                    outcome => return outcome,
                }
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    tokio::time::timeout(ESTABLISHED_WITHIN, wait).await.unwrap_or_else(|_| {
        let seconds = ESTABLISHED_WITHIN.as_secs();
        let message = format!("{} is not served {seconds} s after its definition", definition.name());
        Err(Rejection { code: 504, reason: "Timeout".to_owned(), message, details: Value::Null })
    })
}

fn is_established(definition: &Value) -> bool {
    let conditions = definition["status"]["conditions"].as_array().into_iter().flatten();
    conditions
        .into_iter()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
}

/// Returns the kind of a definition, in the API version that the simulation uses, or else in the stored
/// version.
fn defined(definition: &Value) -> Option<Resource> {
    let spec = &definition["spec"];
    let versions =
        || spec["versions"].as_array().into_iter().flatten().filter(|version| version["served"] == true);
    let (group, kind) = (spec["group"].as_str()?, spec["names"]["kind"].as_str()?);
    let known = resources::ALL.iter().find(|known| known.group == group && known.kind == kind);
    let known = known.filter(|known| versions().any(|version| version["name"] == *known.version));
    if let Some(known) = known {
        return Some(known.clone());
    }
    let stored = versions().find(|version| version["storage"] == true).or_else(|| versions().next())?;
    Some(Resource {
        group: group.to_owned().into(),
        version: stored["name"].as_str()?.to_owned().into(),
        kind: kind.to_owned().into(),
        plural: spec["names"]["plural"].as_str()?.to_owned().into(),
        namespaced: spec["scope"] == "Namespaced",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_the_version_of_the_simulation_or_else_the_stored_one() {
        let version = |name: &str, storage: bool| json!({ "name": name, "served": true, "storage": storage });
        let definition = |group: &str, kind: &str| {
            json!({ "spec": {
                "group": group, "scope": "Cluster", "names": { "kind": kind, "plural": "things" },
                "versions": [version("v1", false), version("v2", true)],
            } })
        };
        let version_of = |group, kind| defined(&definition(group, kind)).unwrap().api_version();
        assert_eq!(version_of("config.openshift.io", "ClusterVersion"), "config.openshift.io/v1");
        assert_eq!(version_of("example.com", "Thing"), "example.com/v2");
        assert_eq!(defined(&json!({ "spec": {} })), None);
    }
}
