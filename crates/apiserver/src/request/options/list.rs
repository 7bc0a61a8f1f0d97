//! Validation of the options of lists and watches (`ValidateListOptions`).

use serde_json::json;

use crate::field::{FieldError, Shown};
use crate::profile::Profile;
use crate::rejection::{BoxedRejection, Outcome};
use crate::request::Query;

const MATCH: &str = "resourceVersionMatch";
const SEND: &str = "sendInitialEvents";

/// Validates the options of a list or of a watch.
pub(crate) fn check(query: &Query, watch: bool, profile: &Profile) -> Outcome<()> {
    let errors = if watch { of_watch(query, profile) } else { of_list(query) };
    if errors.is_empty() {
        Ok(())
    } else {
        Err(BoxedRejection::invalid("meta.k8s.io", "ListOptions", "", &errors, profile))
    }
}

fn forbidden(why: &str) -> FieldError {
    FieldError::forbidden(MATCH, why)
}

fn not_supported(given: &str, supported: &[&str]) -> FieldError {
    FieldError::not_supported(MATCH, Shown::Json(json!(given)), supported)
}

fn of_list(query: &Query) -> Vec<FieldError> {
    let (version, matching) = (query.get("resourceVersion"), query.get(MATCH));
    let mut errors = Vec::new();
    if !matching.is_empty() {
        if version.is_empty() {
            errors.push(forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided"));
        }
        if !query.get("continue").is_empty() {
            errors.push(forbidden("resourceVersionMatch is forbidden when continue is provided"));
        }
        if !matches!(matching, "Exact" | "NotOlderThan") {
            errors.push(not_supported(matching, &["Exact", "NotOlderThan", ""]));
        }
        if matching == "Exact" && version == "0" {
            errors.push(forbidden("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""));
        }
    }
    if query.is_given(SEND) {
        errors.push(FieldError::forbidden(SEND, "sendInitialEvents is forbidden for list"));
    }
    errors
}

fn of_watch(query: &Query, profile: &Profile) -> Vec<FieldError> {
    let mut matching = query.get(MATCH);
    let mut send = query.is_given(SEND);
    // Watches from the current state have always sent it: `SetListOptionsDefaults`.
    if profile.watch_list && !send && matching.is_empty() && matches!(query.get("resourceVersion"), "" | "0")
    {
        (send, matching) = (true, "NotOlderThan");
    }
    let mut errors = Vec::new();
    if send && matching != "NotOlderThan" {
        errors.push(forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
    }
    if send && !profile.watch_list {
        let why = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
        errors.push(FieldError::forbidden(SEND, why));
    }
    if !matching.is_empty() {
        if !send {
            let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            errors.push(forbidden(why));
        }
        if matching != "NotOlderThan" {
            errors.push(not_supported(matching, &["NotOlderThan"]));
        }
        if !query.get("continue").is_empty() {
            errors.push(forbidden("resourceVersionMatch is forbidden when continue is provided"));
        }
    }
    errors
}
