//! Which pool a node belongs to, and what the machine-config operator and its daemons noted.

use windtunnel_core::{Object, selector};

/// Prefix of the annotations that the machine config operator and its daemons write.
const MACHINE_CONFIG: &str = "machineconfiguration.openshift.io/";

/// The value of one of these annotations; empty where there is none.
pub(super) fn annotation<'a>(object: &'a Object, name: &str) -> &'a str {
    let all = object["metadata"]["annotations"].as_object().into_iter().flatten();
    let mut found = all.filter(|(key, _)| key.strip_prefix(MACHINE_CONFIG) == Some(name));
    found.next().and_then(|(_, value)| value.as_str()).unwrap_or_default()
}

/// The pool of a node: `master` before custom pools before `worker`. Among several custom pools the first counts, where
/// `oc` takes any.
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
