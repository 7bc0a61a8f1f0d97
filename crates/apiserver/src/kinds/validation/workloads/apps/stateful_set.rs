//! Validation of StatefulSets.

use serde_json::{Value, json};

use crate::kinds::validation::storage::claim;
use crate::kinds::validation::workloads::{amount, template};
use crate::kinds::validation::{Errors, Path, absent, items, non_negative, selector, text};
use crate::names;
use crate::profile::since;

/// Fields that an update may change.
const FREE: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];
const FORBIDDEN: &str = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
    'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

/// The parts that a validation leaves out (`StatefulSetValidationOptions`).
#[derive(Debug, Clone, Copy)]
struct Skipped {
    /// The immutable name of the service and the claim templates.
    frozen: bool,
    template: bool,
}

/// Validates a StatefulSet (`ValidateStatefulSet`, `ValidateStatefulSetUpdate`).
pub(in crate::kinds::validation) fn stateful_set(
    object: &Value,
    old: Option<&Value>,
    errors: &mut Errors<'_>,
) {
    let spec = &object["spec"];
    let skipped = Skipped { frozen: old.is_some(), template: false };
    let before = errors.found.len();
    check(spec, skipped, errors);
    let Some(old) = old else { return };
    if errors.found.len() > before && is_invalid(&old["spec"], skipped, errors) {
        // A template that was invalid before may stay so.
        errors.found.truncate(before);
        check(spec, Skipped { template: true, ..skipped }, errors);
    }
    if !same_but_free(spec, &old["spec"]) {
        errors.forbidden(Path::Root.child("spec"), FORBIDDEN);
    }
}

/// Whether a stored specification is invalid.
fn is_invalid(spec: &Value, skipped: Skipped, errors: &Errors<'_>) -> bool {
    let mut found = Errors::new(errors.profile);
    check(spec, skipped, &mut found);
    !found.found.is_empty()
}

/// Whether two specifications differ at most in fields that an update may change.
fn same_but_free(spec: &Value, old: &Value) -> bool {
    let fixed = |spec: &Value, other: &Value| {
        let mut fields = spec.as_object().into_iter().flatten();
        fields.all(|(name, value)| FREE.contains(&name.as_str()) || other[name] == *value)
    };
    fixed(spec, old) && fixed(old, spec)
}

fn check(spec: &Value, skipped: Skipped, errors: &mut Errors<'_>) {
    let at = Path::Root.child("spec");
    let policy = &spec["podManagementPolicy"];
    match text(policy) {
        "OrderedReady" | "Parallel" => {}
        "" => errors.required(at.child("podManagementPolicy"), ""),
        _ => {
            let why = "must be 'OrderedReady' or 'Parallel'";
            errors.invalid(at.child("podManagementPolicy"), policy.clone(), why);
        }
    }
    strategy(&spec["updateStrategy"], at.child("updateStrategy"), errors);
    let policy = &spec["persistentVolumeClaimRetentionPolicy"];
    retention(policy, at.child("persistentVolumeClaimRetentionPolicy"), errors);
    let minor = errors.profile.minor;
    if !skipped.frozen && minor >= since::STATEFUL_SET_TEMPLATES {
        claims(&spec["volumeClaimTemplates"], at.child("volumeClaimTemplates"), errors);
    }
    if !skipped.frozen && minor >= since::STATEFUL_SET_SERVICE {
        service_name(&spec["serviceName"], at.child("serviceName"), errors);
    }
    for field in ["replicas", "minReadySeconds"] {
        non_negative(&spec[field], at.child(field), errors);
    }
    non_negative(&spec["ordinals"]["start"], at.child("ordinals.start"), errors);
    if template::check_selector(spec, "statefulset", at, errors) {
        let skip = skipped.template || minor < since::STATEFUL_SET_TEMPLATES;
        check_template(spec, skip, at, errors);
    } else {
        selector::invalid(&spec["selector"], at.child("selector"), "", errors);
    }
    template::runs_forever(&spec["template"], "StatefulSet", at.child("template"), errors);
}

