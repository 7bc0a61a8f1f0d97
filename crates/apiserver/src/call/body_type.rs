//! Checks the `apiVersion` and `kind` of a body as the decoder of a real server does (`transformDecodeError`).

use serde_json::Value;

use crate::facts::types;
use crate::gotext::json_type;
use crate::rejection::{BoxedRejection, Outcome};

/// Group, version and kind.
pub(crate) type TypeName<'a> = (&'a str, &'a str, &'a str);

/// The versions of v1 kinds, by the first word of their group, that the scheme of a real server still has although it does
/// not serve them.
const OTHER_VERSIONS: [(&str, &[&str]); 17] = [
    ("admissionregistration", &["v1alpha1", "v1beta1"]),
    ("apiextensions", &["v1beta1"]),
    ("apiregistration", &["v1beta1"]),
    ("apps", &["v1beta1", "v1beta2"]),
    ("authentication", &["v1alpha1", "v1beta1"]),
    ("authorization", &["v1beta1"]),
    ("batch", &["v1beta1"]),
    ("certificates", &["v1alpha1", "v1beta1"]),
    ("coordination", &["v1beta1"]),
    ("discovery", &["v1beta1"]),
    ("events", &["v1beta1"]),
    ("flowcontrol", &["v1beta1", "v1beta2", "v1beta3"]),
    ("networking", &["v1beta1"]),
    ("node", &["v1alpha1", "v1beta1"]),
    ("policy", &["v1beta1"]),
    ("rbac", &["v1alpha1", "v1beta1"]),
    ("storage", &["v1alpha1", "v1beta1"]),
];
/// The kinds of `extensions/v1beta1`, which have moved to other groups.
const EXTENSIONS: [&str; 5] = ["DaemonSet", "Deployment", "Ingress", "NetworkPolicy", "ReplicaSet"];
/// The kinds that the scheme has in the version v1 of the core group alone.
const UNVERSIONED: [&str; 5] = ["APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status"];
/// The kinds that the scheme has in each version of each group.
const IN_ALL_VERSIONS: [&str; 7] = [
    "CreateOptions",
    "DeleteOptions",
    "GetOptions",
    "ListOptions",
    "PatchOptions",
    "UpdateOptions",
    "WatchEvent",
];
/// The versions of Scale that the scheme has besides that of `autoscaling`.
const SCALES: [(&str, &str); 3] = [("apps", "v1beta1"), ("apps", "v1beta2"), ("extensions", "v1beta1")];
/// The scheme that the message about an unknown kind names, by group.
const SCHEMES: [(&str, &str); 2] = [
    ("apiextensions.k8s.io", "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55"),
    ("apiregistration.k8s.io", "k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:28"),
];
const SCHEME: &str = "pkg/api/legacyscheme/scheme.go:30";

/// Rejects a body of a built-in kind whose type is not the expected one.
///
/// # Errors
/// The type is unknown, or has another kind or version.
pub(crate) fn check(expected: TypeName<'_>, kind: &str, api_version: &str) -> Outcome<()> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let given: TypeName<'_> = match (api_version, kind) {
        ("", "") => return Ok(()),
        ("", kind) => (expected.0, expected.1, kind),
        (_, "") => (group, version, expected.2),
        (_, kind) => (group, version, kind),
    };
    if given == expected {
        return Ok(());
    }
    let unhandled = |why: String| {
        let (_, version, kind) = given;
        let wanted = expected.2;
        BoxedRejection::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {wanted}: {why}"
        ))
    };
    let named = joined(given.0, given.1);
    let is_scale = given.2 == "Scale" && SCALES.contains(&(given.0, given.1));
    if !is_scale && !is_registered(given) {
        let scheme = SCHEMES.iter().find(|(group, _)| *group == expected.0).map_or(SCHEME, |(_, file)| file);
        let kind = given.2;
        return Err(unhandled(format!(
            "no kind \"{kind}\" is registered for version \"{named}\" in scheme \"{scheme}\""
        )));
    }
    let is_convertible = is_scale || given.0 == "extensions" || package(given.0) == package(expected.0);
    if given.2 != expected.2 || !is_convertible {
        let ((_, version, kind), package) = (given, package(expected.0));
        let wanted = expected.2;
        return Err(unhandled(format!(
            "converting ({version}.{kind}) to ({package}.{wanted}): unknown conversion"
        )));
    }
    let wanted = joined(expected.0, expected.1);
    Err(BoxedRejection::bad_request(format!(
        "the API version in the data ({named}) does not match the expected API version ({wanted})"
    )))
}

