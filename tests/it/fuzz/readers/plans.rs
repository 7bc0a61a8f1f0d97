//! Scenarios, features, and the folders that they name.

use semver::Version;
use windtunnel::explore::Case;
use windtunnel::plan::Snapshot;
use windtunnel::scenario::lint::{self, sarif};
use windtunnel::scenario::{self, Folders, split_upgrade};
use windtunnel::steps::{self, FeatureFiles, Files, Suite};
use windtunnel_openshift::release::Architecture;

use super::{files, folder, read_damaged, texts};

/// The folder of the graph data to which examples refer.
const FOLDER: &str = "features/testdata/graph-data";

/// A scenario with a service whose graph data are the input.
const WITH_GRAPH_DATA: &str = "name: Graph data\ncluster: {version: 4.16.1}\nreleases: {4.16.2: , 4.17.1: }\n\
                               update-service: {graph-data: data}\ntimeline: [{advance: 1m}]\n";

#[test]
fn damaged_scenarios() {
    let valid = files(&[
        "scenarios/rollback/restored-z-stream.yaml",
        "scenarios/nodes/long-names.yaml",
        "scenarios/faults/api-refuses.yaml",
        "scenarios/faults/watches-of-a-client.yaml",
        "scenarios/intent/graph-data.yaml",
        "scenarios/intent/rollback.yaml",
        "scenarios/rollback/capability-matrix-clear.yaml",
        "scenarios/nodes/workload.yaml",
        "scenarios/insights/other-producers.yaml",
        "scenarios/monitoring/operator-alerts.yaml",
        "scenarios/operators/security-context-constraints.yaml",
        "scenarios/retrieval/signature-refused.yaml",
    ]);
    read_damaged("readers::plans::damaged_scenarios", &valid, read_scenario);
}

/// A scenario in YAML: parsed, checked and split.
fn read_scenario(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let releases = Folders(|_: &str, folder: &str| Ok(graph_data_files(folder)));
    match scenario::parse_all("scenario.yaml", &text, &releases) {
        Err(problems) => {
            let _ = (problems.to_string(), sarif::render(&problems.0, &[]));
        }
        Ok(plans) => {
            let _ = sarif::render(&[], &lint::warnings(&plans, &text));
            let _ = split_upgrade::split("scenario.yaml", &text, &releases);
        }
    }
}

/// The files of the folder of graph data that `named` ends with.
fn graph_data_files(named: &str) -> Vec<(String, String)> {
    let name = if named.ends_with("channels") { "channels" } else { "blocked-edges" };
    let files = folder(&format!("{FOLDER}/{name}"), "yaml");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    files
        .into_iter()
        .enumerate()
        .map(|(index, bytes)| (format!("{name}/{index}.yaml"), text(bytes)))
        .collect()
}

#[test]
fn damaged_features() {
    let valid = files(&[
        "features/canary.feature",
        "features/restored.feature",
        "features/logs.feature",
        "features/status.feature",
        "features/invalid.feature",
        "features/alerts.feature",
        "features/pod_faults.feature",
        "features/oc_retarget.feature",
    ]);
    read_damaged("readers::plans::damaged_features", &valid, read_feature);
}

/// A feature in Gherkin: parsed, checked and split.
fn read_feature(bytes: &[u8]) {
    const BESIDE: FeatureFiles = FeatureFiles { folder: graph_data, text: no_text, snapshot: no_snapshot };
    let text = String::from_utf8_lossy(bytes).into_owned();
    match Suite::parse_with_files(&[("a.feature".to_owned(), text.clone())], BESIDE) {
        Err(problems) => {
            let bug = problems.0.iter().find(|problem| is_bug(&problem.message));
            assert!(bug.is_none(), "a step panics: {bug:?}");
            let _ = sarif::render(&problems.0, &[]);
        }
        Ok(suite) => {
            let _ = (suite.warnings(&text), suite.planned(), suite.plans());
            let _ = steps::split_upgrade::split("a.feature", &text, Some(BESIDE));
        }
    }
}

/// Returns whether a problem is the text of a panic of the code. Steps report their errors as panics too, which the dry run
/// catches.
fn is_bug(message: &str) -> bool {
    let texts = [
        "index out of bounds",
        "byte index",
        "char boundary",
        "called `",
        "attempt to ",
        "entered unreachable",
    ];
    texts.iter().any(|text| message.contains(text))
}

fn graph_data(_: &str, folder: &str) -> Result<Files, String> {
    if folder.is_empty() { Err("no such folder".to_owned()) } else { Ok(graph_data_files(folder)) }
}

fn no_text(_: &str, name: &str) -> Result<String, String> {
    Err(format!("{name}: no such file"))
}

fn no_snapshot(_: &str, name: &str) -> Result<Snapshot, String> {
    Err(format!("{name}: no such file"))
}

#[test]
fn damaged_graph_data() {
    let mut found = folder(&format!("{FOLDER}/channels"), "yaml");
    found.extend(folder(&format!("{FOLDER}/blocked-edges"), "yaml"));
    found.extend(folder("tests/graph-data/blocked-edges", "yaml"));
    read_damaged("readers::plans::damaged_graph_data", &found, read_graph_data);
}

/// A file in the layout of cincinnati-graph-data.
fn read_graph_data(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let releases = Folders(|_: &str, folder: &str| Ok(vec![(format!("{folder}/a.yaml"), text.to_string())]));
    let Ok(plan) = scenario::parse("scenario.yaml", WITH_GRAPH_DATA, &releases) else { return };
    let versions = [Version::new(4, 16, 1), Version::new(4, 17, 1)];
    for edge in plan.cluster.update_service.blocked {
        for version in &versions {
            let _ = edge.leads_to(version, Architecture::Amd64);
            let _ = edge.leads_from(version, Architecture::Multi);
        }
        let _ = edge.risk.map(|risk| risk.to_json());
    }
}

#[test]
fn damaged_explored_cases() {
    let mut found = texts(&[
        r#"{"environment": {"cluster": {"version": "4.16.1"}, "releases": {"4.16.2": null}}, "own_steps": [],
            "moments": [{"at": 60, "step": {"update": "4.16.2"}},
                {"at": 90, "step": {"fault": {"operator": "dns", "is": "degraded", "after": "5m",
            "for": "10m"}}}]}"#,
        r#"{"environment": {"cluster": {"version": "4.16.1"}}, "moments": [{"at": 5, "step": {"fault":
            {"pool": "worker", "is": "render-flips", "times": 3}}}], "own_steps": []}"#,
        r#"{"environment": {}, "moments": [{"at": 18446744073709551615, "step": {"fault": {"is": "render-flips",
            "times": 18446744073709551615, "for": "1h"}}}], "own_steps": []}"#,
    ]);
    found.extend(files(&["scenarios/rollback/restored-z-stream.yaml", "scenarios/faults/api-refuses.yaml"]));
    read_damaged("readers::plans::damaged_explored_cases", &found, read_case);
}

/// A saved case of `windtunnel explore`, and a scenario to explore.
fn read_case(bytes: &[u8]) {
    let releases = Folders(|_: &str, folder: &str| Ok(graph_data_files(folder)));
    let text = String::from_utf8_lossy(bytes);
    let saved = serde_json::from_str::<Case>(&text).map_err(|error| error.to_string());
    if let Ok(mut case) = saved.or_else(|_| Case::of_scenario(&text)) {
        case.sort();
        let _ = (case.end(), case.faults(), case.is_repeated(), case.plan(&releases).is_ok());
    }
}
