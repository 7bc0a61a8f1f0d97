//! The objects of a dump that can hold an update up, and that a run does not take over: a run that passes without them says
//! nothing about the cluster of the dump.
//!
//! * `budgets.rs`: budgets that leave a drain no room, and pods that an eviction does not remove
//! * `webhooks.rs`: webhooks that fail closed, and admission policies

mod budgets;
mod webhooks;

use std::collections::BTreeSet;

use windtunnel_core::resources::MACHINE_CONFIG_POOLS;
use windtunnel_core::text::one_line;
use windtunnel_core::{Object, Resource, condition, pool};

use super::pools;
use crate::dump::origin::Namespaces;
use crate::plan::LeftOut;

/// Returns an object that is left out, without its file.
fn left_out(object: &Object, why: impl Into<String>) -> LeftOut {
    let namespace = object.namespace();
    let separator = if namespace.is_empty() { "" } else { "/" };
    LeftOut {
        kind: object.text("/kind").to_owned(),
        name: format!("{namespace}{separator}{}", object.name()),
        file: String::new(),
        why: why.into(),
        is_ignored: false,
    }
}

/// The objects of a dump by what they are, for the rules of the modules below.
struct Dump<'d> {
    objects: &'d [&'d Object],
    namespaces: Namespaces,
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

/// Returns the objects of a dump that can hold an update up and are not taken over, from objects with their files. The API server
/// of the copy does not store the `malformed` ones. The user accepts that those of the kinds `ignored` are left out.
pub(super) fn find(
    objects: &[(String, Object)],
    taken: &[Object],
    malformed: &[(Object, String)],
    ignored: &[String],
) -> Vec<LeftOut> {
    let all: Vec<&Object> = objects.iter().map(|(_, object)| object).collect();
    let dump = Dump { objects: &all, namespaces: Namespaces::of(all.iter().copied()) };
    let found = budgets::find(&dump).into_iter().chain(webhooks::find(&dump)).chain(pools(&dump));
    let key = |object: &Object| {
        let [kind, namespace] = [object.text("/kind"), object.namespace()].map(str::to_owned);
        (kind, namespace, object.name().to_owned())
    };
    let taken: BTreeSet<_> = taken.iter().map(key).collect();
    let refused = malformed.iter().map(|(object, why)| {
        (object, left_out(object, format!("the API server of the copy does not store it: {}", one_line(why))))
    });
    let is_refused = |object: &Object| malformed.iter().any(|(other, _)| other.is_same(object));
    let found = found.filter(|(object, _)| !taken.contains(&key(object)) && !is_refused(object));
    let found = found.chain(budgets::without_pods(&dump)).chain(refused);
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

/// The pools that are paused or degraded, and whose nodes join pool worker in a run.
fn pools<'d>(dump: &Dump<'d>) -> Vec<Found<'d>> {
    let custom = dump.all(&MACHINE_CONFIG_POOLS).filter(|pool| !pools::is_taken(pool));
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
