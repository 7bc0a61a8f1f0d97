//! Derives an identity from the credentials of an HTTP request (`k8s.io/apiserver/pkg/authentication`).

use http::HeaderMap;
use http::header::AUTHORIZATION;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{NODES, PODS, SERVICE_ACCOUNTS};
use windtunnel_core::{Identity, Object, Resource};

use super::SECRETS;
use crate::access::tokens::token::{Claims, ISSUER, Reference};
use crate::access::{Access, AuthorizationMode};
use crate::gotext::quote;
use crate::kinds::objects::Objects;
use crate::rejection::{BoxedRejection, Outcome};

const INVALID: &str = "invalid bearer token";

impl Access {
    /// Authenticates clients with this bearer token as `who` (`--token-auth-file`).
    pub(crate) fn accept_token(&mut self, token: String, who: Identity) {
        self.tokens.insert(token, who);
    }

    /// The user that sends a request. The client certificate of the connection comes first, then the bearer token in the
    /// headers. `Err(())` is an untrusted certificate, which is an error unless there is a valid token.
    ///
    /// # Errors
    /// 401 for a token that is unknown or expired, or whose `ServiceAccount` no longer exists; without any if everything is
    /// allowed.
    pub(crate) fn identify(
        &self,
        objects: Objects<'_>,
        headers: &HeaderMap,
        certificate: Result<Option<&Identity>, ()>,
        now: Time,
    ) -> Outcome<Identity> {
        match (certificate, bearer_token(headers)) {
            (Ok(Some(who)), _) => Ok(who.clone()),
            (_, Some(token)) => match self.bearer(objects, token, &[ISSUER], now) {
                Ok((who, _)) => Ok(who),
                Err(_) => Err(BoxedRejection::unauthorized()),
            },
            // A real server that allows everything rejects anonymous requests.
            (Ok(None), None) if self.mode == AuthorizationMode::AlwaysAllow => {
                Err(BoxedRejection::unauthorized())
            }
            (Ok(None), None) => Ok(Identity::anonymous()),
            (Err(()), None) => Err(BoxedRejection::unauthorized()),
        }
    }

    /// The user of a bearer token, and those of the audiences for which the token is valid.
    ///
    /// # Errors
    /// The error message of a TokenReview.
    pub(crate) fn bearer(
        &self,
        objects: Objects<'_>,
        token: &str,
        audiences: &[&str],
        now: Time,
    ) -> Result<(Identity, Vec<String>), String> {
        if let Some(who) = self.tokens.get(token) {
            let own = audiences.contains(&ISSUER);
            return if own { Ok((who.clone(), vec![ISSUER.to_owned()])) } else { Err(INVALID.to_owned()) };
        }
        let claims = self.issuer.verify(token).ok_or(INVALID)?;
        let why = |why: String| format!("[{INVALID}, {why}]");
        let shared = |audience: &&String| audiences.contains(&audience.as_str());
        let shared: Vec<String> = claims.audiences.iter().filter(shared).cloned().collect();
        if shared.is_empty() {
            let list = |items: Vec<String>| format!("[{}]", items.join(" "));
            let theirs = list(claims.audiences.iter().map(|text| quote(text)).collect());
            let wanted = list(audiences.iter().map(|text| quote(text)).collect());
            return Err(why(format!(
                "token audiences {theirs} is invalid for the target audiences {wanted}"
            )));
        }
        check_claims(objects, &claims, now).map_err(why)?;
        Ok((identity(&claims), shared))
    }
}

/// Checks that the token is valid now and that its ServiceAccount and bound objects exist
/// (`serviceaccount.validator`).
fn check_claims(objects: Objects<'_>, claims: &Claims, now: Time) -> Result<(), String> {
    let now = now.as_second();
    if now > claims.expires {
        return Err("service account token has expired".to_owned());
    }
    if now < claims.not_before {
        return Err("service account token is not valid yet".to_owned());
    }
    let (namespace, account) = (&claims.bound.namespace, &claims.bound.account);
    let found = objects.get(&SERVICE_ACCOUNTS, namespace, &account.name);
    let found = found.ok_or_else(|| format!("serviceaccounts {} not found", quote(&account.name)))?;
    if is_deleted(&found, now) {
        return Err(format!("service account {namespace}/{} has been deleted", account.name));
    }
    let uid = found.uid();
    if uid != account.uid {
        let claim = &account.uid;
        return Err(format!("service account UID ({uid}) does not match claim ({claim})"));
    }
    let bound = &claims.bound;
    check_bound(objects, &SECRETS, "secret", namespace, bound.secret.as_ref(), now)?;
    check_bound(objects, &PODS, "pod", namespace, bound.pod.as_ref(), now)?;
    // For a token bound to a pod, the node is only information: deleting it does not invalidate the token.
    let node = bound.node.as_ref().filter(|_| bound.pod.is_none());
    check_bound(objects, &NODES, "node", "", node, now)
}

/// Checks that the object to which a token is bound still exists.
fn check_bound(
    objects: Objects<'_>,
    resource: &Resource,
    what: &str,
    namespace: &str,
    reference: Option<&Reference>,
    now: i64,
) -> Result<(), String> {
    let Some(reference) = reference else { return Ok(()) };
    let found = objects.get(resource, namespace, &reference.name);
    let found = found.filter(|object| !is_deleted(object, now));
    let found = found.ok_or("service account token has been invalidated")?;
    let (uid, claim) = (found.uid(), &reference.uid);
    if uid != claim {
        return Err(format!("{what} UID ({uid}) does not match service account {what} ref claim ({claim})"));
    }
    Ok(())
}

/// Whether the deletion timestamp of an object is more than a minute ago, the tolerated clock skew.
fn is_deleted(object: &Object, now: i64) -> bool {
    object.time("/metadata/deletionTimestamp").is_some_and(|at| at.as_second() < now - 60)
}

/// The user of a ServiceAccount token.
fn identity(claims: &Claims) -> Identity {
    let bound = &claims.bound;
    let mut who = Identity::service_account(&bound.namespace, &bound.account.name);
    who.uid.clone_from(&bound.account.uid);
    let mut add = |key: &str, value: &str| {
        if !value.is_empty() {
            who.extra.insert(format!("authentication.kubernetes.io/{key}"), vec![value.to_owned()]);
        }
    };
    add("credential-id", &format!("JTI={}", claims.id));
    for (what, reference) in [("pod", &bound.pod), ("node", &bound.node)] {
        if let Some(reference) = reference {
            add(&format!("{what}-name"), &reference.name);
            add(&format!("{what}-uid"), &reference.uid);
        }
    }
    who
}

/// The bearer token of the `Authorization` header; `None` for other schemes.
pub(crate) fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let mut words = headers.get(AUTHORIZATION)?.to_str().ok()?.trim().splitn(3, ' ');
    let scheme = words.next()?;
    let token = words.next()?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}
