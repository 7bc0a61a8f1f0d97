//! Budgets of disruptions, webhooks, aggregated servers and signing requests.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Errors, Path, absent, items, one_of_if_given, selector, text, workload};
use crate::apiserver::names;

pub(super) fn budget(object: &Value, _old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Field(&Path::Root, "spec");
    let spec = &object["spec"];
    if !spec["minAvailable"].is_null() && !spec["maxUnavailable"].is_null() {
        let why = "minAvailable and maxUnavailable cannot be both set";
        errors.invalid(at, spec.clone(), why);
    }
    for field in ["minAvailable", "maxUnavailable"] {
        if spec[field].is_null() {
            continue;
        }
        let at = Path::Field(&at, field);
        workload::amount(&spec[field], at, errors);
        if workload::percentage(&spec[field]).is_some_and(|percent| percent > 100) {
            errors.invalid(at, spec[field].clone(), "must not be greater than 100%");
        }
    }
    if spec["selector"].is_object() {
        selector::check(&spec["selector"], Path::Field(&at, "selector"), errors);
    }
    let policies = ["AlwaysAllow", "IfHealthyBudget"];
    let policy = Path::Field(&at, "unhealthyPodEvictionPolicy");
    one_of_if_given(&spec["unhealthyPodEvictionPolicy"], &policies, policy, errors);
}

pub(super) fn webhooks(object: &Value, _old: Option<&Value>, errors: &mut Errors<'_>) {
    let list = Path::Field(&Path::Root, "webhooks");
    let mut seen = BTreeSet::new();
    for (index, webhook) in items(&object["webhooks"]).iter().enumerate() {
        let at = Path::Index(&list, index);
        let name = text(&webhook["name"]);
        if !seen.insert(name) {
            errors.duplicate(Path::Field(&at, "name"), name);
        }
        qualified_name(name, Path::Field(&at, "name"), errors);
        one_webhook(webhook, at, errors);
    }
}

/// A name of at least three parts (`IsFullyQualifiedName`).
fn qualified_name(name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    if name.is_empty() {
        errors.required(at, "");
        return;
    }
    let wrong = names::subdomain(name);
    if wrong.is_empty() && name.split('.').count() < 3 {
        errors.invalid(at, name, "should be a domain with at least three segments separated by dots");
    }
    errors.each(at, name, wrong);
}

fn one_webhook(webhook: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let versions = items(&webhook["admissionReviewVersions"]);
    let list = Path::Field(&at, "admissionReviewVersions");
    if versions.is_empty() {
        errors.required(list, "must specify one of v1, v1beta1");
    } else if !versions.iter().any(|version| version == "v1" || version == "v1beta1") {
        errors.invalid(list, Value::Array(versions.to_vec()), "must include at least one of v1, v1beta1");
    }
    match text(&webhook["sideEffects"]) {
        "" => errors.required(Path::Field(&at, "sideEffects"), "must specify one of None, NoneOnDryRun"),
        "None" | "NoneOnDryRun" => {}
        other => errors.unsupported(Path::Field(&at, "sideEffects"), other, &["None", "NoneOnDryRun"]),
    }
    one_of_if_given(
        &webhook["failurePolicy"],
        &["Fail", "Ignore"],
        Path::Field(&at, "failurePolicy"),
        errors,
    );
    one_of_if_given(
        &webhook["matchPolicy"],
        &["Equivalent", "Exact"],
        Path::Field(&at, "matchPolicy"),
        errors,
    );
    if let Some(seconds) = webhook["timeoutSeconds"].as_i64().filter(|seconds| !(1..=30).contains(seconds)) {
        let why = "the timeout value must be between 1 and 30 seconds";
        errors.invalid(Path::Field(&at, "timeoutSeconds"), seconds, why);
    }
    for field in ["namespaceSelector", "objectSelector"] {
        if webhook[field].is_object() {
            selector::check(&webhook[field], Path::Field(&at, field), errors);
        }
    }
    client(&webhook["clientConfig"], Path::Field(&at, "clientConfig"), errors);
    let rules = Path::Field(&at, "rules");
    for (index, rule) in items(&webhook["rules"]).iter().enumerate() {
        let at = Path::Index(&rules, index);
        for field in ["operations", "apiGroups", "apiVersions", "resources"] {
            if items(&rule[field]).is_empty() {
                errors.required(Path::Field(&at, field), "");
            }
        }
        let known = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
        let operations = Path::Field(&at, "operations");
        for (index, operation) in items(&rule["operations"]).iter().enumerate() {
            if !known.contains(&text(operation)) {
                errors.unsupported(Path::Index(&operations, index), text(operation), &known);
            }
        }
        one_of_if_given(&rule["scope"], &["*", "Cluster", "Namespaced"], Path::Field(&at, "scope"), errors);
    }
}

