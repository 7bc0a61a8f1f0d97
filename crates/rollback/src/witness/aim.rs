//! Values for the place of a difference, which only the newer schema accepts.

use serde_json::{Value, json};

use super::dice::Dice;
use super::generate::{Generator, Pair, Put};
use super::texts::Wanted;
use crate::diff::{Bound, Candidate, Difference, Keyword};
use crate::schema::{Kind, ListType, Node, Path, Step};

/// A value to try at the place of a difference.
#[derive(Debug, Clone)]
pub(crate) struct Aim {
    /// The place: that of the difference, or a field below it.
    pub(crate) path: Path,
    pub(crate) put: Put,
    /// Whether the search may change the value, as long as there is one.
    pub(crate) is_free: bool,
}

/// The schemas of the place; the older one without the restriction that the newer one does not have.
struct Spot<'c> {
    candidate: &'c Candidate,
    newer: Node,
    older: Option<Node>,
    generator: &'c Generator<'c>,
}

/// The values to try for a candidate. Each call of a later `round` draws other ones.
pub(crate) fn aims(
    candidate: &Candidate,
    newer: &Node,
    older: &Node,
    generator: &Generator<'_>,
    dice: &mut Dice,
    round: usize,
) -> Vec<Aim> {
    let steps = candidate.path.steps();
    let Some(here) = newer.at(steps) else { return Vec::new() };
    let spot = Spot { candidate, newer: here.clone(), older: older.at(steps).cloned(), generator };
    let at = |path: Path, put: Put, is_free: bool| Aim { path, put, is_free };
    let here = || candidate.path.clone();
    match &candidate.difference {
        Difference::Required(field) => vec![at(here().field(field), Put::Absent, false)],
        Difference::Pruned
        | Difference::Rule(_)
        | Difference::Composition { .. }
        | Difference::Version { .. }
        | Difference::Subresource(_) => {
            vec![at(here(), Put::Present, true)]
        }
        Difference::Unknown => vec![at(here().field("unknown"), Put::Value(json!("a")), false)],
        Difference::Default { .. } => vec![at(here(), Put::Absent, false)],
        Difference::Pattern(_) | Difference::Format(_) | Difference::Multiple(_) => {
            spot.values(dice, round).into_iter().map(|value| at(here(), Put::Value(value), true)).collect()
        }
        _ => spot.values(dice, round).into_iter().map(|value| at(here(), Put::Value(value), false)).collect(),
    }
}

