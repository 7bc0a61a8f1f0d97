//! All shipped scenarios and features pass; wrong expectations fail.

mod commands;
mod legal;
mod nodes;
mod reports;
mod shipped;

use std::fs;
use std::path::Path;

use windtunnel::cli::Releases;
use windtunnel::engine::{self, Outcome};
use windtunnel::plan::{Plan, Variables};
use windtunnel::record::Record;
use windtunnel::report::{CANARY, timeline};
use windtunnel::scenario;
use windtunnel_core::resources::CLUSTER_OPERATORS;

/// An image with a non-existent digest.
const NONEXISTENT_IMAGE: &str = "quay.io/openshift-release-dev/ocp-release@sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// Name and text of all shipped files below a folder.
pub(crate) fn shipped(folder: &str, extension: &str) -> Vec<(String, String)> {
    fn collect(folder: &Path, extension: &str, files: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.join("release-metadata").is_file() || path.ends_with("testdata") {
                continue; // The manifests of a payload, or other data.
            }
            if path.is_dir() {
                collect(&path, extension, files);
            } else if path.extension().is_some_and(|found| found == extension)
                // Included steps are not scenarios.
                && !path.to_string_lossy().ends_with(".steps.yaml")
            {
                let name = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap().display().to_string();
                files.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let mut files = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), extension, &mut files);
    files.sort();
    assert!(!files.is_empty(), "no *.{extension} in {folder}");
    files
}

fn plan(file: &str, text: &str) -> Plan {
    scenario::parse(file, text, &Releases::default()).unwrap_or_else(|problems| panic!("{problems}"))
}

pub(crate) fn plans(file: &str, text: &str) -> Vec<Plan> {
    scenario::parse_all(file, text, &Releases::default()).unwrap_or_else(|problems| panic!("{problems}"))
}

/// A failure without the random end of a version pod's name.
fn redact_pod_name(failure: &str) -> String {
    regex::Regex::new(r"version--[a-z0-9]{5}\b").unwrap().replace_all(failure, "version--xxxxx").into_owned()
}

/// Runs a plan with a seed. Returns a failure as `file:line:column: step: why`.
fn run(plan: &Plan, seed: u64) -> (Outcome, String) {
    let outcome = engine::run_plan(plan, seed).unwrap_or_else(|error| panic!("{}: {error}", plan.file));
    let failure = outcome.failure.as_ref().map_or_else(String::new, |failure| {
        format!("{}:{}:{}: {}: {}", plan.file, failure.line, failure.column, failure.step, failure.error)
    });
    (outcome, failure)
}

/// Runs a scenario, given without its name. Returns its record.
fn passing(seed: u64, text: &str) -> Record {
    let (outcome, failure) = run(&plan("n.yaml", &format!("name: n\n{text}")), seed);
    assert_eq!(failure, "", "seed {seed}\n{text}");
    outcome.record
}

/// The canary of each suite must fail by its wrong expectation and nothing else. It reveals a harness that
/// passes everything.
#[test]
fn scenario_canary_fails_only_by_its_wrong_expectation() {
    let canaries: Vec<Plan> = shipped("scenarios", "yaml")
        .iter()
        .flat_map(|(file, text)| plans(file, text))
        .filter(|plan| plan.tags.iter().any(|tag| tag == CANARY))
        .collect();
    let [canary] = canaries.as_slice() else { panic!("{} canaries", canaries.len()) };
    let (_, failure) = run(canary, 1);
    assert!(
        failure.contains("expect insight ClusterVersion/version Updating=True within 10m: seen: "),
        "{failure}"
    );
}

/// Users copy the complete scenarios of the documents, so they must pass.
#[test]
fn every_complete_scenario_in_the_documents_passes() {
    for document in ["README.md", "docs/scenario-language.md"] {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(document)).unwrap();
        let blocks = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
        let scenarios: Vec<&str> = blocks.filter(|block| block.starts_with("name:")).collect();
        assert!(!scenarios.is_empty(), "no scenario in {document}");
        for scenario in scenarios {
            // One of them names a folder there.
            let mut plan = plan("features/document.yaml", scenario);
            for program in &mut plan.cluster.programs {
                program.permit(&Variables::new());
            }
            assert_eq!(run(&plan, 1).1, "", "\n{scenario}");
        }
    }
}

