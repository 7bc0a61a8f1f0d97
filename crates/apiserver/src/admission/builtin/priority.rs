//! Sets the priority of a new pod from its class.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use windtunnel_core::Resource;
use windtunnel_core::requests::admission::{
    AdmissionOperation, AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster,
};
use windtunnel_core::resources::PODS;

/// The kind of priority classes.
pub(crate) const PRIORITY_CLASSES: Resource =
    Resource::cluster("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses");
const DEFAULT_POLICY: &str = "PreemptLowerPriority";

/// The fields of a PriorityClass that pods inherit.
#[derive(Debug, Clone)]
struct Class {
    value: i64,
    preemption: String,
    is_default: bool,
}

/// The plug-in, with the classes that it has read.
#[derive(Debug, Clone, Default)]
pub(super) struct Priority {
    /// The classes by name; `None` to read them again.
    classes: Option<Arc<BTreeMap<String, Class>>>,
}

impl AdmissionPlugin for Priority {
    fn name(&self) -> &'static str {
        "Priority"
    }

    fn mutate(
        &mut self,
        request: &AdmissionRequest<'_>,
        pod: &mut Value,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        if !request.writes(&PODS) {
            return Ok(());
        }
        let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else { return Ok(()) };
        match (request.operation, request.old) {
            (AdmissionOperation::Create, _) => prioritise(&self.classes(cluster), spec),
            (AdmissionOperation::Update, Some(old)) => {
                keep_priority(spec, &old["spec"]);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        class: Option<&Value>,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        let Some(class) = class.filter(|_| request.writes(&PRIORITY_CLASSES)) else { return Ok(()) };
        if class["globalDefault"] != true {
            return Ok(());
        }
        let classes = read(cluster);
        match default_class(&classes) {
            Some((name, _)) if request.operation == AdmissionOperation::Create || name != request.name => {
                Err(AdmissionRejection::Forbidden(format!(
                    "PriorityClass {name} is already marked as default. Only one default can exist"
                )))
            }
            _ => Ok(()),
        }
    }

    fn on_event(&mut self, kind: &Resource) {
        if kind.plural == PRIORITY_CLASSES.plural && kind.group == PRIORITY_CLASSES.group {
            self.classes = None;
        }
    }
}

impl Priority {
    fn classes(&mut self, cluster: &dyn AdmittingCluster) -> Arc<BTreeMap<String, Class>> {
        Arc::clone(self.classes.get_or_insert_with(|| Arc::new(read(cluster))))
    }
}

fn read(cluster: &dyn AdmittingCluster) -> BTreeMap<String, Class> {
    let objects = cluster.objects(&PRIORITY_CLASSES, "");
    let classes = objects.iter().map(|class| {
        let preemption = class["preemptionPolicy"].as_str().unwrap_or(DEFAULT_POLICY).to_owned();
        let value = class["value"].as_i64().unwrap_or(0);
        (class.name().to_owned(), Class { value, preemption, is_default: class["globalDefault"] == true })
    });
    classes.collect()
}

/// The default class; of several, the one with the lowest value.
fn default_class(classes: &BTreeMap<String, Class>) -> Option<(&String, &Class)> {
    classes.iter().filter(|(_, class)| class.is_default).min_by_key(|(_, class)| class.value)
}

fn prioritise(
    classes: &BTreeMap<String, Class>,
    spec: &mut Map<String, Value>,
) -> Result<(), AdmissionRejection> {
    let name = spec.get("priorityClassName").and_then(Value::as_str).unwrap_or_default().to_owned();
    let class = if name.is_empty() { default_class(classes) } else { classes.get_key_value(&name) };
    if class.is_none() && !name.is_empty() {
        return Err(AdmissionRejection::Forbidden(format!("no PriorityClass with name {name} was found")));
    }
    let priority = json!(class.map_or(0, |(_, class)| class.value));
    let policy = class.map_or(DEFAULT_POLICY, |(_, class)| &class.preemption);
    if let Some(given) = spec.get("priority").filter(|given| **given != priority) {
        return Err(mismatch("integer value of priority", &given.to_string(), &priority.to_string()));
    }
    let given = spec.get("preemptionPolicy").and_then(Value::as_str).unwrap_or(policy);
    if given != policy {
        return Err(mismatch("string value of PreemptionPolicy", given, policy));
    }
    spec.insert("priority".to_owned(), priority);
    spec.insert("preemptionPolicy".to_owned(), json!(policy));
    if let Some((name, _)) = class {
        spec.insert("priorityClassName".to_owned(), json!(name));
    }
    Ok(())
}

fn mismatch(what: &str, given: &str, computed: &str) -> AdmissionRejection {
    AdmissionRejection::Forbidden(format!(
        "the {what} ({given}) must not be provided in pod spec; priority admission controller computed {computed} from the \
         given PriorityClass name"
    ))
}

/// Adds the priority that a pod got from its class again if an update leaves it out.
fn keep_priority(spec: &mut Map<String, Value>, old: &Value) {
    for field in ["priority", "preemptionPolicy"] {
        if let Some(value) = old.get(field).filter(|_| !spec.contains_key(field)) {
            spec.insert(field.to_owned(), value.clone());
        }
    }
}
