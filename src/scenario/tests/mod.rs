//! Tests of the scenario language: YAML in, errors or step texts out.

mod description;
mod errors;
mod parameters;

use std::collections::BTreeMap;

use semver::Version;
use windtunnel_controllers::registry::{Containers, Pull, Signature};
use windtunnel_core::yaml::{Kind, Node, parse_tree};
use windtunnel_openshift::graph::MatchingRule;
use windtunnel_openshift::release::{Architecture, Release, UnknownRelease};

use super::{Releases, ScenarioErrors};
use crate::plan::{ExpectedState, ExpectedTime, Plan, Snapshot, Step, Target};

/// Returns facts for 4.14 to 4.16, enough to parse scenarios.
fn find(version: &Version) -> Result<Release, UnknownRelease> {
    if version.major != 4 || !(14..=16).contains(&version.minor) {
        return Err(UnknownRelease {
            version: version.to_string(),
            known: "4.14, 4.15, 4.16".to_owned(),
            hint: String::new(),
        });
    }
    Ok(Release {
        version: version.clone(),
        image: format!("quay.io/openshift-release-dev/ocp-release@sha256:{:064}", version.patch),
        kubernetes_minor: 27,
        channels: Vec::new(),
        url: String::new(),
        architecture: Architecture::default(),
        known_capabilities: vec!["Console".into(), "Insights".into(), "baremetal".into()],
        preview_capabilities: Vec::new(),
        capability_sets: BTreeMap::from([("None".into(), Vec::new()), ("vCurrent".into(), Vec::new())]),
        components: [].into(),
        admin_gates: BTreeMap::new(),
        payload: None,
    })
}

/// A source of these releases, one folder of graph data and a few step files.
struct Few;

impl Releases for Few {
    fn find(&self, version: &Version) -> Result<Release, UnknownRelease> {
        find(version)
    }

    fn files(&self, folder: &str, _: &str) -> Result<Vec<(String, String)>, String> {
        let channel = ("c.yaml".to_owned(), "{name: c, versions: [4.14.1]}".to_owned());
        if folder.ends_with("/channels") { Ok(vec![channel]) } else { Err("no such folder".to_owned()) }
    }

    fn text(&self, path: &str, _: &str) -> Result<(String, String), String> {
        let text = match path {
            "settled.steps.yaml" => "- advance: 1m",
            "completes.steps.yaml" => {
                "- update: {to: <version>}\n- expect: {object: ClusterVersion/version, within: <within>}"
            }
            "circle.steps.yaml" => "- include: circle.steps.yaml",
            "broken.steps.yaml" => "- advance: 1m\n- advanse: 1m",
            _ => return Err(format!("{path}: no such file")),
        };
        Ok((path.to_owned(), text.to_owned()))
    }

    fn start_from(&self, path: &str, ignored: &[String], plan: &mut Plan) -> Result<(), String> {
        if path != "testdata/cluster.yaml" {
            return Err(format!("{path}: no such file"));
        }
        plan.cluster.past.cluster_id = Some(ignored.join(" "));
        Ok(())
    }

    fn snapshot(&self, name: &str, _: &str) -> Result<Snapshot, String> {
        let text = Some("The cluster is not updating.\n".to_owned());
        if name.contains(".txt") {
            Ok(Snapshot { path: name.to_owned(), text })
        } else {
            Err("no such file".to_owned())
        }
    }
}

fn plan(text: &str) -> Result<Plan, ScenarioErrors> {
    super::parse("s.yaml", text, &Few)
}

/// Parses `text` and compares its errors, one per line.
fn check(text: &str, errors: &str) {
    let found = plan(text).map_or_else(|errors| errors.to_string(), |_| String::new());
    assert_eq!(found, errors, "\n{text}");
}

const HEAD: &str = "name: n\ncluster: {version: 4.14.1}\nreleases: {4.14.8: }\ntimeline:\n";

/// Calls [`check`] for one step, in line 5.
fn check_step(step: &str, errors: &str) {
    check(&format!("{HEAD}{step}\n"), errors);
}

fn texts(steps: &str) -> Vec<String> {
    plan(&format!("{HEAD}{steps}")).unwrap().timeline.into_iter().map(|step| step.text).collect()
}

