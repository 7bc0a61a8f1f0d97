//! Our status texts against those of the real `oc adm upgrade status`, where these lie beside the checkout.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use windtunnel::base::yaml;
use windtunnel::model::Object;
use windtunnel::status::{Details, Inputs, render};

/// Recorded outputs by file, with the details that they were asked for.
const OUTPUTS: [(&str, Details); 2] = [("output", Details::None), ("detailed-output", Details::All)];

/// How the sections begin that are not built yet.
const LATER_SECTIONS: [&str; 1] = ["\n= Update Health =\n"];

fn golden(folder: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/golden").join(folder);
    path.is_dir().then_some(path)
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

/// A dumped file; null where the cluster has none.
fn dumped(cluster: &Path, file: &str) -> Value {
    let Ok(text) = fs::read_to_string(cluster.join(file)) else { return Value::Null };
    yaml::from_str(&text).unwrap_or_else(|error| panic!("{} {file}: {error}", cluster.display()))
}

/// The objects of a cluster: its dump, after `change` had each file by its name without the ending.
fn load(cluster: &Path, mut change: impl FnMut(&str, &mut Value)) -> Inputs {
    let mut read = |name: &str| {
        let mut value = dumped(cluster, &format!("{name}.yaml"));
        change(name, &mut value);
        value
    };
    let items = |list: &Value| -> Vec<Object> {
        list["items"].as_array().into_iter().flatten().cloned().map(Object::new).collect()
    };
    let version = read("clusterversion");
    let version = items(&version).pop().unwrap_or_else(|| Object::new(version));
    let mut inputs = Inputs::new(version, items(&read("clusteroperators")));
    inputs.machine_config_pools = items(&read("machineconfigpools"));
    inputs.machine_configs = items(&read("machineconfigs"));
    inputs.nodes = items(&read("nodes"));
    inputs.machine_config_operator = Some(read("mco-deployment")).filter(|it| !it.is_null()).map(Object::new);
    inputs
}

/// Whether `ours` is what `oc` printed, up to the sections that are not built yet.
fn agrees(ours: &str, real: &str) -> bool {
    real.strip_prefix(ours)
        .is_some_and(|rest| rest.is_empty() || LATER_SECTIONS.iter().any(|section| rest.starts_with(section)))
}

/// Compares the recorded outputs in `folder` with the text made from `inputs`; what differs goes to `found`.
fn compare(folder: &Path, inputs: &Inputs, found: &mut Vec<String>) {
    for (file, details) in OUTPUTS {
        let real = fs::read_to_string(folder.join(file)).unwrap();
        let ours = render(inputs, inputs.mock_now(), details);
        if !agrees(&ours, &real) {
            found.push(format!("{} {file}\n--- ours\n{ours}--- real\n{real}", folder.display()));
        }
    }
}

#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn check(folder: &str, inputs_of: impl Fn(&Path) -> Inputs) {
    let Some(path) = golden(folder) else {
        println!("skipped: no ../shared/golden/{folder} beside the checkout");
        return;
    };
    let (mut found, mut compared) = (Vec::new(), 0);
    for cluster in folders(&path) {
        compare(&cluster, &inputs_of(&cluster), &mut found);
        compared += 1;
    }
    println!("{folder}: {compared} clusters compared");
    assert!(compared > 0, "nothing compared in {folder}");
    assert!(found.is_empty(), "{} texts differ:\n{}", found.len(), found.join("\n"));
}

#[test]
fn the_control_plane_of_every_recorded_cluster_reads_as_oc_prints_it() {
    check("upgrade-status", |cluster| load(cluster, |_, _| {}));
}

#[test]
fn the_control_plane_of_every_made_cluster_reads_as_oc_prints_it() {
    check("upgrade-status-made", |cluster| load(cluster, |_, _| {}));
}

#[test]
fn the_control_plane_of_every_changed_cluster_reads_as_oc_prints_it() {
    check("upgrade-status-variants", |folder| {
        let case = dumped(folder, "case.json");
        let base = folder.join("../../upgrade-status").join(case["base"].as_str().unwrap());
        load(&base, |name, value| {
            if let Some(patch) = case["patches"].get(name) {
                let patch: json_patch::Patch = serde_json::from_value(patch.clone()).unwrap();
                json_patch::patch(value, &patch).unwrap();
            }
        })
    });
}

#[test]
fn a_text_agrees_only_as_a_whole_or_up_to_a_section_of_later() {
    let real = "= Control Plane =\nAssessment:      Stalled\n\n= Update Health =\nSINCE\n";
    assert!(agrees("= Control Plane =\nAssessment:      Stalled\n", real));
    assert!(agrees(real, real));
    assert!(!agrees("= Control Plane =\nAssessment:      Progressing\n", real));
    assert!(!agrees("= Control Plane =\n", real), "lines left out");
    assert!(!agrees("", real));
}
