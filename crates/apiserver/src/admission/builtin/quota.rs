//! ResourceQuotas: limits on the objects and resources of a namespace (`ResourceQuota`).
//!
//! In a real cluster a controller copies the limits to the status of a quota, and counts the usage. Admission trusts the
//! status, and adds to the usage there what a new object needs, even if the storage then has an object of its name. Unless
//! it is beside a real controller ([`Admission::with_quota_controller`]), the server does the controller's work at each
//! other write, so a quota applies from the moment of its creation.

use serde_json::{Value, json};
use windtunnel_core::Resource;
use windtunnel_core::clock::Time;
use windtunnel_core::quota::amounts::{self, Amounts};
use windtunnel_core::quota::{self, UsageCount};

use crate::admission::{Admission, Admitter, Attributes, Operation};
use crate::call::Call;
use crate::kinds::Kind;
use crate::kinds::catalog::Catalog;
use crate::rejection::{BoxedRejection, Outcome};
use crate::store::{Store, Stored, TableId};

const QUOTAS: Resource = Resource::namespaced("", "v1", "ResourceQuota", "resourcequotas");
/// The resources that each container must specify if a quota limits them.
const REQUIRED: [&str; 6] =
    ["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];

impl Admitter<'_> {
    /// Checks an object against the quotas of its namespace.
    ///
    /// # Errors
    /// 403 of the first quota that the object exceeds.
    pub(in crate::admission) fn check_quotas(
        &self,
        call: &Call<'_>,
        attributes: Attributes<'_>,
        object: &Value,
    ) -> Outcome<()> {
        let quotas = quotas(self.admission.quotas, self.store, attributes.namespace);
        if quotas.is_empty()
            || !call.path.subresource.is_empty()
            || !is_charged(&call.kind, attributes.operation)
        {
            return Ok(());
        }
        let increase = increase(&call.kind, object, attributes.old, call.now);
        for quota in quotas {
            self.check_quota(call, attributes, object, &increase, &quota)?;
        }
        Ok(())
    }

    fn check_quota(
        &self,
        call: &Call<'_>,
        attributes: Attributes<'_>,
        object: &Value,
        increase: &Amounts,
        quota: &Value,
    ) -> Outcome<()> {
        let limits = self.admission.limits(quota);
        let hard = amounts::read(limits);
        let is_pod = call.kind.is_resource("", "pods");
        let Resource { group, plural, .. } = &call.kind.resource;
        if !quota::covers(&quota["spec"], group, plural, object) {
            return Ok(());
        }
        let name = quota["metadata"]["name"].as_str().unwrap_or_default();
        let rejection =
            |why: String| Err(BoxedRejection::forbidden(&call.kind.resource, attributes.name, &why));
        let missing = if is_pod { missing(&object["spec"], &hard) } else { String::new() };
        if !missing.is_empty() {
            return rejection(format!("failed quota: {name}: must specify {missing}"));
        }
        let is_counted = quota["status"]["hard"] == quota["spec"]["hard"];
        let used = if self.admission.has_quota_controller {
            let used = amounts::read(&quota["status"]["used"]);
            let counted = object_usage(&call.kind, object, call.now);
            let unknown = counted.keys().filter(|name| hard.contains_key(*name) && !used.contains_key(*name));
            let unknown: Vec<&str> = unknown.map(String::as_str).collect();
            if !unknown.is_empty() {
                let names = unknown.join(",");
                return rejection(format!("status unknown for quota: {name}, resources: {names}"));
            }
            used
        } else if is_counted {
            amounts::read(&quota["status"]["used"])
        } else {
            count(self.catalog, self.store, attributes.namespace, quota, limits, call.now).used().clone()
        };
        let exceeded: Vec<&String> = increase
            .iter()
            .filter(|(name, amount)| {
                let (found, most) = (used.get(*name), hard.get(*name));
                most.is_some_and(|most| found.map_or(**amount, |found| found.plus(**amount)).is_more(*most))
            })
            .map(|(name, _)| name)
            .collect();
        if exceeded.is_empty() {
            return Ok(());
        }
        let shown = |amounts: &Amounts| {
            let amount = |name: &&String| {
                format!("{name}={}", amounts.get(*name).map_or_else(|| "0".to_owned(), |a| a.text()))
            };
            exceeded.iter().map(amount).collect::<Vec<_>>().join(",")
        };
        let (requested, used, limited) = (shown(increase), shown(&used), shown(&hard));
        rejection(format!("exceeded quota: {name}, requested: {requested}, used: {used}, limited: {limited}"))
    }
}

