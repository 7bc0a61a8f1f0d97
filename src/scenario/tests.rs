//! Tests of the scenario language: YAML in, problems or step texts out.

use std::collections::BTreeMap;

use semver::Version;

use super::plan::{Plan, Snapshot, Step, Target, What, When};
use super::{Problems, Releases};
use crate::base::yaml::{Kind, Node, tree};
use crate::model::graph::Rule;
use crate::model::release::{Architecture, Release, UnknownRelease};
use crate::model::world::{Pull, Signature};

/// Facts for 4.14 to 4.16, enough to read scenarios.
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
        capability_sets: BTreeMap::from([("None".into(), Vec::new()), ("vCurrent".into(), Vec::new())]),
        components: Vec::new(),
        payload: None,
    })
}

/// These releases, and one folder of graph data.
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

    fn snapshot(&self, name: &str, _: &str) -> Result<Snapshot, String> {
        let text = Some("The cluster is not updating.\n".to_owned());
        if name.contains(".txt") {
            Ok(Snapshot { path: name.to_owned(), text })
        } else {
            Err("no such file".to_owned())
        }
    }
}

fn plan(text: &str) -> Result<Plan, Problems> {
    super::read("s.yaml", text, &Few)
}

/// Reads `text` and compares its problems, one per line.
fn check(text: &str, problems: &str) {
    let found = plan(text).map_or_else(|problems| problems.to_string(), |_| String::new());
    assert_eq!(found, problems, "\n{text}");
}

const HEAD: &str = "name: n\ncluster: {version: 4.14.1}\nreleases: {4.14.8: }\ntimeline:\n";

/// As [`check`], for one step, which stands in line 5.
fn check_step(step: &str, problems: &str) {
    check(&format!("{HEAD}{step}\n"), problems);
}

/// Texts of the steps of a timeline.
fn texts(steps: &str) -> Vec<String> {
    plan(&format!("{HEAD}{steps}")).unwrap().timeline.into_iter().map(|step| step.text).collect()
}

#[test]
fn a_whole_scenario_becomes_a_plan() {
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
    assert_eq!((plan.timeline[1].line, plan.timeline[1].column), (21, 5));
    let Step::Expect(expectation) = &plan.timeline[1].step else { panic!("{:?}", plan.timeline[1]) };
    assert_eq!(expectation.when, When::Within(jiff::SignedDuration::from_hours(1)));
    assert!(
        matches!(&expectation.what, What::Object(object, checks) if object.name == "version" && checks.len() == 1)
    );
}

#[test]
fn what_is_left_out_has_defaults() {
    let plan = plan("name: n\ncluster: {version: 4.14.1}\ntimeline: [clear-update]\n").unwrap();
    let cluster = &plan.cluster;
    assert_eq!((cluster.control_plane_nodes, cluster.worker_nodes, cluster.kubernetes_minor), (3, 3, None));
    assert_eq!((cluster.channel.as_str(), cluster.feature_set.as_str()), ("stable-4.14", ""));
    assert!(cluster.releases.is_empty() && plan.ids.is_empty());
}

