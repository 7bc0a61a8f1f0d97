//! Values that fit two schemas.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::dice::Dice;
use super::numbers;
use super::texts::{Texts, Wanted};
use crate::schema::{ENTRY, Kind, Limits, ListType, Node, Step};

/// The schemas that a value must fit: those of one or of both releases.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair<'n> {
    pub(crate) newer: Option<&'n Node>,
    pub(crate) older: Option<&'n Node>,
}

/// The requirements on a part of a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Put {
    /// This value.
    Value(Value),
    /// Missing.
    Absent,
    /// Present, with any fitting value.
    Present,
}

/// A part of a value that the generator must not choose.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pin<'p> {
    /// The path from the value.
    pub(crate) steps: &'p [Step],
    pub(crate) put: &'p Put,
}

/// The deepest level with optional fields.
const DEPTH_MAX: usize = 12;
/// The most attempts to find another element of a list.
const OTHER_ATTEMPTS: usize = 12;

impl<'n> Pair<'n> {
    fn nodes(self) -> impl Iterator<Item = &'n Node> {
        self.newer.into_iter().chain(self.older)
    }

    /// The schemas below a step.
    pub(crate) fn below(self, step: &Step) -> Self {
        Self {
            newer: self.newer.and_then(|node| node.below(step)),
            older: self.older.and_then(|node| node.below(step)),
        }
    }

    /// The fields that either requires.
    pub(crate) fn required(self) -> BTreeSet<String> {
        self.nodes().flat_map(|node| node.required.iter().cloned()).collect()
    }

    /// The texts in the rules of the value.
    pub(crate) fn rule_texts(self) -> Vec<String> {
        self.nodes().flat_map(|node| &node.rules).flat_map(|rule| rule.literals.iter().cloned()).collect()
    }

    fn is_empty(self) -> bool {
        self.newer.is_none() && self.older.is_none()
    }

    fn limits(self) -> Limits {
        self.nodes().fold(Limits::default(), |limits, node| limits.and(&node.limits))
    }

    /// The types that both allow; empty if both allow any.
    fn kinds(self) -> Vec<Kind> {
        let typed = self.nodes().find(|node| !node.types.is_empty());
        let Some(typed) = typed else { return Vec::new() };
        typed.types.iter().copied().filter(|kind| self.nodes().all(|node| node.allows(*kind))).collect()
    }
}

/// Generates values.
#[derive(Debug)]
pub(crate) struct Generator<'t> {
    pub(crate) texts: &'t Texts,
    /// The chance of each optional field, in a hundred.
    pub(crate) optional: u64,
}

