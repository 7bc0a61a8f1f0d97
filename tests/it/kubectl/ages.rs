//! Ages that kubectl computes by its own clock, in a cluster whose time passes faster.

use std::process::Stdio;

use regex::Regex;
use serde_json::Value;

use super::{Kubectl, with_kubectl};
use crate::cli::environment::pause;

/// The creation time and the last renewal of a node's Lease.
fn lease(kubectl: &Kubectl) -> [jiff::Timestamp; 2] {
    let lease = kubectl.json("-n kube-node-lease get lease worker-0");
    let moment = |field: &Value| field.as_str().unwrap().parse().unwrap();
    [moment(&lease["metadata"]["creationTimestamp"]), moment(&lease["spec"]["renewTime"])]
}

#[test]
fn no_age_is_invalid_in_a_cluster_at_sixty_times_the_speed() {
    with_kubectl(&["--version", "4.18.3", "--speed", "60x"], |kubectl| {
        // By then a cluster that started at the present time would be minutes ahead of kubectl.
        let has_aged = || {
            let [made, renewed] = lease(kubectl);
            renewed.duration_since(made).as_mins() >= 5
        };
        while !has_aged() {
            pause(200);
        }
        kubectl.run("create configmap late");
        let negative = Regex::new(r"(^|\s)-\d+[dhms]").unwrap();
        let check = |arguments: &str, expected: &str| {
            let printed = kubectl.run(arguments);
            assert!(printed.contains(expected), "{arguments}\n{printed}");
            assert!(!printed.contains("<invalid>"), "{arguments}\n{printed}");
            assert!(!negative.is_match(&printed), "{arguments}\n{printed}");
        };
        for more in ["", " --server-print=false"] {
            check(&format!("get nodes{more}"), "worker-0");
            check(&format!("get pods --all-namespaces{more}"), "cluster-version-operator-");
            check(&format!("get configmap late{more}"), "late");
            check(&format!("get clusteroperators{more}"), "kube-apiserver");
        }
        check("get events --all-namespaces", "LAST SEEN");
        check("describe node worker-0", "AcquireTime:");
    });
}

#[test]
fn kubectl_watches_a_cluster_at_a_high_speed() {
    with_kubectl(&["--version", "4.18.3", "--speed", "3600x"], |kubectl| {
        let mut watching = kubectl.command(&["get", "nodes", "--watch-only", "-o", "name"]);
        let mut watching = watching.stdout(Stdio::piped()).spawn().unwrap();
        // Kubernetes ends a watch after an hour at most, which takes a second here.
        let [_, begun] = lease(kubectl);
        while lease(kubectl)[1].duration_since(begun).as_mins() < 65 {
            pause(200);
        }
        assert!(watching.try_wait().unwrap().is_none(), "the watch has ended");
        watching.kill().unwrap();
        watching.wait().unwrap();
    });
}