#[test]
fn an_update_goes_to_a_version_or_an_image() {
    let plan = plan(&format!(
        "{HEAD}  - update: {{to: 4.14.8}}\n  - update: {{image: \"quay.io/a/b@sha256:0\", force: true}}\n"
    ))
    .unwrap();
    let targets: Vec<(Target, bool)> = plan
        .timeline
        .into_iter()
        .filter_map(|step| match step.step {
            Step::Act(super::plan::Action::Update { to, force }) => Some((to, force)),
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
fn all_problems_of_a_file_come_at_once_with_their_places() {
    check(
        "nam: x\nids: [OTA-x, 7]\ncluster:\n  version: 4.99.1\n  nodes: {workers: many}\n  chanel: x\nreleases:\n  4.14: {}\n  4.15.1: {pull: hang, recommended: 1}\ntimeline:\n  - advance: soon\n  - expekt: {}\n",
        "s.yaml:1:1: a scenario has no key `nam`; did you mean `name`?\n\
             s.yaml:1:1: a scenario needs `name`: the scenario's name\n\
             s.yaml:2:7: expected an id such as `OCP-22641`, `OTA-1321`, `OCPBUGS-29340` or `release#50743`, found `OTA-x`\n\
             s.yaml:2:14: expected an id such as `OCP-22641`, `OTA-1321`, `OCPBUGS-29340` or `release#50743`, found `7`\n\
             s.yaml:4:12: unknown release 4.99.1: there are facts for 4.14, 4.15, 4.16\n\
             s.yaml:5:20: expected a whole number from 0 to 5000, found `many`\n\
             s.yaml:6:3: the cluster has no key `chanel`; did you mean `channel`?\n\
             s.yaml:8:3: expected a version such as `4.14.8`, found `4.14`\n\
             s.yaml:9:18: expected one of `succeeds`, `manifest-unknown`, `unauthorized`, `unreachable`, `unavailable`, `slow`, `hangs`, found `hang`; did you mean `hangs`?\n\
             s.yaml:9:37: expected `true` or `false`, found `1`\n\
             s.yaml:11:14: expected a duration such as `45s`, `10m` or `1h30m`, found `soon`\n\
             s.yaml:12:5: unknown step `expekt`; did you mean `expect`?",
    );
}

#[test]
fn a_command_is_looked_at_before_it_runs() {
    check_step("  - run: oc adm upgrade --to-image=$(image 4.14.8)", "");
    check_step(
        "  - run: {command: oc adm upgrade --clear --to-latest, refused: --clear may not be specified with any other flags}",
        "",
    );
    check_step(
        "  - run: oc adm upgrade --clear --to-latest",
        "s.yaml:5:10: this is always refused: --clear may not be specified with any other flags; if that is what you want to see, say `refused`",
    );
    check_step(
        "  - run: {command: oc adm upgrade --too 4.14.8}",
        "s.yaml:5:10: this is always refused: unknown flag: --too; if that is what you want to see, say `refused`",
    );
    check_step(
        "  - run: oc adm upgrade --to-image=$(image 4.14.9)",
        "s.yaml:5:10: no release 4.14.9 exists in this scenario: add it to `releases`; did you mean `4.14.8`?",
    );
    check_step(
        "  - run: {comand: oc adm upgrade, prints: /(/}",
        "s.yaml:5:10: a command to run needs `command`: what is typed, such as `oc adm upgrade --to-latest`\n\
         s.yaml:5:11: a command to run has no key `comand`; did you mean `command`?\n\
         s.yaml:5:43: `/(/` is no regular expression: unclosed group",
    );
    check_step("  - run", "s.yaml:5:5: `run` needs a value, as in `run: ...`");
}

#[test]
fn unreadable_yaml_is_one_problem_with_a_place() {
    check("", "s.yaml:1:1: expected a scenario (a map), found nothing");
    check("- a\n", "s.yaml:1:1: expected a scenario (a map), found a list");
    check("name: [\n", "s.yaml:1:7: unclosed bracket '['");
    check(
        &format!("{HEAD}  - clear-update\nname: m\ntags: 3\n"),
        "s.yaml:6:1: duplicate mapping key: name not allowed here\n\
             s.yaml:7:7: expected a list of texts, each a tag, found `3`",
    );
    check(
        "? [a]\n: 1\n",
        "s.yaml:1:1: a scenario needs `name`: the scenario's name\n\
             s.yaml:1:1: a scenario needs `cluster`: the cluster to begin with\n\
             s.yaml:1:1: a scenario needs `timeline`: what to do and expect\n\
             s.yaml:1:3: a scenario has no key a list; it may have `name`, `description`, `ids`, `tags`, `parameters`, `cluster`, `releases`, `update-service`, `timeline`",
    );
}

#[test]
fn the_cluster_is_checked_against_its_release() {
    let check_cluster = |cluster: &str, problems: &str| {
        check(&format!("name: n\ntimeline: [clear-update]\ncluster: {cluster}\n"), problems);
    };
    check_cluster(
        "{}",
        "s.yaml:3:10: the cluster needs `version`: the release that it runs, such as `4.14.8`",
    );
    check_cluster("4.14.1", "s.yaml:3:10: expected the cluster (a map), found `4.14.1`");
    check_cluster("{version: 4.14}", "s.yaml:3:20: expected a version such as `4.14.8`, found `4.14`");
    check_cluster(
        "{version: 4.14.1, nodes: {control-plane: 0, workers: 1.5, infra: 3}}",
        "s.yaml:3:51: expected a whole number from 1 to 5, found `0`\n\
             s.yaml:3:63: expected a whole number from 0 to 5000, found `1.5`\n\
             s.yaml:3:68: nodes has no key `infra`; it may have `control-plane`, `workers`, `leases`",
    );
    check_cluster(
        "{version: 4.14.1, kubernetes: v1.33, feature-set: TechPreview}",
        "s.yaml:3:40: expected a Kubernetes minor from \"1.24\" to \"1.36\", found `v1.33`\n\
             s.yaml:3:60: expected one of `CustomNoUpgrade`, `DevPreviewNoUpgrade`, `TechPreviewNoUpgrade`, `LatencySensitive`, found `TechPreview`; did you mean `TechPreviewNoUpgrade`?",
    );
    check_cluster(
        "{version: 4.14.1, kubernetes: 1.3}",
        "s.yaml:3:40: expected a Kubernetes minor from \"1.24\" to \"1.36\", found `1.3`",
    );
    check_cluster(
        "{version: 4.14.1, baseline-capability-set: vCurent, additional-enabled-capabilities: [console]}",
        "s.yaml:3:53: OpenShift 4.14.1 has no capability set `vCurent`; did you mean `vCurrent`?\n\
             s.yaml:3:96: OpenShift 4.14.1 has no capability `console`; did you mean `Console`?",
    );
    check_cluster(
        "{version: 4.14.1, additional-enabled-capabilities: Console, channel: }",
        "s.yaml:3:61: expected a list of capabilities, found `Console`\n\
             s.yaml:3:77: expected a channel such as `stable-4.14`, or `\"\"` for none, found nothing",
    );
    check_cluster(
        "{version: 4.14.1, objects: [{kind: Pod, metadata: {name: a}}, {apiVersion: v2, kind: Node, metadata: {namespace: a}}, 3]}",
        "s.yaml:3:38: a Kubernetes object needs `apiVersion`\n\
             s.yaml:3:60: Pod is namespaced: its metadata needs `namespace`\n\
             s.yaml:3:85: expected `v1`, which serves Node, found `v2`\n\
             s.yaml:3:111: a Kubernetes object needs `name`\n\
             s.yaml:3:123: Node is cluster-scoped: it has no namespace\n\
             s.yaml:3:128: expected a Kubernetes object (a map), found `3`",
    );
}

#[test]
fn faults_are_of_an_operator_a_node_or_pods() {
    check_step(
        "  - fault: {pod: web, node: w, is: unready}",
        "s.yaml:5:18: it is a `node` or a `pod`, not both",
    );
    check_step(
        "  - fault: {pod: web, is: unredy}",
        "s.yaml:5:18: expected pods such as `default/web-*`, found `web`",
    );
    check_step(
        "  - fault: {pod: default/web-*, is: stalled}",
        "s.yaml:5:37: expected one of `unready`, `not-live`, `crash-looping`, found `stalled`",
    );
}

#[test]
fn steps_say_what_is_wrong_with_them() {
    check(
        "name: n\ncluster: {version: 4.14.1}\ntimeline: []\n",
        "s.yaml:3:11: the timeline is empty: expected at least one step",
    );
    check_step("  - updat: {}", "s.yaml:5:5: unknown step `updat`; did you mean `update`?");
    check_step(
        "  - zzz",
        "s.yaml:5:5: unknown step `zzz`; there are `run`, `update`, `clear-update`, `publish-insights`, `apply`, `delete`, `try`, `fault`, `heal`, `advance`, `expect`, `include`",
    );
    check_step("  - update", "s.yaml:5:5: `update` needs a value, as in `update: ...`");
    check_step(
        "  - 7",
        "s.yaml:5:5: expected a step, one of `run`, `update`, `clear-update`, `publish-insights`, `apply`, `delete`, `try`, `fault`, `heal`, `advance`, `expect`, `include`, found `7`",
    );
    check_step(
        "  - {}",
        "s.yaml:5:5: expected a step, one of `run`, `update`, `clear-update`, `publish-insights`, `apply`, `delete`, `try`, `fault`, `heal`, `advance`, `expect`, `include`, found an empty map",
    );
    check_step(
        "  - {advance: 1m, clear-update: }",
        "s.yaml:5:19: a step does one thing: expected one key, found `clear-update` too",
    );
    check_step(
        "  - fault: {operator: dns, is: sad, why: x}",
        "s.yaml:5:32: expected one of `degraded`, `unavailable`, `flapping`, `not-upgradeable`, `stalled`, `silent`, found `sad`\n\
         s.yaml:5:37: a fault such as `{operator: etcd, is: degraded}` or `{node: worker-0, is: not-ready}` has no key `why`; it may have `operator`, `node`, `pod`, `api`, `process`, `pool`, `is`, `after`, `for`, `reason`, `message`",
    );
    check_step("  - clear-update: yes", "s.yaml:5:19: `clear-update` takes no value, found `yes`");
    check_step(
        "  - update: {}",
        "s.yaml:5:13: an update needs `to` (a version) or `image` (a pull specification)",
    );
    check_step(
        "  - update: {to: 4.14.8, image: a/b}",
        "s.yaml:5:33: an update goes either `to` a version or to an `image`, not both",
    );
    check_step(
        "  - update: {to: 4.14.9}",
        "s.yaml:5:18: no release 4.14.9 exists in this scenario: add it to `releases`; did you mean `4.14.8`?",
    );
    check_step(
        "  - update: {image: a b, force: \"yes\"}",
        "s.yaml:5:21: expected an image such as `quay.io/openshift-release-dev/ocp-release@sha256:...`, found `a b`\n\
             s.yaml:5:33: expected `true` or `false`, found `yes`",
    );
    check_step(
        "  - advance: -5m",
        "s.yaml:5:14: expected a duration such as `45s`, `10m` or `1h30m`, found `-5m`",
    );
    check_step("  - delete: Pod/name", "s.yaml:5:13: expected `Pod/<namespace>/<name>`, found `Pod/name`");
    check_step("  - delete: Pods/a/b", "s.yaml:5:13: unknown kind `Pods`; did you mean `Pod`?");
    check_step("  - delete: Node/a*", "s.yaml:5:13: expected one object, without `*`, found `Node/a*`");
    let kinds: Vec<&str> = crate::model::resources::ALL.iter().map(|resource| &*resource.kind).collect();
    check_step(
        "  - apply: {apiVersion: v1, kind: Gadget, metadata: {name: a}}",
        &format!("s.yaml:5:35: unknown kind `Gadget`; there are `{}`", kinds.join("`, `")),
    );
    check_step(
        "  - apply: {apiVersion: v1, kind: Node, metadata: {name: a}, spec: {? [a] : b}}",
        "s.yaml:5:71: expected a text as key, found a list",
    );
}

#[test]
fn expectations_say_what_is_wrong_with_them() {
    check_step(
        "  - expect: {}",
        "s.yaml:5:13: an expectation needs one of `object`, `insight`, `alert`, `metric`, `writes`, `statuses`, `status`, `node`",
    );
    check_step(
        "  - expect: {object: Node/a, insight: Health}",
        "s.yaml:5:39: an expectation is about one thing: expected `object` or `insight`, not both",
    );
    check_step(
        "  - expect: {object: Node/a, within: 1m, throughout: 2m}",
        "s.yaml:5:54: an expectation holds `within` or `throughout` a time, not both",
    );
    check_step(
        "  - expect: {object: Node/a, within: ten}",
        "s.yaml:5:38: expected a duration such as `45s`, `10m` or `1h30m`, found `ten`",
    );
    check_step(
        "  - expect: {object: Node/a, unchanged: [status]}",
        "s.yaml:5:41: `unchanged` needs `throughout`: for how long must it not change?",
    );
    check_step(
        "  - expect: {object: Node/a, unchanged: [status., .x], throughout: 1m}",
        "s.yaml:5:42: expected a path such as `status.history[0].state` or `data[\"a.b\"]`, found `status.`\n\
             s.yaml:5:51: expected a path such as `status.history[0].state` or `data[\"a.b\"]`, found `.x`",
    );
    check_step(
        "  - expect: {object: Node/a, absent: true, condition: {type: Ready}}",
        "s.yaml:5:55: `condition` cannot stand beside `absent`",
    );
    check_step(
        "  - expect: {object: Node/a, absent: false, pod-status: Running}",
        "s.yaml:5:38: expected `absent: true`; without it, the object must be there\n\
             s.yaml:5:57: `pod-status` is for pods, not for Node",
    );
    check_step(
        "  - expect: {object: Node/*a, condition: {status: yes, reason: /(/, message: {has: x}}}",
        "s.yaml:5:22: expected `*` only at the end of a name, found `Node/*a`\n\
             s.yaml:5:42: a condition needs `type`: such as `Progressing`\n\
             s.yaml:5:51: expected a status (`True`, `False` or `Unknown`), found `yes`\n\
             s.yaml:5:64: `/(/` is no regular expression: unclosed group\n\
             s.yaml:5:78: a text to compare with needs `contains`: the part to look for\n\
             s.yaml:5:79: a text to compare with has no key `has`; it may have `contains`",
    );
    check_step(
        "  - expect: {object: Node/a, condition: {type: Ready}, conditions: [3]}",
        "s.yaml:5:68: expected `condition` or `conditions`, not both\n\
             s.yaml:5:69: expected a condition (a map), found `3`",
    );
    check_step(
        "  - expect: {object: Node/a, fields: {status..x: 1, status.y: [1]}}",
        "s.yaml:5:39: expected a path such as `status.history[0].state` or `data[\"a.b\"]`, found `status..x`\n\
             s.yaml:5:63: expected a text, `/a regular expression/` or `{contains: a part}`, found a list",
    );
    check_step(
        "  - expect: {insight: ClusterVersions/version}",
        "s.yaml:5:23: expected an insight (`ClusterVersion`, `ClusterOperator`, `MachineConfigPool`, `Node`, `Health`, with `/<name>` or without), found `ClusterVersions/version`; did you mean `ClusterVersion`?",
    );
    check_step(
        "  - expect: {insight: Health/}",
        "s.yaml:5:23: expected an insight (`ClusterVersion`, `ClusterOperator`, `MachineConfigPool`, `Node`, `Health`, with `/<name>` or without), found `Health/`",
    );
    check_step(
        "  - expect: {writes: [], throughout: 1m, fields: {a: b}}",
        "s.yaml:5:22: expected at least one write\n\
             s.yaml:5:38: writes are made once: expected `within` or nothing\n\
             s.yaml:5:50: `fields` cannot stand beside `writes`",
    );
    check_step(
        "  - expect: {writes: [{verb: put, code: 42, object: Nod/a, who: me}]}",
        "s.yaml:5:30: expected one of `create`, `update`, `patch`, `delete`, found `put`; did you mean `update`?\n\
             s.yaml:5:41: expected a whole number from 200 to 599, found `42`\n\
             s.yaml:5:53: unknown kind `Nod`; did you mean `Node`?\n\
             s.yaml:5:60: a write has no key `who`; it may have `by`, `verb`, `object`, `subresource`, `code`, `message`, `condition`, `conditions`, `fields`",
    );
    check_step(
        "  - expect: {alert: {nam: X, state: fireing, labels: [x]}, condition: {type: Y}, absent: true}",
        "s.yaml:5:21: an alert needs `name`: such as `ClusterOperatorDown`\n\
             s.yaml:5:22: an alert has no key `nam`; did you mean `name`?\n\
             s.yaml:5:37: expected one of `pending`, `firing`, found `fireing`; did you mean `firing`?\n\
             s.yaml:5:54: expected labels by name (a map), found a list\n\
             s.yaml:5:71: `condition` cannot stand beside `alert`",
    );
    check_step(
        "  - expect: {metric: {query: \"group(\", value: few}}",
        "s.yaml:5:30: this is no PromQL: expected an expression, found the end\n\
             s.yaml:5:47: expected a number, found `few`",
    );
    check_step(
        "  - expect: {statuses: {object: Node/*, statuses: []}}",
        "s.yaml:5:24: `statuses` needs `condition`: the condition's type, such as `Updating`\n\
             s.yaml:5:33: expected one object, without `*`, found `Node/*`\n\
             s.yaml:5:51: expected at least one status",
    );
    check_step(
        "  - expect: {statuses: {condition: Updating, statuses: [Yes]}, absent: true}",
        "s.yaml:5:24: `statuses` needs either `object` or `insight`: whose condition?\n\
             s.yaml:5:57: expected a status (`True`, `False` or `Unknown`), found `Yes`\n\
             s.yaml:5:72: `absent` cannot stand beside `statuses`",
    );
}

/// The `yaml` blocks of the language's description, with the line each starts in.
fn blocks(document: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut block: Option<(usize, String)> = None;
    for (index, line) in document.lines().enumerate() {
        match (&mut block, line) {
            (None, "```yaml") => block = Some((index + 2, String::new())),
            (Some(_), "```") => found.extend(block.take()),
            (Some((_, text)), line) => {
                text.push_str(line);
                text.push('\n');
            }
            _ => (),
        }
    }
    found
}

/// Every map key of a tree.
fn keys(node: &Node, into: &mut std::collections::BTreeSet<String>) {
    match &node.kind {
        Kind::List(items) => items.iter().for_each(|item| keys(item, into)),
        Kind::Map(entries) => entries.iter().for_each(|(key, value)| {
            into.extend(key.scalar().map(str::to_owned));
            keys(value, into);
        }),
        Kind::Text(text) => into.extend([text.clone()]),
        _ => (),
    }
}

#[test]
fn statuses_are_compared_with_texts_or_with_a_file() {
    let check_status = |expectation: &str, problems: &str| {
        check(&format!("{HEAD}  - expect: {{{expectation}}}\n"), problems);
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
             s.yaml:5:63: a file is compared at one moment: `within` cannot stand beside it\n\
             s.yaml:5:75: `absent` cannot stand beside `status`",
    );
}

const DOCUMENT: &str = include_str!("../../docs/scenario-language.md");

/// A scenario that the steps of the description can stand in.
const AROUND: &str = "name: n\ncluster: {version: 4.14.1}\nreleases: {4.14.8: , 4.15.0: }\ntimeline:\n";

#[test]
fn every_example_of_the_description_can_be_read() {
    let blocks = blocks(DOCUMENT);
    assert!(blocks.len() > 10, "{blocks:?}");
    for (line, block) in blocks {
        let text = if block.starts_with("name:") { block } else { format!("{AROUND}{block}") };
        if let Err(problems) = plan(&text) {
            panic!("docs/scenario-language.md:{line}:\n{problems}\n{text}");
        }
    }
}

#[test]
fn the_description_has_an_example_of_every_key() {
    let mut used = std::collections::BTreeSet::new();
    for (_, block) in blocks(DOCUMENT) {
        keys(&tree(&block).unwrap().0, &mut used);
    }
    for known in [
        super::KEYS,
        super::cluster::KEYS,
        super::update_service::KEYS,
        super::step::ACTIONS,
        super::expectation::KEYS,
    ] {
        for key in known {
            assert!(used.contains(*key), "no example of `{key}`");
        }
    }
}

/// A scenario with parameters; `rest` is its lines after the table.
fn with_parameters(rows: &str, rest: &str) -> String {
    format!("name: n\nparameters:\n{rows}cluster: {{version: 4.14.1}}\n{rest}")
}

#[test]
fn each_row_of_parameters_is_a_scenario() {
    let rows = "- {to: 4.14.8, wait: [1m, 2m], n: 2}\n- {to: 4.15.0, wait: [], n: 3}\n";
    let rest = "releases: {<to>: }\ntags: <wait>\ndescription: to <to>, <n> times\n\
                timeline: [{update: {to: <to>}}]\n";
    let plans = super::read_all("s.yaml", &with_parameters(rows, rest), &Few).unwrap();
    let told: Vec<(&str, &str, &[String], &str)> = plans
        .iter()
        .map(|plan| (&*plan.name, &*plan.description, &*plan.tags, &*plan.timeline[0].text))
        .collect();
    let tags = ["1m".to_owned(), "2m".to_owned()];
    assert_eq!(
        told,
        [
            ("n (4.14.8, 2)", "to 4.14.8, 2 times", &tags[..], "update to 4.14.8"),
            ("n (4.15.0, 3)", "to 4.15.0, 3 times", &[][..], "update to 4.15.0"),
        ]
    );
}

#[test]
fn parameters_that_make_no_table_are_problems_and_wrong_values_are_told_where_they_stand() {
    let rest = "releases: {<to>: }\ntimeline: [{update: {to: <to>}}]\n";
    let wrong = |rows: &str, problems: &str| check(&with_parameters(rows, rest), problems);
    wrong("- {to: 4.14.8, x: 1}\n", "s.yaml:3:16: `x` is used nowhere: write `<x>` where its value goes");
    wrong(
        "- {to: 4.14.8}\n- {too: 4.15.0}\n",
        "s.yaml:4:3: this row of parameters lacks `to`, which the first has\n\
         s.yaml:4:4: the first row of parameters has no `too`",
    );
    wrong("- {to: 4.14}\n", "s.yaml:3:8: expected a version such as `4.14.8`, found `4.14`");
    check(
        &with_parameters("  []\n", "timeline: [clear-update]\n"),
        "s.yaml:3:3: there are no rows of parameters: expected at least one",
    );
}

#[test]
fn included_steps_stand_where_they_are_included() {
    let steps = "- include: {steps: completes.steps.yaml, with: {version: 4.14.8, within: 2h}}\n- include: settled.steps.yaml\n";
    let found = texts(steps);
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(found[0], "update to 4.14.8");
    let places: Vec<usize> =
        plan(&format!("{HEAD}{steps}")).unwrap().timeline.iter().map(|step| step.line).collect();
    assert_eq!(places, [5, 5, 6]);
}

#[test]
fn files_that_cannot_be_included_are_problems_at_their_place() {
    check_step("- include: none.steps.yaml", "s.yaml:5:12: none.steps.yaml: no such file");
    check_step(
        "- include: broken.steps.yaml",
        "broken.steps.yaml:2:3: unknown step `advanse`; did you mean `advance`?",
    );
    check_step(
        "- include: circle.steps.yaml",
        "circle.steps.yaml:1:12: files include each other more than 4 deep",
    );
    check_step(
        "- include: {steps: settled.steps.yaml, with: {x: 1}}",
        "s.yaml:5:47: `x` is used nowhere: write `<x>` where its value goes",
    );
}

#[test]
fn the_schema_takes_every_example_and_knows_every_key() {
    let schema = super::schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for (line, block) in blocks(DOCUMENT) {
        let text = if block.starts_with("name:") { block } else { format!("{AROUND}{block}") };
        let value = tree(&text).unwrap().0.to_json();
        let problems: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(problems.is_empty(), "docs/scenario-language.md:{line}:\n{}\n{text}", problems.join("\n"));
    }
    let keys = |at: &str| -> Vec<String> {
        let properties = schema.pointer(at).and_then(serde_json::Value::as_object).unwrap();
        properties.keys().cloned().collect()
    };
    for (at, known) in [
        ("/properties", super::KEYS),
        ("/$defs/cluster/properties", super::cluster::KEYS),
        ("/$defs/updateService/properties", super::update_service::KEYS),
        ("/$defs/step/anyOf/1/properties", super::step::ACTIONS),
        ("/$defs/expectation/properties", super::expectation::KEYS),
    ] {
        let mut known: Vec<&str> = known.to_vec();
        known.sort_unstable();
        assert_eq!(keys(at), known, "{at}");
    }
}

#[test]
fn no_damaged_text_panics() {
    let mut stream = crate::base::rng::Streams::new(1).stream("damage");
    let mut problems = 0;
    for (_, block) in blocks(DOCUMENT) {
        let text = if block.starts_with("name:") { block } else { format!("{AROUND}{block}") };
        for _ in 0..200 {
            let mut letters: Vec<char> = text.chars().collect();
            for _ in 0..=stream.between(0, 3) {
                let at = usize::try_from(stream.between(0, letters.len() as u64 - 1)).unwrap();
                let strange = [':', '{', ']', '-', '*', '&', '\n', ' ', '"', '\u{1F980}', '0', '/', '~', '!'];
                letters[at] = strange[usize::try_from(stream.between(0, strange.len() as u64 - 1)).unwrap()];
            }
            let damaged: String = letters.into_iter().collect();
            problems += usize::from(plan(&damaged).is_err());
        }
    }
    assert!(problems > 1000, "{problems}");
}

#[test]
fn an_update_service_is_read_whole() {
    let head = "name: n\ncluster: {version: 4.14.1}\nreleases: {4.14.8: }\ntimeline: [clear-update]\nupdate-service:\n";
    let service = |text: &str| plan(&format!("{head}{text}")).unwrap().cluster.update_service;
    let plain = service("  edges: [{from: 4.14.1, to: 4.14.8}]\n");
    assert!(plain.channels.is_none() && plain.edges.is_some_and(|edges| edges.len() == 1));
    let risk = "  conditional-edges:\n  - edges: [{from: 4.14.1, to: 4.14.8}]\n    risks: [{name: R, url: u, message: m, rules: ";
    let risky = service(&format!("{risk}[Always, {{PromQL: group(a)}}]}}]\n"));
    assert_eq!(risky.conditional[0].risks[0].rules, [Rule::Always, Rule::PromQl("group(a)".to_owned())]);
    let wrong = |text: &str, problems: &str| check(&format!("{head}{text}"), problems);
    wrong(
        "  channels: {a: [4.14.7], b: gone}\n",
        "s.yaml:6:18: no release 4.14.7 exists in this scenario: add it to `releases`; did you mean `4.14.8`?\n\
         s.yaml:6:30: expected one of `unreachable`, `server-error`, `invalid-json`, found `gone`",
    );
    wrong(
        &format!("{risk}[{{PromQL: rate(a)}}]}}]\n"),
        "s.yaml:8:60: this PromQL cannot be evaluated: unknown function with name \"rate\"",
    );
    wrong("  edges: [{from: 4.14.1}]\n", "s.yaml:6:11: an edge needs `to`: the release that it leads to");
}
