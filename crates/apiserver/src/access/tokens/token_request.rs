//! `serviceaccounts/NAME/token`: creates a ServiceAccount token, which may be bound to an object (`TokenRequest`).

use serde_json::{Map, Value, json};
use windtunnel_core::clock::rfc3339;
use windtunnel_core::resources::{NODES, PODS, SERVICE_ACCOUNTS};
use windtunnel_core::{Object, Resource};

use crate::access::Access;
use crate::access::SECRETS;
use crate::access::tokens::token::{Bound, Claims, ISSUER, Reference};
use crate::call::{Call, part};
use crate::field::FieldError;
use crate::gotext::quote;
use crate::kinds::objects::Objects;
use crate::metadata;
use crate::profile::{Profile, since};
use crate::rejection::{BoxedRejection, Outcome};

const GROUP: &str = "authentication.k8s.io";
/// The kind of the request.
pub(crate) const TOKEN_REQUEST: Resource = Resource::namespaced(GROUP, "v1", KIND, "tokenrequests");
const KIND: &str = "TokenRequest";
/// The default lifetime of a token, in seconds.
const DEFAULT_EXPIRATION: i64 = 3600;
const SHORTEST: i64 = 600;
const LONGEST: i64 = 1 << 32;
/// The lifetime that kubelets request for pods. Such a token lives for a year; this time becomes its `warnafter`
/// claim.
const WARN_ONLY: i64 = 3607;
const EXTENDED: i64 = 365 * 24 * 3600;
/// The metadata in an answer.
const OWN: [&str; 4] = ["name", "namespace", "creationTimestamp", "uid"];

impl Access {
    /// Answers a complete request for a token of an account. Returns the request with its defaults, and the answer.
    pub(crate) fn request_token(
        &mut self,
        objects: Objects<'_>,
        call: &Call<'_>,
        mut request: Value,
        account: &Object,
    ) -> Outcome<(Value, Value)> {
        let (namespace, name) = (&*call.path.namespace, &*call.path.name);
        let now = call.now.as_second();
        let seconds = expiration(&request);
        let given = request.clone();
        if request["spec"]["audiences"].as_array().is_none_or(Vec::is_empty) {
            request["spec"]["audiences"] = json!([ISSUER]);
        }
        let mut bound =
            Bound { namespace: namespace.to_owned(), account: reference(account), ..Bound::default() };
        bind_token(objects, &request["spec"]["boundObjectRef"], name, &mut bound)?;
        let audiences = request["spec"]["audiences"].as_array().into_iter().flatten();
        let audiences: Vec<String> = audiences.filter_map(Value::as_str).map(str::to_owned).collect();
        let mut lifetime = seconds;
        if seconds == WARN_ONLY && bound.pod.is_some() && audiences == [ISSUER] {
            bound.warn_after = Some(now.saturating_add(seconds));
            lifetime = EXTENDED;
        }
        let claims = Claims {
            audiences,
            expires: now.saturating_add(lifetime),
            issued: now,
            issuer: ISSUER.to_owned(),
            id: self.token_ids.uuid(),
            bound,
            not_before: now,
            subject: format!("system:serviceaccount:{namespace}:{name}"),
        };
        let token = self.issuer.sign(&claims);
        let expires = call.now + jiff::SignedDuration::from_secs(seconds);
        let own: Map<String, Value> = OWN
            .iter()
            .filter_map(|field| Some(((*field).to_owned(), given["metadata"].get(field)?.clone())))
            .collect();
        let answer = json!({
            "kind": KIND, "apiVersion": format!("{GROUP}/v1"),
            "metadata": own,
            "spec": {
                "audiences": request["spec"]["audiences"],
                "expirationSeconds": seconds,
                "boundObjectRef": request["spec"]["boundObjectRef"],
            },
            "status": { "token": token, "expirationTimestamp": rfc3339(expires) },
        });
        Ok((given, answer))
    }
}

/// Checks a request and sets its metadata before validating admission sees it. Returns the service account.
///
/// # Errors
/// The service account does not exist, or the request is invalid or for another one.
pub(crate) fn complete(
    objects: Objects<'_>,
    call: &Call<'_>,
    request: &mut Value,
    profile: &Profile,
) -> Outcome<Object> {
    check_place(call, request, profile)?;
    let account = bound_object(objects, &SERVICE_ACCOUNTS, &call.path.namespace, &call.path.name)?;
    check_uid(request, &account, profile)?;
    let own = metadata::metadata_mut(request);
    own.insert("name".to_owned(), json!(account.name()));
    own.insert("creationTimestamp".to_owned(), json!(rfc3339(call.now)));
    if profile.minor >= since::TOKEN_REQUEST_UID {
        own.insert("uid".to_owned(), json!(account.uid()));
    } else {
        own.remove("uid");
    }
    check_expiration(expiration(request), profile)?;
    Ok(account)
}

