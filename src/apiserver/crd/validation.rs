//! Whether a CustomResourceDefinition may be written.

use serde_json::Value;

use crate::apiserver::field::FieldError;
use crate::apiserver::profile::Profile;

/// All errors of a definition; `old` is the stored one if this is an update.
pub(crate) fn check(_crd: &Value, _old: Option<&Value>, _profile: &Profile) -> Vec<FieldError> {
    Vec::new()
}
