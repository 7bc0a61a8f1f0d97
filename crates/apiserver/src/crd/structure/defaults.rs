//! Defaults must be valid for their schema and must not have unknown fields (`defaulting.ValidateDefaults`).

use serde_json::Value;

use super::{is_true, nested, properties};
use crate::field::FieldError;
use crate::profile::Profile;
use crate::schema::{Structural, embedded, prune, validate};

/// Checks the defaults of a whole schema.
pub(super) fn check(schema: &Value, at: &str, profile: &Profile) -> Vec<FieldError> {
    let mut errors = Vec::new();
    Walk { profile, errors: &mut errors }.node(schema, at, true, false);
    errors
}

struct Walk<'a> {
    profile: &'a Profile,
    errors: &'a mut Vec<FieldError>,
}

impl Walk<'_> {
    /// `whole` marks a whole object, `inside_meta` a part of the metadata or type of one.
    fn node(&mut self, schema: &Value, at: &str, whole: bool, inside_meta: bool) {
        let whole = whole || is_true(schema, "x-kubernetes-embedded-resource");
        let inside_meta = inside_meta && !whole;
        if let Some(default) = schema.get("default").filter(|default| !default.is_null()) {
            self.default(default, schema, &format!("{at}.default"), inside_meta);
        }
        if let Some(items) = nested(schema, "items") {
            self.node(items, &format!("{at}.items"), false, inside_meta);
        }
        for (name, property) in properties(schema) {
            let meta = whole && matches!(name.as_str(), "metadata" | "apiVersion" | "kind");
            self.node(property, &format!("{at}.properties[{name}]"), false, inside_meta || meta);
        }
    }

    fn default(&mut self, default: &Value, schema: &Value, at: &str, inside_meta: bool) {
        let schema = Structural::read(schema);
        if !inside_meta {
            let mut pruned = default.clone();
            prune::prune_value(&mut pruned, &schema);
            if pruned != *default {
                self.errors.push(FieldError::invalid(at, default.clone(), "must not have unknown fields"));
            }
            let mut coerced = default.clone();
            if let Err((path, why)) = embedded::coerce(&mut coerced, &schema, self.profile) {
                self.errors.push(FieldError::invalid(format!("{at}.{path}"), default.clone(), why));
                return;
            }
            let found = embedded::check(default, &schema, self.profile);
            if !found.is_empty() {
                let below =
                    |error: FieldError| FieldError { field: format!("{at}.{}", error.field), ..error };
                self.errors.extend(found.into_iter().map(below));
                return;
            }
        }
        let context = validate::Context { profile: self.profile, field_prefix: at };
        self.errors.extend(validate::validate(default, None, &schema, context));
    }
}
