//! Containers in which programs of the user's machine run, instead of simulated ones.

use semver::Version;
use serde_json::Value;
use windtunnel_controllers::registry::digest_of;
use windtunnel_core::Object;

use super::Environment;
use crate::release::CLUSTER_VERSION_OPERATOR;

/// The containers that run one program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContainerPlace {
    /// Each container whose image matches this pattern, in which `*` matches any text.
    Image(String),
    /// This container of all pods of a workload, or of a pod.
    Container {
        /// The namespace.
        namespace: String,
        /// The name of the workload or of the pod.
        workload: String,
        /// The name of the container.
        container: String,
    },
    /// Each container with the image of a component of a release.
    Component {
        /// The release; any release if there is none.
        release: Option<Version>,
        /// The name of the component in the payload, such as `etcd-operator`.
        component: String,
    },
}

impl ContainerPlace {
    /// Whether the program runs in this container of `pod`.
    pub fn holds(&self, environment: &Environment, pod: &Object, container: &str) -> bool {
        match self {
            Self::Image(pattern) => matches(pattern, image(pod, container)),
            Self::Container { namespace, workload, container: name } => {
                name == container && namespace == pod.namespace() && belongs_to(pod, workload)
            }
            Self::Component { release, component } => {
                is_component(environment, release.as_ref(), component, image(pod, container))
            }
        }
    }
}

/// The spec of a container of `pod`, also of an init container; null if it has none of this name.
pub fn container<'a>(pod: &'a Object, name: &str) -> &'a Value {
    let lists = ["/spec/containers", "/spec/initContainers"];
    let mut all = lists.iter().flat_map(|list| pod.list(list));
    all.find(|container| container["name"] == name).unwrap_or(&Value::Null)
}

fn image<'a>(pod: &'a Object, name: &str) -> &'a str {
    container(pod, name)["image"].as_str().unwrap_or_default()
}

/// Whether `text` matches a pattern in which `*` matches any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(start) else { return false };
    (0..=text.len()).filter(|at| text.is_char_boundary(*at)).any(|at| matches(rest, &text[at..]))
}

/// Whether a pod has this name, or belongs to a workload with this name. Between a Deployment and its pods is a ReplicaSet,
/// whose name ends in the hash of the template.
fn belongs_to(pod: &Object, workload: &str) -> bool {
    let hash = pod.text("/metadata/labels/pod-template-hash");
    let owners = pod.list("/metadata/ownerReferences").iter().filter_map(|owner| owner["name"].as_str());
    let is_named = |owner: &str| {
        owner == workload
            || owner.strip_prefix(workload).is_some_and(|rest| rest.strip_prefix('-') == Some(hash))
    };
    pod.name() == workload || { owners }.any(is_named)
}

/// Whether an image is that of a component. The image of the cluster-version operator is the release image itself.
fn is_component(environment: &Environment, release: Option<&Version>, component: &str, image: &str) -> bool {
    let Some(digest) = digest_of(image) else { return false };
    let releases =
        environment.releases.iter().filter(|(version, _)| release.is_none_or(|one| one == *version));
    let mut releases = releases.map(|(_, release)| release);
    releases.any(|release| {
        let own = if component == CLUSTER_VERSION_OPERATOR {
            release.image.clone()
        } else {
            release.image_of(component)
        };
        digest_of(&own) == Some(digest)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::release::Release;

    fn pod() -> Object {
        Object::new(json!({
            "metadata": {
                "namespace": "ns", "name": "web-6d4cf56db6-x8k2p", "labels": { "pod-template-hash": "6d4cf56db6" },
                "ownerReferences": [{ "kind": "ReplicaSet", "name": "web-6d4cf56db6" }],
            },
            "spec": {
                "containers": [{ "name": "main", "image": "quay.io/me/web:1" }],
                "initContainers": [{ "name": "first", "image": "quay.io/me/first:1" }],
            },
        }))
    }

    #[test]
    fn images_are_matched_by_patterns() {
        let (environment, pod) = (Environment::default(), pod());
        let holds = |pattern: &str, container| {
            ContainerPlace::Image(pattern.to_owned()).holds(&environment, &pod, container)
        };
        assert!(holds("*/web:*", "main") && holds("quay.io/me/web:1", "main") && holds("*first*", "first"));
        assert!(!holds("*/web", "main") && !holds("web:*", "main") && !holds("*/web:*", "first"));
    }

    #[test]
    fn a_workload_has_the_pods_of_its_replica_sets() {
        let (environment, pod) = (Environment::default(), pod());
        let holds = |namespace: &str, workload: &str, container: &str| {
            let (namespace, workload, container) = (namespace.into(), workload.into(), container.into());
            ContainerPlace::Container { namespace, workload, container }.holds(&environment, &pod, "main")
        };
        assert!(holds("ns", "web", "main") && holds("ns", "web-6d4cf56db6-x8k2p", "main"));
        assert!(!holds("ns", "we", "main") && !holds("other", "web", "main") && !holds("ns", "web", "first"));
    }

    #[test]
    fn the_image_of_the_cluster_version_operator_is_that_of_the_release() {
        let release = Release::find(&Version::new(4, 18, 3)).unwrap();
        let pod = Object::new(json!({ "spec": { "containers": [{ "name": "a", "image": release.image }] } }));
        let mut environment = Environment::default();
        environment.releases.insert(release.version.clone(), release);
        let holds = |release: Option<Version>| {
            let component = CLUSTER_VERSION_OPERATOR.to_owned();
            ContainerPlace::Component { release, component }.holds(&environment, &pod, "a")
        };
        assert!(holds(None) && holds(Some(Version::new(4, 18, 3))) && !holds(Some(Version::new(4, 18, 4))));
    }
}
