//! `--backend`: the same feature on every backend, and complete cleanup.

mod rights;
mod safety;
mod secrets;
#[cfg(unix)]
pub(crate) mod tools;

use std::collections::BTreeSet;
use std::process::{Child, Stdio};

use kube::api::{Api, DynamicObject, ListParams, PostParams};
use kube::discovery::{Discovery, verbs};
use serde_json::json;

use super::environment::{Output, TestEnvironment};
use super::serve::{Served, client, run};

/// An update with an insight and an alert, and a step that only the simulated API server can do.
const FEATURE: &str = r#"Feature: One feature for every backend

  Scenario: An update is done
    Given a 4.14.1 cluster with 1 control-plane node and 1 worker
    And release 4.14.8 exists
    And the feature set "DevPreviewNoUpgrade"
    Then within 5 minutes alert "UpdateAvailable" is firing
    When I ask for published insights
    And I update to 4.14.8
    Then within 20 minutes the insight about ClusterVersion/version has condition Updating True
    And within 2 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.14.8"
    And ClusterVersion field "status.history[0].state" is "Completed"

  Scenario: The API server fails requests
    Given a 4.14.1 cluster with 1 control-plane node and 0 workers
    When the API server answers conflict to the next 3 updates of ClusterVersion by cluster-version-operator
    And 1 minute passes
    Then ClusterVersion condition Available is True
"#;

/// A run that works until it is ended.
const ENDLESS: &str = r#"Feature: Endless
  Scenario: Time passes
    Given a 4.14.1 cluster with 1 control-plane node and 0 workers
    When I apply this object:
      """
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: started, namespace: default}
      """
    And 87000 hours pass
"#;

/// A cluster of other users; bare Kubernetes is enough for that.
struct Cluster {
    environment: TestEnvironment,
    _served: Served,
}

impl Cluster {
    fn new(arguments: &[&str]) -> Self {
        let environment = TestEnvironment::with(&[("f.feature", FEATURE), ("endless.feature", ENDLESS)]);
        let served = Served::start(&environment, &[arguments, &["--kubeconfig", "config"]].concat());
        Self { environment, _served: served }
    }

    fn bare() -> Self {
        Self::new(&["--bare"])
    }

    /// Adds a ready node.
    fn add_node(&self) {
        run(async {
            let client = client(&self.environment.read("config")).await;
            let node = json!({
                "metadata": { "name": "control-plane" },
                "status": { "conditions": [{ "type": "Ready", "status": "True" }] },
            });
            let nodes: Api<k8s_openapi::api::core::v1::Node> = Api::all(client);
            nodes.create(&PostParams::default(), &serde_json::from_value(node).unwrap()).await.unwrap();
        });
    }

    /// The arguments of a test of these features in the cluster.
    fn arguments<'a>(more: &[&'a str]) -> Vec<&'a str> {
        let place = ["test", "--backend", "kubeconfig", "--kubeconfig", "config", "--context", "windtunnel"];
        [&place[..], &["--speed", "100000x", "--writes-per-second", "5000"], more].concat()
    }

    fn test(&self, more: &[&str]) -> Output {
        self.environment.run(&Self::arguments(more))
    }

    /// Starts a test and does not wait for its end.
    fn start(&self, more: &[&str]) -> Child {
        let mut command = self.environment.command(&Self::arguments(more));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The names of all objects.
    fn objects(&self) -> BTreeSet<String> {
        run(async {
            let client = client(&self.environment.read("config")).await;
            let discovery = Discovery::new(client.clone()).run().await.unwrap();
            let mut found = BTreeSet::new();
            for group in discovery.groups() {
                for (kind, capabilities) in group.recommended_resources() {
                    if !capabilities.supports_operation(verbs::LIST) {
                        continue;
                    }
                    let all = Api::<DynamicObject>::all_with(client.clone(), &kind);
                    for object in all.list(&ListParams::default()).await.unwrap().items {
                        let (namespace, name) = (object.metadata.namespace, object.metadata.name);
                        found.insert(format!("{} {namespace:?} {name:?}", kind.kind));
                    }
                }
            }
            found
        })
    }

    /// Waits until a run of [`ENDLESS`] has its cluster.
    fn wait_for_a_run(&self) {
        for _ in 0..3000 {
            if self.objects().iter().any(|object| object.contains("started")) {
                return;
            }
            crate::cli::environment::pause(20);
        }
        panic!("no run started");
    }
}