impl Generator<'_> {
    /// A value that fits both schemas. `None` if the generator finds none.
    pub(crate) fn value(
        &self,
        pair: Pair<'_>,
        pin: Option<Pin<'_>>,
        dice: &mut Dice,
        depth: usize,
    ) -> Option<Value> {
        if let Some(Pin { steps: [], put: Put::Value(value) }) = pin {
            return Some(value.clone());
        }
        let inner = pin.filter(|pin| !pin.steps.is_empty());
        let mut limits = pair.limits();
        self.choose_alternatives(pair, &mut limits, dice);
        if inner.is_none()
            && let Some(allowed) = limits.allowed()
        {
            return allowed.get(dice.index(allowed.len())).map(|value| (*value).clone());
        }
        if inner.is_none() && pair.nodes().all(|node| node.nullable) && pair.newer.is_some() && dice.chance(3)
        {
            return Some(Value::Null);
        }
        let kinds = pair.kinds();
        let kind = match inner.map(|pin| &pin.steps[0]) {
            Some(Step::Item) => Some(Kind::Array),
            Some(Step::Field(_) | Step::Entry) => Some(Kind::Object),
            None => kinds.get(dice.index(kinds.len())).copied(),
        };
        match kind {
            Some(Kind::Object) => self.object(pair, &limits, inner, dice, depth),
            Some(Kind::Array) => self.array(pair, &limits, inner, dice, depth),
            Some(Kind::String) => {
                let wanted = Wanted { limits, avoided: &[], local: pair.rule_texts() };
                self.texts.text(&wanted, dice).map(Value::String)
            }
            Some(Kind::Integer) => numbers::integer(&limits, dice),
            Some(Kind::Number) => numbers::number(&limits, dice),
            Some(Kind::Boolean) => Some(Value::Bool(dice.index(2) == 1)),
            // An untyped value may be anything; some servers expect objects there.
            None => Some(json!({})),
        }
    }

    /// Adds the restrictions of one branch of each composition that restricts the value itself.
    #[expect(clippy::unused_self, reason = "reads better at the call")]
    fn choose_alternatives(&self, pair: Pair<'_>, limits: &mut Limits, dice: &mut Dice) {
        for composition in pair.nodes().flat_map(|node| &node.compositions) {
            if composition.keyword == "anyOf" || composition.keyword == "oneOf" {
                let branch = &composition.branches[dice.index(composition.branches.len())];
                *limits = limits.and(&branch.limits);
            }
        }
    }

    fn object(
        &self,
        pair: Pair<'_>,
        limits: &Limits,
        pin: Option<Pin<'_>>,
        dice: &mut Dice,
        depth: usize,
    ) -> Option<Value> {
        let mut names = pair.required();
        // Fields of both releases: others would be a difference of their own.
        let has = |name: &String| pair.nodes().all(|node| node.field(name).is_some());
        let optional =
            pair.nodes().next().into_iter().flat_map(|node| node.properties.keys()).filter(|name| has(name));
        for name in optional {
            if depth < DEPTH_MAX && dice.chance(self.optional) {
                names.insert(name.clone());
            }
        }
        let mut map = Map::new();
        if pair.nodes().any(|node| node.is_embedded) {
            map.insert("apiVersion".into(), json!("v1"));
            map.insert("kind".into(), json!("ConfigMap"));
            map.insert("metadata".into(), json!({ "name": "inner" }));
        }
        if let Some(pin) = pin {
            let (name, step) = match &pin.steps[0] {
                Step::Field(name) => (name.clone(), &pin.steps[0]),
                _ => (ENTRY.to_owned(), &Step::Entry),
            };
            names.remove(&name);
            let rest = Pin { steps: &pin.steps[1..], put: pin.put };
            if !(rest.steps.is_empty() && *rest.put == Put::Absent) {
                let value = self.value(pair.below(step), Some(rest), dice, depth + 1)?;
                map.insert(name, value);
            }
        }
        for name in names {
            if map.contains_key(&name) && pair.nodes().any(|node| node.is_embedded) {
                continue;
            }
            let below = pair.below(&Step::Field(name.clone()));
            let value = if below.is_empty() { json!("a") } else { self.value(below, None, dice, depth + 1)? };
            map.insert(name, value);
        }
        self.fill(pair, limits, &mut map, pin, dice, depth)?;
        Some(Value::Object(map))
    }

    /// Adds fields up to the least number.
    fn fill(
        &self,
        pair: Pair<'_>,
        limits: &Limits,
        map: &mut Map<String, Value>,
        pin: Option<Pin<'_>>,
        dice: &mut Dice,
        depth: usize,
    ) -> Option<()> {
        let least = usize::try_from(limits.min_properties.unwrap_or(0)).ok()?;
        let absent = pin.filter(|pin| *pin.put == Put::Absent).map(|pin| &pin.steps[0]);
        let named: Vec<&String> =
            pair.nodes().next().map(|node| node.properties.keys().collect()).unwrap_or_default();
        let mut missing = named.into_iter().filter(|name| {
            pair.nodes().all(|node| node.field(name).is_some())
                && absent != Some(&Step::Field((*name).clone()))
        });
        let entry = pair.below(&Step::Entry);
        let more = usize::from(!entry.is_empty() && depth < DEPTH_MAX && dice.chance(self.optional));
        while map.len() < least + more {
            let (name, below) = match missing.next() {
                Some(name) if map.contains_key(name) => continue,
                Some(name) => (name.clone(), pair.below(&Step::Field(name.clone()))),
                None if entry.is_empty() => break,
                None => (format!("key{}", map.len()), entry),
            };
            let value = self.value(below, None, dice, depth + 1)?;
            map.insert(name, value);
        }
        Some(())
    }

    fn array(
        &self,
        pair: Pair<'_>,
        limits: &Limits,
        pin: Option<Pin<'_>>,
        dice: &mut Dice,
        depth: usize,
    ) -> Option<Value> {
        let least = usize::try_from(limits.min_items.unwrap_or(0)).ok()?.max(usize::from(pin.is_some()));
        let most = limits.max_items.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
        let more = if depth < DEPTH_MAX && dice.chance(60) { dice.any_index(3) } else { 0 };
        let inner = pair.below(&Step::Item);
        let mut list: Vec<Value> = Vec::new();
        for index in 0..(least + more).min(most) {
            let pin = pin.filter(|_| index == 0).map(|pin| Pin { steps: &pin.steps[1..], put: pin.put });
            match self.other(pair, inner, &list, pin, dice, depth) {
                Some(value) => list.push(value),
                None if index >= least => break,
                None => return None,
            }
        }
        Some(Value::Array(list))
    }

    /// An element that the list does not have yet.
    fn other(
        &self,
        pair: Pair<'_>,
        inner: Pair<'_>,
        list: &[Value],
        pin: Option<Pin<'_>>,
        dice: &mut Dice,
        depth: usize,
    ) -> Option<Value> {
        let is_repeated = |value: &Value| {
            pair.nodes().any(|node| match node.list_type {
                ListType::Atomic => false,
                ListType::Set => list.contains(value),
                ListType::Map => {
                    list.iter().any(|one| node.list_keys.iter().all(|key| one.get(key) == value.get(key)))
                }
            })
        };
        let was_minimal = dice.is_minimal();
        for attempt in 0..OTHER_ATTEMPTS {
            let mut value = self.value(inner, pin, dice, depth + 1)?;
            if attempt == 0 && !list.is_empty() {
                renumber(pair, inner, &mut value, list.len());
            }
            if !is_repeated(&value) {
                dice.set_minimal(was_minimal);
                return Some(value);
            }
            // The smallest value is always the same.
            dice.set_minimal(false);
        }
        dice.set_minimal(was_minimal);
        None
    }
}

/// Makes an element different from those before it, if its texts are free.
fn renumber(pair: Pair<'_>, inner: Pair<'_>, value: &mut Value, index: usize) {
    let is_free = |pair: Pair<'_>| {
        let limits = pair.limits();
        pair.kinds() == [Kind::String]
            && limits.enums.is_empty()
            && limits.patterns.is_empty()
            && limits.formats.is_empty()
            && limits.max_length.is_none_or(|most| most > 8)
            && limits.min_length.is_none_or(|least| least < 6)
    };
    let keys: Vec<&String> = pair.nodes().flat_map(|node| &node.list_keys).collect();
    if is_free(inner) {
        *value = json!(format!("a{index:05}"));
    }
    for key in keys {
        if is_free(inner.below(&Step::Field(key.clone()))) {
            value[key.as_str()] = json!(format!("a{index:05}"));
        }
    }
}
