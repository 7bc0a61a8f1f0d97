//! Field selectors: `metadata.name=a,status.phase!=Running`.

use serde_json::Value;

use crate::apiserver::kinds::Kind;

/// Requirements that must all hold.
#[derive(Debug, Clone, Default)]
pub(crate) struct FieldSelector(Vec<Requirement>);

#[derive(Debug, Clone)]
struct Requirement {
    /// A JSON pointer.
    pointer: String,
    value: String,
    equal: bool,
}

/// Fields of built-in kinds that selectors may name, beside name and namespace.
const FIELDS: &[(&str, &str, &[&str])] = &[
    (
        "",
        "pods",
        &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
    ),
    ("", "nodes", &["spec.unschedulable"]),
    ("", "namespaces", &["status.phase"]),
    ("", "secrets", &["type"]),
    ("", "services", &["spec.clusterIP", "spec.type"]),
    (
        "",
        "events",
        &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
    ),
    ("batch", "jobs", &["status.successful"]),
    ("certificates.k8s.io", "certificatesigningrequests", &["spec.signerName"]),
];

impl FieldSelector {
    /// Reads a selector of a kind.
    ///
    /// # Errors
    /// Bad syntax, or a field that the kind does not support, in the server's words.
    pub(crate) fn parse(text: &str, kind: &Kind) -> Result<Self, String> {
        let mut requirements = Vec::new();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (field, value, equal) = split(part)
                .ok_or_else(|| format!("invalid selector: '{text}'; can't understand '{part}'"))?;
            check_field(field, kind)?;
            let pointer = format!("/{}", field.replace('.', "/"));
            requirements.push(Requirement { pointer, value: value.to_owned(), equal });
        }
        Ok(Self(requirements))
    }

    /// The one name that a selector of any kind allows, if it allows but one (`RequiresExactMatch`).
    pub(crate) fn only_named(text: &str) -> Option<String> {
        let parts: Option<Vec<_>> = text.split(',').filter(|part| !part.is_empty()).map(split).collect();
        let only = parts?.into_iter().find(|(field, _, equal)| *equal && *field == "metadata.name");
        only.map(|(_, name, _)| name.to_owned())
    }

    pub(crate) fn only_name(&mut self, name: &str) {
        self.0.push(Requirement {
            pointer: "/metadata/name".to_owned(),
            value: name.to_owned(),
            equal: true,
        });
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.0.iter().all(|requirement| {
            let holds = match object.pointer(&requirement.pointer) {
                Some(Value::String(text)) => *text == requirement.value,
                // An absent flag is a false one; any other absent field is empty.
                Some(Value::Null) | None => {
                    let flag =
                        matches!(requirement.pointer.as_str(), "/spec/unschedulable" | "/spec/hostNetwork");
                    requirement.value.is_empty() || (flag && requirement.value == "false")
                }
                Some(other) => other.to_string().as_str() == requirement.value,
            };
            holds == requirement.equal
        })
    }
}

fn split(part: &str) -> Option<(&str, &str, bool)> {
    if let Some((field, value)) = part.split_once("!=") {
        return Some((field.trim(), value, false));
    }
    let (field, value) = part.split_once("==").or_else(|| part.split_once('='))?;
    Some((field.trim(), value, true))
}

fn check_field(field: &str, kind: &Kind) -> Result<(), String> {
    if field == "metadata.name" || (field == "metadata.namespace" && kind.resource.namespaced) {
        return Ok(());
    }
    if let Some(custom) = &kind.custom {
        let known = custom.version.selectable.iter().any(|path| path == field);
        return if known { Ok(()) } else { Err(format!("field label not supported: {field}")) };
    }
    let own = FIELDS.iter().find(|(group, plural, _)| kind.is(group, plural)).map(|(_, _, fields)| *fields);
    match own {
        Some(fields) if fields.contains(&field) => Ok(()),
        Some(_) if kind.is("batch", "jobs") => Err(format!("field label \"{field}\" not supported for Job")),
        Some(_) => Err(format!("field label not supported: {field}")),
        None => Err(format!(
            "\"{field}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        )),
    }
}
