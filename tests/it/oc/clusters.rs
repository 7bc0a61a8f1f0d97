//! The clusters of the transcripts: a base cluster, and how each of the others differs from it.

use serde_json::{Map, Value, json};
use windtunnel_core::{Object, yaml};
use windtunnel_openshift::oc::Gates;

/// A cluster, and the rights of its client.
pub(super) struct Cluster {
    /// Its ClusterVersion.
    pub(super) version: Object,
    pub(super) alerts: Vec<Value>,
    pub(super) has_token: bool,
    pub(super) gates: Gates,
    /// The API server's rejection of a patch; `None` if it accepts the patch.
    pub(super) rejection: Option<String>,
}

/// The base cluster. Updates are `[version, image]`, conditional ones by version
/// `[image, status, reason, message, url]`, conditions by type `[status, reason, message]`, and alerts
/// `[name, severity]`.
const BASE: &str = r#"
spec: {channel: stable-4.17, upstream: https://up/graph}
channels: [stable-4.16, stable-4.17]
available: [[4.16.6, "06"], [4.16.10, "0a"], [4.16.7, "07"]]
conditional:
  4.17.0: [aa, "False", RiskA, "risk a msg\nline2 https://r/a", https://u]
  4.17.1: [ab, Unknown, EvaluationFailed, could not, ""]
  4.16.10: [0a, "True", NotExposedToRisks, fine, ""]
history: [[4.16.5, "05"], [4.16.4, "04"]]
conditions:
  Failing: ["False", "", ""]
  Progressing: ["False", "", "Cluster version is 4.16.5"]
  RetrievedUpdates: ["True", "", ""]
token: true
rollback: true
accept: true
"#;

/// Section, name, and a merge patch of [`BASE`].
const CHANGES: &[(&str, &str, &str)] = &[
    (
        "t3",
        "failing",
        r#"conditions: {Failing: ["True", R, "a\nb"], Progressing: ["True", "", "Working towards 4.16.5: 1 of 900 done (0% complete)"]}"#,
    ),
    (
        "t3",
        "failing unknown no progressing msg",
        r#"conditions: {Failing: [Unknown, Slow, x], Progressing: ["True", "", ""]}"#,
    ),
    ("t3", "no failing no progressing", "conditions: {Failing: null, Progressing: null}"),
    (
        "t3",
        "upgradeable false + releaseaccepted false",
        r#"conditions: {Upgradeable: ["False", AdminAck, "m1\nm2"], ReleaseAccepted: ["False", VerifyPayloadVersion, "bad\nsig"]}"#,
    ),
    ("t3", "no channel", "spec: {channel: null}"),
    ("t3", "no upstream/no channels", "{spec: {upstream: null}, channels: null}"),
    (
        "t3",
        "retrieved false with updates",
        r#"conditions: {RetrievedUpdates: ["False", RemoteFailed, "no\nnet"]}"#,
    ),
    (
        "t3",
        "retrieved false no updates",
        r#"{available: null, conditional: null, conditions: {RetrievedUpdates: ["False", RemoteFailed, "no\nnet"]}}"#,
    ),
    ("t3", "no updates", "{available: null, conditional: null}"),
    ("t3", "no updates incl", "{available: null, conditional: null}"),
    ("t3", "only false", "conditional: {4.17.1: null}"),
    (
        "t3",
        "to avail with acceptrisks+arch",
        "spec: {desiredUpdate: {architecture: Multi, acceptRisks: [{name: RiskZ}]}}",
    ),
    ("t3", "to cond Recommended=True", r#"available: [[4.16.6, "06"]]"#),
    ("t3", "to none available", "{available: null, conditional: null}"),
    ("t3", "to none, allownr", "{available: null, conditional: null}"),
    (
        "t3",
        "to, retrieved false",
        r#"{available: null, conditional: null, conditions: {RetrievedUpdates: ["False", NoChannel, "x\ny"]}}"#,
    ),
    // The recorded message ends in a line break, which only shows if the message is not cut.
    ("t3", "latest allownr", r#"conditional: {4.17.1: [ab, Unknown, EvaluationFailed, "could not\n", ""]}"#),
    ("t3", "latest none", "{available: null, conditional: null}"),
    (
        "t3",
        "latest none, retr false",
        r#"{available: null, conditional: null, conditions: {RetrievedUpdates: ["False", NoChannel, x]}}"#,
    ),
    ("t3", "progressing guard", r#"conditions: {Progressing: ["True", Up, "going\non"]}"#),
    ("t3", "progressing allow", r#"conditions: {Progressing: ["True", Up, "going\non"]}"#),
    (
        "t3",
        "all guards",
        r#"conditions: {Invalid: ["True", I, i], Failing: ["True", F, "f1\nf2"], Progressing: ["True", Up, "going\non"]}"#,
    ),
    ("t3", "failing unknown guard", "conditions: {Failing: [Unknown, Slow, x]}"),
    ("t3", "clear", "spec: {desiredUpdate: {version: 4.16.6, image: i}}"),
    ("t3", "clear same", "spec: {desiredUpdate: {version: 4.16.5}}"),
    ("t3", "clear risks", "spec: {desiredUpdate: {version: 4.16.6, acceptRisks: [{name: A}]}}"),
    ("t3", "clear empty", "spec: {desiredUpdate: {force: false}}"),
    ("t3", "multi already", "spec: {desiredUpdate: {architecture: Multi, version: 4.16.5}}"),
    ("t4", "REC plain no token", "token: false"),
    (
        "t4",
        "REC all alerts",
        "alerts: [[PodDisruptionBudgetLimit, critical], [KubeX, critical], [PodDisruptionBudgetAtLimit, warning], [KubeContainerWaiting, warning], [KubeNodeNotReady, warning], [Foo, warning], [VMCannotBeEvicted, warning]]",
    ),
    ("t4", "REC accept", "alerts: [[PodDisruptionBudgetAtLimit, warning], [KubeNodeNotReady, warning]]"),
    (
        "t4",
        "REC failing+prog",
        r#"conditions: {Failing: ["True", R, "a\nb"], Progressing: ["True", "", "Working\ntowards"]}"#,
    ),
    ("t4", "REC no failing", "conditions: {Failing: null}"),
    ("t4", "REC retrieved false", r#"conditions: {RetrievedUpdates: ["False", NoChannel, "x\ny"]}"#),
    ("t4", "REC no updates", "{available: null, conditional: null}"),
    ("t4", "REC version no updates", "{available: null, conditional: null}"),
    ("t4", "REC upgradeable false", r#"conditions: {Upgradeable: ["False", AdminAck, "m1\nm2"]}"#),
    ("t4", "REC upgradeable false outdated", r#"conditions: {Upgradeable: ["False", AdminAck, "m1\nm2"]}"#),
    (
        "t4",
        "REC bad semver",
        r#"available: [[4.16.6, "06"], [4.16.10, "0a"], [4.16.7, "07"], [weird, "99"]]"#,
    ),
    ("t4", "REC risk no cond", "conditional: {4.17.0: [aa, null]}"),
    ("t6", "accept off", "accept: false"),
    ("t6", "accept existing", "spec: {desiredUpdate: {acceptRisks: [{name: A}, {name: C}]}}"),
    ("t6", "accept nochange", "spec: {desiredUpdate: {acceptRisks: [{name: A}]}}"),
    ("t6", "accept replace", "spec: {desiredUpdate: {acceptRisks: [{name: A}]}}"),
    ("t6", "accept clear", "spec: {desiredUpdate: {acceptRisks: [{name: A}]}}"),
    ("t6", "rollback off", "rollback: false"),
    ("t6", "rollback prog", r#"conditions: {Progressing: ["True", X, y]}"#),
    ("t6", "rollback nohist", r#"history: [[4.16.5, "05"]]"#),
    ("t6", "channel unknownlist", "channels: null"),
    ("t6", "channel already clear", "spec: {channel: null}"),
    ("t7", "cond True image + explicit", r#"available: [[4.16.6, "06"]]"#),
    ("t7", "force+guard", r#"conditions: {Progressing: ["True", Up, going]}"#),
    ("t7", "to same as desired but pending other", "spec: {desiredUpdate: {version: 4.16.6}}"),
    ("t7", "latest w/ prerelease", r#"available: [[4.17.0-rc.1, "01"], [4.16.99, "02"], [4.17.0, "03"]]"#),
    (
        "t7",
        "long versions",
        "{available: [[4.16.9, =j], [4.17.0-0.nightly-2025-01-01-000000, =i]], conditional: null}",
    ),
];

/// The image that ends in these digits.
pub(super) fn image(end: &str) -> String {
    match end.strip_prefix('=') {
        Some(whole) => whole.to_owned(),
        None => format!("quay.io/openshift-release-dev/ocp-release@sha256:{end:0>64}"),
    }
}

/// Shortens images as in the excerpts.
pub(super) fn short_images(text: &str) -> String {
    let text = text.replace("quay.io/openshift-release-dev/ocp-release", "-release");
    text.replace(&format!("sha256:{}", "0".repeat(62)), "sha256:..")
}

/// The cluster of a transcript: the base cluster, with its changes if it has any.
pub(super) fn cluster(section: &str, name: &str) -> Option<Cluster> {
    let changes = CHANGES.iter().find(|(listed, title, _)| (*listed, *title) == (section, name));
    let mut found = match section {
        "t5" => excerpted(name),
        _ => changed(section, changes.map_or("{}", |(_, _, change)| change)),
    };
    if section == "t8" {
        found.rejection = Some(rejection(name)?.to_owned());
    }
    Some(found)
}

/// The rejection by the API server.
fn rejection(name: &str) -> Option<&'static str> {
    let rejections = [
        ("forbidden", "clusterversions.config.openshift.io \"version\" is forbidden: no"),
        ("invalid", "ClusterVersion.config.openshift.io \"version\" is invalid: spec: bad"),
        ("conflict", "modified"),
    ];
    rejections.into_iter().find(|(end, _)| name.ends_with(end)).map(|(_, message)| message)
}

/// Patch releases of 4.16, from 50 down: `r` recommended, `n` not.
fn excerpted(name: &str) -> Cluster {
    let (mut available, mut conditional) = (Vec::new(), Map::new());
    for (letter, patch) in name.chars().zip((0..=50).rev()) {
        let (version, end) = (format!("4.16.{patch}"), format!("{patch:x}"));
        if letter == 'r' {
            available.push(json!([version, end]));
        } else {
            conditional.insert(version, json!([end, "False", "R", "m", ""]));
        }
    }
    let change = json!({ "available": available, "conditional": null });
    let mut facts = facts(&change);
    facts["conditional"] = Value::Object(conditional);
    build(&facts, "t5")
}

/// The base cluster, changed by a merge patch.
pub(super) fn changed(section: &str, change: &str) -> Cluster {
    build(&facts(&yaml::from_str(change).unwrap()), section)
}

fn facts(change: &Value) -> Value {
    let mut facts: Value = yaml::from_str(BASE).unwrap();
    json_patch::merge(&mut facts, change);
    facts
}

fn build(facts: &Value, section: &str) -> Cluster {
    let list = |name: &str| facts[name].as_array().cloned().unwrap_or_default();
    let map = |name: &str| facts[name].as_object().cloned().unwrap_or_default();
    let text = |value: &Value, at: usize| value[at].as_str().unwrap_or_default().to_owned();
    let release = |update: &Value| json!({ "version": text(update, 0), "image": image(&text(update, 1)) });
    let conditions = map("conditions");
    let conditions = conditions.iter().map(|(kind, fields)| condition(kind, fields));
    let conditional = map("conditional");
    let conditional = conditional.iter().map(|(version, update)| {
        let conditions: Vec<Value> = if update[1].is_null() {
            Vec::new()
        } else {
            vec![condition("Recommended", &json!([update[1], update[2], update[3]]))]
        };
        json!({
            "release": { "version": version, "image": image(&text(update, 0)), "url": text(update, 4) },
            "risks": [{ "name": if version == "4.17.0" { "RiskA" } else { "RiskB" }, "message": "m" }],
            "conditions": conditions,
        })
    });
    let mut spec = facts["spec"].clone();
    if section == "t8" {
        spec["desiredUpdate"] = json!({ "version": "4.16.6" });
    }
    let cluster_version = json!({
        "metadata": { "name": "version" },
        "spec": spec,
        "status": {
            "desired": { "version": "4.16.5", "image": image("05"), "channels": facts["channels"] },
            "availableUpdates": list("available").iter().map(release).collect::<Vec<_>>(),
            "conditionalUpdates": conditional.collect::<Vec<_>>(),
            "history": list("history").iter().map(release).collect::<Vec<_>>(),
            "conditions": conditions.collect::<Vec<_>>(),
        },
    });
    Cluster {
        version: Object::new(cluster_version),
        alerts: list("alerts").iter().map(|fields| alert(&text(fields, 0), &text(fields, 1))).collect(),
        has_token: facts["token"] == true,
        gates: Gates { accept_risks: facts["accept"] == true, rollback: facts["rollback"] == true },
        rejection: None,
    }
}

fn condition(kind: &str, fields: &Value) -> Value {
    json!({ "type": kind, "status": fields[0], "reason": fields[1], "message": fields[2] })
}

fn alert(name: &str, severity: &str) -> Value {
    let precheck = if name == "Foo" { "true" } else { "" };
    json!({
        "state": "firing",
        "labels": {
            "alertname": name,
            "severity": severity,
            "namespace": "ns1",
            "poddisruptionbudget": "pdb1",
            "openShiftUpdatePrecheck": precheck,
        },
        "annotations": { "summary": format!("Sum {name}"), "description": "Desc.", "runbook_url": "https://rb" },
    })
}
