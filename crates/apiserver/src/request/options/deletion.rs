//! Options of deletions (`DeleteOptions`).

use serde_json::{Value, json};
use windtunnel_core::Propagation;

use super::integer;
use crate::field::{FieldError, Shown};
use crate::gotext::{json_type, quote};
use crate::profile::{Profile, since};
use crate::rejection::{BoxedRejection, Outcome};
use crate::request::{Body, Query, Request, Text, body, media_type, protobuf, yaml};

/// The options of a deletion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Deletion {
    pub(crate) grace: Option<i64>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
    /// The finalizer of the propagation policy: `None` keeps the existing finalizers, an empty one removes
    /// both.
    pub(crate) propagation: Option<&'static str>,
    /// The old option beside the policy, if it was given.
    pub(crate) orphan: Option<bool>,
    pub(crate) dry_run: bool,
}

impl Deletion {
    /// Parses delete options from the body or, if there is none, from the query. `decode` checks the types of the fields in the
    /// bytes of a body.
    pub(crate) fn read(
        request: &Request<'_>,
        decode: impl FnOnce(&mut Value) -> Result<(), String>,
        profile: &Profile,
    ) -> Outcome<Self> {
        match &request.body {
            Body::Delete(options) => Ok(Self {
                grace: options.grace_period_seconds,
                uid: options.uid.clone(),
                propagation: options.propagation.map(finalizer),
                ..Self::default()
            }),
            Body::Value(value) => Self::of_body(value, profile),
            Body::Bytes(bytes) if !bytes.is_empty() => {
                let mut body = parse(bytes, &request.content_type, profile.minor)?;
                decode(&mut body).map_err(|why| undecodable(why, profile.minor))?;
                Self::of_body(&body, profile)
            }
            Body::Empty | Body::Bytes(_) => Self::of_query(&request.query, profile),
        }
    }

    /// Parses delete options in a query.
    fn of_query(query: &Query, profile: &Profile) -> Outcome<Self> {
        let given = |name: &'static str| query.all(name).next();
        let precondition =
            |name: &'static str| given(name).filter(|text| !text.is_empty()).map(str::to_owned);
        let grace = match given("gracePeriodSeconds") {
            Some("") => {
                return Err(BoxedRejection::bad_request("strconv.ParseInt: parsing \"\": invalid syntax"));
            }
            Some(_) => Some(integer(query, "gracePeriodSeconds")?),
            None => None,
        };
        let orphan = given("orphanDependents").map(|_| query.is_true("orphanDependents"));
        let dry_run = query.all("dryRun").map(str::to_owned).collect();
        let (propagation, dry_run) = check(given("propagationPolicy"), orphan, dry_run, profile)?;
        let (uid, resource_version) = (precondition("uid"), precondition("resourceVersion"));
        Ok(Self { grace, uid, resource_version, propagation, orphan, dry_run })
    }

    /// Parses delete options in a body, also in that of an eviction.
    pub(crate) fn of_body(body: &Value, profile: &Profile) -> Outcome<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let dry_run = body["dryRun"].as_array().map(Vec::as_slice).unwrap_or_default();
        let dry_run = dry_run.iter().filter_map(text).collect();
        let (policy, orphan) = (body["propagationPolicy"].as_str(), body["orphanDependents"].as_bool());
        let (propagation, dry_run) = check(policy, orphan, dry_run, profile)?;
        Ok(Self {
            grace: body["gracePeriodSeconds"].as_i64(),
            uid: text(&body["preconditions"]["uid"]),
            resource_version: text(&body["preconditions"]["resourceVersion"]),
            propagation,
            orphan,
            dry_run,
        })
    }
}

impl Deletion {
    /// The options as admission sees them.
    pub(crate) fn for_admission(&self) -> Value {
        let mut options = json!({ "kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1" });
        if let Some(grace) = self.grace {
            options["gracePeriodSeconds"] = json!(grace);
        }
        let preconditions = [("uid", &self.uid), ("resourceVersion", &self.resource_version)];
        for (field, given) in preconditions {
            if let Some(given) = given {
                options["preconditions"][field] = json!(given);
            }
        }
        match (self.orphan, self.propagation) {
            (Some(orphan), _) => options["orphanDependents"] = json!(orphan),
            (None, Some(finalizer)) => options["propagationPolicy"] = json!(policy(finalizer)),
            (None, None) => {}
        }
        if self.dry_run {
            options["dryRun"] = json!(["All"]);
        }
        options
    }
}

/// The policy that a finalizer represents.
fn policy(finalizer: &str) -> &'static str {
    match finalizer {
        "foregroundDeletion" => "Foreground",
        "orphan" => "Orphan",
        _ => "Background",
    }
}

/// The finalizer that holds an object until a policy is carried out; empty if the policy needs none.
fn finalizer(policy: Propagation) -> &'static str {
    match policy {
        Propagation::Background => "",
        Propagation::Foreground => "foregroundDeletion",
        Propagation::Orphan => "orphan",
    }
}

