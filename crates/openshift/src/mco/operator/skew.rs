//! Messages about the version skew between kubelets and the API server, up to 4.17. They do not block
//! updates.

use windtunnel_core::resources::{CLUSTER_OPERATORS, NODES};
use windtunnel_core::{Object, View, cluster_operator};

use crate::mco::membership;

/// The ClusterOperator with the API server's version.
const API_SERVER: &str = "kube-apiserver";
/// The maximum skew of kubelets in minors.
const MOST: i64 = 2;

/// Reason and message for `Upgradeable`, if kubelets are too old or cannot be checked.
pub(super) fn skew_message(view: &View) -> Option<(&'static str, String)> {
    match check_skew(view) {
        Ok(message) => message,
        Err(why) => {
            let message = format!("An error occurred when checking kubelet version skew: {why}");
            Some(("KubeletSkewUnchecked", message))
        }
    }
}

fn check_skew(view: &View) -> Result<Option<(&'static str, String)>, String> {
    let operator = view
        .get(&CLUSTER_OPERATORS, "", API_SERVER)
        .ok_or_else(|| format!("clusteroperators.config.openshift.io {API_SERVER:?} not found"))?;
    let version = version_of(operator).ok_or("kube-apiserver does not yet have a version")?;
    let served = minor(version)?;
    let pools = membership::pools(view);
    let managed = view.list(&NODES).filter(|node| membership::pool_of(node, &pools) != Ok(None));
    let kubelets: Vec<&str> = managed.map(|node| node.text("/status/nodeInfo/kubeletVersion")).collect();
    let mut unparsed = None;
    for kubelet in kubelets.iter().filter(|version| !version.is_empty()) {
        match minor(kubelet) {
            Ok(minor) if minor + MOST < served => {
                let message = format!(
                    "One or more nodes have an unsupported kubelet version skew. Please see `oc get nodes` for details and \
                     upgrade all nodes so that they have a kubelet version of at least {}.",
                    oldest(version)
                );
                return Ok(Some(("KubeletSkewUnsupported", message)));
            }
            Ok(minor) if minor + MOST == served => {
                let message = format!(
                    "Current kubelet version {kubelet} will not be supported by newer kube-apiserver. Please upgrade the \
                     kubelet first if plan to upgrade the kube-apiserver"
                );
                return Ok(Some(("KubeletSkewPresent", message)));
            }
            Ok(_) => {}
            Err(why) => unparsed = Some(why),
        }
    }
    if kubelets.last().is_none_or(|version| version.is_empty()) {
        return Err("kubelet does not yet have a version".to_owned());
    }
    unparsed.map_or(Ok(None), Err)
}

fn version_of(operator: &Object) -> Option<&str> {
    cluster_operator::version_of(operator, API_SERVER).filter(|version| !version.is_empty())
}

fn minor(version: &str) -> Result<i64, String> {
    let minor = version.split('.').nth(1).ok_or_else(|| format!("incorrect version syntax: {version:?}"))?;
    let why = |_| format!("strconv.ParseInt: parsing {minor:?}: invalid syntax");
    minor.parse().map_err(why)
}

/// The oldest kubelet version that this API server supports.
fn oldest(version: &str) -> String {
    let plain = version.split(['-', '+']).next().unwrap_or(version);
    let mut parts: Vec<String> = plain.split('.').map(str::to_owned).collect();
    if let Ok(minor) = minor(plain) {
        parts[1] = (minor - MOST).to_string();
    }
    parts.join(".")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windtunnel_core::resources::MACHINE_CONFIG_POOLS;
    use windtunnel_core::{Change, ChangeKind, Resource};

    use super::*;

    fn put(view: &mut View, resource: &Resource, object: Value) {
        let (key, object) = (resource.key_of(&object), Object::new(object));
        view.apply(&Change { key, kind: ChangeKind::Added, object, old: None });
    }

    fn skew_text(api_server: &str, kubelets: &[&str]) -> String {
        let mut view = View::default();
        let versions = json!([{ "name": API_SERVER, "version": api_server }]);
        let status = json!({ "versions": versions });
        put(&mut view, &CLUSTER_OPERATORS, json!({ "metadata": { "name": API_SERVER }, "status": status }));
        let labels = json!({ "node-role.kubernetes.io/worker": "" });
        let selector = json!({ "matchLabels": labels });
        put(
            &mut view,
            &MACHINE_CONFIG_POOLS,
            json!({ "metadata": { "name": "worker" }, "spec": { "nodeSelector": selector } }),
        );
        for (index, kubelet) in kubelets.iter().enumerate() {
            let metadata = json!({ "name": format!("w{index}"), "labels": labels });
            let status = json!({ "nodeInfo": { "kubeletVersion": kubelet } });
            put(&mut view, &NODES, json!({ "metadata": metadata, "status": status }));
        }
        skew_message(&view).map_or_else(String::new, |(reason, message)| format!("{reason}: {message}"))
    }

    #[test]
    fn kubelets_may_be_two_minors_behind() {
        assert_eq!(skew_text("1.29.4", &["v1.29.4", "v1.28.1+abc"]), "");
        let present = "KubeletSkewPresent: Current kubelet version v1.27.8 will not be supported by newer kube-apiserver. \
                       Please upgrade the kubelet first if plan to upgrade the kube-apiserver";
        assert_eq!(skew_text("1.29.4", &["v1.29.4", "v1.27.8"]), present);
        let unsupported = "KubeletSkewUnsupported: One or more nodes have an unsupported kubelet version skew. Please see \
                           `oc get nodes` for details and upgrade all nodes so that they have a kubelet version of at least \
                           1.27.4.";
        assert_eq!(skew_text("1.29.4-rc.0", &["v1.26.0"]), unsupported);
    }

    #[test]
    fn reports_versions_that_cannot_be_compared() {
        let unchecked = "KubeletSkewUnchecked: An error occurred when checking kubelet version skew: ";
        assert_eq!(skew_text("1.29.4", &[]), format!("{unchecked}kubelet does not yet have a version"));
        assert_eq!(
            skew_text("", &["v1.29.4"]),
            format!("{unchecked}kube-apiserver does not yet have a version")
        );
        assert_eq!(skew_text("1", &["v1.29.4"]), format!("{unchecked}incorrect version syntax: \"1\""));
    }
}
