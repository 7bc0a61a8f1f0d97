//! Templates of pods within objects of other kinds.

use serde_json::Value;

use super::pod;
use crate::kinds::Kind;
use crate::kinds::templates::template_path;

/// Removes fields of a template that need gates which are off by default (`DropDisabledTemplateFields`).
pub(super) fn drop_disabled(kind: &Kind, object: &mut Value, old: Option<&Value>, minor: u32) {
    let Some(path) = template_path(&kind.resource) else { return };
    let before = old.map(|old| path.iter().fold(old, |value, field| &value[*field]));
    let template = path.iter().try_fold(object, |value, field| value.get_mut(*field));
    if let Some(template) = template {
        pod::drop_disabled(template, before, minor);
    }
}
