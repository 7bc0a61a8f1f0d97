//! The objects of a dump that can hold an update up, and that a run does not take over: a run that passes without them says
//! nothing about the cluster of the dump.
//!
//! * `budgets.rs`: budgets that leave a drain no room, and pods that an eviction does not remove
//! * `webhooks.rs`: webhooks that fail closed, and admission policies

mod budgets;
mod webhooks;

use windtunnel_core::resources::{CLUSTER_VERSIONS, MACHINE_CONFIG_POOLS, NODES};
use windtunnel_core::{Object, Resource, condition, pool};

use crate::plan::{HeldUp, LeftOut};

/// Returns an object that is left out, without its file.
fn left_out(object: &Object, why: impl Into<String>) -> LeftOut {
    let namespace = object.namespace();
    let separator = if namespace.is_empty() { "" } else { "/" };
    LeftOut {
        kind: object.text("/kind").to_owned(),
        name: format!("{namespace}{separator}{}", object.name()),
        file: String::new(),
        why: why.into(),
        holds_up: HeldUp::All,
        is_ignored: false,
    }
}

/// The objects of a dump by what they are, for the rules of the modules below.
struct Dump<'d> {
    objects: &'d [&'d Object],
}

impl<'d> Dump<'d> {
    fn all(&self, resource: &Resource) -> impl Iterator<Item = &'d Object> + use<'d> {
        let (objects, resource) = (self.objects, resource.clone());
        objects.iter().copied().filter(move |object| resource.is_kind_of(object))
    }

    /// All objects of a kind that has no constant, of any version.
    fn of_kind(&self, group: &'static str, kind: &'static str) -> impl Iterator<Item = &'d Object> + use<'d> {
        self.objects.iter().copied().filter(move |object| {
            let in_group =
                object.text("/apiVersion").split_once('/').is_some_and(|(found, _)| found == group);
            in_group && object.text("/kind") == kind
        })
    }
}

/// Returns the objects of a dump that can hold an update up, from objects with their files. The user accepts that those of
/// the kinds `ignored` are left out.
pub(super) fn find(objects: &[(String, Object)], ignored: &[String]) -> Vec<LeftOut> {
    let all: Vec<&Object> = objects.iter().map(|(_, object)| object).collect();
    let dump = Dump { objects: &all };
    let found = budgets::find(&dump)
        .into_iter()
        .chain(webhooks::find(&dump))
        .chain(pools(&dump))
        .chain(operators(&dump))
        .chain(overrides(&dump))
        .chain(nodes(&dump));
    let file_of = |object: &Object| {
        objects.iter().find(|(_, other)| other.is_same(object)).map(|(file, _)| file.clone())
    };
    let finish = |(object, left): Found<'_>| LeftOut {
        file: file_of(object).unwrap_or_default(),
        is_ignored: ignored.iter().any(|kind| kind.eq_ignore_ascii_case(&left.kind)),
        ..left
    };
    found.map(finish).collect()
}

type Found<'d> = (&'d Object, LeftOut);

/// The custom pools that are paused or degraded: their nodes join pool worker in a run.
fn pools<'d>(dump: &Dump<'d>) -> Vec<Found<'d>> {
    let custom = dump.all(&MACHINE_CONFIG_POOLS).filter(|pool| !["master", "worker"].contains(&pool.name()));
    let found = custom.filter_map(|pool| {
        let why = if pool::is_paused(pool) {
            "the pool is paused, so that its nodes keep their old version"
        } else if condition::is_true(pool, "Degraded") {
            "the pool is degraded, so that the update of its nodes does not go on"
        } else {
            return None;
        };
        Some((pool, left_out(pool, why)))
    });
    found.collect()
}

/// The installed operators that limit the version of the cluster: `olm.maxOpenShiftVersion` (OLM's documentation).
fn operators<'d>(dump: &Dump<'d>) -> Vec<Found<'d>> {
    let found = dump.of_kind("operators.coreos.com", "ClusterServiceVersion").filter_map(|version| {
        let properties = version.annotation("olm.properties")?;
        let properties: serde_json::Value = serde_json::from_str(properties).ok()?;
        let mut limits =
            properties.as_array()?.iter().filter(|property| property["type"] == "olm.maxOpenShiftVersion");
        let limit = limits.find_map(|property| property["value"].as_str())?;
        let mut numbers = limit.split('.').map(str::parse);
        let holds_up = match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => HeldUp::Above(major, minor),
            // OLM blocks updates to other minor versions if it cannot read the limit.
            _ => HeldUp::OtherMinor,
        };
        let why = format!("the operator allows no release after {limit}");
        Some((version, LeftOut { holds_up, ..left_out(version, why) }))
    });
    found.collect()
}

/// The ClusterVersion, if parts of the payload are not managed: the operator's check `ClusterVersionOverridesSet`.
fn overrides<'d>(dump: &Dump<'d>) -> Option<Found<'d>> {
    let version = dump.all(&CLUSTER_VERSIONS).find(|version| version.name() == "version")?;
    let set = version.list("/spec/overrides").iter().find(|entry| entry["unmanaged"] == true)?;
    let why = format!(
        "spec.overrides has {} {} unmanaged, so that updates to another minor version are rejected",
        set["kind"].as_str().unwrap_or_default(),
        set["name"].as_str().unwrap_or_default(),
    );
    Some((version, LeftOut { holds_up: HeldUp::OtherMinor, ..left_out(version, why) }))
}

/// The nodes that are not ready. A real update waits for the pods of operators on them, and their pool does not go on; windtunnel
/// updates them.
fn nodes<'d>(dump: &Dump<'d>) -> Vec<Found<'d>> {
    let is_ready = |node: &&Object| condition::is_true(node, "Ready");
    let why = "the node is not ready, so that the DaemonSets of operators and its pool wait for it";
    dump.all(&NODES).filter(|node| !is_ready(node)).map(|node| (node, left_out(node, why))).collect()
}
