//! Warnings about the pods in a namespace whose enforced standard changes.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use windtunnel_core::Object;

use super::checks::{reasons, violations};
use super::pod::{Pod, Texts};
use super::policy::Standard;
use crate::gotext::quote;

/// The most pods that are checked.
const MOST: usize = 3000;

/// The pods with the same violations.
struct Violators<'a> {
    /// The first name of them.
    first: &'a str,
    count: usize,
}

/// The warnings about pods that violate the new standard of their namespace, on a server of this minor.
pub(super) fn warnings(pods: &[&Object], namespace: &str, enforce: Standard, server: u32) -> Vec<String> {
    let checked = prioritized(pods);
    let mut violators: BTreeMap<String, Violators<'_>> = BTreeMap::new();
    for pod in checked.iter().take(MOST) {
        let found = Pod::new(pod).map(|pod| violations(pod, enforce, server)).unwrap_or_default();
        if found.is_empty() {
            continue;
        }
        match violators.entry(reasons(&found)) {
            Entry::Vacant(place) => {
                place.insert(Violators { first: pod.name(), count: 1 });
            }
            Entry::Occupied(mut place) => {
                let violators = place.get_mut();
                violators.first = violators.first.min(pod.name());
                violators.count += 1;
            }
        }
    }
    let mut warnings = Vec::new();
    if checked.len() > MOST {
        warnings.push(format!(
            "new PodSecurity enforce level only checked against the first {MOST} of {} existing pods",
            checked.len()
        ));
    }
    if !violators.is_empty() {
        let (namespace, standard) = (quote(namespace), quote(&enforce.to_string()));
        warnings.push(format!(
            "existing pods in namespace {namespace} violate the new PodSecurity enforce level {standard}"
        ));
    }
    let texts: Texts = violators.iter().map(|(reasons, violators)| violators.text(reasons)).collect();
    warnings.extend(texts);
    warnings
}

impl Violators<'_> {
    fn text(&self, reasons: &str) -> String {
        let first = self.first;
        match self.count {
            1 => format!("{first}: {reasons}"),
            2 => format!("{first} (and 1 other pod): {reasons}"),
            count => format!("{first} (and {} other pods): {reasons}", count - 1),
        }
    }
}

/// The pods, with one of each controller before the others of the controller.
fn prioritized<'a>(pods: &[&'a Object]) -> Vec<&'a Object> {
    let mut controllers = Texts::new();
    let (mut first, more): (Vec<&Object>, Vec<&Object>) = pods.iter().copied().partition(|pod| {
        let owners = pod["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        let mut controllers_of_pod = owners.filter(|owner| owner["controller"] == true);
        let controller = controllers_of_pod.next().and_then(|owner| owner["uid"].as_str());
        controller.is_none_or(|uid| controllers.insert(uid.to_owned()))
    });
    first.extend(more);
    first
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::admission::builtin::pod_security::policy::{Level, Version};

    const BASELINE: Standard = Standard { level: Level::Baseline, version: Version::Latest };

    fn warnings(pods: &[Object]) -> Vec<String> {
        super::warnings(&pods.iter().collect::<Vec<_>>(), "n", BASELINE, 36)
    }

    #[expect(clippy::needless_pass_by_value, reason = "the callers build it in place")]
    fn pod(name: &str, spec: Value) -> Object {
        Object::new(json!({ "metadata": { "name": name }, "spec": spec }))
    }

    #[test]
    fn pods_with_the_same_violations_share_a_warning() {
        let network = || json!({ "hostNetwork": true });
        let pods = [
            pod("z", network()),
            pod("b", json!({ "hostPID": true, "securityContext": { "sysctls": [{ "name": "a" }] } })),
            pod("c", network()),
            pod("d", json!({})),
        ];
        let expected = [
            r#"existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest""#,
            "b: host namespaces, forbidden sysctls",
            "c (and 1 other pod): host namespaces",
        ];
        assert_eq!(warnings(&pods), expected);
        let more: Vec<Object> = pods.iter().cloned().chain([pod("e", network())]).collect();
        assert_eq!(warnings(&more)[2], "c (and 2 other pods): host namespaces");
        assert!(warnings(&pods[3..]).is_empty());
    }

    #[test]
    fn only_the_first_pods_are_checked_and_one_of_each_controller_comes_first() {
        let owner = json!([{ "uid": "u", "controller": true }]);
        let mut pods: Vec<Object> = (0..MOST)
            .map(|index| {
                let metadata = json!({ "name": format!("a{index}"), "ownerReferences": owner });
                Object::new(json!({ "metadata": metadata, "spec": {} }))
            })
            .collect();
        pods.push(pod("z", json!({ "hostIPC": true })));
        let warnings = warnings(&pods);
        let expected =
            "new PodSecurity enforce level only checked against the first 3000 of 3001 existing pods";
        assert_eq!(warnings[0], expected);
        assert_eq!(warnings[2], "z: host namespaces");
    }
}