pub(crate) fn signal(child: &Child, signal: &str) {
    assert!(
        std::process::Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
}

#[test]
fn one_feature_passes_in_process_and_served() {
    let environment = TestEnvironment::with(&[("f.feature", FEATURE)]);
    for backend in ["in-process", "served"] {
        let output = environment.run(&["test", "f.feature", "--backend", backend]);
        assert_eq!(output.code, Some(0), "{backend}: {output}");
        assert!(
            output.stdout.contains("2 passed, 0 failed;") && output.stderr.is_empty(),
            "{backend}: {output}"
        );
    }
}

#[test]
fn flags_of_another_backend_are_rejected() {
    let environment = TestEnvironment::with(&[("f.feature", FEATURE), ("s.yaml", "name: s\ntimeline: []\n")]);
    let rejects = |arguments: &[&str], expected: &str| {
        let output = environment.run(arguments);
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output}");
        assert_eq!(output.stderr, format!("error: {expected}\n"));
    };
    let required = "requires `--backend kubeconfig`";
    rejects(&["test", "f.feature", "--context", "c"], &format!("--context {required}"));
    rejects(
        &["test", "f.feature", "--backend", "kind", "--kubeconfig", "k"],
        &format!("--kubeconfig {required}"),
    );
    rejects(
        &["test", "f.feature", "--backend", "served", "--keep"],
        "--keep requires a backend other than in-process and served",
    );
    rejects(
        &["test", "f.feature", "--image", "i"],
        "--image requires a backend that creates a cluster: container, k3s, kind or k3d",
    );
    rejects(
        &["run", "s.yaml", "--backend", "kind", "--check-determinism"],
        "--check-determinism requires `--backend in-process` or `--backend served`",
    );
}

#[test]
fn the_same_feature_passes_in_an_existing_cluster_and_leaves_nothing_behind() {
    let cluster = Cluster::bare();
    let before = cluster.objects();
    let output = cluster.test(&["f.feature"]);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(output.stdout.contains("PASS  An update is done"), "{output}");
    let skipped = "SKIP  The API server fails requests  f.feature:14  (the API server answers conflict to the next 3 updates of \
                   ClusterVersion by cluster-version-operator: the API server of this cluster cannot fail requests \
                   on demand)";
    assert!(output.stdout.contains(skipped), "{output}");
    assert!(output.stdout.contains("1 passed, 0 failed, 1 skipped;"), "{output}");
    assert_eq!(cluster.objects(), before);
}

#[test]
fn a_rollback_that_needs_an_older_api_server_is_skipped() {
    let cluster = Cluster::new(&["--bare", "--kubernetes", "1.36"]);
    let all = include_str!("../../../../features/enum_rollback.feature");
    let first = all.split("  Scenario: ").take(2).collect::<Vec<_>>().join("  Scenario: ");
    cluster.environment.write("first.feature", first);
    let output = cluster.test(&["first.feature"]);
    assert_eq!(output.code, Some(0), "{output}");
    let why =
        "this cluster's API server stays at Kubernetes 1.36, which validates writes differently from 1.2";
    assert!(output.stdout.contains("SKIP  The status freezes, and an insight reports it  ("), "{output}");
    assert!(output.stdout.contains(why) && output.stdout.contains("; the step failed: "), "{output}");
    assert!(output.stdout.contains("0 passed, 0 failed, 1 skipped;"), "{output}");
    cluster.environment.write(
        "pinned.feature",
        "Feature: f\n  Scenario: s\n    Given a 4.14.1 cluster\n    And the kube-apiserver stays at Kubernetes 1.33\n    \
         When 1 minute passes\n",
    );
    let output = cluster.test(&["pinned.feature"]);
    let why = "the scenario needs Kubernetes 1.33, but this cluster's API server has a fixed version";
    assert!(output.code == Some(0) && output.stdout.contains(why), "{output}");
    assert!(output.stdout.contains("0 passed, 0 failed, 1 skipped;"), "{output}");
}

