//! The pool of a node, and the annotations of the machine-config operator.

use windtunnel_core::{Object, selector};

/// Prefix of the annotations of the machine-config operator and its daemons.
const MACHINE_CONFIG: &str = "machineconfiguration.openshift.io/";

/// Returns the value of an annotation with this prefix; empty if there is none.
pub(super) fn annotation<'a>(object: &'a Object, name: &str) -> &'a str {
    let all = object["metadata"]["annotations"].as_object().into_iter().flatten();
    let mut found = all.filter(|(key, _)| key.strip_prefix(MACHINE_CONFIG) == Some(name));
    found.next().and_then(|(_, value)| value.as_str()).unwrap_or_default()
}

/// Returns the pool of a node: `master` before custom pools before `worker`. Of several custom pools the
/// first counts; `oc` picks a random one.
pub(super) fn pool_of<'a>(node: &Object, pools: impl IntoIterator<Item = &'a Object>) -> Option<&'a Object> {
    let rank = |pool: &Object| match pool.name() {
        "master" => 0,
        "worker" => 2,
        _ => 1,
    };
    pools
        .into_iter()
        .filter(|pool| selector::chooses(&pool["spec"]["nodeSelector"], &node["metadata"]["labels"]))
        .min_by_key(|pool| rank(pool))
}
