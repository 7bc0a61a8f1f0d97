//! Tests of the errors of scenarios and their positions.

use super::*;

#[test]
fn reports_all_problems_of_a_file_with_their_positions() {
    check(
        "nam: x\nids: [OTA-x, 7]\ncluster:\n  version: 4.99.1\n  nodes: {workers: many}\n  chanel: x\nreleases:\n  4.14: {}\n  4.15.1: {pull: hang, recommended: 1}\ntimeline:\n  - advance: soon\n  - expekt: {}\n",
        "s.yaml:1:1: a scenario has no key `nam`; did you mean `name`?\n\
             s.yaml:1:1: a scenario needs `name`: the scenario's name\n\
             s.yaml:2:7: expected an id such as `OCP-22641`, `OTA-1321`, `OCPBUGS-29340`, `okd#1724` or `risk#PreRelease`, found `OTA-x`\n\
             s.yaml:2:14: expected an id such as `OCP-22641`, `OTA-1321`, `OCPBUGS-29340`, `okd#1724` or `risk#PreRelease`, found `7`\n\
             s.yaml:4:12: unknown release 4.99.1: known minors are 4.14, 4.15, 4.16\n\
             s.yaml:5:20: expected a whole number from 0 to 5000, found `many`\n\
             s.yaml:6:3: the cluster has no key `chanel`; did you mean `channel`?\n\
             s.yaml:8:3: expected a version such as `4.14.8`, found `4.14`; a release has three numbers, such as `4.14.1`\n\
             s.yaml:9:18: expected one of `succeeds`, `manifest-unknown`, `wrong-digest`, `unauthorized`, `unreachable`, `unavailable`, `slow`, `hangs`, found `hang`; did you mean `hangs`?\n\
             s.yaml:9:37: expected `true` or `false`, found `1`\n\
             s.yaml:11:14: expected a duration such as `45s`, `10m` or `1h30m`, found `soon`\n\
             s.yaml:12:5: unknown step `expekt`; did you mean `expect`?",
    );
}

#[test]
fn node_architectures_need_existing_nodes_and_a_multi_release() {
    let file = |cluster: &str| {
        format!("name: n\ncluster: {{version: 4.14.1, {cluster}}}\ntimeline: [clear-update]\n")
    };
    check(
        &file("nodes: {workers: 1, architectures: {worker-0: arm64}}"),
        "s.yaml:2:63: a release for amd64 needs machines for amd64: set `architecture: multi` for the cluster",
    );
    check(
        &file("architecture: multi, nodes: {workers: 1, architectures: {worker-1: arm64, master-0: multi}}"),
        "s.yaml:2:85: expected one of `master-0`, `master-1`, `master-2`, `worker-0`, found `worker-1`; did you mean `worker-0`?\n\
         s.yaml:2:112: expected one of `amd64`, `arm64`, `ppc64le`, `s390x`, found `multi`",
    );
    let text = file("architecture: multi, nodes: {workers: 1, architectures: {worker-0: arm64}}");
    let cluster = plan(&text).unwrap().cluster;
    assert_eq!(cluster.node_architectures["worker-0"].name(), "arm64");
}

#[test]
fn rejects_a_command_that_the_client_always_rejects() {
    check_step("  - run: oc adm upgrade --to-image=$(image 4.14.8)", "");
    check_step(
        "  - run: {command: oc adm upgrade --clear --to-latest, refused: --clear may not be specified with any other flags}",
        "",
    );
    check_step(
        "  - run: oc adm upgrade --clear --to-latest",
        "s.yaml:5:10: the client always rejects this command: --clear may not be specified with any other flags; to expect that, add `refused`",
    );
    check_step(
        "  - run: {command: oc adm upgrade --too 4.14.8}",
        "s.yaml:5:10: the client always rejects this command: unknown flag: --too; to expect that, add `refused`",
    );
    check_step(
        "  - run: oc adm upgrade --to-image=$(image 4.14.9)",
        "s.yaml:5:10: no release 4.14.9 exists in this scenario: add it to `releases`; did you mean `4.14.8`?",
    );
    check_step(
        "  - run: {comand: oc adm upgrade, prints: /(/}",
        "s.yaml:5:10: a command to run needs `command`: the command line, such as `oc adm upgrade --to-latest`\n\
         s.yaml:5:11: a command to run has no key `comand`; did you mean `command`?\n\
         s.yaml:5:43: `/(/` is not a valid regular expression: unclosed group; write `\\` before a character that is meant literally",
    );
    check_step("  - run", "s.yaml:5:5: `run` needs a value, as in `run: ...`");
}

