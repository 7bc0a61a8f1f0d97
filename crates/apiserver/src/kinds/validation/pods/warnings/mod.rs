//! Warnings about pods and templates that the server accepts (`GetWarningsForPod`, `GetWarningsForPodTemplate`).

mod amounts;
mod labels;
mod overlaps;
mod ports;

use serde_json::Value;

use super::context::all_containers;
use super::names::address_warning;
use crate::gotext::quote;
use crate::kinds::Kind;
use crate::kinds::templates::template_path;
use crate::kinds::validation::storage::warnings::{claim_sizes, fraction};
use crate::kinds::validation::{Path, items, text};
use crate::names;
use crate::repeats::repeated;

/// Volumes that no longer work, and since when.
const VOLUMES: [(&str, &str, &str); 9] = [
    ("photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
];
/// Annotations that have no effect any more.
const ANNOTATIONS: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    ("security.alpha.kubernetes.io/sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
];
const SECCOMP: (&str, &str) =
    ("seccomp.security.alpha.kubernetes.io/pod", "container.seccomp.security.alpha.kubernetes.io/");
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// The warnings about a new object, or about an update of one that has a template. Updates that leave the generation
/// cause none.
pub(in crate::kinds::validation) fn of_object(
    kind: &Kind,
    object: &Value,
    old: Option<&Value>,
    out: &mut Vec<String>,
) {
    if kind.is_resource("", "pods") {
        if old.is_none() {
            pod(object, out);
        }
        return;
    }
    let Some(path) = template_path(&kind.resource) else { return };
    let value = path.iter().fold(object, |value, field| &value[*field]);
    let generation = |object: &Value| object["metadata"]["generation"].as_i64();
    let is_unchanged = |old: &Value| {
        if kind.is_resource("apps", "daemonsets") {
            old["spec"]["template"] == *value
        } else {
            generation(old).is_some() && generation(old) == generation(object)
        }
    };
    if old.is_some_and(is_unchanged) {
        return;
    }
    let root = Path::Root;
    match path {
        [one] => template(value, root.child(one), out),
        [one, two] => template(value, root.child(one).child(two), out),
        [one, two, three, four] => template(value, root.child(one).child(two).child(three).child(four), out),
        _ => {}
    }
}

/// The warnings about a new pod (`podStrategy.WarningsOnCreate`).
pub(in crate::kinds::validation) fn pod(pod: &Value, out: &mut Vec<String>) {
    let problems = names::label(text(&pod["metadata"]["name"]));
    if !problems.is_empty() {
        out.push(format!(
            "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS \
             label is recommended: [{}]",
            problems.join(" ")
        ));
    }
    all(pod, Path::Root, false, out);
}

/// The warnings about a template at a path.
pub(in crate::kinds::validation) fn template(template: &Value, at: Path<'_>, out: &mut Vec<String>) {
    all(template, at, true, out);
}

/// The warnings about addresses in a status (`podStatusStrategy.WarningsOnUpdate`).
pub(in crate::kinds::validation) fn status(pod: &Value, out: &mut Vec<String>) {
    let at = Path::Root.child("status");
    for list in ["podIPs", "hostIPs"] {
        let at = at.child(list);
        for (index, address) in items(&pod["status"][list]).iter().enumerate() {
            out.extend(address_warning(text(&address["ip"]), at.index(index).child("ip")));
        }
    }
}

fn all(owner: &Value, at: Path<'_>, is_template: bool, out: &mut Vec<String>) {
    let spec = &owner["spec"];
    let spec_at = at.child("spec");
    let metadata = at.child("metadata");
    let annotations = metadata.child("annotations");
    labels::deprecated_labels(spec, spec_at, out);
    for (key, why) in ANNOTATIONS {
        if owner["metadata"]["annotations"].get(key).is_some() {
            out.push(format!("{}: {why}", annotations.key(key).text()));
        }
    }
    volumes(&spec["volumes"], spec_at.child("volumes"), out);
    overlaps::overlapping_paths(&spec["volumes"], out);
    repeated_entries(spec, spec_at, out);
    let overhead = spec_at.child("overhead");
    for name in ["memory", "ephemeral-storage"] {
        fraction(&spec["overhead"][name], overhead.key(name), out);
    }
    profiles(owner, annotations, is_template, out);
    amounts::containers(spec, spec_at, out);
    variables(spec, spec_at, out);
    ports::ports(spec, spec_at, out);
    if spec["terminationGracePeriodSeconds"].as_i64().is_some_and(|seconds| seconds < 0) {
        out.push(format!(
            "{}: must be >= 0; negative values are invalid and will be treated as 1",
            spec_at.child("terminationGracePeriodSeconds").text()
        ));
    }
    labels::null_selectors(&spec["affinity"], spec_at.child("affinity"), out);
    addresses(spec, spec_at, out);
}

fn volumes(list: &Value, at: Path<'_>, out: &mut Vec<String>) {
    for (index, volume) in items(list).iter().enumerate() {
        let at = at.index(index);
        for (field, shown, why) in VOLUMES {
            if volume[field].is_object() {
                out.push(format!("{}: {why}", at.child(shown).text()));
            }
        }
        let template = &volume["ephemeral"]["volumeClaimTemplate"];
        if template.is_object() {
            let ephemeral = at.child("ephemeral");
            let claim = ephemeral.child("volumeClaimTemplate");
            claim_sizes(&template["spec"]["resources"], claim.child("spec").child("resources"), out);
        }
    }
}

/// Addresses and names that occur twice, and names that are empty.
fn repeated_entries(spec: &Value, at: Path<'_>, out: &mut Vec<String>) {
    for (list, field) in [("hostAliases", "ip"), ("imagePullSecrets", "name")] {
        let at = at.child(list);
        let entries = items(&spec[list]);
        let is_repeated = repeated(entries.iter().map(|entry| text(&entry[field])));
        for (index, entry) in entries.iter().enumerate() {
            let value = text(&entry[field]);
            if is_repeated[index] {
                out.push(format!(
                    "{}: duplicate {field} {}",
                    at.index(index).child(field).text(),
                    quote(value)
                ));
            }
        }
    }
    let at = at.child("imagePullSecrets");
    for (index, entry) in items(&spec["imagePullSecrets"]).iter().enumerate() {
        if text(&entry["name"]).is_empty() {
            out.push(format!("{}: invalid empty name \"\"", at.index(index).child("name").text()));
        }
    }
}

/// Profiles in annotations that fields replace.
fn profiles(owner: &Value, at: Path<'_>, is_template: bool, out: &mut Vec<String>) {
    let annotations = &owner["metadata"]["annotations"];
    let of_pod = &owner["spec"]["securityContext"];
    let mut seccomp = |key: &str, field: &Value| {
        if field.is_null() && annotations.get(key).is_some() {
            out.push(format!(
                "{}: non-functional in v1.27+; use the \"seccompProfile\" field instead",
                at.key(key).text()
            ));
        }
    };
    seccomp(SECCOMP.0, &of_pod["seccompProfile"]);
    for (_, _, container) in all_containers(&owner["spec"]) {
        let key = format!("{}{}", SECCOMP.1, text(&container["name"]));
        seccomp(&key, &container["securityContext"]["seccompProfile"]);
    }
    // For pods, the server copies the annotation to the field and warns then.
    for (_, _, container) in all_containers(&owner["spec"]) {
        let key = format!("{APP_ARMOR}{}", text(&container["name"]));
        let Some(annotation) = annotations.get(&key).filter(|_| is_template) else { continue };
        let is_same = is_profile(text(annotation), &of_pod["appArmorProfile"]);
        if container["securityContext"]["appArmorProfile"].is_null() && !is_same {
            out.push(format!(
                "{}: deprecated since v1.30; use the \"appArmorProfile\" field instead",
                at.key(&key).text()
            ));
        }
    }
}

/// Whether an annotation says the same as a field.
fn is_profile(annotation: &str, field: &Value) -> bool {
    match annotation {
        "unconfined" => field["type"] == "Unconfined",
        "runtime/default" => field["type"] == "RuntimeDefault",
        _ => match annotation.strip_prefix("localhost/") {
            Some(path) => field["type"] == "Localhost" && field["localhostProfile"] == path,
            None => false,
        },
    }
}

/// Variables that hide others of the same name without using their value.
fn variables(spec: &Value, at: Path<'_>, out: &mut Vec<String>) {
    for (list, index, container) in all_containers(spec) {
        let list = at.child(list);
        let container_at = list.index(index);
        let at = container_at.child("env");
        let variables = items(&container["env"]);
        let is_repeated = repeated(variables.iter().map(|variable| text(&variable["name"])));
        for (index, variable) in variables.iter().enumerate() {
            let (name, value) = (text(&variable["name"]), text(&variable["value"]));
            if !is_repeated[index] {
                continue;
            }
            let reference = format!("$({name})");
            let uses_it = value.contains(&reference) && value != reference;
            if !uses_it || !variable["valueFrom"].is_null() {
                out.push(format!(
                    "{}: hides previous definition of {}, which may be dropped when using apply",
                    at.index(index).text(),
                    quote(name)
                ));
            }
        }
    }
}

fn addresses(spec: &Value, at: Path<'_>, out: &mut Vec<String>) {
    let config = at.child("dnsConfig");
    let servers = config.child("nameservers");
    for (index, server) in items(&spec["dnsConfig"]["nameservers"]).iter().enumerate() {
        out.extend(address_warning(text(server), servers.index(index)));
    }
    let aliases = at.child("hostAliases");
    for (index, alias) in items(&spec["hostAliases"]).iter().enumerate() {
        out.extend(address_warning(text(&alias["ip"]), aliases.index(index).child("ip")));
    }
}
