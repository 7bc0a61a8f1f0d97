//! Pods and pod templates, as the checks see them.

use std::collections::BTreeSet;

use serde_json::Value;
use windtunnel_core::text_of;

/// A pod, or the template of one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pod<'a> {
    pub(super) annotations: &'a Value,
    pub(super) spec: &'a Value,
}

impl<'a> Pod<'a> {
    /// A pod or a template; `None` if it has no specification.
    pub(super) fn new(pod: &'a Value) -> Option<Self> {
        pod["spec"]
            .is_object()
            .then(|| Self { annotations: &pod["metadata"]["annotations"], spec: &pod["spec"] })
    }

    /// All containers: those that initialize the pod, those that it runs, and those for debugging.
    pub(super) fn containers(self) -> impl Iterator<Item = &'a Value> {
        let lists = ["initContainers", "containers", "ephemeralContainers"];
        lists.into_iter().flat_map(move |list| self.spec[list].as_array().into_iter().flatten())
    }

    /// The names of the containers for which `is_bad` holds.
    pub(super) fn containers_where(self, mut is_bad: impl FnMut(&Value) -> bool) -> Vec<&'a str> {
        self.containers()
            .filter(|container| is_bad(container))
            .map(|container| text_of(container, "name"))
            .collect()
    }

    /// The pod and its containers that have a bad security context: `pod`, `container "a"` or
    /// `pod and containers "a", "b"`. Empty if there are none.
    pub(super) fn setters(self, mut is_bad: impl FnMut(&Value) -> bool) -> Vec<String> {
        let mut setters = Vec::new();
        if is_bad(&self.spec["securityContext"]) {
            setters.push("pod".to_owned());
        }
        let bad = self.containers_where(|container| is_bad(&container["securityContext"]));
        if !bad.is_empty() {
            setters.push(containers(&bad));
        }
        setters
    }

    /// Whether the pod is for Windows.
    pub(super) fn is_windows(self) -> bool {
        self.spec["os"]["name"] == "windows"
    }

    /// Whether the pod has its own user namespace.
    pub(super) fn has_own_users(self) -> bool {
        self.spec["hostUsers"] == false
    }
}

/// Sorted texts without duplicates.
pub(super) type Texts = BTreeSet<String>;

/// The singular or the plural of a noun.
pub(super) fn plural<'a>(count: usize, one: &'a str, more: &'a str) -> &'a str {
    if count == 1 { one } else { more }
}

/// A list in quotes: `"a", "b"`.
pub(super) fn quoted<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> String {
    let quoted: Vec<String> = texts.into_iter().map(|text| format!("\"{}\"", text.as_ref())).collect();
    quoted.join(", ")
}

/// The containers of these names: `container "a"` or `containers "a", "b"`.
pub(super) fn containers(names: &[&str]) -> String {
    format!("{} {}", plural(names.len(), "container", "containers"), quoted(names))
}
