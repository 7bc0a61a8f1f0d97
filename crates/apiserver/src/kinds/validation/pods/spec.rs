//! Validation of the specification of a pod, in pods and in templates.

use std::collections::BTreeMap;

use serde_json::Value;

use super::context::{Pod, all_containers};
use super::names::{plain_label, subdomain, subdomain_if_given};
use super::{container, network, scheduling, security, volumes};
use crate::gotext::quote;
use crate::kinds::validation::internal::internal_form;
use crate::kinds::validation::networking::label_map;
use crate::kinds::validation::{Errors, Path, items, one_of, text};
use crate::profile::since;
use crate::repeats::repeated;

const RESTART_POLICIES: [&str; 3] = ["Always", "OnFailure", "Never"];
const DNS_POLICIES: [&str; 4] = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const PREEMPTION_POLICIES: [&str; 2] = ["PreemptLowerPriority", "Never"];
const DEADLINE_MAX: i64 = i32::MAX as i64;

/// Validates a specification. `owner` is the pod; a template has none (`ValidatePodSpec`).
pub(super) fn spec(spec: &Value, owner: Option<&Value>, at: Path<'_>, errors: &mut Errors<'_>) {
    let is_pod = owner.is_some();
    let name = owner.map(|pod| text(&pod["metadata"]["name"])).filter(|name| !name.is_empty());
    let broken = volumes::volumes(&spec["volumes"], name, is_pod, at.child("volumes"), errors);
    let pod = Pod::new(spec, &broken);
    if pod.grace_seconds().is_none() {
        errors.required(at.child("terminationGracePeriodSeconds"), "");
    }
    resource_claims(&spec["resourceClaims"], owner, at.child("resourceClaims"), errors);
    container::containers(&pod, at.child("containers"), errors);
    container::init_containers(&pod, at.child("initContainers"), errors);
    container::ephemeral_containers(&pod, at.child("ephemeralContainers"), errors);
    if errors.profile.minor >= since::POD_RESOURCES {
        container::pod_resources(&pod, at.child("resources"), errors);
    }
    policies(spec, at, errors);
    names_of_others(spec, at, errors);
    network::host_ports(spec, is_pod, at, errors);
    network::dns_config(spec, at.child("dnsConfig"), errors);
    network::host_aliases(&spec["hostAliases"], at.child("hostAliases"), errors);
    network::host_names(spec, at, errors);
    security::pod_context(&pod, at.child("securityContext"), errors);
    security::host_processes(&pod, at, errors);
    security::host_users(&pod, at, errors);
    security::operating_system(spec, at, errors);
    schedule(spec, at, errors);
    if spec["overhead"].is_object() {
        container::overhead(&spec["overhead"], at.child("overhead"), errors);
    }
    file_key_volumes(spec, at, errors);
}

fn policies(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    one_of(&spec["restartPolicy"], &RESTART_POLICIES, at.child("restartPolicy"), errors);
    one_of(&spec["dnsPolicy"], &DNS_POLICIES, at.child("dnsPolicy"), errors);
    if spec["preemptionPolicy"].is_string() {
        one_of(&spec["preemptionPolicy"], &PREEMPTION_POLICIES, at.child("preemptionPolicy"), errors);
    }
    deadline(&spec["activeDeadlineSeconds"], at.child("activeDeadlineSeconds"), errors);
}

fn deadline(seconds: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if let Some(seconds) = seconds.as_i64().filter(|seconds| !(1..=DEADLINE_MAX).contains(seconds)) {
        errors.invalid(at, seconds, format!("must be between 1 and {DEADLINE_MAX}, inclusive"));
    }
}

/// Requires valid names of the objects to which a specification refers.
fn names_of_others(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for field in ["serviceAccountName", "nodeName", "priorityClassName"] {
        subdomain_if_given(&spec[field], at.child(field), errors);
    }
    if !spec["runtimeClassName"].is_null() {
        subdomain(&spec["runtimeClassName"], at.child("runtimeClassName"), errors);
    }
}

fn schedule(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    label_map(&spec["nodeSelector"], at.child("nodeSelector"), errors);
    scheduling::affinity(&spec["affinity"], at.child("affinity"), errors);
    scheduling::readiness_gates(&spec["readinessGates"], at.child("readinessGates"), errors);
    scheduling::gates(&spec["schedulingGates"], at.child("schedulingGates"), errors);
    let constraints = &spec["topologySpreadConstraints"];
    scheduling::spread_constraints(constraints, at.child("topologySpreadConstraints"), errors);
    scheduling::tolerations(&spec["tolerations"], at.child("tolerations"), errors);
}

/// Validates references to resource claims (`validatePodResourceClaims`).
fn resource_claims(list: &Value, owner: Option<&Value>, at: Path<'_>, errors: &mut Errors<'_>) {
    let list = items(list);
    let is_mirror = owner.is_some_and(super::annotations::is_mirror);
    let is_repeated = repeated(list.iter().map(|claim| text(&claim["name"])));
    for (index, claim) in list.iter().enumerate() {
        if is_mirror {
            errors.forbidden(Path::Root, "static pods do not support resource claims");
            continue;
        }
        let at = at.index(index);
        let name = text(&claim["name"]);
        if name.is_empty() {
            errors.required(at.child("name"), "");
        } else if is_repeated[index] {
            errors.duplicate(at.child("name"), name);
        } else {
            plain_label(&claim["name"], at.child("name"), errors);
        }
        claim_source(claim, at, errors);
    }
}

/// Requires either a claim or a template for it (`validatePodResourceClaim`).
fn claim_source(claim: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    const SOURCES: [&str; 2] = ["resourceClaimName", "resourceClaimTemplateName"];
    let why = match SOURCES.iter().filter(|field| claim[**field].is_string()).count() {
        0 => "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
        1 => "",
        _ => "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
    };
    if !why.is_empty() {
        let shown = internal_form(claim, "PodResourceClaim");
        let pointer = |field: &str| claim[field].as_str().map_or("(*string)(nil)".to_owned(), quote);
        let syntax = format!(
            "core.PodResourceClaim{{Name:{}, ResourceClaimName:{}, ResourceClaimTemplateName:{}}}",
            quote(text(&claim["name"])),
            pointer(SOURCES[0]),
            pointer(SOURCES[1])
        );
        errors.invalid_shown(at, shown, syntax, why);
    }
    for field in SOURCES.into_iter().filter(|field| claim[*field].is_string()) {
        subdomain(&claim[field], at.child(field), errors);
    }
}

/// Requires that variables from files use an `emptyDir` (`validateFileKeyRefVolumes`).
fn file_key_volumes(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let volumes: BTreeMap<&str, &Value> =
        items(&spec["volumes"]).iter().map(|volume| (text(&volume["name"]), volume)).collect();
    for (list, index, container) in all_containers(spec) {
        for (position, variable) in items(&container["env"]).iter().enumerate() {
            let reference = &variable["valueFrom"]["fileKeyRef"];
            if !reference.is_object() {
                continue;
            }
            let name = text(&reference["volumeName"]);
            let volume = volumes.get(name);
            let list = at.child(list);
            let container = list.index(index);
            let variables = container.child("env");
            let variable = variables.index(position);
            let from = variable.child("valueFrom");
            let reference = from.child("fileKeyRef");
            match volume {
                None => errors.not_found(reference.child("volumeName"), name),
                Some(volume) if volume["emptyDir"].is_null() => {
                    let why = "referenced volume must be of type emptyDir";
                    errors.invalid(reference.child("volumeName"), name, why);
                }
                Some(_) => {}
            }
        }
    }
}
