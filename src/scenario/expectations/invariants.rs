//! `invariants`: the rules that every run must keep, and which of them the scenario skips.

use std::collections::BTreeSet;

use windtunnel_core::yaml::{Kind, Node};

use crate::plan::Invariant;
use crate::scenario::reader::Reader;

pub(in crate::scenario) const KEYS: &[&str] = &["except"];

/// Returns the invariants to check.
pub(in crate::scenario) fn read(reader: &mut Reader<'_>, node: &Node) -> BTreeSet<Invariant> {
    match node.kind {
        Kind::Bool(true) => return Invariant::all(),
        Kind::Bool(false) => return BTreeSet::new(),
        _ => (),
    }
    let Kind::Map(_) = node.kind else {
        let wanted = format!("`true`, `false` or `{{except: [{}]}}`", Invariant::NodeOrder.name());
        reader.error(node, format!("expected {wanted}, found {}", node.describe()));
        return BTreeSet::new();
    };
    let mut checked = Invariant::all();
    let map = reader.map(node, "`invariants`", KEYS);
    let except = map.and_then(|map| map.required(reader, "except", "the names of the invariants to skip"));
    for item in except.map(|node| reader.list(node, "names of invariants")).unwrap_or_default() {
        let name = reader.word(item, &Invariant::ALL.map(Invariant::name));
        checked.retain(|invariant| Some(invariant.name()) != name);
    }
    checked
}
