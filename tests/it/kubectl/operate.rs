//! Tasks of an administrator: rights, nodes, rollouts.

use super::with_kubectl;

#[test]
fn rbac_rules_are_reported_and_enforced() {
    with_kubectl(&["--bare"], |kubectl| {
        assert_eq!(kubectl.run("auth can-i create pods"), "yes\n");
        kubectl.run("create role reader --verb=get,list --resource=configmaps");
        kubectl.run("create rolebinding reader --role=reader --user=jane");
        assert_eq!(kubectl.run("auth can-i get configmaps --as jane"), "yes\n");
        assert_eq!(kubectl.answer(&["auth", "can-i", "get", "secrets", "--as", "jane"]).out, "no\n");
        assert_eq!(kubectl.run("get configmaps -o name --as jane"), "");
        let err = kubectl.fails("get secrets --as jane");
        let text = "Error from server (Forbidden): secrets is forbidden: User \"jane\" cannot list resource \"secrets\" in API group \"\" in the namespace \"default\"";
        assert!(err.contains(text), "{err}");
        kubectl.run("create serviceaccount robot");
        if kubectl.minor >= 24 {
            let token = kubectl.run("create token robot");
            let err = kubectl.fails(&format!("--token={} get secrets", token.trim()));
            assert!(err.contains("User \"system:serviceaccount:default:robot\" cannot list"), "{err}");
        }
        let listed = kubectl.run("auth can-i --list --as jane");
        assert!(listed.contains("configmaps"), "{listed}");
    });
}

/// A node with a pod of a ReplicaSet, as controllers would leave them.
const WORKLOAD: &str = "apiVersion: v1
kind: Node
metadata: {name: worker}
---
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {app: d}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: u, controller: true}]}
spec: {nodeName: worker, containers: [{name: c, image: i}]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: r}
spec: {replicas: 1, selector: {matchLabels: {app: d}}, template: {metadata: {labels: {app: d}}, spec: {containers: [{name: c, image: i}]}}}
";

#[test]
fn a_node_is_drained_by_evictions() {
    with_kubectl(&["--bare"], |kubectl| {
        kubectl.environment.write("workload.yaml", WORKLOAD);
        kubectl.run("apply -f workload.yaml");
        assert!(kubectl.run("describe node worker").contains("worker"));
        kubectl.run("delete pod p --grace-period=0 --force --dry-run=server");
        let drain =
            kubectl.command(&["drain", "worker", "--timeout=20s", "--grace-period=0"]).output().unwrap();
        let output =
            String::from_utf8_lossy(&drain.stdout).into_owned() + &String::from_utf8_lossy(&drain.stderr);
        assert!(drain.status.success(), "{output}");
        assert!(output.contains("evicting pod default/p"), "{output}");
        assert!(
            ["drained", "evicted"].iter().any(|word| output.contains(&format!("node/worker {word}"))),
            "{output}"
        );
        assert!(kubectl.fails("get pod p").contains("not found"));
        assert_eq!(kubectl.json("get node worker")["spec"]["unschedulable"], true);
    });
}

#[test]
fn commands_that_need_a_running_container_fail_with_the_reason() {
    with_kubectl(&["--bare"], |kubectl| {
        kubectl.environment.write("workload.yaml", WORKLOAD);
        kubectl.run("apply -f workload.yaml");
        kubectl.environment.write("file", "text");
        // kubectl forwards only the ports of running pods.
        let mut pod = kubectl.json("get pod p");
        pod["status"]["phase"] = "Running".into();
        kubectl.environment.write("p.json", pod.to_string());
        kubectl.run("replace --raw /api/v1/namespaces/default/pods/p/status -f p.json");
        let none = "windtunnel simulates pods and runs no containers: ";
        for (arguments, expected) in [
            ("logs p", &*format!("{none}container \"c\" of pod \"p\" has no log")),
            ("logs p -c other", "container other is not valid for pod p"),
            ("logs gone", "pods \"gone\" not found"),
            ("exec p -- ls", &*format!("{none}container \"c\" of pod \"p\" cannot be reached by exec")),
            ("attach p", &*format!("{none}container \"c\" of pod \"p\" cannot be reached by attach")),
            (
                "cp file p:/tmp/file",
                &*format!("{none}container \"c\" of pod \"p\" cannot be reached by exec"),
            ),
            ("port-forward p :80", &*format!("{none}no port of pod \"p\" can be forwarded")),
        ] {
            let err = kubectl.fails(arguments);
            assert!(err.contains(expected), "kubectl {arguments}: {err}");
        }
    });
}

#[test]
fn rollouts_can_be_followed_and_deployments_scaled() {
    with_kubectl(&["--bare"], |kubectl| {
        kubectl.run("create deployment d --image=i:1");
        kubectl.run("scale deployment d --replicas=3");
        assert_eq!(kubectl.json("get deployment d")["spec"]["replicas"], 3);
        let waiting = kubectl.answer(&["rollout", "status", "deployment/d", "--timeout=1s"]);
        assert!(!waiting.ok && waiting.out.starts_with("Waiting for deployment"), "{}", waiting.out);
        if kubectl.minor >= 24 {
            let status = r#"{"status":{"observedGeneration":2,"replicas":3,"updatedReplicas":3,"readyReplicas":3,"availableReplicas":3}}"#;
            kubectl.run_with("patch deployment d --subresource=status --type merge -p", &[status]);
            let done = kubectl.run("rollout status deployment/d --timeout=10s");
            assert!(done.contains("deployment \"d\" successfully rolled out"), "{done}");
        }
        kubectl.run("rollout restart deployment/d");
        let annotations = &kubectl.json("get deployment d")["spec"]["template"]["metadata"]["annotations"];
        assert!(annotations["kubectl.kubernetes.io/restartedAt"].is_string(), "{annotations}");
    });
}
