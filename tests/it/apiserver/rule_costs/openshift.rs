//! Compares the estimated costs of the rules of OpenShift's CRDs with those of a real server.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use windtunnel_apiserver::{Profile, rule_costs};

/// The costs as Kubernetes 1.32 and 1.36 estimate them. A line without a tab names a CRD. The lines below it have the
/// path of a schema, the releases, and the costs of its rules in order; `m` marks the cost of a message expression.
const RECORDED: &str = include_str!("openshift.txt");

/// The releases in order, and the folder of the preview feature sets.
const RELEASES: [&str; 13] = [
    "4.12", "4.13", "4.14", "4.15", "4.16", "4.17", "4.18", "4.19", "4.20", "4.21", "4.22", "5.0", "previews",
];

/// Costs by release, CRD and path of the schema.
type Costs = BTreeMap<[String; 3], String>;

/// The releases of a text such as `4.14-4.16,5.0`.
fn releases(text: &str) -> Vec<&'static str> {
    let position = |release: &str| RELEASES.iter().position(|known| *known == release).unwrap();
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        RELEASES[position(first)..=position(last)].to_vec()
    };
    text.split(',').flat_map(range).collect()
}

fn recorded() -> Costs {
    let (mut costs, mut name) = (Costs::new(), "");
    for line in RECORDED.lines() {
        match line.split('\t').collect::<Vec<_>>()[..] {
            ["", path, among, text] => costs.extend(
                releases(among)
                    .into_iter()
                    .map(|release| ([release, name, path].map(str::to_owned), text.to_owned())),
            ),
            _ => name = line,
        }
    }
    costs
}

/// The path of a schema and whether the expression is a message, from the path of an expression.
fn place(path: &str) -> (String, bool) {
    let (_, path) = path.split_once("openAPIV3Schema").unwrap();
    let (path, expression) = path.rsplit_once(".x-kubernetes-validations").unwrap();
    let path = path.replace(".items", "[]").replace(".additionalProperties", "{}");
    let path = path.replace("[].properties", "[]..properties").replace("{}.properties", "{}..properties");
    let path: String = path.split(".properties[").map(|part| part.replacen(']', ".", 1)).collect();
    let path = path.replace(".[", "[").replace(".{", "{");
    let path = path.trim_end_matches('.');
    (if path.is_empty() { "." } else { path }.to_owned(), expression.ends_with("messageExpression"))
}

/// Adds the costs of this server for a CRD of a release.
fn estimate(file: &Path, release: &str, costs: &mut Costs) {
    let definition: Value = windtunnel_core::yaml::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let name = file.file_stem().unwrap().to_string_lossy();
    for found in rule_costs(&definition, &Profile::of(36, false)) {
        let (path, is_message) = place(&found.path);
        let key = [release, name.trim_end_matches(".crd"), &path].map(str::to_owned);
        let text = format!("{}{}", if is_message { "m" } else { "" }, found.cost);
        let line = costs.entry(key).or_default();
        *line = if line.is_empty() { text } else { format!("{line} {text}") };
    }
}

#[test]
fn rules_of_openshift_cost_what_the_real_server_estimates() {
    let Some(folder) = crate::recordings::shared_or_skip("openshift-api-crds") else { return };
    let mut found = Costs::new();
    for release in RELEASES {
        for file in crate::recordings::entries(&folder.join(release)) {
            estimate(&file, release, &mut found);
        }
    }
    let wanted = recorded();
    let keys = wanted.keys().chain(found.keys()).filter(|key| wanted.get(*key) != found.get(*key));
    let differences: Vec<String> = keys
        .map(|key| format!("{}: wanted {:?}, found {:?}", key.join(" "), wanted.get(key), found.get(key)))
        .collect();
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}