fn strategy(strategy: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let rolling = &strategy["rollingUpdate"];
    match text(&strategy["type"]) {
        "" => errors.required(at, ""),
        "OnDelete" if !rolling.is_null() => {
            let why = "only allowed for updateStrategy 'RollingUpdate'";
            let (json, syntax) = (shown(rolling), format!("&{}", shown(rolling)));
            errors.invalid_shown(at.child("rollingUpdate"), json, syntax, why);
        }
        "RollingUpdate" if !rolling.is_null() => rolling_update(rolling, at.child("rollingUpdate"), errors),
        "OnDelete" | "RollingUpdate" => {}
        other => {
            let inner = if rolling.is_null() { "null".to_owned() } else { shown(rolling) };
            let json = format!("{{\"Type\":{},\"RollingUpdate\":{inner}}}", Value::from(other));
            let why = "must be 'RollingUpdate' or 'OnDelete'";
            errors.invalid_shown(at, json.clone(), format!("apps.StatefulSetUpdateStrategy{json}"), why);
        }
    }
}

/// The settings of a rolling update, as JSON of the internal type.
fn shown(rolling: &Value) -> String {
    let (partition, unavailable) = (rolling["partition"].as_i64().unwrap_or(0), &rolling["maxUnavailable"]);
    format!("{{\"Partition\":{partition},\"MaxUnavailable\":{unavailable}}}")
}

fn rolling_update(rolling: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    non_negative(&rolling["partition"], at.child("partition"), errors);
    let unavailable = &rolling["maxUnavailable"];
    if unavailable.is_null() {
        return;
    }
    let at = at.child("maxUnavailable");
    amount::check(unavailable, at, errors);
    if amount::number(unavailable) == 0 {
        errors.invalid(at, unavailable.clone(), "cannot be 0");
    }
    amount::at_most_all(unavailable, at, errors);
}

/// Validates the retention policy of claims (`ValidatePersistentVolumeClaimRetentionPolicy`).
fn retention(policy: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for field in ["whenDeleted", "whenScaled"].into_iter().filter(|_| !policy.is_null()) {
        let given = text(&policy[field]);
        if !matches!(given, "Retain" | "Delete") {
            errors.unsupported(at.child(field), given, &["Retain", "Delete"]);
        }
    }
}

fn service_name(name: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if !absent(name) {
        errors.each(at, text(name), names::label(text(name)));
    }
}

/// Validates the claim templates like claims (`validateVolumeClaimTemplates`).
fn claims(templates: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for (index, claim) in items(templates).iter().enumerate() {
        claim::check_spec(&claim["spec"], None, at.index(index).child("spec"), errors);
    }
}

/// Validates the template with the changes of the controller for pods: the volumes of the claims, and no host name and
/// subdomain (`ValidatePodTemplateSpecForStatefulSet`).
fn check_template(spec: &Value, skip: bool, at: Path<'_>, errors: &mut Errors<'_>) {
    template::matches(spec, at, errors);
    let (template, place) = (&spec["template"], at.child("template"));
    if !skip {
        let replaced = ["subdomain", "hostname"].iter().any(|field| !absent(&template["spec"][*field]));
        let claims = items(&spec["volumeClaimTemplates"]);
        if replaced || !claims.is_empty() {
            template::check(&as_in_pods(template, claims), place, errors);
        } else {
            template::check(template, place, errors);
        }
    }
    // A real server checks the labels twice, which shows in the causes.
    template::check_labels(template, place, errors);
}

fn as_in_pods(template: &Value, claims: &[Value]) -> Value {
    let mut template = template.clone();
    let mut volumes: Vec<Value> = Vec::new();
    for claim in claims {
        let name = text(&claim["metadata"]["name"]);
        if !volumes.iter().any(|volume| volume["name"] == name) {
            volumes.push(json!({ "name": name, "persistentVolumeClaim": { "claimName": name } }));
        }
    }
    let added = volumes.len();
    for volume in items(&template["spec"]["volumes"]) {
        if !volumes[..added].iter().any(|claim| claim["name"] == volume["name"]) {
            volumes.push(volume.clone());
        }
    }
    if let Some(spec) = template["spec"].as_object_mut() {
        spec.remove("subdomain");
        spec.remove("hostname");
        spec.insert("volumes".to_owned(), Value::Array(volumes));
    }
    template
}