fn client(client: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let (url, service) = (!client["url"].is_null(), client["service"].is_object());
    if url == service {
        errors.required(at, "exactly one of url or service is required");
    }
    let given = text(&client["url"]);
    if url && !given.starts_with("https://") {
        let scheme = given.split_once("://").map_or("", |(scheme, _)| scheme);
        let why = format!(
            "'https' is the only allowed URL scheme; desired format: https://host[/path], got {scheme:?}"
        );
        let why = if scheme.is_empty() {
            "'https' is the only allowed URL scheme; desired format: https://host[/path]".to_owned()
        } else {
            why
        };
        errors.invalid(Path::Field(&at, "url"), if scheme.is_empty() { "" } else { scheme }, why);
    }
    if service {
        let at = Path::Field(&at, "service");
        for (field, why) in
            [("name", "service name is required"), ("namespace", "service namespace is required")]
        {
            if absent(&client["service"][field]) {
                errors.required(Path::Field(&at, field), why);
            }
        }
        if let Some(port) = client["service"]["port"].as_i64().filter(|port| !(1..=65535).contains(port)) {
            errors.invalid(
                Path::Field(&at, "port"),
                port,
                "port is not valid: must be between 1 and 65535, inclusive",
            );
        }
    }
}

pub(super) fn api_service(object: &Value, _old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Field(&Path::Root, "spec");
    let spec = &object["spec"];
    let (group, version) = (text(&spec["group"]), text(&spec["version"]));
    let (name, wanted) = (text(&object["metadata"]["name"]), format!("{version}.{group}"));
    if name != wanted {
        let metadata = Path::Field(&Path::Root, "metadata");
        errors.invalid(
            Path::Field(&metadata, "name"),
            name,
            format!("must be `spec.version+\".\"+spec.group`: {wanted:?}"),
        );
    }
    if group.is_empty() && version != "v1" {
        errors.required(
            Path::Field(&at, "group"),
            "only v1 may have an empty group and it better be legacy kube",
        );
    }
    if version.is_empty() {
        errors.required(Path::Field(&at, "version"), "");
    } else {
        errors.each(Path::Field(&at, "version"), version, names::dns1035_label(version));
    }
    for (field, most) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1_000)] {
        let given = spec[field].as_i64().unwrap_or(0);
        if given <= 0 || given > most {
            errors.invalid(Path::Field(&at, field), given, format!("must be positive and less than {most}"));
        }
    }
    if spec["service"].is_null() {
        if !absent(&spec["caBundle"]) {
            errors.invalid(Path::Field(&at, "caBundle"), "", "local APIServices may not have a caBundle");
        }
        if spec["insecureSkipTLSVerify"] == true {
            let why = "local APIServices may not have insecureSkipTLSVerify";
            errors.invalid(Path::Field(&at, "insecureSkipTLSVerify"), true, why);
        }
        return;
    }
    let service = Path::Field(&at, "service");
    for field in ["namespace", "name"] {
        if absent(&spec["service"][field]) {
            errors.required(Path::Field(&service, field), "");
        }
    }
    if spec["insecureSkipTLSVerify"] == true && !absent(&spec["caBundle"]) {
        let why = "may not be true if caBundle is present";
        errors.invalid(Path::Field(&at, "insecureSkipTLSVerify"), true, why);
    }
}

pub(super) fn signing_request(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    if old.is_some() {
        return;
    }
    let at = Path::Field(&Path::Root, "spec");
    let spec = &object["spec"];
    if absent(&spec["request"]) {
        errors.invalid(Path::Field(&at, "request"), "", "PEM block type must be CERTIFICATE REQUEST");
    }
    if items(&spec["usages"]).is_empty() {
        errors.required(Path::Field(&at, "usages"), "");
    }
    let signer = text(&spec["signerName"]);
    if signer.is_empty() {
        errors.required(Path::Field(&at, "signerName"), "");
    } else if !signer.contains('/') {
        let why = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        errors.invalid(Path::Field(&at, "signerName"), signer, why);
    }
    if let Some(seconds) = spec["expirationSeconds"].as_i64().filter(|seconds| *seconds < 600) {
        let why = "may not specify a duration less than 600 seconds (10 minutes)";
        errors.invalid(Path::Field(&at, "expirationSeconds"), seconds, why);
    }
}
