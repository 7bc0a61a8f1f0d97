//! Values that a new object gets from other objects: the priority of a pod, the addresses and ports of a service.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windtunnel_core::Resource;

use crate::kinds::Kind;
use crate::kinds::strategy::service::{self, ServiceNetwork};
use crate::metadata;
use crate::profile::Profile;
use crate::status::{Outcome, Refused};
use crate::store::Store;

/// The kind of priority classes.
pub(crate) const PRIORITY_CLASSES: Resource =
    Resource::cluster("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses");

/// The fields of a PriorityClass that pods inherit.
#[derive(Debug, Clone)]
pub(crate) struct PriorityClass {
    value: i64,
    preemption: String,
    is_default: bool,
}

/// The priority classes and service addresses from which new objects get their values.
#[derive(Debug, Clone, Default)]
pub(crate) struct Allocations {
    /// The PriorityClasses, by name.
    priority_classes: BTreeMap<String, PriorityClass>,
    /// The addresses and node ports of services.
    services: service::AllocatedAddresses,
    network: ServiceNetwork,
}

impl Allocations {
    pub(crate) fn new(network: ServiceNetwork) -> Self {
        Self { network, ..Self::default() }
    }

    pub(crate) fn network(&self) -> ServiceNetwork {
        self.network
    }

    /// Clears the allocated addresses. The next allocation reads all services.
    pub(crate) fn forget_services(&mut self) {
        self.services = service::AllocatedAddresses::default();
    }

    /// Reloads the priority classes if `kind` is PriorityClass.
    pub(crate) fn reload_priority_classes(&mut self, kind: &Kind, store: &Store) {
        if !kind.is_resource(&PRIORITY_CLASSES.group, &PRIORITY_CLASSES.plural) {
            return;
        }
        let all = store.list(kind.table, "");
        let classes = all.map(|(_, name, entry)| {
            let class = entry.served();
            let preemption = class["preemptionPolicy"].as_str().unwrap_or("PreemptLowerPriority").to_owned();
            let value = class["value"].as_i64().unwrap_or(0);
            (name.to_owned(), PriorityClass { value, preemption, is_default: class["globalDefault"] == true })
        });
        self.priority_classes = classes.collect();
    }

    /// Sets the priority of a pod from its class (admission plugin `Priority`).
    pub(crate) fn prioritise(&self, kind: &Kind, object: &mut Value) -> Outcome<()> {
        if !kind.is_resource("", "pods") {
            return Ok(());
        }
        let name = object["spec"]["priorityClassName"].as_str().unwrap_or_default();
        let class = if name.is_empty() {
            self.priority_classes.iter().find(|(_, class)| class.is_default)
        } else {
            self.priority_classes.get_key_value(name)
        };
        if class.is_none() && !name.is_empty() {
            let pod = metadata::text(object, "name");
            let why = format!("no PriorityClass with name {name} was found");
            return Err(Refused::forbidden(&kind.resource, pod, &why));
        }
        let priority = json!(class.map_or(0, |(_, class)| class.value));
        let policy = json!(class.map_or("PreemptLowerPriority", |(_, class)| &class.preemption));
        let default = class.map(|(name, _)| name.clone());
        let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return Ok(()) };
        if let Some(given) = spec.get("priority").filter(|given| **given != priority) {
            let why = format!(
                "the integer value of priority ({given}) must not be provided in pod spec; priority admission \
                 controller computed {priority} from the given PriorityClass name"
            );
            let pod = metadata::text(object, "name").to_owned();
            return Err(Refused::forbidden(&kind.resource, &pod, &why));
        }
        if let Some(given) = spec.get("preemptionPolicy").filter(|given| **given != policy) {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let why = format!(
                "the string value of PreemptionPolicy ({}) must not be provided in pod spec; priority admission \
                 controller computed {} from the given PriorityClass name",
                text(given),
                text(&policy)
            );
            let pod = metadata::text(object, "name").to_owned();
            return Err(Refused::forbidden(&kind.resource, &pod, &why));
        }
        spec.insert("priority".to_owned(), priority);
        spec.insert("preemptionPolicy".to_owned(), policy);
        if let Some(default) = default {
            spec.insert("priorityClassName".to_owned(), json!(default));
        }
        Ok(())
    }

    /// Allocates the addresses and ports of a service; `old` is the one that an update replaces.
    pub(crate) fn allocate(
        &mut self,
        kind: &Kind,
        object: &mut Value,
        old: Option<&Value>,
        store: &Store,
        profile: &Profile,
        dry_run: bool,
    ) -> Outcome<()> {
        if !kind.is_resource("", "services") {
            return Ok(());
        }
        self.services.update_from_history(store.table(kind.table));
        let given = service::allocate(object, old, self.network, &mut self.services, profile, dry_run);
        given.map_err(|failure| match failure {
            service::Failure::Invalid(errors) => {
                Refused::invalid("", "Service", metadata::text(object, "name"), &errors, profile)
            }
            service::Failure::Internal(why) => Refused::internal_error(&why),
            service::Failure::Unclassified(why) => Refused::internal(why),
        })
    }
}
