//! Small changes of an object at the place of an error.

use serde_json::{Value, json};

use super::bench::Bench;
use super::dice::Dice;
use super::generate::{Generator, Pair, Pin, Put};
use crate::schema::{Kind, Node, Path, Place, Rule, Spot, Step, get, put};
use crate::servers::Cause;

/// The part of an object that must stay.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) place: Place,
    pub(super) path: Path,
    pub(super) put: Put,
}

/// Changes objects, except for one part.
pub(super) struct Mover<'b> {
    pub(super) bench: &'b Bench,
    /// The older schema without the restriction of the difference.
    pub(super) older: Option<&'b Node>,
    pub(super) kept: Option<&'b Kept>,
}

/// The letters of small changes of texts.
const LETTERS: [char; 16] =
    ['a', '0', '1', '.', '-', '/', ':', 'A', '_', '@', ' ', '9', 'f', 'z', '%', '\u{e9}'];

impl Mover<'_> {
    /// Changes the object at a place, or somewhat above it. `height` is the most steps above.
    pub(super) fn change(&self, object: &mut Value, cause: &Cause, height: usize, dice: &mut Dice) {
        let mut place = cause.place.above(dice.any_index(height + 1));
        // A value that must stay can only be changed around it.
        if let Some(kept) = self.kept
            && kept.put != Put::Present
            && place.is_within(&kept.place)
        {
            place = kept.place.above(1 + dice.any_index(height + 1));
        }
        let path = self.bench.path(&place);
        match dice.any_index(4) {
            0 => self.renew(object, &place, &path, dice),
            1 | 2 if get(object, &place).is_some_and(Value::is_string) => {
                (0..=dice.any_index(2)).for_each(|_| tweak(object, &place, dice));
            }
            _ if !self.follow_rule(object, &place, &cause.message, dice) => {
                self.renew(object, &place, &path, dice);
            }
            _ => {}
        }
        let root = Pair { newer: Some(&self.bench.newer_schema), older: self.older };
        self.add_required(root, object, &Place::default(), dice);
        self.bench.complete(object);
    }

    /// Adds required fields that are missing.
    fn add_required(&self, pair: Pair<'_>, value: &mut Value, place: &Place, dice: &mut Dice) {
        match value {
            Value::Object(fields) => {
                for name in pair.required() {
                    let inner = place.field(&name);
                    let is_absent =
                        self.kept.is_some_and(|kept| kept.put == Put::Absent && kept.place == inner);
                    if is_absent || fields.contains_key(&name) {
                        continue;
                    }
                    let generator = Generator { texts: &self.bench.texts, optional: 10 };
                    if let Some(added) =
                        generator.value(pair.below(&Step::Field(name.clone())), None, dice, 0)
                    {
                        fields.insert(name, added);
                    }
                }
                for (name, inner) in fields {
                    self.add_required(
                        pair.below(&Step::Field(name.clone())),
                        inner,
                        &place.field(name),
                        dice,
                    );
                }
            }
            Value::Array(items) => {
                for (index, inner) in items.iter_mut().enumerate() {
                    let mut place = place.clone();
                    place.0.push(Spot::Index(index));
                    self.add_required(pair.below(&Step::Item), inner, &place, dice);
                }
            }
            _ => {}
        }
    }

    fn pair(&self, path: &Path) -> Pair<'_> {
        let steps = path.steps();
        Pair { newer: self.bench.newer_schema.at(steps), older: self.older.and_then(|older| older.at(steps)) }
    }

    /// Generates the value at a place anew.
    fn renew(&self, object: &mut Value, place: &Place, path: &Path, dice: &mut Dice) {
        let pinned = self.kept.filter(|kept| kept.place.is_within(place));
        let steps = pinned.map_or(&[][..], |kept| &kept.path.steps()[path.steps().len()..]);
        let pin = pinned.map(|kept| Pin { steps, put: &kept.put });
        let optional = [5, 20, 40, 70][dice.any_index(4)];
        let generator = Generator { texts: &self.bench.texts, optional };
        let pair = self.pair(path);
        if pair.newer.is_none() {
            return;
        }
        if let Some(value) = generator.value(pair, pin, dice, path.steps().len()) {
            put(object, place, value);
        }
    }

    /// Changes a field that a rule of this place mentions, mostly the rule of the error. Returns whether there is one.
    fn follow_rule(&self, object: &mut Value, place: &Place, message: &str, dice: &mut Dice) -> bool {
        let path = &self.bench.path(place);
        let pair = self.pair(path);
        let rules: Vec<&Rule> =
            [pair.newer, pair.older].into_iter().flatten().flat_map(|node| &node.rules).collect();
        let is_of_error = |rule: &&&Rule| rule.has_message(message) || message.contains(&rule.text);
        let failed: Vec<&Rule> = rules.iter().filter(is_of_error).copied().collect();
        let rules = if failed.is_empty() || dice.any_index(4) == 0 { rules } else { failed };
        if rules.is_empty() {
            return false;
        }
        let rule = rules[dice.any_index(rules.len())];
        let fields = &rule.fields;
        if fields.is_empty() {
            return false;
        }
        let names = &fields[dice.any_index(fields.len())];
        let target = names.iter().fold(place.clone(), |place, name| place.field(name));
        let steps = self.bench.path(&target);
        if self.kept.is_some_and(|kept| kept.place.is_within(&target)) {
            return false;
        }
        match dice.any_index(5) {
            0 => remove(object, &target),
            1 => self.renew(object, &target, &steps, dice),
            2 => copy(object, place, &fields[dice.any_index(fields.len())], &target),
            _ => match self.literal(rule, &steps, dice) {
                Some(text) => put(object, &target, json!(text)),
                None => self.renew(object, &target, &steps, dice),
            },
        }
        true
    }

    /// A text of a rule that a field may have.
    fn literal(&self, rule: &Rule, path: &Path, dice: &mut Dice) -> Option<String> {
        let node = self.pair(path).newer?;
        let is_allowed = |text: &&String| {
            node.allows(Kind::String)
                && node.limits.allowed().is_none_or(|allowed| allowed.contains(&&json!(text)))
        };
        let fitting: Vec<String> = rule.literals.iter().filter(is_allowed).cloned().collect();
        fitting.get(dice.any_index(fitting.len())).cloned()
    }
}