impl Admission {
    /// The limits of a quota that apply.
    fn limits<'q>(&self, quota: &'q Value) -> &'q Value {
        let part = if self.has_quota_controller { "status" } else { "spec" };
        &quota[part]["hard"]
    }

    /// Updates the status of each quota of a namespace after a write.
    pub(crate) fn update_quota_statuses(&self, catalog: &Catalog, store: &mut Store, call: &Call<'_>) {
        let is_creation = call.refused_new.is_some() || call.after.is_some() && call.before.is_none();
        if self.has_quota_controller || is_creation && !call.kind.is_resource("", "resourcequotas") {
            self.charge_quotas(store, call);
            return;
        }
        let namespace = &*call.path.namespace;
        for quota in quotas(self.quotas, store, namespace) {
            let limits = self.limits(&quota);
            if !limits.is_null() {
                let used = count(catalog, store, namespace, &quota, limits, call.now).to_value();
                self.set_status(store, namespace, &quota, &json!({ "hard": limits, "used": used }));
            }
        }
    }

    /// Adds the usage of a written object to the status of the quotas that cover it.
    fn charge_quotas(&self, store: &mut Store, call: &Call<'_>) {
        let operation = if call.before.is_some() { Operation::Update } else { Operation::Create };
        let written = call.after.as_deref().or(call.refused_new.as_ref());
        let Some(object) =
            written.filter(|_| call.path.subresource.is_empty() && is_charged(&call.kind, operation))
        else {
            return;
        };
        let Resource { group, plural, .. } = &call.kind.resource;
        let increase = increase(&call.kind, object, call.before.as_deref(), call.now);
        for quota in quotas(self.quotas, store, &call.path.namespace) {
            let mut used = amounts::read(&quota["status"]["used"]);
            let charged: Amounts = increase
                .iter()
                .filter(|(name, _)| used.contains_key(*name))
                .map(|(n, a)| (n.clone(), *a))
                .collect();
            if charged.is_empty() || !quota::covers(&quota["spec"], group, plural, object) {
                continue;
            }
            amounts::add(&mut used, &charged);
            let mut status = quota["status"].clone();
            status["used"] = listed(&used);
            self.set_status(store, &call.path.namespace, &quota, &status);
        }
    }

    fn set_status(&self, store: &mut Store, namespace: &str, quota: &Value, status: &Value) {
        let Some(table) = self.quotas.filter(|_| quota["status"] != *status) else { return };
        let mut changed = quota.clone();
        changed["status"] = status.clone();
        let key = QUOTAS.key(namespace, quota["metadata"]["name"].as_str().unwrap_or_default());
        store.rewrite(table, &key, 0, changed);
    }
}

/// Amounts as in a `ResourceList`.
fn listed(amounts: &Amounts) -> Value {
    amounts.iter().map(|(name, amount)| (name.clone(), json!(amount.text()))).collect()
}

fn object_usage(kind: &Kind, object: &Value, now: Time) -> Amounts {
    let Resource { group, plural, .. } = &kind.resource;
    quota::object_usage(group, plural, object, now)
}

/// The additional usage that a new or updated object causes.
fn increase(kind: &Kind, object: &Value, old: Option<&Value>, now: Time) -> Amounts {
    let mut increase = object_usage(kind, object, now);
    if let Some(old) = old {
        let before = object_usage(kind, old, now);
        for (name, amount) in &mut increase {
            *amount = before.get(name).map_or(*amount, |found| amount.minus(*found));
        }
    }
    increase.retain(|_, amount| !amount.is_zero() && !amount.is_negative());
    increase
}

/// The quotas of a namespace, by name.
fn quotas(table: Option<TableId>, store: &Store, namespace: &str) -> Vec<Stored> {
    let Some(table) = table.filter(|_| !namespace.is_empty()) else { return Vec::new() };
    store.list(table, namespace).map(|(_, _, entry)| entry.served()).collect()
}

/// Counts the usage of the resources that a quota limits.
fn count<'q>(
    catalog: &Catalog,
    store: &Store,
    namespace: &str,
    quota: &'q Value,
    limits: &Value,
    now: Time,
) -> UsageCount<'q> {
    let mut count = UsageCount::new(&quota["spec"], limits, now);
    for kind in catalog.stored().filter(|kind| kind.resource.namespaced) {
        let Resource { group, plural, .. } = &kind.resource;
        if count.add_kind(group, plural) {
            for (_, _, entry) in store.list(kind.table, namespace) {
                count.add(group, plural, &entry.served());
            }
        }
    }
    count
}

/// Whether a write of a kind may increase the usage of a quota.
fn is_charged(kind: &Kind, operation: Operation) -> bool {
    let grows = kind.is_resource("", "services") || kind.is_resource("", "persistentvolumeclaims");
    operation == Operation::Create || (operation == Operation::Update && grows)
}

/// The required resources that containers do not specify: `limits.cpu for: a,b; memory for: a`.
fn missing(spec: &Value, hard: &Amounts) -> String {
    if amounts::has_pod_level(spec) {
        return String::new();
    }
    let lists = ["containers", "initContainers"]
        .map(|list| spec[list].as_array().map(Vec::as_slice).unwrap_or_default());
    let mut missing_resources = Vec::new();
    let mut required: Vec<&str> = REQUIRED.into_iter().filter(|name| hard.contains_key(*name)).collect();
    required.sort_unstable();
    for resource in required {
        let mut without: Vec<&str> = lists
            .iter()
            .copied()
            .flatten()
            .filter(|container| !quota::container_usage(container).contains_key(resource))
            .filter_map(|container| container["name"].as_str())
            .collect();
        without.sort_unstable();
        if !without.is_empty() {
            missing_resources.push(format!("{resource} for: {}", without.join(",")));
        }
    }
    missing_resources.join("; ")
}
