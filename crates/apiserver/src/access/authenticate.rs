//! From the credentials of an HTTP request to an identity (`k8s.io/apiserver/pkg/authentication`).

use http::HeaderMap;
use http::header::AUTHORIZATION;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{NODES, PODS, SERVICE_ACCOUNTS};
use windtunnel_core::{Identity, Object, Resource};

use super::SECRETS;
use super::token::{Claims, ISSUER, Reference};
use crate::gotext::quote;
use crate::reply::Reply;
use crate::server::ApiServer;
use crate::status::{Outcome, Refused};

const INVALID: &str = "invalid bearer token";

impl ApiServer {
    /// Lets whoever has a bearer token be `who` (`--token-auth-file`).
    pub fn accept_token(&mut self, token: impl Into<String>, who: Identity) {
        self.access.tokens.insert(token.into(), who);
    }

    /// Who sends a request: by the client certificate that the connection was made with (common name and organizations,
    /// as user and groups), else by the bearer token in the headers, else nobody ([`Identity::anonymous`]).
    ///
    /// # Errors
    /// The answer to a token that is not known, has expired or belongs to nobody any more: 401.
    pub fn authenticate(
        &self,
        headers: &HeaderMap,
        certificate: Option<&Identity>,
        now: Time,
    ) -> Result<Identity, Box<Reply>> {
        self.identify(headers, Ok(certificate), now).map_err(|refused| Box::new(Reply::refused(&refused)))
    }

    /// The same; a certificate that cannot be trusted is an error, unless a token says who it is.
    pub(crate) fn identify(
        &self,
        headers: &HeaderMap,
        certificate: Result<Option<&Identity>, ()>,
        now: Time,
    ) -> Outcome<Identity> {
        match (certificate, bearer_token(headers)) {
            (Ok(Some(who)), _) => Ok(who.clone()),
            (_, Some(token)) => match self.bearer(token, &[ISSUER], now) {
                Ok((who, _)) => Ok(who),
                Err(_) => Err(Refused::unauthorized()),
            },
            (Ok(None), None) => Ok(Identity::anonymous()),
            (Err(()), None) => Err(Refused::unauthorized()),
        }
    }

    /// Whose a bearer token is, and for which of the audiences it is.
    ///
    /// # Errors
    /// Why it is no good, in the words of a TokenReview.
    pub(crate) fn bearer(
        &self,
        token: &str,
        audiences: &[&str],
        now: Time,
    ) -> Result<(Identity, Vec<String>), String> {
        if let Some(who) = self.access.tokens.get(token) {
            let own = audiences.contains(&ISSUER);
            return if own { Ok((who.clone(), vec![ISSUER.to_owned()])) } else { Err(INVALID.to_owned()) };
        }
        let claims = self.access.issuer.verify(token).ok_or(INVALID)?;
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
        self.check_claims(&claims, now).map_err(why)?;
        Ok((identity(&claims), shared))
    }

    /// Whether what a token says holds now (`serviceaccount.validator`).
    fn check_claims(&self, claims: &Claims, now: Time) -> Result<(), String> {
        let now = now.as_second();
        if now > claims.expires {
            return Err("service account token has expired".to_owned());
        }
        if now < claims.not_before {
            return Err("service account token is not valid yet".to_owned());
        }
        let (namespace, account) = (&claims.bound.namespace, &claims.bound.account);
        let found = self.object(&SERVICE_ACCOUNTS, namespace, &account.name);
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
        self.check_bound(&SECRETS, "secret", namespace, bound.secret.as_ref(), now)?;
        self.check_bound(&PODS, "pod", namespace, bound.pod.as_ref(), now)?;
        // The node of a pod says where it runs, and does not end its token.
        let node = bound.node.as_ref().filter(|_| bound.pod.is_none());
        self.check_bound(&NODES, "node", "", node, now)
    }

    /// Whether the object that a token is bound to is still there.
    fn check_bound(
        &self,
        resource: &Resource,
        what: &str,
        namespace: &str,
        reference: Option<&Reference>,
        now: i64,
    ) -> Result<(), String> {
        let Some(reference) = reference else { return Ok(()) };
        let found = self.object(resource, namespace, &reference.name);
        let found = found.filter(|object| !is_deleted(object, now));
        let found = found.ok_or("service account token has been invalidated")?;
        let (is, claim) = (found.uid(), &reference.uid);
        if is != claim {
            return Err(format!(
                "{what} UID ({is}) does not match service account {what} ref claim ({claim})"
            ));
        }
        Ok(())
    }
}

/// Whether an object has been going away for longer than clocks may differ (a minute).
fn is_deleted(object: &Object, now: i64) -> bool {
    object.time("/metadata/deletionTimestamp").is_some_and(|at| at.as_second() < now - 60)
}

/// The user that a token of a ServiceAccount makes.
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

/// The token of an `Authorization` header; other schemes are as good as no header.
pub(crate) fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let mut words = headers.get(AUTHORIZATION)?.to_str().ok()?.trim().splitn(3, ' ');
    let scheme = words.next()?;
    let token = words.next()?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}