#[test]
fn parses_a_scenario_with_every_key() {
    let plan = plan(
        r#"
name: all of it
description: Every key.
ids: [OCP-22641, OTA-1321, OCPBUGS-29340, "release#50743"]
tags: [rollback]
cluster:
  version: 4.14.1
  nodes: {control-plane: 1, workers: 0, leases: true}
  kubernetes: 1.30
  feature-set: TechPreviewNoUpgrade
  channel: fast-4.14
  baseline-capability-set: None
  additional-enabled-capabilities: [baremetal]
  objects:
    - {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}, data: {c: "1"}}
releases:
  4.14.8:
  4.15.0-rc.1: {recommended: false, pull: manifest-unknown, sigstore: missing, openpgp: valid}
images:
  "quay.io/x/y:1": {containers: crash}
  "*": {pull: hangs}
timeline:
  - update: {to: 4.14.8, force: true}
  - expect:
      object: ClusterVersion/version
      fields: {"status.history[0].verified": true}
      within: 1h
"#,
    )
    .unwrap();
    let cluster = &plan.cluster;
    assert_eq!(
        (cluster.control_plane_nodes, cluster.worker_nodes, cluster.kubernetes_minor),
        (1, 0, Some(30))
    );
    assert!(cluster.node_leases);
    assert_eq!(cluster.workloads.named["quay.io/x/y:1"].containers, Containers::Crash);
    assert_eq!(cluster.workloads.others.pull, Pull::Hangs);
    assert_eq!(
        (cluster.feature_set.as_str(), cluster.channel.as_str()),
        ("TechPreviewNoUpgrade", "fast-4.14")
    );
    assert_eq!(cluster.objects[0].object["data"]["c"], "1");
    assert_eq!(cluster.additional_enabled_capabilities, ["baremetal"]);
    let [plain, candidate] = cluster.releases.as_slice() else { panic!("{:?}", cluster.releases) };
    assert_eq!(
        (plain.recommended, plain.image.pull, plain.image.sigstore),
        (true, Pull::Succeeds, Signature::Valid)
    );
    assert_eq!(candidate.release.version, "4.15.0-rc.1".parse().unwrap());
    assert_eq!(
        (candidate.recommended, candidate.image.pull, candidate.image.sigstore),
        (false, Pull::ManifestUnknown, Signature::Missing)
    );
    assert_eq!((plan.timeline[1].line, plan.timeline[1].column), (24, 5));
    let Step::Expect(expectation) = &plan.timeline[1].step else { panic!("{:?}", plan.timeline[1]) };
    assert_eq!(expectation.when, ExpectedTime::Within(jiff::SignedDuration::from_hours(1)));
    assert!(
        matches!(&expectation.what, ExpectedState::Object(object, checks) if object.name == "version" && checks.len() == 1)
    );
}

#[test]
fn missing_keys_have_defaults() {
    let plan = plan("name: n\ncluster: {version: 4.14.1}\ntimeline: [clear-update]\n").unwrap();
    let cluster = &plan.cluster;
    assert_eq!((cluster.control_plane_nodes, cluster.worker_nodes, cluster.kubernetes_minor), (3, 3, None));
    assert_eq!((cluster.channel.as_str(), cluster.feature_set.as_str()), ("stable-4.14", ""));
    assert!(cluster.releases.is_empty() && plan.ids.is_empty());
}

#[test]
fn an_update_targets_a_version_or_an_image() {
    let plan = plan(&format!(
        "{HEAD}  - update: {{to: 4.14.8}}\n  - update: {{image: \"quay.io/a/b@sha256:0\", force: true}}\n"
    ))
    .unwrap();
    let targets: Vec<(Target, bool)> = plan
        .timeline
        .into_iter()
        .filter_map(|step| match step.step {
            Step::Act(crate::plan::Action::Update { to, force }) => Some((to, force)),
            _ => None,
        })
        .collect();
    let version = Target::Version(Version::new(4, 14, 8));
    assert_eq!(targets, [(version, false), (Target::Image("quay.io/a/b@sha256:0".to_owned()), true)]);
}