/// The message of Go's decoder if `apiVersion` or `kind` is not a string, or if the version has too many parts.
pub(crate) fn wrong_type(body: &Value) -> Option<String> {
    let version = body["apiVersion"].as_str().unwrap_or_default();
    if version.matches('/').count() > 1 {
        return Some(format!("unexpected GroupVersion string: {version}"));
    }
    let field = ["apiVersion", "kind"].into_iter().find(|field| {
        let value = body.get(*field);
        value.is_some_and(|value| !value.is_string() && !value.is_null())
    })?;
    let found = json_type(&body[field]);
    Some(format!(
        "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go struct field .{field} of \
         type string"
    ))
}

fn joined(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

fn is_registered((group, version, kind): TypeName<'_>) -> bool {
    if UNVERSIONED.contains(&kind) && (group, version) == ("", "v1") {
        return true;
    }
    if (group, version) == ("extensions", "v1beta1") {
        return EXTENSIONS.contains(&kind);
    }
    let word = if group.is_empty() { "core" } else { group.split('.').next().unwrap_or(group) };
    let is_full_name = group.is_empty() || group.contains('.') || !has_suffix(word);
    let others = OTHER_VERSIONS.iter().find(|(name, _)| *name == word).map_or(&[][..], |(_, others)| others);
    let known = if others.contains(&version) { "v1" } else { version };
    if IN_ALL_VERSIONS.contains(&kind) {
        return is_full_name && types().kinds().any(|(group, version, _)| (group, version) == (word, known));
    }
    let id = types().find(group, known, kind).filter(|_| is_full_name);
    id.is_some_and(|id| types().get(id).is_kind)
}

/// Whether the name of a group has more than this first word.
fn has_suffix(word: &str) -> bool {
    !matches!(word, "apps" | "autoscaling" | "batch" | "policy" | "core")
}

/// The Go package of the internal types of a group.
fn package(group: &str) -> &str {
    match group {
        "" | "events.k8s.io" => "core",
        group => group.split('.').next().unwrap_or(group),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn another_type_is_unknown_or_not_convertible_or_of_another_version() {
        let lease = ("coordination.k8s.io", "v1", "Lease");
        let claim = ("", "v1", "ConfigMap");
        for (expected, kind, version, why) in [
            (lease, "Lease", "coordination.k8s.io/v1", ""),
            (lease, "", "", ""),
            (
                lease,
                "Foo",
                "coordination.k8s.io/v1",
                "Foo in version \"v1\" cannot be handled as a Lease: no kind \"Foo\" is registered for version \
                 \"coordination.k8s.io/v1\" in scheme \"pkg/api/legacyscheme/scheme.go:30\"",
            ),
            (
                lease,
                "Lease",
                "v9",
                "Lease in version \"v9\" cannot be handled as a Lease: no kind \"Lease\" is registered for version \
                 \"v9\" in scheme \"pkg/api/legacyscheme/scheme.go:30\"",
            ),
            (
                lease,
                "Lease",
                "coordination.k8s.io/v1beta1",
                "the API version in the data (coordination.k8s.io/v1beta1) does not match the expected API version \
                 (coordination.k8s.io/v1)",
            ),
            (
                claim,
                "Secret",
                "v1",
                "Secret in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): \
                 unknown conversion",
            ),
            (
                claim,
                "Lease",
                "coordination.k8s.io/v1",
                "Lease in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Lease) to (core.ConfigMap): \
                 unknown conversion",
            ),
        ] {
            let message = check(expected, kind, version)
                .map_or_else(|rejection| rejection.message.clone(), |()| String::new());
            assert_eq!(message, why);
        }
    }

    #[test]
    fn type_names_are_strings() {
        assert_eq!(wrong_type(&json!({ "apiVersion": "v1", "kind": null })), None);
        assert!(
            wrong_type(&json!({ "kind": 5 })).is_some_and(|why| why.ends_with("field .kind of type string"))
        );
    }
}
