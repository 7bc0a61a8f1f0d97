//! The details of field errors that a minor reworded: one table for all kinds. The rules have the newest text; servers of
//! earlier minors print the earlier one.

use std::borrow::Cow;

use crate::profile::since;

/// The first minor with the newer text, the end of the field's path without indices, the newer and the earlier text.
type Row = (u32, &'static str, &'static str, &'static str);

/// The first minor in which the rules of qualified names have the texts of declarative validation.
const DECLARATIVE_NAMES: u32 = 35;

#[rustfmt::skip]
const DETAILS: &[Row] = &[
    (since::SHORTER_DETAILS, ".ownerReferences.kind", "must not be empty", "kind must not be empty"),
    (since::SHORTER_DETAILS, ".ownerReferences.name", "must not be empty", "name must not be empty"),
    (since::SHORTER_DETAILS, ".ownerReferences.uid", "must not be empty", "uid must not be empty"),
    (since::SHORTER_DETAILS, ".fieldPath", "must be a valid path", "fieldPath must be a valid path"),
    (since::SHORTER_DETAILS, ".fieldPath", "must be non-empty if specified", "fieldPath must be non-empty if specified"),
    (since::SHORTER_DETAILS, ".fieldPath", "must not contain line breaks", "fieldPath must not contain line breaks"),
    (since::SHORTER_DETAILS, ".message", "must be non-empty if specified", "message must be non-empty if specified"),
    (since::SHORTER_DETAILS, ".message", "must not contain line breaks", "message must not contain line breaks"),
    (since::SHORTER_DETAILS, ".variables.name", "must be a valid CEL identifier", "name is not a valid CEL identifier"),
    (since::SHORTER_DETAILS, ".completionTime", "must be equal to or after `startTime`", "completionTime cannot be set before startTime"),
    (since::SHORTER_DETAILS, ".uncountedTerminatedPods", "must be empty for finished job", "uncountedTerminatedPods needs to be empty for finished job"),
    (since::SHORTER_DETAILS, ".type", "must be 'Exempt' if and only if `name` is 'exempt'", "type must be 'Exempt' if and only if name is 'exempt'"),
    (since::SHORTER_DETAILS, "", "when `hostUsers` is false", "when `pod.Spec.HostUsers` is false"),
    (since::SHORTER_DETAILS, "", "must have at most 1 item", "must have at most 1 items"),
    (36, ".resizePolicy", "must be 'NotRequired' when pod `restartPolicy` is 'Never'", "must be 'NotRequired' when `restartPolicy` is 'Never'"),
];

/// Required fields whose error had a detail before 1.34: the end of the path, and the detail.
const REQUIRED: &[(&str, &str)] = &[
    (".conditions.lastTransitionTime", "must be set"),
    (".conditions.reason", "must be set"),
    ("spec.os.name", "cannot be empty"),
    ("spec.parameters.kind", "kind is required"),
    ("spec.parameters.name", "name is required"),
    (".configMap.kubeletConfigKey", "kubeletConfigKey must be set"),
    (".configMap.name", "name must be set"),
    (".configMap.namespace", "namespace must be set"),
];

/// Phrases within details: the first minor with the newer one, the newer and the earlier one.
const PHRASES: &[(u32, &str, &str)] = &[
    (DECLARATIVE_NAMES, "must be no more than 63 bytes", "must be no more than 63 characters"),
    (DECLARATIVE_NAMES, "a valid label key must consist", "a qualified name must consist"),
];

/// The detail of an error about a required field of a built-in kind in a minor.
pub(crate) fn required<'a>(detail: &'a str, path: &str, minor: u32) -> &'a str {
    if !detail.is_empty() || minor >= since::SHORTER_DETAILS {
        return detail;
    }
    let path = without_indices(path);
    REQUIRED.iter().find(|(end, _)| path.ends_with(end)).map_or(detail, |(_, earlier)| earlier)
}

/// The detail of another error in a minor.
pub(crate) fn detail<'a>(detail: &'a str, path: &str, minor: u32) -> Cow<'a, str> {
    if minor >= DETAILS.iter().map(|row| row.0).fold(DECLARATIVE_NAMES, u32::max) {
        return detail.into();
    }
    let path = without_indices(path);
    let row = DETAILS
        .iter()
        .find(|(first, end, newer, _)| minor < *first && *newer == detail && path.ends_with(end));
    row.map_or_else(|| phrases(detail, minor), |(.., earlier)| (*earlier).into())
}

/// A text with the phrases of a minor.
pub(crate) fn phrases(text: &str, minor: u32) -> Cow<'_, str> {
    let reworded = PHRASES.iter().filter(|(first, newer, _)| minor < *first && text.contains(newer));
    reworded.fold(text.into(), |text: Cow<'_, str>, (_, newer, earlier)| text.replace(newer, earlier).into())
}

/// A path without the indices of lists.
fn without_indices(path: &str) -> String {
    let mut depth = 0;
    let outside = |letter: &char| {
        depth += i32::from(*letter == '[');
        let is_outside = depth == 0;
        depth -= i32::from(*letter == ']');
        is_outside
    };
    path.chars().filter(outside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_minors_repeat_the_name_of_the_field() {
        let text = |minor| detail("must not be empty", "metadata.ownerReferences[0].uid", minor);
        assert_eq!((text(33), text(34)), ("uid must not be empty".into(), "must not be empty".into()));
        let text = |minor| required("", "status.conditions[0].reason", minor);
        assert_eq!((text(33), text(34)), ("must be set", ""));
        assert_eq!(detail("", "status.conditions[0].reason", 33), "");
    }

    #[test]
    fn names_are_measured_in_characters_before_1_35() {
        let text = |minor| phrases("name part must be no more than 63 bytes", minor);
        assert_eq!(text(34), "name part must be no more than 63 characters");
        assert_eq!(text(35), "name part must be no more than 63 bytes");
    }
}