/// Validates the options (`ValidateDeleteOptions`). Returns the finalizer of the policy, and whether it is a dry run.
fn check(
    policy: Option<&str>,
    orphan: Option<bool>,
    dry_run: Vec<String>,
    profile: &Profile,
) -> Outcome<(Option<&'static str>, bool)> {
    const POLICY: &str = "propagationPolicy";
    let mut errors = Vec::new();
    if let (Some(policy), Some(_)) = (policy, orphan) {
        let why = "orphanDependents and deletionPropagation cannot be both set";
        errors.push(FieldError::invalid(POLICY, policy, why));
    }
    let propagation = match policy {
        Some("Foreground") => Some(finalizer(Propagation::Foreground)),
        Some("Orphan") => Some(finalizer(Propagation::Orphan)),
        Some("Background") => Some(finalizer(Propagation::Background)),
        None => orphan.map(|orphan| if orphan { "orphan" } else { "" }),
        Some(other) => {
            let supported = ["Foreground", "Background", "Orphan", "nil"];
            errors.push(FieldError::not_supported(POLICY, Shown::Json(other.into()), &supported));
            None
        }
    };
    let is_dry_run = !dry_run.is_empty();
    if dry_run.iter().any(|value| value != "All") {
        errors.push(FieldError::not_supported("dryRun", Shown::Strings("string", dry_run), &["All"]));
    }
    if errors.is_empty() {
        return Ok((propagation, is_dry_run));
    }
    Err(BoxedRejection::invalid("meta.k8s.io", "DeleteOptions", "", &errors, profile))
}

/// Parses the options in a body.
fn parse(bytes: &Text, content_type: &str, minor: u32) -> Outcome<Value> {
    body::check_size(bytes)?;
    let parsed = match media_type::parse(content_type).as_deref() {
        Some("application/json") => bytes.json().map(|(value, _)| value).map_err(|error| {
            let why = body::json_error(&error, bytes);
            format!("couldn't get version/kind; json parse error: {why}")
        }),
        Some("application/yaml") => yaml::parse(bytes).map(|(value, _)| value),
        Some(protobuf::MEDIA_TYPE) => {
            protobuf::decode(bytes, ("v1", "DeleteOptions")).map_err(|error| error.why)
        }
        _ => return body::parse(bytes, content_type, "DeleteOptions"),
    };
    let options = parsed.and_then(|value| check_type(&value).map(|()| value));
    options.map_err(|why| undecodable(why, minor))
}

/// The error of the decoder: a 400 from 1.36 on. Earlier minors return it unchanged.
fn undecodable(why: String, minor: u32) -> BoxedRejection {
    if minor < since::OPTIONS_ARE_BAD_REQUESTS {
        BoxedRejection::internal(why)
    } else {
        BoxedRejection::bad_request(why)
    }
}

/// Checks the type of options, which may have any version. The scheme knows few other kinds
/// (`meta/internalversion/scheme`).
fn check_type(body: &Value) -> Result<(), String> {
    const META: &str = "meta.k8s.io/v1";
    const SCHEME: &str = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27";
    if !body.is_object() && !body.is_null() {
        return Err(format!("couldn't get version/kind; json parse error: {}", body::no_type(body)));
    }
    if let Some(field) = ["apiVersion", "kind"]
        .into_iter()
        .find(|field| body.get(field).is_some_and(|value| !value.is_string() && !value.is_null()))
    {
        let found = json_type(&body[field]);
        return Err(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go struct field .{field} of \
             type string"
        ));
    }
    let kind = body["kind"].as_str().unwrap_or_default();
    let version = body["apiVersion"].as_str().filter(|text| !text.is_empty()).unwrap_or(META);
    let is_known = match kind {
        "" | "DeleteOptions" => return Ok(()),
        "CreateOptions" | "UpdateOptions" => true,
        "APIGroup" | "APIGroupList" | "APIResourceList" | "APIVersions" | "Status" => version == "v1",
        "GetOptions"
        | "ListOptions"
        | "PartialObjectMetadata"
        | "PartialObjectMetadataList"
        | "PatchOptions"
        | "Table"
        | "TableOptions"
        | "WatchEvent" => version == META,
        _ => false,
    };
    Err(if is_known {
        format!("converting (v1.{kind}) to (v1.DeleteOptions): unknown conversion")
    } else {
        let (kind, version) = (quote(kind), quote(version));
        format!("no kind {kind} is registered for version {version} in scheme \"{SCHEME}\"")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn options_may_have_any_version_but_no_other_kind() {
        for (kind, version, why) in [
            ("", "", ""),
            ("DeleteOptions", "apps/v1", ""),
            ("", "x/v9", ""),
            ("Status", "v1", "converting (v1.Status) to (v1.DeleteOptions): unknown conversion"),
            ("Status", "v2", "no kind \"Status\" is registered for version \"v2\" in scheme"),
            ("ConfigMap", "", "no kind \"ConfigMap\" is registered for version \"meta.k8s.io/v1\" in scheme"),
        ] {
            let found = check_type(&json!({ "kind": kind, "apiVersion": version })).err().unwrap_or_default();
            assert!(
                found.starts_with(why) && found.is_empty() == why.is_empty(),
                "{kind} {version}: {found}"
            );
        }
        assert!(check_type(&json!([])).is_err());
        assert!(check_type(&json!({ "kind": 5 })).is_err());
    }

    #[test]
    fn all_errors_of_options_are_reported() {
        let profile = Profile::of(36, false);
        let found = check(Some("x"), Some(true), vec!["y".to_owned()], &profile).unwrap_err();
        let causes = found.details.as_ref().and_then(|details| details["causes"].as_array());
        assert_eq!(causes.map(Vec::len), Some(3));
        assert_eq!(check(Some("Orphan"), None, Vec::new(), &profile), Ok((Some("orphan"), false)));
    }
}