#[test]
fn each_step_has_a_text_of_one_line() {
    let steps = r#"
  - update: {to: 4.14.8}
  - update: {image: "quay.io/a/b@sha256:0", force: true}
  - clear-update
  - publish-insights
  - apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}}
  - delete: Pod/ns/name
  - join: worker-3
  - join: {node: worker-4, labels: {zone: a}}
  - advance: 90s
  - expect: {object: ClusterVersion/version, condition: {type: Progressing, status: true, reason: R, message: /^a/}, within: 10m}
  - expect: {object: Pod/ns/version-*, pod-status: "Init:ErrImagePull"}
  - expect: {object: ClusterVersion/version, unchanged: [status], fields: {spec.channel: {contains: stable}}, throughout: 1h30m}
  - expect: {object: Pod/ns/x, absent: true}
  - expect: {insight: Health, absent: true, throughout: 1h}
  - expect: {insight: ClusterVersion/version, conditions: [{type: Updating, status: "False"}, {type: Healthy}]}
  - expect: {writes: [{by: mco, verb: patch, object: Node/*, subresource: "", code: 409, message: {contains: x}}, {condition: {type: A}}]}
  - expect: {statuses: {insight: ClusterVersion/version, condition: Updating, statuses: ["False", true, False]}}
"#;
    assert_eq!(
        texts(steps),
        [
            "update to 4.14.8",
            "update to image quay.io/a/b@sha256:0 by force",
            "clear update",
            "publish insights",
            "apply ConfigMap/b/a",
            "delete Pod/ns/name",
            "machine worker-3 joins",
            "machine worker-4 joins with zone=a",
            "advance 1m30s",
            "expect ClusterVersion/version Progressing=True R with /^a/ within 10m",
            "expect Pod/ns/version-* STATUS `Init:ErrImagePull`",
            "expect ClusterVersion/version spec.channel is a text with `stable`, status unchanged throughout 1h30m",
            "expect no Pod/ns/x",
            "expect no insight Health throughout 1h",
            "expect insight ClusterVersion/version Updating=False, Healthy",
            "expect patch Node/* itself by `mco` answered 409 with a text with `x`; then write, A",
            "expect insight ClusterVersion/version Updating to have been False, True, False",
        ]
    );
}

#[test]
fn rejects_an_invalid_node_name_or_key_of_join() {
    check_step(
        "  - join: Worker_3",
        "s.yaml:5:11: expected the name of a new node, such as `worker-3`, found `Worker_3`: use lower-case letters, digits, `-` and `.`",
    );
    check_step(
        "  - join: {node: w, lables: {}}",
        "s.yaml:5:21: a machine that joins has no key `lables`; did you mean `labels`?",
    );
}

#[test]
fn a_status_expectation_compares_texts_or_a_file() {
    let check_status = |expectation: &str, errors: &str| {
        check(&format!("{HEAD}  - expect: {{{expectation}}}\n"), errors);
    };
    check_status("status: {contains: a, details: all}, within: 5m", "");
    check_status("status: {contains: [a, /b/], matches: a.txt}", "");
    check_status("status: {}", "s.yaml:5:22: `status` needs `contains`, a text, or `matches`, a file");
    check_status(
        "status: {matches: a.png, detail: all}",
        "s.yaml:5:32: no such file\n\
             s.yaml:5:39: `status` has no key `detail`; did you mean `details`?",
    );
    check_status(
        "status: {matches: a.txt, details: node}, within: 5m, absent: true",
        "s.yaml:5:48: expected one of `none`, `all`, `nodes`, `health`, `operators`, found `node`; did you mean `nodes`?\n\
             s.yaml:5:63: `within` cannot be combined with a file in `status`\n\
             s.yaml:5:75: `absent` cannot be combined with `status`",
    );
}

#[test]
fn parses_every_key_of_an_update_service() {
    let head = "name: n\ncluster: {version: 4.14.1}\nreleases: {4.14.8: }\ntimeline: [clear-update]\nupdate-service:\n";
    let service = |text: &str| plan(&format!("{head}{text}")).unwrap().cluster.update_service;
    let plain = service("  edges: [{from: 4.14.1, to: 4.14.8}]\n");
    assert!(plain.channels.is_none() && plain.edges.is_some_and(|edges| edges.len() == 1));
    let risk = "  conditional-edges:\n  - edges: [{from: 4.14.1, to: 4.14.8}]\n    risks: [{name: R, url: u, message: m, rules: ";
    let risky = service(&format!("{risk}[Always, {{PromQL: group(a)}}]}}]\n"));
    assert_eq!(
        risky.conditional[0].risks[0].rules,
        [MatchingRule::Always, MatchingRule::PromQl("group(a)".to_owned())]
    );
    let wrong = |text: &str, errors: &str| check(&format!("{head}{text}"), errors);
    wrong(
        "  channels: {a: [4.14.7], b: gone}\n",
        "s.yaml:6:18: no release 4.14.7 exists in this scenario: add it to `releases`; did you mean `4.14.8`?\n\
         s.yaml:6:30: expected one of `unreachable`, `server-error`, `invalid-json`, found `gone`",
    );
    wrong(
        &format!("{risk}[{{PromQL: grup(a)}}]}}]\n"),
        "s.yaml:8:60: this PromQL cannot be evaluated: unknown function with name \"grup\"",
    );
    wrong("  edges: [{from: 4.14.1}]\n", "s.yaml:6:11: an edge needs `to`: the target release");
}

#[test]
fn the_group_selects_between_two_kinds_of_the_same_name() {
    check_step(
        "  - apply: {apiVersion: config.openshift.io/v2, kind: Node, metadata: {name: a}}",
        "s.yaml:5:25: expected `config.openshift.io/v1`, which serves Node, found `config.openshift.io/v2`",
    );
    check_step(
        "  - apply: {apiVersion: config.openshift.io/v1, kind: Node.config.openshift.io, metadata: {name: a}}",
        "s.yaml:5:55: expected `Node`, found `Node.config.openshift.io`",
    );
    check_step(
        "  - delete: Node.config.openshft.io/a",
        "s.yaml:5:13: unknown kind `Node.config.openshft.io`; did you mean `Node.config.openshift.io`?",
    );
}