/// The lifetime that a request asks for, in seconds.
fn expiration(request: &Value) -> i64 {
    request["spec"]["expirationSeconds"].as_i64().unwrap_or(DEFAULT_EXPIRATION)
}

/// Checks that the name and the namespace in the body, if any, are those of the path.
fn check_place(call: &Call<'_>, request: &Value, profile: &Profile) -> Outcome<()> {
    for (field, path, what) in
        [("name", &call.path.name, "name"), ("namespace", &call.path.namespace, "namespace")]
    {
        let given = metadata::text(request, field);
        if !given.is_empty() && given != path.as_ref() {
            let why = format!("must match the service account {what} if specified");
            let error = FieldError::invalid(format!("metadata.{field}"), given, why);
            return Err(BoxedRejection::invalid(GROUP, KIND, &call.path.name, &[error], profile));
        }
    }
    Ok(())
}

/// Checks that the uid in the body, if any, is that of the service account.
fn check_uid(request: &Value, account: &Object, profile: &Profile) -> Outcome<()> {
    let uid = metadata::text(request, "uid");
    if profile.minor < since::TOKEN_REQUEST_UID || uid.is_empty() || uid == account.uid() {
        return Ok(());
    }
    let why = format!(
        "the UID in the token request ({uid}) does not match the UID of the service account ({})",
        account.uid()
    );
    Err(BoxedRejection::conflict(&TOKEN_REQUEST, KIND, account.name(), &why))
}

fn check_expiration(seconds: i64, profile: &Profile) -> Outcome<()> {
    let why = if seconds < SHORTEST {
        "may not specify a duration less than 10 minutes"
    } else if seconds > LONGEST {
        "may not specify a duration larger than 2^32 seconds"
    } else {
        return Ok(());
    };
    let error = FieldError::invalid("spec.expirationSeconds", seconds, why);
    Err(BoxedRejection::invalid(GROUP, KIND, "", &[error], profile))
}

/// Binds a token of the account `name` to an object.
fn bind_token(objects: Objects<'_>, wanted: &Value, name: &str, bound: &mut Bound) -> Outcome<()> {
    if wanted.is_null() {
        return Ok(());
    }
    let text = |field: &str| wanted[field].as_str().unwrap_or_default();
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
    let namespace = bound.namespace.clone();
    let object = match (group, text("kind")) {
        ("", "Pod") => {
            let pod = bound_object(objects, &PODS, &namespace, text("name"))?;
            if pod.text("/spec/serviceAccountName") != name {
                let why = format!(
                    "cannot bind token for serviceaccount {} to pod running with different serviceaccount name.",
                    quote(name)
                );
                return Err(BoxedRejection::bad_request(why));
            }
            bound.pod = Some(reference(&pod));
            let node = pod.text("/spec/nodeName");
            if !node.is_empty() {
                let found = objects.get(&NODES, "", node).map(|node| reference(&node));
                bound.node = found.or_else(|| Some(Reference { name: node.to_owned(), uid: String::new() }));
            }
            pod
        }
        ("", "Node") => {
            let node = bound_object(objects, &NODES, "", text("name"))?;
            bound.node = Some(reference(&node));
            node
        }
        ("", "Secret") => {
            let secret = bound_object(objects, &SECRETS, &namespace, text("name"))?;
            bound.secret = Some(reference(&secret));
            secret
        }
        (group, kind) => {
            let why = format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
            return Err(BoxedRejection::bad_request(why));
        }
    };
    let uid = text("uid");
    if !uid.is_empty() && uid != object.uid() {
        let why = format!(
            "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have \
             been deleted and then recreated"
        );
        let resource = Resource::namespaced("", "v1", "", "");
        return Err(BoxedRejection::conflict(&resource, text("kind"), text("name"), &why));
    }
    Ok(())
}

fn bound_object(objects: Objects<'_>, resource: &Resource, namespace: &str, name: &str) -> Outcome<Object> {
    objects.get(resource, namespace, name).ok_or_else(|| BoxedRejection::not_found(resource, name))
}

fn reference(object: &Object) -> Reference {
    Reference { name: object.name().to_owned(), uid: object.uid().to_owned() }
}

/// Reads a request for a token, with its defaults.
pub(crate) fn read(call: &mut Call<'_>) -> Outcome<Value> {
    let mut request = part::body(call, &[(GROUP, "v1")], KIND)?;
    if !request["spec"].is_object() {
        request["spec"] = json!({});
    }
    if request["spec"]["expirationSeconds"].is_null() {
        request["spec"]["expirationSeconds"] = json!(DEFAULT_EXPIRATION);
    }
    if request["spec"]["expirationSeconds"].is_null() {
        request["spec"]["expirationSeconds"] = json!(DEFAULT_EXPIRATION);
    }
    Ok(request)
}