#[test]
fn invalid_yaml_is_one_problem_with_a_position() {
    check(
        "",
        "s.yaml:1:1: expected a scenario (a map), found nothing; write the keys `name`, `cluster` and `timeline`; `windtunnel new FILE` writes an example",
    );
    check(
        "- a\n",
        "s.yaml:1:1: expected a scenario (a map), found a list; write the keys `name`, `cluster` and `timeline`; `windtunnel new FILE` writes an example",
    );
    check(
        &format!("{HEAD}  - clear-update\nname: m\ntags: 3\n"),
        "s.yaml:6:1: the key `name` occurs twice: remove one of them\n\
             s.yaml:7:7: expected a list of texts, each a tag, found `3`; write `[3]`",
    );
    check(
        "? [a]\n: 1\n",
        "s.yaml:1:1: a scenario needs `name`: the scenario's name\n\
             s.yaml:1:1: a scenario needs `cluster`: the initial cluster\n\
             s.yaml:1:1: a scenario needs `timeline`: the steps\n\
             s.yaml:1:3: a scenario has no key a list; it may have `name`, `description`, `ids`, `tags`, `strict`, `parameters`, `cluster`, `releases`, `images`, `metrics`, `update-service`, `programs`, `invariants`, `timeline`",
    );
}

#[test]
fn validates_the_cluster_against_its_release() {
    let check_cluster = |cluster: &str, errors: &str| {
        check(&format!("name: n\ntimeline: [clear-update]\ncluster: {cluster}\n"), errors);
    };
    check_cluster(
        "{}",
        "s.yaml:3:10: the cluster needs `version`: the release that it runs, such as `4.14.8`",
    );
    check_cluster(
        "4.14.1",
        "s.yaml:3:10: expected the cluster (a map), found `4.14.1`; write `{version: 4.14.1}`; its keys are `version`, `payload`, `installed`, `nodes`, `platform`, `architecture`",
    );
    check_cluster(
        "{version: 4.14}",
        "s.yaml:3:20: expected a version such as `4.14.8`, found `4.14`; a release has three numbers, such as `4.14.1`",
    );
    check_cluster(
        "{version: 4.14.1, nodes: {control-plane: 0, workers: 1.5, infra: 3}}",
        "s.yaml:3:51: expected a whole number from 1 to 5, found `0`\n\
             s.yaml:3:63: expected a whole number from 0 to 5000, found `1.5`\n\
             s.yaml:3:68: nodes has no key `infra`; it may have `control-plane`, `workers`, `pools`, `labels`, `architectures`, `leases`",
    );
    check_cluster(
        "{version: 4.14.1, kubernetes: v1.33, feature-set: TechPreview}",
        "s.yaml:3:40: expected a Kubernetes minor from \"1.23\" to \"1.36\", found `v1.33`\n\
             s.yaml:3:60: expected one of `CustomNoUpgrade`, `DevPreviewNoUpgrade`, `TechPreviewNoUpgrade`, `LatencySensitive`, found `TechPreview`; did you mean `TechPreviewNoUpgrade`?",
    );
    check_cluster(
        "{version: 4.14.1, kubernetes: 1.3}",
        "s.yaml:3:40: expected a Kubernetes minor from \"1.23\" to \"1.36\", found `1.3`",
    );
    check_cluster(
        "{version: 4.14.1, baseline-capability-set: vCurent, additional-enabled-capabilities: [console]}",
        "s.yaml:3:53: OpenShift 4.14.1 has no capability set `vCurent`; did you mean `vCurrent`?\n\
             s.yaml:3:96: OpenShift 4.14.1 has no capability `console`; did you mean `Console`?",
    );
    check_cluster(
        "{version: 4.14.1, additional-enabled-capabilities: Console, channel: }",
        "s.yaml:3:61: expected a list of capabilities, found `Console`; write `[Console]`\n\
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
fn rejects_faults_with_invalid_targets() {
    check_step(
        "  - fault: {pod: web, node: w, is: unready}",
        "s.yaml:5:18: expected one target, `node` or `pod`, found both",
    );
    check_step(
        "  - fault: {pod: web, is: unredy}",
        "s.yaml:5:18: expected pods such as `default/web-*`, found `web`",
    );
    check_step(
        "  - fault: {pod: default/web-*, is: stalled}",
        "s.yaml:5:37: expected one of `unready`, `not-live`, `not-started`, `crash-looping`, found `stalled`",
    );
}

#[test]
fn rejects_fault_keys_without_effect() {
    let check_fault = |fault: &str, error: &str| check_step(&format!("  - fault: {{{fault}}}"), error);
    check_fault(
        "node: w, is: not-ready, times: 3",
        "s.yaml:5:44: the fault `not-ready` of a node has no key `times`; it may have `message`",
    );
    check_fault(
        "node: w, is: degraded, by: 3m, reason: R",
        "s.yaml:5:40: the fault `degraded` of a node has no key `by`; it may have `message`\n\
         s.yaml:5:52: the fault `degraded` of a node has no key `reason`; it may have `message`",
    );
    check_fault(
        "process: p, is: watch-stale, write: {verb: get}",
        "s.yaml:5:49: the fault `watch-stale` of a process has no key `write`",
    );
    check_fault(
        "process: p, is: watch-dropped, for: 3m",
        "s.yaml:5:49: the fault `watch-dropped` has no key `for`: it ends at once",
    );
    check_fault(
        "process: p, is: killed, for: 3m",
        "s.yaml:5:42: the fault `killed` has no key `for`: it ends at once",
    );
    check_fault(
        "api: all, is: conflict, retry-after: 3s",
        "s.yaml:5:50: the fault `conflict` of requests has no key `retry-after`; it may have `message`, `nth`, `times`",
    );
    check_fault(
        "api: all, is: watch-stale, nth: 3",
        "s.yaml:5:45: the fault `watch-stale` of requests has no key `nth`",
    );
    check_fault(
        "process: p, is: clock-ahead",
        "s.yaml:5:12: `clock-ahead` needs `by`: the difference, such as `10m`",
    );
    check_fault("api: all, is: watch-slow", "s.yaml:5:12: `watch-slow` needs `by`, such as `by: 10s`");
    check_fault(
        "api: all, is: watch-behind",
        "s.yaml:5:12: `watch-behind` needs `events`, such as `events: 3`",
    );
    check_fault(
        "api: {verb: update}, is: watch-410",
        "s.yaml:5:18: the fault `watch-410` is for the verb `watch`, found `update`",
    );
    check_fault(
        "api: {verb: list}, is: connection-dropped-after-write",
        "s.yaml:5:18: the fault `connection-dropped-after-write` is for verbs that write, found `list`",
    );
    check_fault(
        "pod: a/b, is: unready, reason: R",
        "s.yaml:5:44: the fault `unready` of a pod has no key `reason`; it may have `message`",
    );
    for valid in [
        "operator: dns, is: stalled, reason: R, message: m",
        "node: w, is: clock-ahead, by: 3m",
        "node: w, is: reboot-loop, times: 3",
        "process: p, is: lease-lost, for: 3m",
        "process: p, is: paused, for: 3m",
        "process: p, is: clock-behind, by: 2m, for: 3m",
        "pool: p, is: render-flips, times: 3",
        "api: all, is: too-many-requests, retry-after: 3s, nth: 2, message: m",
        "api: {verb: watch, by: b}, is: watch-stale, for: 3m",
        "api: {kind: Pod}, is: watch-slow, by: 3s",
        "api: {kind: Pod}, is: watch-behind, events: 3",
        "api: {verb: watch}, is: watch-410, nth: 2, times: 2",
        "api: {verb: update}, is: timeout-after-write, times: 2",
    ] {
        check_fault(valid, "");
    }
}

#[test]
fn reports_invalid_steps() {
    check(
        "name: n\ncluster: {version: 4.14.1}\ntimeline: []\n",
        "s.yaml:3:11: the list of steps is empty: expected at least one",
    );
    check_step("  - updat: {}", "s.yaml:5:5: unknown step `updat`; did you mean `update`?");
    check_step(
        "  - zzz",
        "s.yaml:5:5: unknown step `zzz`; there are `run`, `update`, `clear-update`, `publish-insights`, `feature-set`, `apply`, `patch`, `delete`, `try`, `join`, `logs`, `fault`, `heal`, `advance`, `at`, `expect`, `keep`, `retry`, `include`",
    );
    check_step("  - update", "s.yaml:5:5: `update` needs a value, as in `update: ...`");
    check_step(
        "  - 7",
        "s.yaml:5:5: expected a step, one of `run`, `update`, `clear-update`, `publish-insights`, `feature-set`, `apply`, `patch`, `delete`, `try`, `join`, `logs`, `fault`, `heal`, `advance`, `at`, `expect`, `keep`, `retry`, `include`, found `7`",
    );
    check_step(
        "  - {}",
        "s.yaml:5:5: expected a step, one of `run`, `update`, `clear-update`, `publish-insights`, `feature-set`, `apply`, `patch`, `delete`, `try`, `join`, `logs`, `fault`, `heal`, `advance`, `at`, `expect`, `keep`, `retry`, `include`, found an empty map",
    );
    check_step(
        "  - {advance: 1m, clear-update: }",
        "s.yaml:5:19: a step does one thing: expected one key, found `clear-update` too; write `- ` before `clear-update` to make it a step of its own",
    );
    check_step(
        "  - expect:\n    update: complete",
        "s.yaml:6:5: a step does one thing: expected one key, found `update` too; write `- ` before `update` to make it a step of its own",
    );
    check_step(
        "  - expect: {update: complete}\n    within: 1h",
        "s.yaml:6:5: a step does one thing: expected one key, found `within` too; if it belongs to `expect`, indent it more than `expect`",
    );
    check_step(
        "  - within: 1h\n    expect: {update: complete}",
        "s.yaml:6:5: a step does one thing: expected one key, found `expect` too; if `within` belongs to `expect`, indent it more than `expect`",
    );
}

#[test]
fn reports_invalid_values_of_steps() {
    check_step(
        "  - fault: {operator: dns, is: sad, why: x}",
        "s.yaml:5:32: expected one of `degraded`, `unavailable`, `flapping`, `not-upgradeable`, `stalled`, `silent`, found `sad`\n\
         s.yaml:5:37: a fault such as `{operator: etcd, is: degraded}` or `{node: worker-0, is: not-ready}` has no key `why`; it may have `operator`, `node`, `pod`, `api`, `process`, `pool`, `release`, `registry`, `webhook`, `crd`, `is`, `after`, `for`, `at-event`, `reason`, `message`, `times`, `by`, `nth`, `retry-after`, `write`, `events`",
    );
    check_step(
        "  - fault: {webhook: {verb: get, kind: Pod}, is: unreachable}",
        "s.yaml:5:29: expected one of `create`, `update`, `patch`, `delete`, found `get`",
    );
    check_step(
        "  - fault: {crd: clusterversions, is: stored-version}",
        "s.yaml:5:18: expected the name of a CustomResourceDefinition such as `backups.config.openshift.io`, found `clusterversions`",
    );
    check_step("  - clear-update: yes", "s.yaml:5:19: `clear-update` takes no value, found `yes`");
    check_step(
        "  - update: {}",
        "s.yaml:5:13: an update needs `to` (a version) or `image` (a pull specification)",
    );
    check_step(
        "  - update: {to: 4.14.8, image: a/b}",
        "s.yaml:5:33: an update needs either `to` or `image`, found both",
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
    check_step(
        "  - patch: {object: Node/a, merge: {spec: {}}, subresource: scale}",
        "s.yaml:5:61: expected one of `status`, found `scale`",
    );
    check_step(
        "  - patch: {object: Node/a, merge: paused}",
        "s.yaml:5:36: expected the fields to change (a map), found `paused`",
    );
    check_step(
        "  - patch: {object: Node/a}",
        "s.yaml:5:12: a patch such as `{object: Kind/name, merge: {spec: {paused: true}}}` needs `merge`: the fields to change, such as `{spec: {paused: true}}`",
    );
    check_step(
        "  - apply: {apiVersion: v1, kind: Node, metadata: {name: a}, spec: {? [a] : b}}",
        "s.yaml:5:71: expected a text as key, found a list",
    );
}

#[test]
fn reports_unknown_kinds_with_the_nearest_ones() {
    let kinds: Vec<String> = windtunnel_core::resources::names().collect();
    assert_eq!(kinds.last().unwrap(), "Node.config.openshift.io", "there are two of that kind");
    check_step(
        "  - apply: {apiVersion: v1, kind: Gadget, metadata: {name: a}}",
        "s.yaml:5:35: unknown kind `Gadget`; the nearest are `Image`, `ImageDigestMirrorSet`, `DaemonSet`. The kind of a \
         CustomResourceDefinition is known after the object or the step that brings it",
    );
}

#[test]
fn reports_invalid_expectations() {
    check_step(
        "  - expect: {}",
        "s.yaml:5:13: an expectation needs one of `object`, `insight`, `alert`, `metric`, `writes`, `requests`, `leader`, `statuses`, `status`, `log`, `node`, `update`, `restored`",
    );
    check_step(
        "  - expect: {leader: {lease: version, handovers: -1}}",
        "s.yaml:5:30: expected a Lease as `NAMESPACE/NAME`, found `version`\n\
         s.yaml:5:50: expected a whole number from 0 to 1000, found `-1`",
    );
    check_step(
        "  - expect: {leader: {}, absent: true}",
        "s.yaml:5:22: a leader such as `{lease: default/mine, handovers: 1, gap: 30s}` needs `lease`: the Lease as \
         `NAMESPACE/NAME`\ns.yaml:5:34: `absent` cannot be combined with `leader`",
    );
    check_step(
        "  - expect: {object: Node/a, insight: Health}",
        "s.yaml:5:39: an expectation is about one thing: expected `object` or `insight`, not both",
    );
    check_step(
        "  - expect: {object: Node/a, within: 1m, throughout: 2m}",
        "s.yaml:5:54: an expectation needs either `within` or `throughout`, found both",
    );
    check_step(
        "  - expect: {object: Node/a, within: ten}",
        "s.yaml:5:38: expected a duration such as `45s`, `10m` or `1h30m`, found `ten`",
    );
    check_step(
        "  - expect: {object: Node/a, unchanged: [status]}",
        "s.yaml:5:41: `unchanged` needs `throughout`: the time without a change",
    );
    check_step(
        "  - expect: {object: Node/a, unchanged: [status., .x], throughout: 1m}",
        "s.yaml:5:42: expected a path such as `status.history[0].state` or `data[\"a.b\"]`, found `status.`\n\
             s.yaml:5:51: expected a path such as `status.history[0].state` or `data[\"a.b\"]`, found `.x`",
    );
    check_step(
        "  - expect: {object: Node/a, absent: true, condition: {type: Ready}}",
        "s.yaml:5:55: `condition` cannot be combined with `absent`",
    );
    check_step(
        "  - expect: {object: Node/a, absent: false, pod-status: Running}",
        "s.yaml:5:38: expected `absent: true`; to expect that the object exists, remove `absent`\n\
             s.yaml:5:57: `pod-status` is for pods, not for Node",
    );
    check_step(
        "  - expect: {object: Node/*a, condition: {status: yes, reason: /(/, message: {has: x}}}",
        "s.yaml:5:22: expected `*` only at the end of a name, found `Node/*a`\n\
             s.yaml:5:42: a condition needs `type`: such as `Progressing`\n\
             s.yaml:5:51: expected a status (`True`, `False` or `Unknown`), found `yes`; write `\"True\"`\n\
             s.yaml:5:64: `/(/` is not a valid regular expression: unclosed group; write `\\` before a character that is meant literally\n\
             s.yaml:5:78: a text to compare with needs `contains`: the part to look for\n\
             s.yaml:5:79: a text to compare with has no key `has`; it may have `any-of`, `contains`, `lacks`",
    );
    check_step(
        "  - expect: {object: Node/a, condition: {type: Ready}, conditions: [3]}",
        "s.yaml:5:68: expected `condition` or `conditions`, not both\n\
             s.yaml:5:69: expected a condition (a map), found `3`; write `{type: 3}`; its keys are `type`, `status`, `reason`, `message`",
    );
    check_step(
        "  - expect: {object: Node/a, fields: {status..x: 1, status.y: [1]}}",
        "s.yaml:5:39: expected a path such as `status.history[0].state` or `data[\"a.b\"]`, found `status..x`\n\
             s.yaml:5:63: expected a text, `/a regular expression/`, `{contains: a part}`, `{lacks: a part}` or `{any-of: [a text, another]}`, found a list",
    );
    check_step(
        "  - expect: {object: Node/a, fields: {a: {any-of: [x]}, b: {any-of: 3}, c: {any-of: [x, y], lacks: z}}}",
        "s.yaml:5:51: `any-of` needs at least two alternatives\n\
             s.yaml:5:69: expected a list of alternatives for a text, found `3`\n\
             s.yaml:5:100: `lacks` cannot be combined with `any-of`: make it one of the alternatives",
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
             s.yaml:5:38: `throughout` cannot be combined with `writes`: use `within`, or neither\n\
             s.yaml:5:50: `fields` cannot be combined with `writes`",
    );
    check_step(
        "  - expect: {writes: [{verb: put, code: 42, object: Nod/a, who: me}]}",
        "s.yaml:5:30: expected one of `create`, `update`, `patch`, `delete`, found `put`\n\
             s.yaml:5:41: expected a whole number from 200 to 599, found `42`\n\
             s.yaml:5:53: unknown kind `Nod`; did you mean `Node`?\n\
             s.yaml:5:60: a write has no key `who`; it may have `by`, `verb`, `object`, `subresource`, `code`, `message`, `condition`, `conditions`, `fields`",
    );
    check_step(
        "  - expect: {alert: {nam: X, state: fireing, labels: [x]}, condition: {type: Y}, absent: true}",
        "s.yaml:5:21: an alert needs `name`: such as `ClusterOperatorDown`\n\
             s.yaml:5:22: an alert has no key `nam`; did you mean `name`?\n\
             s.yaml:5:37: expected one of `pending`, `firing`, found `fireing`; did you mean `firing`?\n\
             s.yaml:5:54: expected labels by name (a map), found a list; write `{x: ...}`, each name with its value\n\
             s.yaml:5:71: `condition` cannot be combined with `alert`",
    );
    check_step(
        "  - expect: {metric: {query: \"group(\", value: few}}",
        "s.yaml:5:30: this is not valid PromQL: expected an expression, found the end\n\
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
        "s.yaml:5:24: `statuses` needs either `object` or `insight`: the owner of the condition\n\
             s.yaml:5:57: expected a status (`True`, `False` or `Unknown`), found `Yes`; write `\"True\"`\n\
             s.yaml:5:72: `absent` cannot be combined with `statuses`",
    );
}

#[test]
fn reports_invalid_expectations_about_a_restored_cluster() {
    for valid in [
        "true",
        "{to: start}",
        "{to: 4.14.8}",
        "{ignore: [Secret, \"ConfigMap/a/b*\", status.capabilities, \"spec.* of Node\"]}",
    ] {
        check_step(&format!("  - expect: {{restored: {valid}, within: 1h}}"), "");
    }
    check_step(
        "  - expect: {restored: false}",
        "s.yaml:5:24: expected `restored: true`, or `{to: ..., ignore: [...]}`; list in `ignore` what may be left over",
    );
    check_step(
        "  - expect: {restored: {within: 30m}}",
        "s.yaml:5:33: `within` belongs beside `restored`, not in it",
    );
    check_step(
        "  - expect: {restored: {too: start}}",
        "s.yaml:5:25: `restored` has no key `too`; did you mean `to`?",
    );
    check_step(
        "  - expect: {restored: {to: 4.14.9}}",
        "s.yaml:5:29: no release 4.14.9 exists in this scenario: add it to `releases`; did you mean `4.14.8`?",
    );
    check_step(
        "  - expect: {restored: {to: stat}}",
        "s.yaml:5:29: expected `start`, a version, or a state that an earlier step kept (`keep: {as: stat, cluster: true}`), found `stat`; did you mean `start`?",
    );
    check_step(
        "  - expect: {restored: {ignore: [Sekret, \"a..b\"]}}",
        "s.yaml:5:34: unknown kind `Sekret`; did you mean `Secret`?\n\
         s.yaml:5:42: expected a kind, an object such as `ClusterVersion/version`, a path such as `status.capabilities`, or `status.capabilities of ClusterVersion/version`, found `a..b`",
    );
    check_step(
        "  - expect: {restored: true, condition: {type: Progressing}}",
        "s.yaml:5:41: `condition` cannot be combined with `restored`",
    );
}

#[test]
fn a_kept_cluster_can_be_compared_with() {
    check_step(
        "  - keep: {as: calm, cluster: true}\n  - retry: {within: 1m, steps: [{expect: {restored: {to: calm}}}]}",
        "",
    );
    check_step(
        "  - keep: {as: start, cluster: true}",
        "s.yaml:5:32: `start` is a state already: keep the cluster under another name",
    );
    check_step(
        "  - keep: {as: a, cluster: true, field: spec}",
        "s.yaml:5:41: `cluster` keeps everything: it cannot be combined with `object` or `field`",
    );
}

#[test]
fn excludes_invariants_by_name() {
    let check_of = |invariants: &str, expected: &str| {
        check(
            &format!(
                "name: n\ncluster: {{version: 4.14.1}}\ninvariants: {invariants}\ntimeline: [clear-update]\n"
            ),
            expected,
        );
    };
    for right in ["true", "false", "{except: [node-order, history-order]}"] {
        check_of(right, "");
    }
    check_of("off", "s.yaml:3:13: expected `true`, `false` or `{except: [node-order]}`, found `off`");
    check_of(
        "{except: [node-orders]}",
        "s.yaml:3:23: expected one of `node-order`, `refusal-alone`, `observed-generation`, `completed-available`, \
         `history-order`, found `node-orders`; did you mean `node-order`?",
    );
    check_of(
        "{without: [node-order]}",
        "s.yaml:3:13: `invariants` needs `except`: the names of the invariants to skip\n\
         s.yaml:3:14: `invariants` has no key `without`; it may have `except`",
    );
}
