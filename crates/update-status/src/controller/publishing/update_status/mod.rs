//! The singleton `UpdateStatus`: all insights, grouped by part of the cluster and informer, within the limits
//! of its API.

mod draft;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windtunnel_core::clock::{Time, rfc3339};

use super::api_insight::{self, ApiInsight};
use super::informer::{Entry, Informer, Rank};
use crate::assessment::node::MASTER;
use crate::insight::uid::dns_label;
use crate::insight::{Detail, Insight, ResourceRef, published};
pub(in crate::controller) use draft::{Members, StatusDraft};

/// Maximum size of the status in bytes. etcd accepts 1.5 MiB per request, and the stored object includes the
/// owners of its fields.
pub(in crate::controller) const ROOM: usize = 640 * 1024;

/// Maximum number of insights of one informer, by the API.
const CONTROL_PLANE_MAX: usize = 128;
const WORKER_POOL_MAX: usize = 1024;
/// Maximum number of worker pools, by the API.
const POOLS_MAX: usize = 32;
/// Maximum number of informers of a part of the cluster, by the API.
const INFORMERS_MAX: usize = 16;

/// Less than the size of any insight, in bytes.
const SMALLEST: usize = 256;

/// A part of the cluster: the control plane, or a worker pool.
#[derive(Default)]
struct Part<'a> {
    /// The insights by informer.
    informers: BTreeMap<&'a str, Vec<&'a Value>>,
    /// The condition `Updating`.
    updating: Option<&'a Value>,
}

/// Distributes insights to the parts of the cluster.
struct Builder<'a> {
    control_plane: Part<'a>,
    resource: Option<&'a ResourceRef>,
    pool_resource: Option<&'a ResourceRef>,
    pools: BTreeMap<&'a str, Part<'a>>,
    room: usize,
    left_out: usize,
    /// Whether both of our informers have begun. Until then, keeps what an earlier process wrote for the
    /// other one.
    is_whole: bool,
}

/// Builds the status from the insights of the controller's own informers and of the producers, in at most `room`
/// bytes. While producers are unknown, keeps the insights of other informers in `before`. Returns `None` without
/// a ClusterVersion, since the API requires one.
pub(in crate::controller) fn status<'a>(
    [control_plane, nodes, producers]: [&'a Informer; 3],
    before: &'a Value,
    room: usize,
    now: Time,
) -> Option<StatusDraft<'a>> {
    let own = [control_plane, nodes];
    let mut builder = Builder {
        control_plane: Part::default(),
        resource: None,
        pool_resource: None,
        pools: BTreeMap::new(),
        room,
        left_out: 0,
        is_whole: own.iter().all(|informer| informer.has_begun()),
    };
    let begun: Vec<&str> =
        own.iter().filter(|informer| informer.has_begun()).map(|informer| informer.name).collect();
    builder.keep_foreign(before, |name| match name {
        "cpi" | "ni" => !begun.contains(&name),
        _ => !producers.has_begun(),
    });
    // Insights on the control plane or a whole pool take precedence over all others, of both informers.
    for is_of_whole in [true, false] {
        for entry in own.iter().flat_map(|informer| informer.by_importance()) {
            if (entry.rank == Rank::Whole) == is_of_whole {
                builder.add(&entry);
            }
        }
    }
    // Producers get the space that is left, and create no pools.
    for entry in producers.by_importance() {
        if pool_of(entry.insight).is_none_or(|pool| builder.pools.contains_key(pool)) {
            builder.add(&entry);
        } else {
            builder.left_out += 1;
        }
    }
    builder.build(before, now)
}

/// Returns the insights of an informer in an UpdateStatus, so that a new process keeps their times.
pub(in crate::controller) fn insights(status: &Value, informer: &str) -> Vec<Insight> {
    published::insights_in_status(status)
        .filter_map(|(key, insight)| {
            let uid = key.strip_prefix(informer)?.strip_prefix('.')?;
            api_insight::insight_from_api(insight, uid)
        })
        .collect()
}