impl Spot<'_> {
    /// A value that fits two schemas.
    fn generate(&self, newer: &Node, older: Option<&Node>, dice: &mut Dice) -> Option<Value> {
        self.generator.value(Pair { newer: Some(newer), older }, None, dice, 0)
    }

    /// The values of a round. Later rounds accept other differences at the same place.
    fn values(&self, dice: &mut Dice, round: usize) -> Vec<Value> {
        let mut older = self.older.clone().filter(|_| round < 3);
        if let Some(older) = &mut older {
            relax(older, &self.candidate.difference);
        }
        let older = older.as_ref();
        let one = |value: Option<Value>| value.into_iter().collect::<Vec<_>>();
        match &self.candidate.difference {
            Difference::Enum(values) if !values.is_empty() => values.clone(),
            Difference::Enum(_) => {
                let before = self.older.as_ref().and_then(|node| node.limits.allowed()).unwrap_or_default();
                let other = (0..20).filter_map(|_| self.generate(&self.newer, older, dice));
                other.filter(|value| !before.contains(&value)).take(1).collect()
            }
            Difference::Type(kinds) => kinds.iter().filter_map(|kind| self.of_kind(*kind, dice)).collect(),
            Difference::Null => vec![Value::Null],
            Difference::Bound(bound) => one(self.beyond(*bound, older, dice)),
            Difference::Pattern(pattern) => one(self.unlike(pattern, older, dice)),
            Difference::Multiple(_) | Difference::Format(_) => one(self.generate(&self.newer, older, dice)),
            Difference::List { older: list_type, keys } => self.repeated(*list_type, keys, older, dice),
            Difference::Embedded => vec![json!({})],
            _ => Vec::new(),
        }
    }

    fn of_kind(&self, kind: Kind, dice: &mut Dice) -> Option<Value> {
        let mut newer = self.newer.clone();
        newer.types = vec![kind];
        let value = self.generate(&newer, None, dice)?;
        // A whole number is an integer, too.
        match value.as_f64().filter(|_| kind == Kind::Number) {
            Some(number) => Some(json!(number + 0.5)),
            None => Some(value),
        }
    }

    /// A value just beyond a bound of the older release.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bounds of sizes are small and positive"
    )]
    fn beyond(&self, bound: Bound, older: Option<&Node>, dice: &mut Dice) -> Option<Value> {
        let mut newer = self.newer.clone();
        let (limits, size) = (&mut newer.limits, bound.older as u64);
        let below = size.checked_sub(1);
        match bound.keyword {
            Keyword::Minimum => limits.maximum = Some((bound.older, bound.newer != Some(bound.older))),
            Keyword::Maximum => limits.minimum = Some((bound.older, bound.newer != Some(bound.older))),
            Keyword::MinLength => limits.max_length = below,
            Keyword::MaxLength => limits.min_length = Some(size + 1),
            Keyword::MinItems => limits.max_items = below,
            Keyword::MaxItems => limits.min_items = Some(size + 1),
            Keyword::MinProperties => limits.max_properties = below,
            Keyword::MaxProperties => limits.min_properties = Some(size + 1),
        }
        self.generate(&newer, older, dice)
    }

    /// A text that a pattern of the older release rejects.
    fn unlike(&self, pattern: &str, older: Option<&Node>, dice: &mut Dice) -> Option<Value> {
        let mut limits = self.newer.limits.clone();
        if let Some(older) = older {
            limits = limits.and(&older.limits);
        }
        if let Some(allowed) = limits.allowed() {
            let allowed: Vec<Value> = allowed.into_iter().cloned().collect();
            return allowed.get(dice.any_index(allowed.len())).cloned();
        }
        let local = Pair { newer: Some(&self.newer), older }.rule_texts();
        let wanted = Wanted { limits, avoided: &[pattern.to_owned()], local };
        self.generator.texts.text(&wanted, dice).map(Value::String)
    }

    /// A list with two elements that count as one in the older release.
    fn repeated(
        &self,
        list_type: ListType,
        keys: &[String],
        older: Option<&Node>,
        dice: &mut Dice,
    ) -> Vec<Value> {
        let below = |node: Option<&Node>| node.and_then(|node| node.items.as_deref()).cloned();
        let (Some(newer), inner) = (below(Some(&self.newer)), below(older)) else { return Vec::new() };
        let Some(first) = self.generate(&newer, inner.as_ref(), dice) else { return Vec::new() };
        if list_type == ListType::Set || self.newer.list_type == ListType::Atomic {
            return vec![json!([first, first])];
        }
        // The keys of the newer release must differ, and those of the older one must not.
        dice.set_minimal(false);
        let others = (0..20).filter_map(|_| {
            let mut other = self.generate(&newer, inner.as_ref(), dice)?;
            for key in keys {
                other[key.as_str()] = first[key.as_str()].clone();
            }
            (other != first).then_some(json!([first, other]))
        });
        others.take(1).collect()
    }
}

/// Removes the restriction of a difference.
fn relax(node: &mut Node, difference: &Difference) {
    let limits = &mut node.limits;
    match difference {
        Difference::Enum(_) => limits.enums.clear(),
        Difference::Pattern(pattern) => limits.patterns.retain(|kept| kept != pattern),
        Difference::Format(format) => limits.formats.retain(|kept| kept != format),
        Difference::Multiple(_) => limits.multiples.clear(),
        Difference::Composition { raw, .. } => node.compositions.retain(|kept| kept.raw != *raw),
        Difference::List { .. } => node.list_type = ListType::Atomic,
        Difference::Bound(bound) => match bound.keyword {
            Keyword::Minimum => limits.minimum = None,
            Keyword::Maximum => limits.maximum = None,
            Keyword::MinLength => limits.min_length = None,
            Keyword::MaxLength => limits.max_length = None,
            Keyword::MinItems => limits.min_items = None,
            Keyword::MaxItems => limits.max_items = None,
            Keyword::MinProperties => limits.min_properties = None,
            Keyword::MaxProperties => limits.max_properties = None,
        },
        _ => {}
    }
}

/// The same change in a whole schema, so that the generator may choose such values.
pub(crate) fn relaxed(older: &Node, candidate: &Candidate) -> Node {
    let mut copy = older.clone();
    let steps: &[Step] = candidate.path.steps();
    if let Some(node) = copy.at_mut(steps) {
        relax(node, &candidate.difference);
        if let Difference::Required(field) = &candidate.difference {
            node.required.remove(field);
        }
    }
    copy
}
