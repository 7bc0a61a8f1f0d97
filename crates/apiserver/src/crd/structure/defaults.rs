//! Defaults must be valid for their schema and its rules, and must not have unknown fields (`defaulting.ValidateDefaults`).

use serde_json::{Map, Value, json};

use super::{is_true, nested, properties};
use crate::field::{FieldError, aggregate};
use crate::profile::Profile;
use crate::schema::rules::{self, Rules, ValidatedObject};
use crate::schema::{Structural, embedded, prune, validate};

/// Checks the defaults of a whole schema.
pub(super) fn check(schema: &Value, at: &str, profile: &Profile) -> Vec<FieldError> {
    let mut walk = Walk { profile, errors: Vec::new() };
    walk.node(schema, at, &Place { object: schema, steps: Vec::new(), inside_meta: false });
    walk.errors
}

struct Walk<'a> {
    profile: &'a Profile,
    errors: Vec<FieldError>,
}

/// A place in the schema of a whole object.
#[derive(Clone)]
struct Place<'a> {
    /// The schema of the innermost whole object.
    object: &'a Value,
    /// The way from that object to this place.
    steps: Vec<Step<'a>>,
    /// Whether this place is a part of the metadata or type of the object.
    inside_meta: bool,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Field(&'a str),
    Element,
}

impl<'a> Place<'a> {
    fn below(&self, step: Step<'a>, inside_meta: bool) -> Self {
        let steps = self.steps.iter().copied().chain([step]).collect();
        Self { steps, inside_meta, ..*self }
    }

    /// An object that has only its type, and the value at this place.
    fn surround(&self, value: &Value) -> Value {
        let mut object = self.steps.iter().rev().fold(value.clone(), |inner, step| match step {
            Step::Field(name) => Value::Object(Map::from_iter([((*name).to_owned(), inner)])),
            Step::Element => json!([inner]),
        });
        for (field, text) in [("kind", "Validation"), ("apiVersion", "validation/v1")] {
            if object.get(field).is_none() {
                object[field] = json!(text);
            }
        }
        object
    }
}

impl Walk<'_> {
    fn node<'s>(&mut self, schema: &'s Value, at: &str, place: &Place<'s>) {
        let is_embedded = is_true(schema, "x-kubernetes-embedded-resource");
        let own = Place { object: schema, steps: Vec::new(), inside_meta: false };
        let place = if is_embedded { &own } else { place };
        if let Some(default) = schema.get("default").filter(|default| !default.is_null()) {
            self.default(default, schema, &format!("{at}.default"), place);
        }
        if let Some(items) = nested(schema, "items") {
            self.node(items, &format!("{at}.items"), &place.below(Step::Element, place.inside_meta));
        }
        let is_whole = std::ptr::eq(schema, place.object);
        for (name, property) in properties(schema) {
            let is_meta = is_whole && matches!(name.as_str(), "metadata" | "apiVersion" | "kind");
            let below = place.below(Step::Field(name), place.inside_meta || is_meta);
            self.node(property, &format!("{at}.properties[{name}]"), &below);
        }
    }

    fn default(&mut self, default: &Value, schema: &Value, at: &str, place: &Place<'_>) {
        let schema = Structural::read(schema);
        let found = if place.inside_meta {
            self.surrounded(default, place)
        } else {
            let mut pruned = default.clone();
            prune::prune_value(&mut pruned, &schema);
            if pruned != *default {
                self.errors.push(FieldError::invalid(at, default.clone(), "must not have unknown fields"));
            }
            self.objects(default, &schema)
        };
        let found = if found.is_empty() { self.values(default, &schema) } else { found };
        self.errors.extend(found.into_iter().map(|error| error.below(at)));
    }

    /// Checks a part of the metadata or type of an object within such an object.
    fn surrounded(&self, default: &Value, place: &Place<'_>) -> Vec<FieldError> {
        let schema =
            Structural { embedded_resource: true, has_embedded: true, ..Structural::read(place.object) };
        let found = self.objects(&place.surround(default), &schema);
        if found.is_empty() {
            return found;
        }
        let why = format!("must result in valid metadata: {}", aggregate(&found, self.profile));
        vec![FieldError::invalid("", default.clone(), why)]
    }

    /// Checks the type and metadata of whole objects in a value.
    fn objects(&self, value: &Value, schema: &Structural) -> Vec<FieldError> {
        match embedded::coerce(&mut value.clone(), schema, self.profile) {
            Err((path, why)) => vec![FieldError::invalid(path, value.clone(), why)],
            Ok(_) => embedded::check(value, schema, self.profile),
        }
    }

    /// Checks a default by the schema, then by its rules: as an unchanged value and, where writes ratchet, as a new one.
    fn values(&self, default: &Value, schema: &Structural) -> Vec<FieldError> {
        let context = validate::Context { profile: self.profile, field_prefix: "", is_default: true };
        let found = validate::validate(default, None, schema, context);
        if !found.is_empty() || !schema.has_rules {
            return found;
        }
        let rules = Rules::compile_part(schema);
        let evaluate = |old| {
            let judged = ValidatedObject { object: default, old, ratchets: false };
            rules::check(&rules, schema, judged, &[], self.profile).0
        };
        let found = evaluate(Some(default));
        if found.is_empty() && self.profile.ratchets_objects { evaluate(None) } else { found }
    }
}
