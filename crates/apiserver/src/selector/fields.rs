//! Field selectors: `metadata.name=a,status.phase!=Running`.

use serde_json::Value;

use crate::kinds::Kind;
use crate::selector::terms::{self, Term};

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

/// A field that selectors may name, with its JSON pointer.
type Place = (&'static str, &'static str);

/// Fields that selectors of built-in kinds may name, besides name and namespace.
#[rustfmt::skip]
const FIELDS: &[(&str, &str, &[Place])] = &[
    ("", "pods", &[
        ("spec.host", "/spec/nodeName"),
        ("spec.hostNetwork", "/spec/hostNetwork"),
        ("spec.nodeName", "/spec/nodeName"),
        ("spec.restartPolicy", "/spec/restartPolicy"),
        ("spec.schedulerName", "/spec/schedulerName"),
        ("spec.serviceAccountName", "/spec/serviceAccountName"),
        ("status.nominatedNodeName", "/status/nominatedNodeName"),
        ("status.phase", "/status/phase"),
        ("status.podIP", "/status/podIP"),
        ("status.podIPs", "/status/podIP"),
    ]),
    ("", "nodes", &[("spec.unschedulable", "/spec/unschedulable")]),
    ("", "namespaces", &[("status.phase", "/status/phase")]),
    ("", "replicationcontrollers", &[("status.replicas", "/status/replicas")]),
    ("", "secrets", &[("type", "/type")]),
    ("", "services", &[("spec.clusterIP", "/spec/clusterIP"), ("spec.type", "/spec/type")]),
    ("", "events", &[
        ("involvedObject.apiVersion", "/involvedObject/apiVersion"),
        ("involvedObject.fieldPath", "/involvedObject/fieldPath"),
        ("involvedObject.kind", "/involvedObject/kind"),
        ("involvedObject.name", "/involvedObject/name"),
        ("involvedObject.namespace", "/involvedObject/namespace"),
        ("involvedObject.resourceVersion", "/involvedObject/resourceVersion"),
        ("involvedObject.uid", "/involvedObject/uid"),
        ("reason", "/reason"),
        ("reportingComponent", "/reportingComponent"),
        ("source", "/source/component"),
        ("type", "/type"),
    ]),
    ("events.k8s.io", "events", &[
        ("reason", "/reason"),
        ("regarding.apiVersion", "/regarding/apiVersion"),
        ("regarding.fieldPath", "/regarding/fieldPath"),
        ("regarding.kind", "/regarding/kind"),
        ("regarding.name", "/regarding/name"),
        ("regarding.namespace", "/regarding/namespace"),
        ("regarding.resourceVersion", "/regarding/resourceVersion"),
        ("regarding.uid", "/regarding/uid"),
        ("reportingController", "/reportingController"),
        ("type", "/type"),
    ]),
    ("batch", "jobs", &[("status.successful", "/status/succeeded")]),
    ("certificates.k8s.io", "certificatesigningrequests", &[("spec.signerName", "/spec/signerName")]),
    ("resource.k8s.io", "resourceslices", &[("spec.driver", "/spec/driver"), ("spec.nodeName", "/spec/nodeName")]),
];

/// The field that takes the place of another one that is empty.
const FALLBACK: (&str, &str) = ("/source/component", "/reportingComponent");
/// Pointers to flags, whose absent value counts as false, and to counts, whose absent value counts as 0.
const FLAGS: [&str; 2] = ["/spec/hostNetwork", "/spec/unschedulable"];
const COUNTS: [&str; 2] = ["/status/replicas", "/status/succeeded"];

impl FieldSelector {
    /// Finds the fields that the terms of a selector name.
    ///
    /// # Errors
    /// The server's message for a field that the kind does not support.
    pub(super) fn of(terms: Vec<Term>, kind: &Kind) -> Result<Self, String> {
        let requirement = |Term { field, value, equal }| {
            let pointer = place(&field, kind)?;
            Ok(Requirement { pointer, value, equal })
        };
        terms.into_iter().map(requirement).collect::<Result<_, String>>().map(Self)
    }

    /// The only name that a selector of any kind allows, if it requires one (`RequiresExactMatch`).
    pub(crate) fn only_named(text: &str) -> Option<String> {
        let mut terms = terms::parse(text).ok()?.into_iter();
        terms.find(|term| term.equal && term.field == "metadata.name").map(|term| term.value)
    }

    pub(crate) fn only_name(&mut self, name: &str) {
        self.0.push(Requirement {
            pointer: "/metadata/name".to_owned(),
            value: name.to_owned(),
            equal: true,
        });
    }

    /// The required name, if there is one.
    pub(crate) fn name(&self) -> Option<&str> {
        let by_name = |it: &&Requirement| it.equal && it.pointer == "/metadata/name";
        self.0.iter().find(by_name).map(|it| it.value.as_str())
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.0.iter().all(|requirement| {
            let holds = match value(object, &requirement.pointer) {
                Some(Value::String(text)) => *text == requirement.value,
                Some(Value::Null) | None => {
                    let at = requirement.pointer.as_str();
                    let absent = if FLAGS.contains(&at) {
                        "false"
                    } else if COUNTS.contains(&at) {
                        "0"
                    } else {
                        ""
                    };
                    requirement.value == absent
                }
                Some(other) => other.to_string().as_str() == requirement.value,
            };
            holds == requirement.equal
        })
    }
}

/// The value of a field, or of the one that takes its place.
fn value<'o>(object: &'o Value, pointer: &str) -> Option<&'o Value> {
    let found = object.pointer(pointer);
    let is_empty = found.is_none_or(|value| value.is_null() || value == "");
    if is_empty && pointer == FALLBACK.0 { object.pointer(FALLBACK.1) } else { found }
}

/// The JSON pointer of a field that a selector of a kind names.
fn place(field: &str, kind: &Kind) -> Result<String, String> {
    let plain = || format!("/{}", field.replace('.', "/"));
    if field == "metadata.name" || (field == "metadata.namespace" && kind.resource.namespaced) {
        return Ok(plain());
    }
    if let Some(custom) = &kind.custom {
        let known = custom.version.selectable.iter().any(|path| path == field);
        return if known { Ok(plain()) } else { Err(format!("field label not supported: {field}")) };
    }
    let own = FIELDS
        .iter()
        .find(|(group, plural, _)| kind.is_resource(group, plural))
        .map(|(_, _, fields)| *fields);
    let found = own.and_then(|fields| fields.iter().find(|(name, _)| *name == field));
    match (found, own) {
        (Some((_, pointer)), _) => Ok((*pointer).to_owned()),
        (None, Some(_)) if kind.is_resource("batch", "jobs") => {
            Err(format!("field label \"{field}\" not supported for Job"))
        }
        (None, Some(_)) => Err(format!("field label not supported: {field}")),
        (None, None) => Err(format!(
            "\"{field}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        )),
    }
}