impl<'a> Builder<'a> {
    /// Keeps the insights of the informers that `is_kept` selects.
    fn keep_foreign(&mut self, before: &'a Value, is_kept: impl Fn(&str) -> bool) {
        self.control_plane.informers = foreign(&before["controlPlane"], &is_kept);
        for pool in before["workerPools"].as_array().into_iter().flatten() {
            let informers = foreign(pool, &is_kept);
            if let Some(name) = pool["name"].as_str().filter(|_| !informers.is_empty()) {
                self.pools.insert(name, Part { informers, updating: None });
            }
        }
        let parts = std::iter::once(&self.control_plane).chain(self.pools.values());
        let foreign = parts.flat_map(|part| part.informers.values().flatten());
        let size: usize = foreign.map(|insight| insight.to_string().len()).sum();
        self.room = self.room.saturating_sub(size);
    }

    fn add(&mut self, entry: &Entry<'a>) {
        let Entry { informer, insight, api_form, .. } = *entry;
        let pool = pool_of(insight);
        let is_new = pool.is_some_and(|pool| !self.pools.contains_key(pool));
        let is_invalid = pool.is_some_and(|pool| dns_label(pool) != pool);
        if is_invalid || is_new && self.pools.len() == POOLS_MAX {
            self.left_out += 1;
            return;
        }
        let (part, most) = match pool {
            Some(name) => (self.pools.entry(name).or_default(), WORKER_POOL_MAX),
            None => (&mut self.control_plane, CONTROL_PLANE_MAX),
        };
        if part.informers.len() == INFORMERS_MAX && !part.informers.contains_key(informer) {
            self.left_out += 1;
            return;
        }
        let members = part.informers.entry(informer).or_default();
        if members.len() == most || self.room < SMALLEST {
            self.left_out += 1;
            return;
        }
        match api_form.filter(|api_form| api_form.size <= self.room) {
            Some(ApiInsight { value, size }) => {
                self.room -= size;
                members.push(value);
                part.updating = part.updating.or_else(|| updating(insight, value));
                self.refer_to(insight);
            }
            None => self.left_out += 1,
        }
    }

    /// Records the objects that represent the control plane.
    fn refer_to(&mut self, insight: &'a Insight) {
        match &insight.detail {
            Detail::ClusterVersion(found) => self.resource = Some(&found.resource),
            Detail::MachineConfigPool(found) if found.name == MASTER => {
                self.pool_resource = Some(&found.resource);
            }
            _ => {}
        }
    }

