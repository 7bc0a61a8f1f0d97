//! ResourceQuotas: limits on the objects and resources of a namespace (`ResourceQuota`).
//!
//! In a real cluster a controller copies the limits to the status of a quota, and counts the usage. Admission reads only the
//! status. Here the server does the controller's work at each write, so a quota applies from the moment of its creation. A
//! server beside a real controller leaves it the limits, and counts only the usage ([`Admission::with_quota_controller`]).

use serde_json::{Value, json};
use windtunnel_core::Resource;
use windtunnel_core::clock::Time;
use windtunnel_core::quota::amounts::{self, Amounts};
use windtunnel_core::quota::{self, UsageCount};

use crate::admission::{Admission, Admitter, Attributes, Operation};
use crate::call::Call;
use crate::kinds::Kind;
use crate::kinds::catalog::Catalog;
use crate::status::{Outcome, Refused};
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
        let usage = |object: &Value| {
            let Resource { group, plural, .. } = &call.kind.resource;
            quota::object_usage(group, plural, object, call.now)
        };
        let mut increase = usage(object);
        if attributes.operation == Operation::Update {
            let before = attributes.old.map(|old| usage(old)).unwrap_or_default();
            for (name, amount) in &mut increase {
                *amount = before.get(name).map_or(*amount, |found| amount.minus(*found));
            }
        }
        increase.retain(|_, amount| !amount.is_zero() && !amount.is_negative());
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
        let refused = |why: String| Err(Refused::forbidden(&call.kind.resource, attributes.name, &why));
        let missing = if is_pod { missing(&object["spec"], &hard) } else { String::new() };
        if !missing.is_empty() {
            return refused(format!("failed quota: {name}: must specify {missing}"));
        }
        let count = count(self.catalog, self.store, attributes.namespace, quota, limits, call.now);
        let used = count.used();
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
        let (requested, used, limited) = (shown(increase), shown(used), shown(&hard));
        refused(format!("exceeded quota: {name}, requested: {requested}, used: {used}, limited: {limited}"))
    }
}

impl Admission {
    /// The limits of a quota that apply.
    fn limits<'q>(&self, quota: &'q Value) -> &'q Value {
        let part = if self.has_quota_controller { "status" } else { "spec" };
        &quota[part]["hard"]
    }

    /// Updates the status of each quota of a namespace.
    pub(crate) fn update_quota_statuses(
        &self,
        catalog: &Catalog,
        store: &mut Store,
        namespace: &str,
        now: Time,
    ) {
        let Some(table) = self.quotas else { return };
        for quota in quotas(self.quotas, store, namespace) {
            let limits = self.limits(&quota);
            if limits.is_null() {
                continue;
            }
            let used = count(catalog, store, namespace, &quota, limits, now).to_value();
            let status = json!({ "hard": limits, "used": used });
            if quota["status"] == status {
                continue;
            }
            let mut changed = (*quota).clone();
            changed["status"] = status;
            let key = QUOTAS.key(namespace, quota["metadata"]["name"].as_str().unwrap_or_default());
            store.rewrite(table, &key, 0, changed);
        }
    }
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
