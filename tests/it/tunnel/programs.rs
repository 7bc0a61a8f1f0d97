//! Starts, ends and rights of programs in Rust.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use windtunnel::tunnel::{Identity, Tunnel};

const HEAD: &str = "name: n\ncluster: {version: 4.18.3, nodes: {control-plane: 1, workers: 1}}\ntimeline:\n";

fn tunnel(timeline: &str) -> Tunnel {
    Tunnel::text("n.yaml", &format!("{HEAD}{timeline}")).unwrap()
}

async fn write(client: kube::Client, name: &str) -> kube::Result<()> {
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
    api.patch(name, &PatchParams::apply("test"), &Patch::Apply(map)).await.map(drop)
}

async fn panic_after_a_minute(_: kube::Client) {
    tokio::time::sleep(Duration::from_secs(60)).await;
    panic!("no way out");
}

#[test]
fn the_end_of_a_program_fails_the_run() {
    let failure =
        |outcome: windtunnel::tunnel::TunnelOutcome| outcome.failure().unwrap_or_default().to_owned();
    let panics = tunnel("- advance: 1h\n").program("p", Identity::admin(), panic_after_a_minute);
    let place = "n.yaml:4:3: advance 1h: program `p`";
    let end = "\n(scenario `n`, seed 1)";
    assert_eq!(failure(panics.run().unwrap()), format!("{place} panicked: no way out{end}"));
    let returns = tunnel("- advance: 1h\n").program("p", Identity::admin(), |_| async {});
    assert_eq!(failure(returns.run().unwrap()), format!("{place} returned before the end of the run{end}"));
    let fails = tunnel("- advance: 1h\n")
        .program("p", Identity::new("nobody", &[]), |client| async move { write(client, "a").await });
    let failure = failure(fails.run().unwrap());
    assert!(failure.contains("program `p` failed: ") && failure.contains("nobody"), "{failure}");
}

#[test]
fn a_container_runs_its_program_and_the_kubelet_restarts_it() {
    let pod = "- apply: {apiVersion: v1, kind: Pod, metadata: {namespace: default, name: p}, \
               spec: {containers: [{name: main, image: 'quay.io/me/main:1'}]}}\n";
    let timeline = format!(
        "{pod}- expect: {{object: Pod/default/p, fields: {{status.phase: Running}}, within: 2m}}\n- advance: 10m\n\
         - expect: {{log: {{pod: default/p, contains: 'program `main` failed'}}}}\n"
    );
    let outcome = tunnel(&timeline)
        .container("default/p/main", |client| async move {
            tokio::time::sleep(Duration::from_secs(60)).await;
            // The ServiceAccount may not write.
            write(client, "a").await
        })
        .run()
        .unwrap();
    outcome.assert_passed();
    let pod: Pod = outcome.get("default", "p").unwrap();
    let restarts = pod.status.unwrap().container_statuses.unwrap()[0].restart_count;
    assert!(restarts >= 2, "{restarts}");
    assert!(outcome.get::<ConfigMap>("default", "a").is_none());
}

#[test]
fn unusable_arguments_are_errors() {
    let error = |tunnel: Tunnel| tunnel.run().unwrap_err().to_string();
    assert_eq!(
        error(tunnel("- advance: 1m\n").container("default/p", |_| async {})),
        "expected a container as `NAMESPACE/WORKLOAD/CONTAINER`, found `default/p`"
    );
    let twice = tunnel("- advance: 1m\n").program("p", Identity::admin(), |_| async {});
    assert_eq!(
        error(twice.program("p", Identity::admin(), |_| async {})),
        "there is another program `p`; give this one its own name"
    );
    let fault = tunnel("- advance: 1m\n").fault("{api: all, is: unavailabel}").unwrap_err().to_string();
    assert!(fault.starts_with("fault:4:") && fault.contains("unavailable"), "{fault}");
    let missing = Tunnel::scenario("no-such.yaml").unwrap_err().to_string();
    assert!(missing.starts_with("no-such.yaml: "), "{missing}");
}
