//! `anyOf`, `oneOf`, `allOf` and `not`. Ratcheting does not apply within their branches.

use serde_json::{Value, json};

use super::{Findings, Walk};
use crate::field::FieldError;
use crate::schema::path::Path;
use crate::schema::structural::Structural;

impl Walk<'_> {
    pub(super) fn compositions(
        &self,
        value: &Value,
        schema: &Structural,
        path: &Path<'_>,
        found: &mut Findings,
    ) {
        let checks = &schema.checks;
        if !checks.any_of.is_empty() {
            self.any_of(value, &checks.any_of, path, found);
        }
        if !checks.one_of.is_empty() {
            self.one_of(value, &checks.one_of, path, found);
        }
        if !checks.all_of.is_empty() {
            self.all_of(value, &checks.all_of, path, found);
        }
        if let Some(not) = &checks.not
            && self.branch(value, not, path).errors.is_empty()
        {
            found.errors.push(self.composition(path, "must not validate the schema (not)"));
        }
        found.matches += 1;
    }

    fn branch(&self, value: &Value, schema: &Structural, path: &Path<'_>) -> Findings {
        let mut found = Findings::default();
        self.node(value, None, schema, path, &mut found);
        found
    }

    fn composition(&self, path: &Path<'_>, words: &str) -> FieldError {
        let field = if self.context.field_prefix.is_empty() { "" } else { self.context.field_prefix };
        FieldError::invalid(field, json!(""), format!("\"{path}\" {words}"))
    }

    fn any_of(&self, value: &Value, branches: &[Structural], path: &Path<'_>, found: &mut Findings) {
        let mut best: Option<Findings> = None;
        for branch in branches {
            let result = self.branch(value, branch, path);
            if result.errors.is_empty() {
                return;
            }
            if best.as_ref().is_none_or(|best| result.matches > best.matches) {
                best = Some(result);
            }
        }
        found.errors.push(self.composition(path, "must validate at least one schema (anyOf)"));
        if let Some(best) = best {
            found.merge(best);
        }
    }

    fn one_of(&self, value: &Value, branches: &[Structural], path: &Path<'_>, found: &mut Findings) {
        let mut best: Option<Findings> = None;
        let mut valid = 0;
        for branch in branches {
            let result = self.branch(value, branch, path);
            if result.errors.is_empty() {
                valid += 1;
            } else if best.as_ref().is_none_or(|best| result.matches > best.matches) {
                best = Some(result);
            }
        }
        if valid == 1 {
            return;
        }
        let count = if valid == 0 {
            "Found none valid".to_owned()
        } else {
            format!("Found {valid} valid alternatives")
        };
        let words = format!("must validate one and only one schema (oneOf). {count}");
        found.errors.push(self.composition(path, &words));
        if let Some(best) = best.filter(|_| valid == 0) {
            found.merge(best);
        }
    }

    fn all_of(&self, value: &Value, branches: &[Structural], path: &Path<'_>, found: &mut Findings) {
        let mut valid = 0;
        for branch in branches {
            let result = self.branch(value, branch, path);
            valid += usize::from(result.errors.is_empty());
            found.merge(result);
        }
        if valid != branches.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            let words = format!("must validate all the schemas (allOf){none}");
            found.errors.push(self.composition(path, &words));
        }
    }
}
