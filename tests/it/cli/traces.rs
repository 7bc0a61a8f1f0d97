//! Traces of a ClusterVersion, write by write, in a cluster with a payload of twelve manifests. They have the
//! shape of traces that were taken from the real operator.

use std::fmt::Write as _;

use serde_json::Value;
use windtunnel::record::{Event, Record};
use windtunnel_core::clock::Time;
use windtunnel_core::{Object, condition};

use super::environment::TestEnvironment;

const ANNOTATED: &str =
    "  annotations: {include.release.openshift.io/self-managed-high-availability: \"true\"}\n";

/// A payload of four ClusterOperators and two ConfigMaps, in addition to the six manifests of the
/// operator's own image.
fn write_payload(environment: &TestEnvironment, version: &str) {
    let file = |name: &str, text: String| environment.write(&format!("{version}/{name}"), text);
    file("release-metadata", format!(r#"{{"kind": "cincinnati-metadata-v0", "version": "{version}"}}"#));
    let images = r#"{"kind": "ImageStream", "apiVersion": "image.openshift.io/v1", "metadata": {"name": "#;
    file("image-references", format!("{images}\"{version}\"}}}}"));
    for (level, name) in [(20, "kube-apiserver"), (50, "console"), (50, "insights"), (80, "machine-config")] {
        let head = "apiVersion: config.openshift.io/v1\nkind: ClusterOperator\nmetadata:\n";
        let status = format!("status: {{versions: [{{name: operator, version: {version}}}]}}\n");
        let text = format!("{head}  name: {name}\n{ANNOTATED}{status}");
        file(&format!("0000_{level}_{name}_05_clusteroperator.yaml"), text);
    }
    for (level, name) in [(30, "middle"), (60, "late")] {
        let head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  namespace: openshift-config\n";
        let text = format!("{head}  name: {name}\n{ANNOTATED}data: {{version: {version}}}\n");
        file(&format!("0000_{level}_{name}_01_config.yaml"), text);
    }
}

/// The changes of the ClusterVersion, one line per write, with shortened images and pod names.
fn trace(cluster_and_releases: &str, timeline: &str) -> String {
    let scenario = format!("name: trace\n{cluster_and_releases}timeline:\n{timeline}");
    let environment = TestEnvironment::with(&[("s.yaml", &scenario)]);
    write_payload(&environment, "4.20.1");
    write_payload(&environment, "4.20.2");
    let output = environment.run(&["run", "--quiet", "--record", "r.jsonl", "s.yaml"]);
    assert_eq!(output.code, Some(0), "{output}");
    let record = Record::parse(&environment.read("r.jsonl")).unwrap();
    let mut text = String::new();
    for entry in &record.entries {
        let Event::Write(write) = &entry.event else { continue };
        let (Some(before), Some(after)) = (&write.before, &write.after) else { continue };
        if write.kind == "ClusterVersion" && !record.is_set_up(entry) {
            let at = since(record.header.epoch, entry.at);
            writeln!(text, "{at} {}: {}", write.by, changes(before, after).join("; ")).unwrap();
        }
    }
    let image = regex::Regex::new(r"quay\S+@sha256:(.{4})[0-9a-f]{60}").unwrap();
    image.replace_all(&text, "IMAGE-$1").into_owned()
}

fn since(epoch: Time, at: Time) -> String {
    let seconds = at.duration_since(epoch).as_secs();
    format!("{:02}:{:02}", seconds / 60, seconds % 60)
}

fn changes(before: &Object, after: &Object) -> Vec<String> {
    let mut changes = Vec::new();
    let history = |object: &Object| -> Vec<String> {
        let entries = object.list("/status/history").iter();
        entries.map(|e| format!("{} {}", text(e, "state"), text(e, "version"))).collect()
    };
    if history(before) != history(after) {
        changes.push(format!("history {}", history(after).join(", ")));
    }
    for field in ["/metadata/generation", "/status/observedGeneration"] {
        if before.number(field) != after.number(field) {
            let name = field.rsplit('/').next().unwrap();
            changes.push(format!("{name} {}", after.number(field).unwrap()));
        }
    }
    let list = |object: &Object| object.list("/status/conditions").to_vec();
    for now in list(after) {
        let kind = text(&now, "type").to_owned();
        let same = condition::find_in_status(before, &kind).is_some_and(|old| {
            ["status", "reason", "message"].iter().all(|field| old[*field] == now[*field])
        });
        if !same {
            let (status, reason, message) =
                (text(&now, "status"), text(&now, "reason"), text(&now, "message"));
            changes.push(format!("{kind}={status} {reason} {message:?}"));
        }
    }
    let gone =
        list(before).into_iter().filter(|old| condition::find_in_status(after, text(old, "type")).is_none());
    changes.extend(gone.map(|old| format!("no {}", text(&old, "type"))));
    changes
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

const CLUSTER: &str = "cluster: {version: 4.20.1, payload: 4.20.1, keyrings: [verifier-public-key-redhat]}\nreleases: {4.20.2: {payload: 4.20.2}}\n";
const UNSIGNED: &str = "cluster: {version: 4.20.1, payload: 4.20.1, keyrings: [verifier-public-key-redhat]}\nreleases: {4.20.2: {payload: 4.20.2, openpgp: missing}}\n";

#[test]
fn an_update_completes() {
    insta::assert_snapshot!(trace(CLUSTER, "- update: {to: 4.20.2}\n- advance: 40m\n"), @r#"
    00:00 administrator: generation 2
    00:13 cluster-version-operator: ReleaseAccepted=True PayloadLoaded "Payload loaded version=\"4.20.2\" image=\"IMAGE-c0bb\" architecture=\"amd64\""
    00:13 cluster-version-operator: history Partial 4.20.2, Completed 4.20.1; observedGeneration 2; Progressing=True  "Working towards 4.20.2"
    00:13 cluster-version-operator: Progressing=True  "Working towards 4.20.2: 1 of 13 done (7% complete)"
    00:13 cluster-version-operator: Progressing=True  "Working towards 4.20.2: 3 of 13 done (23% complete)"
    00:15 cluster-version-operator: Progressing=True  "Working towards 4.20.2"; Upgradeable=False UpdateInProgress "An update is already in progress and the details are in the Progressing condition"
    00:15 cluster-version-operator: Progressing=True  "Working towards 4.20.2: 1 of 13 done (7% complete)"
    00:15 cluster-version-operator: Progressing=True ClusterOperatorUpdating "Working towards 4.20.2: 7 of 13 done (53% complete), waiting on kube-apiserver"
    04:57 cluster-version-operator: Progressing=True  "Working towards 4.20.2: 8 of 13 done (61% complete)"
    04:57 cluster-version-operator: Progressing=True ClusterOperatorUpdating "Working towards 4.20.2: 12 of 13 done (92% complete), waiting on machine-config"
    21:42 cluster-version-operator: history Completed 4.20.2, Completed 4.20.1; Available=True  "Done applying 4.20.2"; Progressing=False  "Cluster version is 4.20.2"
    24:15 cluster-version-operator: no Upgradeable
    "#);
}

#[test]
fn a_forced_update_to_a_non_existent_digest_is_cleared() {
    let image = format!("quay.io/openshift-release-dev/ocp-release@sha256:{}", "0".repeat(64));
    let timeline = format!(
        "- update: {{image: \"{image}\"}}\n- advance: 2m\n- update: {{image: \"{image}\", force: true}}\n- advance: 4s\n\
         - clear-update\n- advance: 10m\n"
    );
    let trace = trace(CLUSTER, &timeline);
    let pod = regex::Regex::new("version--[a-z0-9]{5}").unwrap();
    insta::assert_snapshot!(pod.replace_all(&trace, "version--xxxxx"), @r#"
    00:00 administrator: generation 2
    00:01 cluster-version-operator: ReleaseAccepted=False RetrievePayload "Retrieving payload failed version=\"\" image=\"IMAGE-0000\" failure=The update cannot be verified: unable to verify sha256:0000000000000000000000000000000000000000000000000000000000000000 against keyrings: verifier-public-key-redhat"
    00:47 cluster-version-operator: observedGeneration 2
    02:00 administrator: generation 3
    02:02 cluster-version-operator: ReleaseAccepted=False RetrievePayload "Retrieving payload failed version=\"\" image=\"IMAGE-0000\" failure=Unable to download and prepare the update: fetching update payload: pod version--xxxxx failed at pending with reason \"\" and message \"\" and status initcontainer cleanup is waiting with reason \"ErrImagePull\" and message \"unable to pull image or OCI artifact: pull image err: initializing source docker://IMAGE-0000: reading manifest sha256:0000000000000000000000000000000000000000000000000000000000000000 in quay.io/openshift-release-dev/ocp-release: manifest unknown; artifact err: get manifest: build image source: reading manifest sha256:0000000000000000000000000000000000000000000000000000000000000000 in quay.io/openshift-release-dev/ocp-release: manifest unknown\""
    02:04 administrator: generation 4
    02:05 cluster-version-operator: ReleaseAccepted=False RetrievePayload "Retrieving payload failed version=\"\" image=\"IMAGE-0000\" failure=Unable to download and prepare the update: fetching update payload: pod version--xxxxx failed at pending with reason \"\" and message \"\" and status initcontainer cleanup is waiting with reason \"ErrImagePull\" and message \"unable to pull image or OCI artifact: pull image err: initializing source docker://IMAGE-0000: reading manifest sha256:0000000000000000000000000000000000000000000000000000000000000000 in quay.io/openshift-release-dev/ocp-release: manifest unknown; artifact err: get manifest: build image source: reading manifest sha256:0000000000000000000000000000000000000000000000000000000000000000 in quay.io/openshift-release-dev/ocp-release: manifest unknown\""
    02:05 cluster-version-operator: ReleaseAccepted=True PayloadLoaded "Payload loaded version=\"4.20.1\" image=\"IMAGE-2a12\""
    03:14 cluster-version-operator: observedGeneration 4
    "#);
}

#[test]
fn a_forced_update_to_an_unsigned_release_completes_after_its_request_is_cleared() {
    let timeline = "- update: {to: 4.20.2}\n- advance: 2m\n- update: {to: 4.20.2, force: true}\n- advance: 5m\n\
                    - clear-update\n- advance: 40m\n";
    insta::assert_snapshot!(trace(UNSIGNED, timeline), @r#"
    00:00 administrator: generation 2
    00:01 cluster-version-operator: ReleaseAccepted=False RetrievePayload "Retrieving payload failed version=\"4.20.2\" image=\"IMAGE-c0bb\" failure=The update cannot be verified: unable to verify sha256:c0bba2cc50e1dd008543aea6b0151150d5cca63447fc543bea34b0918e859f2e against keyrings: verifier-public-key-redhat"
    00:47 cluster-version-operator: observedGeneration 2
    02:00 administrator: generation 3
    02:12 cluster-version-operator: ReleaseAccepted=True PayloadLoaded "Payload loaded version=\"4.20.2\" image=\"IMAGE-c0bb\" architecture=\"amd64\""
    02:12 cluster-version-operator: history Partial 4.20.2, Completed 4.20.1; observedGeneration 3; Progressing=True  "Working towards 4.20.2"
    02:12 cluster-version-operator: Progressing=True  "Working towards 4.20.2: 3 of 13 done (23% complete)"
    02:14 cluster-version-operator: Progressing=True  "Working towards 4.20.2"; Upgradeable=False UpdateInProgress "An update is already in progress and the details are in the Progressing condition"
    02:14 cluster-version-operator: Failing=True UpdatePayloadFailed "Could not update namespace \"openshift-cluster-version\" (1 of 13)"; Progressing=True UpdatePayloadFailed "Unable to apply 4.20.2: the update could not be applied"
    02:14 cluster-version-operator: Failing=False  ""; Progressing=True  "Working towards 4.20.2"
    02:14 cluster-version-operator: Progressing=True  "Working towards 4.20.2: 1 of 13 done (7% complete)"
    02:14 cluster-version-operator: Progressing=True ClusterOperatorUpdating "Working towards 4.20.2: 7 of 13 done (53% complete), waiting on kube-apiserver"
    06:56 cluster-version-operator: Progressing=True  "Working towards 4.20.2: 8 of 13 done (61% complete)"
    06:56 cluster-version-operator: Progressing=True ClusterOperatorUpdating "Working towards 4.20.2: 12 of 13 done (92% complete), waiting on machine-config"
    07:00 administrator: generation 4
    07:30 cluster-version-operator: observedGeneration 4
    23:41 cluster-version-operator: history Completed 4.20.2, Completed 4.20.1; Available=True  "Done applying 4.20.2"; Progressing=False  "Cluster version is 4.20.2"
    26:15 cluster-version-operator: no Upgradeable
    "#);
}