#[test]
fn broken_invariant_fails_the_scenario_unless_excluded() {
    let failure = |invariants: &str| {
        let text = format!(
            "name: n
cluster: {{version: 4.16.1, nodes: {{control-plane: 1, workers: 1}}}}
releases: {{4.16.5: {{}}}}
{invariants}
timeline:
- update: {{to: 4.16.5}}
- expect: {{node: worker-0, phase: Updating, within: 2h}}
- apply:
    apiVersion: v1
    kind: Node
    metadata: {{name: worker-0, annotations: {{machineconfiguration.openshift.io/state: Rebooting}}}}
- advance: 1m
"
        );
        run(&plan("n.yaml", &text), 1).1
    };
    let broken = failure("invariants: true");
    let expected = "Node/worker-0 broke invariant `node-order` at 0:";
    assert!(broken.starts_with("n.yaml:8:3: apply Node/worker-0") && broken.contains(expected), "{broken}");
    assert!(broken.ends_with("it went from Updating to Rebooting"), "{broken}");
    assert_eq!(failure("invariants: {except: [history-order]}"), broken);
    for unchecked in ["invariants: false", "invariants: {except: [history-order, node-order]}"] {
        assert_eq!(failure(unchecked), "", "{unchecked}");
    }
}

/// Runs a timeline in a 4.20.1 cluster. Returns the failure; empty if it passes.
fn failure_of(timeline: &str) -> String {
    let text = format!(
        "name: n\ncluster: {{version: 4.20.1}}\nreleases: {{4.20.8: {{pull: hangs}}}}\ntimeline:\n{timeline}\n"
    );
    run(&plan("n.yaml", &text), 1).1
}

#[test]
fn deleting_the_definition_of_cluster_version_does_not_stop_a_run() {
    let refused = "- try: {delete: ClusterVersion/version, refused: {contains: is not allowed}}";
    assert_eq!(failure_of(refused), "");
    let reconciles =
        "- delete: {object: CustomResourceDefinition/clusterversions.config.openshift.io, cascade: orphan}
- expect: {object: ClusterVersion/version, absent: true, within: 1m}
- advance: 30m";
    assert_eq!(failure_of(reconciles), "");
    let retrieving = format!("- update: {{to: 4.20.8}}\n- advance: 10s\n{reconciles}");
    assert_eq!(failure_of(&retrieving), "");
}

#[test]
fn record_contains_custom_resources_deleted_with_their_definition() {
    let text = "name: n
cluster: {version: 4.20.1}
timeline:
- delete: CustomResourceDefinition/clusteroperators.config.openshift.io
- expect: {object: ClusterOperator/etcd, absent: true}";
    let (outcome, failure) = run(&plan("n.yaml", text), 1);
    assert_eq!(failure, "");
    let record = Record::parse(&outcome.record.to_lines()).unwrap();
    assert!(
        record
            .view_at(record.header.epoch - jiff::SignedDuration::from_secs(1))
            .list(&CLUSTER_OPERATORS)
            .count()
            > 30
    );
    assert_eq!(record.view_at(record.end()).list(&CLUSTER_OPERATORS).count(), 0);
}

#[test]
fn component_without_rights_is_rejected_and_continues_when_they_return() {
    let text = r#"name: n
cluster: {version: 4.20.1}
releases: {4.20.3: {}}
timeline:
- delete: ClusterRoleBinding/cluster-version-operator
- update: {to: 4.20.3}
- advance: 20m
- expect:
    writes:
    - {by: cluster-version-operator, code: 403, message: {contains: "cannot update resource"}}
- expect: {object: ClusterVersion/version, condition: {type: Progressing, status: "False"}}
- apply:
    apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRoleBinding
    metadata: {name: cluster-version-operator}
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
    subjects:
    - {kind: ServiceAccount, name: default, namespace: openshift-cluster-version}
- expect: {object: ClusterVersion/version, condition: {type: Progressing, status: "True"}, within: 10m}
"#;
    let (outcome, failure) = run(&plan("n.yaml", text), 1);
    assert!(outcome.failure.is_none(), "{failure}");
}