#[test]
fn the_next_run_removes_what_a_killed_run_left() {
    let cluster = Cluster::bare();
    let before = cluster.objects();
    let mut child = cluster.start(&["endless.feature"]);
    cluster.wait_for_a_run();
    let busy = cluster.test(&["f.feature"]);
    assert_eq!(busy.code, Some(2), "{busy}");
    assert!(busy.stderr.contains("is active in this cluster"), "{busy}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_ne!(cluster.objects(), before);
    let output = cluster.test(&["f.feature"]);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(output.stderr.contains("ended without cleaning up"), "{output}");
    assert_eq!(cluster.objects(), before);
}

#[test]
fn an_interrupted_run_cleans_up() {
    let cluster = Cluster::bare();
    let before = cluster.objects();
    for (ending, code) in [("-INT", 130), ("-TERM", 143)] {
        let child =
            cluster.start(&["endless.feature", "--retry", "3", "--junit", "j.xml", "--record", "r.jsonl"]);
        cluster.wait_for_a_run();
        signal(&child, ending);
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert_eq!(stderr.matches("interrupted: ").count(), 1, "{stderr}");
        assert_eq!(stderr.matches("removed ").count(), 1, "{stderr}");
        assert_eq!(cluster.objects(), before);
        let junit = cluster.environment.read("j.xml");
        assert!(junit.contains("Time passes") && junit.contains("the run was interrupted"), "{junit}");
        assert!(cluster.environment.read("r.jsonl").contains("\"started\""));
        for file in ["j.xml", "r.jsonl"] {
            std::fs::remove_file(cluster.environment.work().join(file)).unwrap();
        }
    }
}

#[test]
fn a_kept_cluster_stays_until_it_is_cleaned() {
    let cluster = Cluster::bare();
    let before = cluster.objects();
    let short = "Feature: f\n  Scenario: s\n    Given a 4.14.1 cluster with 1 control-plane node and 0 workers\n    \
                 When 1 minute passes\n";
    cluster.environment.write("short.feature", short);
    // Of several scenarios, the last one's cluster is kept.
    cluster.environment.write(
        "two.feature",
        format!("{short}  {}", &short["Feature: f\n  ".len()..].replace(" s\n", " t\n")),
    );
    let kept = cluster.test(&["two.feature", "--keep"]);
    assert_eq!(kept.code, Some(0), "{kept}");
    assert!(kept.stdout.contains("2 passed, 0 failed;"), "{kept}");
    let notice = "to reach it: kubectl --kubeconfig config --context windtunnel get clusterversion; to remove it: \
                windtunnel clean --kubeconfig config --context windtunnel";
    assert!(kept.stderr.contains(notice), "{kept}");
    assert!(cluster.objects().len() > before.len() + 100);
    let rejected = cluster.test(&["short.feature"]);
    assert_eq!(rejected.code, Some(2), "{rejected}");
    assert!(rejected.stderr.contains("(--keep): remove them with `windtunnel clean`"), "{rejected}");
    let clean = ["clean", "--kubeconfig", "config", "--context", "windtunnel"];
    let cleaned = cluster.environment.run(&clean);
    assert_eq!(cleaned.code, Some(0), "{cleaned}");
    assert_eq!(cluster.objects(), before);
    let cleaned = cluster.environment.run(&clean);
    assert_eq!((cleaned.code, cleaned.stderr.as_str()), (Some(0), "nothing to remove\n"));
}
