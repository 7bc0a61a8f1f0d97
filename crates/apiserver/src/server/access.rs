//! Access control of a server, by its stored objects.

use http::HeaderMap;
use serde_json::Value;
use windtunnel_core::Identity;
use windtunnel_core::clock::Time;

use crate::access::tokens::token_request::{self, TOKEN_REQUEST};
use crate::access::{RequestCount, UserAccess};
use crate::apply::{Managers, Tracker};
use crate::call::{Call, decode, part};
use crate::kinds::objects::Objects;
use crate::metadata;
use crate::rejection::Outcome;
use crate::reply::{Reply, ReplyBody};
use crate::request::{Impersonate, Request};
use crate::server::ApiServer;

/// Reviews that a real server answers itself, without the storage that tracks the owners of fields.
const OWNERLESS: [&str; 2] = ["selfsubjectrulesreviews", "selfsubjectreviews"];

impl ApiServer {
    /// Authenticates clients with this bearer token as `who` (`--token-auth-file`).
    pub fn accept_token(&mut self, token: impl Into<String>, who: Identity) {
        self.access.accept_token(token.into(), who);
    }

    /// The user that sends a request. The client certificate of the connection comes first (common name and
    /// organizations are user and groups), then the bearer token in the headers. A request without credentials is
    /// [`Identity::anonymous`].
    ///
    /// # Errors
    /// The 401 answer to a token that is unknown or expired, or whose ServiceAccount no longer exists.
    pub fn authenticate(
        &self,
        headers: &HeaderMap,
        certificate: Option<&Identity>,
        now: Time,
    ) -> Result<Identity, Box<Reply>> {
        self.identify(headers, Ok(certificate), now)
            .map_err(|rejection| Box::new(Reply::rejection(&rejection)))
    }

    /// Does the same; `Err(())` is an untrusted certificate, which is an error unless there is a valid token.
    pub(crate) fn identify(
        &self,
        headers: &HeaderMap,
        certificate: Result<Option<&Identity>, ()>,
        now: Time,
    ) -> Outcome<Identity> {
        self.access.identify(self.stored_objects(), headers, certificate, now)
    }

    /// The user that a client impersonates.
    ///
    /// # Errors
    /// 400 if the headers name no user, 403 if the client may not impersonate the user.
    pub(crate) fn impersonated(&mut self, request: &Request<'_>, wanted: &Impersonate) -> Outcome<Identity> {
        let objects = Objects { catalog: &self.catalog, store: &self.store };
        self.access.impersonated(objects, self.profile.constrained_impersonation, request, wanted)
    }

    /// Checks whether the user may send the request.
    ///
    /// # Errors
    /// 403 if no authorizer allows the request.
    pub(crate) fn check_access(&mut self, request: &Request<'_>) -> Outcome<()> {
        if self.admission.needs_authorizer() {
            // CEL expressions may check permissions of other users too. By then the server is borrowed immutably and
            // cannot update the index.
            self.access.policy.follow(&self.store);
        }
        let objects = Objects { catalog: &self.catalog, store: &self.store };
        self.access.check_access(objects, request)
    }

    /// Checks whether the user of a request, or the user that it impersonates, may access its path.
    ///
    /// # Errors
    /// As [`ApiServer::check_access`] and [`ApiServer::impersonated`].
    pub(crate) fn check_path_access(&mut self, request: &Request<'_>) -> Outcome<()> {
        let Some(wanted) = &request.impersonate else { return self.check_access(request) };
        let user = self.impersonated(request, wanted)?;
        self.check_access(&Request { user: &user, impersonate: None, ..request.clone() })
    }

    /// Checks an update that creates a missing object: the user needs the verb `create` as well.
    pub(crate) fn check_create_on_update(&mut self, call: &Call<'_>) -> Outcome<()> {
        let objects = Objects { catalog: &self.catalog, store: &self.store };
        self.access.check_create_on_update(objects, call, self.profile.minor)
    }

    /// Checks a role or a binding that is created, or that replaces `old`.
    ///
    /// # Errors
    /// 403 if it grants permissions that the user does not have, 404 if the bound role does not exist.
    pub(crate) fn check_escalation(
        &mut self,
        call: &Call<'_>,
        object: &Value,
        old: Option<&Value>,
    ) -> Outcome<()> {
        let objects = Objects { catalog: &self.catalog, store: &self.store };
        self.access.check_escalation(objects, call, object, old)
    }

    /// Answers an access review.
    pub(crate) fn review(&mut self, call: &mut Call<'_>) -> Outcome<Reply> {
        let body = decode::body(call)?;
        let mut review = decode::object(call, body, &self.profile)?;
        self.admit_posted(call, None, &mut review, |_, _, _| Ok(()))?;
        let objects = Objects { catalog: &self.catalog, store: &self.store };
        let mut reply = self.access.review(objects, call, review, &self.profile)?;
        if !OWNERLESS.contains(&&*call.kind.resource.plural) {
            let mut given = reply.json().unwrap_or_default();
            given.as_object_mut().map(|given| given.remove("status"));
            self.show_owners(&self.tracker(call), &given, &mut reply);
        }
        Ok(reply)
    }

    /// Adds the owners of the fields of a request to its answer, which is not stored.
    fn show_owners(&self, tracker: &Tracker<'_>, given: &Value, reply: &mut Reply) {
        let ReplyBody::Value(answer) = &mut reply.body else { return };
        if !self.managed_fields {
            return;
        }
        let managers = tracker.update(None, given, Managers::given(None));
        if !managers.is_empty() {
            metadata::metadata_mut(answer).insert("managedFields".to_owned(), managers.into_value());
        }
    }

    /// Answers a request for a token.
    pub(crate) fn request_token(&mut self, call: &mut Call<'_>) -> Outcome<Reply> {
        let mut request = token_request::read(call)?;
        part::complete(&mut request, &TOKEN_REQUEST, call);
        let complete = |server: &Self, call: &Call<'_>, request: &mut Value| {
            let objects = Objects { catalog: &server.catalog, store: &server.store };
            token_request::complete(objects, call, request, &server.profile)
        };
        let account = self.admit_posted(call, Some(&TOKEN_REQUEST), &mut request, complete)?;
        let objects = Objects { catalog: &self.catalog, store: &self.store };
        let (request, answer) = self.access.request_token(objects, call, request, &account)?;
        Ok(Reply::object(201, self.with_owners_of(call, TOKEN_REQUEST, &request, answer)))
    }

    /// Counts the requests of each user from now on.
    pub fn count_requests(&mut self) {
        self.access.usage.begin();
    }

    /// Counts the requests of each user from now on, without direct calls such as [`ApiServer::write`].
    pub fn count_client_requests(&mut self) {
        self.access.usage.begin_for_clients();
    }

    /// The requests so far, since they are counted.
    pub fn request_counts(&self) -> Vec<RequestCount> {
        self.access.usage.all()
    }

    /// The requests of each user, and how much of its rights they used.
    pub fn access_report(&mut self) -> Vec<UserAccess> {
        self.access.policy.follow(&self.store);
        self.access.report()
    }
}
