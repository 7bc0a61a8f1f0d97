//! Who asks: what the connection and the headers say about it.

use http::request::Parts;

use crate::apiserver::status::{Outcome, Refused};
use crate::model::Identity;

/// What a connection knows of its client: the identity of its certificate if it showed one; the error is one that
/// cannot be trusted.
pub(super) type Peer = Result<Option<Identity>, ()>;

/// Finds out who asks: a bearer token first, then the certificate; nobody in particular otherwise.
pub(super) fn authenticate(head: &Parts, peer: &Peer, token: &str) -> Outcome<Identity> {
    if let Some(given) = bearer(head) {
        return if same(given, token) { Ok(Identity::admin()) } else { Err(Refused::unauthorized()) };
    }
    match peer {
        Ok(Some(identity)) => Ok(identity.clone()),
        Ok(None) => Ok(Identity {
            user: "system:anonymous".to_owned(),
            groups: vec!["system:unauthenticated".to_owned()],
        }),
        Err(()) => Err(Refused::unauthorized()),
    }
}

/// The token of an `Authorization` header.
fn bearer(head: &Parts) -> Option<&str> {
    let text = head.headers.get(http::header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = text.trim().split_once(' ')?;
    Some(token.trim()).filter(|token| scheme.eq_ignore_ascii_case("bearer") && !token.is_empty())
}

/// Compares in a time that does not tell how much of it is right.
fn same(given: &str, expected: &str) -> bool {
    let differences = given.bytes().zip(expected.bytes()).fold(0, |seen, (a, b)| seen | (a ^ b));
    given.len() == expected.len() && differences == 0
}