    fn build(self, before: &'a Value, now: Time) -> Option<StatusDraft<'a>> {
        let is_whole = self.is_whole;
        let mut control_plane = self.control_plane.build(&before["controlPlane"], is_whole);
        control_plane.insert("resource", json!(self.resource?).into());
        if let Some(pool) = self.pool_resource {
            control_plane.insert("poolResource", json!(pool).into());
        }
        keep_members(&mut control_plane, &before["controlPlane"], if is_whole { "poolResource" } else { "" });
        let old = |name: &str| {
            let pools = before["workerPools"].as_array();
            pools.and_then(|pools| pools.iter().find(|pool| pool["name"] == name)).unwrap_or(&Value::Null)
        };
        let pools = self.pools.into_iter().map(|(name, part)| {
            let mut pool = part.build(old(name), is_whole);
            pool.insert("resource", json!(ResourceRef::machine_config_pool(name)).into());
            pool.insert("name", json!(name).into());
            StatusDraft::Map(pool)
        });
        let mut conditions = conditions(&before["conditions"], &["Available", "Complete"]);
        conditions.extend(operational(self.left_out, &before["conditions"], now).map(StatusDraft::from));
        let mut status = Members::from([
            ("workerPools", StatusDraft::List(pools.collect())),
            ("controlPlane", StatusDraft::Map(control_plane)),
            ("conditions", StatusDraft::List(conditions)),
        ]);
        keep_members(&mut status, before, "");
        Some(StatusDraft::Map(status))
    }
}

impl<'a> Part<'a> {
    fn build(self, before: &'a Value, is_whole: bool) -> Members<'a> {
        let has_updating = is_whole || self.updating.is_some();
        let own: &[&str] = if has_updating { &["Updating"] } else { &[] };
        let mut conditions = conditions(&before["conditions"], own);
        conditions.extend(self.updating.map(StatusDraft::from));
        let informers = self.informers.into_iter().map(|(name, mut insights)| {
            insights.sort_by_key(|insight| insight["uid"].as_str());
            let insights = insights.into_iter().map(StatusDraft::from).collect();
            StatusDraft::Map(Members::from([
                ("name", json!(name).into()),
                ("insights", StatusDraft::List(insights)),
            ]))
        });
        let informers = StatusDraft::List(informers.collect());
        Members::from([("conditions", StatusDraft::List(conditions)), ("informers", informers)])
    }
}

/// Keeps the members that are not in `members`, except `but`.
fn keep_members<'a>(members: &mut Members<'a>, before: &'a Value, but: &str) {
    for (name, value) in before.as_object().into_iter().flatten().filter(|(name, _)| *name != but) {
        members.entry(name).or_insert_with(|| value.into());
    }
}

/// Returns the insights of the informers that `is_kept` selects on a part of the cluster.
fn foreign(part: &Value, is_kept: impl Fn(&str) -> bool) -> BTreeMap<&str, Vec<&Value>> {
    let informers = part["informers"].as_array().into_iter().flatten();
    let foreign = informers.filter_map(|informer| {
        let name = informer["name"].as_str().filter(|name| is_kept(name))?;
        Some((name, informer["insights"].as_array().into_iter().flatten().collect()))
    });
    foreign.collect()
}

/// Returns the conditions whose type is not in `own`: others wrote them.
fn conditions<'a>(before: &'a Value, own: &[&str]) -> Vec<StatusDraft<'a>> {
    let list = before.as_array().into_iter().flatten();
    list.filter(|condition| !own.iter().any(|own| condition["type"] == *own)).map(StatusDraft::from).collect()
}

/// Returns the conditions of the controller: whether it works, and whether the status is complete.
fn operational(left_out: usize, before: &Value, now: Time) -> [Value; 2] {
    let condition = |kind: &str, is_so: bool, reason: &str, message: String| {
        let status = if is_so { "True" } else { "False" };
        let old = before.as_array().and_then(|list| list.iter().find(|one| one["type"] == kind));
        let old = old.filter(|old| old["status"] == status).map(|old| old["lastTransitionTime"].clone());
        let since = old.unwrap_or_else(|| json!(rfc3339(now)));
        json!({"type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message})
    };
    let complete = match left_out {
        0 => condition("Complete", true, "AsExpected", String::new()),
        _ => {
            let message = format!(
                "{left_out} insights exceed the limits of the API for the number of insights and the length of names. \
                 Insights on pending and completed nodes are left out first; the insights on pools count these nodes"
            );
            condition("Complete", false, "TooManyInsights", message)
        }
    };
    [condition("Available", true, "AsExpected", String::new()), complete]
}

/// Returns the worker pool that an insight belongs to; `None` for the control plane.
fn pool_of(insight: &Insight) -> Option<&str> {
    let name = match &insight.detail {
        Detail::ClusterVersion(_) | Detail::ClusterOperator(_) => return None,
        Detail::MachineConfigPool(pool) => &pool.name,
        Detail::Node(node) => &node.pool_resource.name,
        Detail::Health(health) => {
            let pools = |resource: &&ResourceRef| resource.resource == "machineconfigpools";
            &health.scope.resources.iter().find(pools)?.name
        }
    };
    (name != MASTER).then_some(name)
}

/// Returns the condition `Updating` of an insight that describes a whole part of the cluster: of the
/// ClusterVersion for the control plane, of the pool for workers.
fn updating<'a>(insight: &Insight, api_insight: &'a Value) -> Option<&'a Value> {
    let is_on_whole = match &insight.detail {
        Detail::ClusterVersion(_) => true,
        Detail::MachineConfigPool(pool) => pool.name != MASTER,
        _ => false,
    };
    let conditions =
        api_insight[api_insight::member(insight)]["conditions"].as_array().filter(|_| is_on_whole)?;
    conditions.iter().find(|condition| condition["type"] == "Updating")
}

#[cfg(test)]
mod tests;