#[test]
fn operator_restarts_on_a_foreign_lease_and_takes_it_when_it_expires() {
    let timeline = "- apply:
    apiVersion: coordination.k8s.io/v1
    kind: Lease
    metadata: {name: version, namespace: openshift-cluster-version}
    spec: {holderIdentity: someone}
- expect:
    object: Lease/openshift-cluster-version/version
    fields: {spec.holderIdentity: someone}
    throughout: 4m
- expect:
    object: Lease/openshift-cluster-version/version
    fields: {spec.holderIdentity: /^master-._/}
    within: 2m";
    assert_eq!(failure_of(timeline), "");
}

/// An update that stalls at once, with an expectation in line 8.
fn stalled_update(expectation: &str) -> Plan {
    let text = format!(
        "name: canary\ncluster: {{version: 4.20.1}}\ntimeline:\n- update:\n    image: {NONEXISTENT_IMAGE}\n    force: true\n- \
         advance: 30s\n- expect: {expectation}\n"
    );
    plan("canary.yaml", &text)
}

#[test]
fn wrong_expectation_of_a_scenario_fails_with_seen_state_and_pending_work() {
    let (_, failure) = run(
        &stalled_update(
            "{object: ClusterVersion/version, condition: {type: Progressing, status: \"False\"}}",
        ),
        1,
    );
    assert_eq!(failure, "", "a true expectation must pass");
    let wrong =
        "{object: ClusterVersion/version, condition: {type: Progressing, status: \"True\"}, within: 10s}";
    let (outcome, failure) = run(&stalled_update(wrong), 1);
    insta::assert_snapshot!(redact_pod_name(&failure), @r#"
    canary.yaml:8:3: expect ClusterVersion/version Progressing=True within 10s: seen: Progressing=False "Cluster version is 4.20.1"; ReleaseAccepted=False RetrievePayload "Unable to download and prepare the update: fetching update p ... shift-release-dev/ocp-release: manifest unknown; artifact err: get manifest: build image source: reading manifest sha256:000000000000... in quay.io/openshift-release-dev/ocp-release: manifest unknown""
      condition: ReleaseAccepted=False RetrievePayload "Retrieving payload failed version="" image="quay.io/openshift-release-dev/ocp-release@sha256:0000000000000000000000000000000000000000000000000000000000000000" failure=Unable to download and prepare the update: fetching update payload: pod version--xxxxx failed at pending with reason "" and message "" and status initcontainer cleanup is waiting with reason "ErrImagePull" and message "unable to pull image or OCI artifact: pull image err: initializing source docker://quay.io/openshift-release-dev/ocp-release@sha256:0000000000000000000000000000000000000000000000000000000000000000: reading manifest sha256:0000000000000000000000000000000000000000000000000000000000000000 in quay.io/openshift-release-dev/ocp-release: manifest unknown; artifact err: get manifest: build image source: reading manifest sha256:0000000000000000000000000000000000000000000000000000000000000000 in quay.io/openshift-release-dev/ocp-release: manifest unknown""
      pending: kubelet/master-0 waits for: creating the sandbox of pods/openshift-cluster-version/version--xxxxx
      pending: cluster-version-operator waits for: retrieving quay.io/openshift-release-dev/ocp-release@sha256:0000000000000000000000000000000000000000000000000000000000000000
    "#);
    assert_eq!(outcome.virtual_time.as_secs(), 40, "a wait ends when its time limit is over");
}

#[test]
fn steps_after_a_failed_one_do_not_run() {
    let text =
        "name: n\ncluster: {version: 4.20.1}\ntimeline:\n- expect: {object: ConfigMap/a/b}\n- advance: 5h\n";
    let (outcome, failure) = run(&plan("n.yaml", text), 1);
    assert!(failure.starts_with("n.yaml:4:3: expect ConfigMap/a/b"), "{failure}");
    assert!(outcome.virtual_time.as_secs() < 1);
}

#[test]
fn extreme_or_malformed_values_in_objects_do_not_stop_a_run() {
    let containers = "containers: [{name: a, image: x}]";
    for object in [
        format!(
            "kind: Pod, apiVersion: v1, spec: {{nodeName: master-0, activeDeadlineSeconds: {}, {containers}}}",
            i64::MAX
        ),
        format!(
            "kind: Pod, apiVersion: v1, spec: {{nodeName: master-0, activeDeadlineSeconds: {}, {containers}}}",
            i64::MIN
        ),
        format!(
            "kind: Job, apiVersion: batch/v1, spec: {{activeDeadlineSeconds: {}, template: {{spec: {{{containers}}}}}}}",
            i64::MAX
        ),
        "kind: Job, apiVersion: batch/v1, spec: {template: 7}".to_owned(),
        format!(
            "kind: Lease, apiVersion: coordination.k8s.io/v1, \
             spec: {{leaseDurationSeconds: {}, leaseTransitions: {}, renewTime: \"2024-01-15T08:00:00.000000Z\"}}",
            i64::MAX,
            i64::MAX
        ),
        "kind: Deployment, apiVersion: apps/v1, spec: {template: {spec: [], \
         metadata: {labels: 5, finalizers: x, annotations: {windtunnel.dev/program: \"true\"}}}}"
            .to_owned(),
    ] {
        let metadata = "metadata: {name: version, namespace: openshift-cluster-version}";
        let text = format!(
            "name: n\ncluster: {{version: 4.14.1}}\ntimeline:\n  - apply: {{{object}, {metadata}}}\n  - advance: 5m\n"
        );
        // This API server rejects what a real one would reject.
        let failure = run(&plan("n.yaml", &text), 1).1;
        assert!(
            failure.is_empty() || failure.contains("the API server rejected the request to "),
            "{object}: {failure}"
        );
    }
}

#[test]
fn parsed_record_gives_the_same_timeline() {
    let (outcome, _) = run(&stalled_update("{object: ConfigMap/default/none}"), 1);
    let lines = outcome.record.to_lines();
    let parsed = Record::parse(&lines).unwrap();
    let timeline = timeline::render(&outcome.record, 160);
    assert!(timeline.contains("Init:ErrImagePull") && timeline.contains("FAILED expect"), "{timeline}");
    assert_eq!(timeline::render(&parsed, 160), timeline);
    assert_eq!(parsed.to_lines(), lines);
    assert_eq!(parsed.hash(), outcome.record.hash());
}

#[cfg(feature = "gherkin")]
mod features {
    use std::fs;
    use std::path::Path;

    use windtunnel::steps::{FeatureFiles, RunOptions, ScenarioResult, Suite};

    use super::shipped::missing_parts;
    use super::{CANARY, NONEXISTENT_IMAGE, redact_pod_name, shipped};

    fn read(files: &[(String, String)]) -> Suite {
        let snapshot = |_: &str, name: &str| Err(format!("{name}: no shipped feature has snapshot files"));
        let feature_files = FeatureFiles { folder: yaml_beside, text: text_beside, snapshot };
        Suite::parse_with_files(files, feature_files).unwrap_or_else(|problems| panic!("{problems}"))
    }

    /// Runs features, each given by file name and text, with seed 1.
    fn run_all(files: &[(String, String)]) -> Vec<ScenarioResult> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let backend = std::sync::Arc::new(windtunnel::backends::in_process::InProcessBackend);
        let stop = std::sync::Arc::default();
        let options = RunOptions {
            seed: 1,
            strict: false,
            programs: std::sync::Arc::default(),
            permitted: None,
            shows_secrets: false,
            concurrency: cores,
            fail_fast: false,
            backend,
            stop,
            begin: std::rc::Rc::new(|_| ()),
        };
        runtime.block_on(read(files).run(options))
    }

    fn text_beside(file: &str, name: &str) -> Result<String, String> {
        let path = Path::new(file).parent().unwrap().join(name);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// The YAML files of a folder that a feature names.
    fn yaml_beside(file: &str, folder: &str) -> Result<Vec<(String, String)>, String> {
        let path = Path::new(file).parent().unwrap().join(folder);
        let entries = fs::read_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut files: Vec<_> = entries
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.display().to_string(), fs::read_to_string(&path).unwrap()))
            .collect();
        files.sort();
        Ok(files)
    }

    #[test]
    fn every_shipped_feature_passes() {
        let results = run_all(&shipped("features", "feature"));
        let (canaries, results): (Vec<_>, Vec<_>) =
            results.into_iter().partition(|result| result.tags.iter().any(|tag| tag == CANARY));
        assert!(
            !canaries.is_empty() && canaries.iter().all(|canary| canary.failure.is_some()),
            "{canaries:?}"
        );
        let failures: Vec<String> = results
            .iter()
            .filter_map(|result| Some((result, result.failure.as_ref()?)))
            .map(|(result, why)| format!("{}:{}: {}: {why}", result.file, result.line, result.name))
            .collect();
        assert!(failures.is_empty(), "{}", failures.join("\n"));
        assert!(results.iter().all(|result| result.record.is_some()), "a scenario without a cluster");
    }

    #[test]
    fn every_shipped_feature_expects_insights_and_state_and_names_its_source() {
        let planned = read(&shipped("features", "feature")).planned();
        let problems = planned.iter().flat_map(|(scenario, steps)| {
            let place = format!("{}:{}", scenario.file, scenario.line);
            let missing_parts = missing_parts(&scenario.tags, &scenario.ids, steps);
            missing_parts.into_iter().map(move |what| format!("{place}: {what}"))
        });
        let problems: Vec<String> = problems.collect();
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    /// Runs one scenario whose last step is `then`. Returns the failure; empty if it passes.
    fn failure(then: &str) -> String {
        let text = format!(
            "Feature: canary\n  Scenario: an update that stalls\n    Given a 4.20.1 cluster\n    When I update to image \
             \"{NONEXISTENT_IMAGE}\" by force\n    And 30 seconds pass\n    Then {then}\n"
        );
        let results = run_all(&[("canary.feature".to_owned(), text)]);
        let [result] = results.as_slice() else { panic!("{results:?}") };
        result.failure.clone().unwrap_or_default()
    }

    #[test]
    fn wrong_expectation_of_a_feature_fails_with_seen_state_and_pending_work() {
        let passing = failure("ClusterVersion condition Progressing is False");
        assert_eq!(passing, "", "a true expectation must pass");
        let failure = failure("within 10 seconds ClusterVersion condition Progressing is True");
        insta::assert_snapshot!(redact_pod_name(&failure), @r#"
        within 10 seconds ClusterVersion condition Progressing is True: seen: Progressing=False "Cluster version is 4.20.1"; ReleaseAccepted=False RetrievePayload "Unable to download and prepare the update: fetching update p ... shift-release-dev/ocp-release: manifest unknown; artifact err: get manifest: build image source: reading manifest sha256:000000000000... in quay.io/openshift-release-dev/ocp-release: manifest unknown""
          condition: ReleaseAccepted=False RetrievePayload "Retrieving payload failed version="" image="quay.io/openshift-release-dev/ocp-release@sha256:0000000000000000000000000000000000000000000000000000000000000000" failure=Unable to download and prepare the update: fetching update payload: pod version--xxxxx failed at pending with reason "" and message "" and status initcontainer cleanup is waiting with reason "ErrImagePull" and message "unable to pull image or OCI artifact: pull image err: initializing source docker://quay.io/openshift-release-dev/ocp-release@sha256:0000000000000000000000000000000000000000000000000000000000000000: reading manifest sha256:0000000000000000000000000000000000000000000000000000000000000000 in quay.io/openshift-release-dev/ocp-release: manifest unknown; artifact err: get manifest: build image source: reading manifest sha256:0000000000000000000000000000000000000000000000000000000000000000 in quay.io/openshift-release-dev/ocp-release: manifest unknown""
          pending: kubelet/master-0 waits for: creating the sandbox of pods/openshift-cluster-version/version--xxxxx
          pending: cluster-version-operator waits for: retrieving quay.io/openshift-release-dev/ocp-release@sha256:0000000000000000000000000000000000000000000000000000000000000000
        "#);
    }
}
