//! `kubectl apply`, client-side and server-side.

use serde_json::json;

use super::with_kubectl;

#[test]
fn apply_changes_what_the_file_changed_and_removes_what_it_dropped() {
    with_kubectl(&["--bare"], |kubectl| {
        let write = |data: &str| {
            let map = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {data}\n");
            kubectl.environment.write("a.yaml", map);
        };
        write("{one: first, two: second}");
        assert_eq!(kubectl.run("apply -f a.yaml"), "configmap/a created\n");
        assert_eq!(kubectl.run("apply -f a.yaml"), "configmap/a unchanged\n");
        kubectl.run_with("patch configmap a --type merge -p", &[r#"{"data":{"other":"z"}}"#]);
        write("{one: changed}");
        let difference = kubectl.answer(&["diff", "-f", "a.yaml"]);
        assert!(
            !difference.ok && difference.out.contains("+  one: changed"),
            "{}{}",
            difference.out,
            difference.err
        );
        assert_eq!(kubectl.run("apply -f a.yaml"), "configmap/a configured\n");
        assert_eq!(kubectl.json("get configmap a")["data"], json!({ "one": "changed", "other": "z" }));
        assert_eq!(kubectl.run("delete -f a.yaml").lines().count(), 1);
    });
}

#[test]
fn server_side_apply_owns_fields_and_reports_conflicts() {
    with_kubectl(&["--bare"], |kubectl| {
        let write = |data: &str| {
            let map = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {data}\n");
            kubectl.environment.write("a.yaml", map);
        };
        write("{one: first, two: second}");
        let applied = kubectl.run("apply --server-side -f a.yaml");
        assert_eq!(applied, "configmap/a serverside-applied\n");
        write("{one: other}");
        let err = kubectl.fails("apply --server-side --field-manager=rival -f a.yaml");
        assert!(
            err.contains("Apply failed with 1 conflict: conflict with \"kubectl\"")
                && err.contains(".data.one"),
            "{err}"
        );
        kubectl.run("apply --server-side --field-manager=rival --force-conflicts -f a.yaml");
        write("{two: second}");
        kubectl.run("apply --server-side -f a.yaml");
        assert_eq!(kubectl.json("get configmap a")["data"], json!({ "one": "other", "two": "second" }));
        // Older versions of kubectl show them by default.
        let show = if kubectl.minor >= 21 { " --show-managed-fields" } else { "" };
        let fields = kubectl.run(&format!("get configmap a -o yaml{show}"));
        assert!(fields.contains("manager: rival") && fields.contains("f:one"), "{fields}");
    });
}

#[test]
fn a_simulated_cluster_tracks_the_owners_of_fields() {
    with_kubectl(&["--version", "4.18.3"], |kubectl| {
        let write = |data: &str| {
            let map = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {data}\n");
            kubectl.environment.write("a.yaml", map);
        };
        write("{one: first, two: second}");
        kubectl.run("apply --server-side -f a.yaml");
        write("{one: changed}");
        kubectl.run("apply --server-side -f a.yaml");
        assert_eq!(kubectl.json("get configmap a")["data"], json!({ "one": "changed" }));
        write("{one: other}");
        let err = kubectl.fails("apply --server-side --field-manager=rival -f a.yaml");
        assert!(err.contains("Apply failed with 1 conflict: conflict with \"kubectl\""), "{err}");
    });
}

#[test]
fn the_manifests_for_real_clusters_are_accepted_unchanged() {
    with_kubectl(&["--bare"], |kubectl| {
        let manifests = concat!(env!("CARGO_MANIFEST_DIR"), "/manifests");
        let applied = kubectl.run(&format!("apply --validate=true -f {manifests}/jobs"));
        for kind in ["suite", "seeds", "exploration"].map(|job| format!("job.batch/windtunnel-{job}")) {
            assert!(applied.contains(&format!("{kind} created\n")), "{applied}");
        }
        // OpenShift has this namespace.
        kubectl.run("create namespace openshift-cluster-version");
        let applied = kubectl.run(&format!("apply --validate=true -f {manifests}/update-status-controller"));
        assert!(applied.contains("deployment.apps/update-status-controller created\n"), "{applied}");
        let repeated =
            kubectl.run(&format!("apply -f {manifests}/jobs -f {manifests}/update-status-controller"));
        assert!(repeated.lines().all(|line| line.ends_with(" unchanged")), "{repeated}");
    });
}