/// Copies the value of a field of a rule to another one.
fn copy(object: &mut Value, place: &Place, from: &[String], to: &Place) {
    let from = from.iter().fold(place.clone(), |place, name| place.field(name));
    if let Some(value) = get(object, &from).filter(|value| value.is_string() || value.is_number()).cloned() {
        put(object, to, value);
    }
}

/// Removes the field at a place.
pub(super) fn remove(object: &mut Value, place: &Place) {
    let Some((Spot::Field(name), above)) = place.0.split_last() else { return };
    let mut at = object;
    for spot in above {
        let inner = match spot {
            Spot::Field(name) => at.get_mut(name),
            Spot::Index(index) => at.get_mut(index),
        };
        let Some(inner) = inner else { return };
        at = inner;
    }
    if let Some(fields) = at.as_object_mut() {
        fields.remove(name);
    }
}

/// Inserts, replaces or removes a letter of a text.
fn tweak(object: &mut Value, place: &Place, dice: &mut Dice) {
    let Some(Value::String(text)) = get(object, place) else { return };
    let mut letters: Vec<char> = text.chars().collect();
    let at = dice.any_index(letters.len() + 1);
    let letter = LETTERS[dice.any_index(LETTERS.len())];
    match dice.any_index(3) {
        0 if at < letters.len() => letters[at] = letter,
        1 if at < letters.len() => drop(letters.remove(at)),
        _ => letters.insert(at, letter),
    }
    put(object, place, json!(letters.into_iter().collect::<String>()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_removed_by_place() {
        let mut object = json!({"spec": {"list": [{"a": 1, "b": 2}]}});
        remove(&mut object, &Place::parse("spec.list[0].a"));
        remove(&mut object, &Place::parse("spec.none.a"));
        assert_eq!(object, json!({"spec": {"list": [{"b": 2}]}}));
    }
}
