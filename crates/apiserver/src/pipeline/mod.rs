//! The stages of a request.
//!
//! | stage | entry point | implementation |
//! |---|---|---|
//! | authenticate | before the pipeline: [`ApiServer::authenticate`] for HTTPS, the identity of an in-process client | `access/authenticate` |
//! | impersonate, authorize | [`ApiServer::advance`], [`ApiServer::check_access`] | `access/` |
//! | route | [`ApiServer::route`]: a path of the server itself, or a kind | `paths/`, `kinds/catalog` |
//! | inject faults | `Faults::verdict`, [`ApiServer::past`] | `faults/` |
//! | match the route | [`routes::check`]: the methods and media types of a built-in kind | `pipeline/routes` |
//! | negotiate | [`ApiServer::negotiate`]: options, media types, warnings | `call/`, `request/accept/` |
//! | dispatch | [`ApiServer::dispatch`]: a subresource or a verb, or a kind of an aggregated server | `subresources/`, `verbs/`, `pipeline/aggregated` |
//! | decode, mutate, admit, validate, store | each verb, in that order: see `verbs/create` | `call/decode`, `admission/`, `kinds/`, `schema/`, `store/` |
//! | notify | the verb, once the object is stored: [`ApiServer::follow`] | `server/derived` lists what follows a change |
//! | encode | [`ApiServer::present`]: views, tables, conversions; the service encodes the bytes | `reply/view`, `reply/encode/` |
//!
//! A copy of the server runs a large write up to the point at which it is stored; then the server stores it
//! (`verbs/prepared`).
//!
//! A request that needs a webhook stops, and restarts from its first stage when the answer is recorded ([`Attempt`]). So no
//! stage waits.

mod aggregated;
mod routes;

use std::sync::Arc;

use windtunnel_core::clock::Time;

use super::discovery;
use super::kinds::Kind;
use super::kinds::objects::Objects;
use super::rejection::{BoxedRejection, Outcome};
use super::reply::{Reply, warnings};
use super::request::{Method, Request, ResourcePath, Target};
use super::server::ApiServer;
use super::server::definitions::conversions;
use crate::call::attempt::Attempt;
use crate::call::{Call, RequestInfo};
use crate::faults::{Reader, Verdict};
use crate::outbound::hooks::HookCall;
use crate::paths::Served;
use crate::profile::since;
use crate::request::accept::{self, Media};
use crate::request::options;
use crate::server::{expiry, programs};
use crate::verbs::list::Lister;
use crate::verbs::read;

/// How far a request came.
#[derive(Debug)]
pub enum Step {
    /// The request is answered.
    Done(Reply),
    /// The request needs the answers of webhooks, which may be called at the same time.
    Calls(Vec<HookCall>),
}

/// The destination of a request.
enum Route<'a> {
    /// A path of the server itself, with the reply.
    Answered(Reply),
    /// A kind.
    Kind(Arc<Kind>, &'a ResourcePath<'a>),
}

impl ApiServer {
    /// Answers a request. The server calls webhooks with the [`Hooks`](super::Hooks) that it was built with.
    pub fn handle(&mut self, request: &Request<'_>, now: Time) -> Reply {
        let mut attempt = Attempt::default();
        loop {
            match self.advance(request, now, &mut attempt) {
                Step::Done(reply) => return reply,
                Step::Calls(calls) => {
                    for call in calls {
                        let answer = self.hooks.call(&call);
                        attempt.record_answer(call, answer);
                    }
                }
            }
        }
    }

    /// Advances a request to its reply, or to the next calls of webhooks. The attempt belongs to the request, and is empty at
    /// first.
    pub fn advance(&mut self, request: &Request<'_>, now: Time, attempt: &mut Attempt) -> Step {
        self.access.usage.begin_checks(request, attempt.is_new());
        let mut step = match &request.impersonate {
            None => self.advance_as(request, now, attempt),
            Some(wanted) => match self.impersonated(request, wanted) {
                Ok(user) => {
                    let request = Request { user: &user, impersonate: None, ..request.clone() };
                    self.advance_as(&request, now, attempt)
                }
                Err(rejection) => Step::Done(Reply::rejection(&rejection)),
            },
        };
        if let Step::Done(reply) = &mut step
            && reply.is_refusal()
        {
            // An error has one shape, so it is negotiated separately from the answer (`ErrorNegotiated`).
            // One that cannot be negotiated is indented JSON (`WriteRawJSON`).
            reply.media = accept::document_media(request).unwrap_or(Media::PrettyJson);
        }
        step
    }

    /// Runs a request on a copy of the server up to the point at which it is stored. Returns the calls of webhooks that it
    /// needs before.
    pub(crate) fn prepare(
        &mut self,
        request: &Request<'_>,
        now: Time,
        attempt: &mut Attempt,
    ) -> Vec<HookCall> {
        attempt.set_ahead(true);
        let step = self.advance(request, now, attempt);
        attempt.set_ahead(false);
        match step {
            Step::Calls(calls) => calls,
            Step::Done(_) => Vec::new(),
        }
    }

    /// Advances a request as its user, after impersonation.
    fn advance_as(&mut self, request: &Request<'_>, now: Time, attempt: &mut Attempt) -> Step {
        expiry::expire(self, now);
        self.restore_own_namespaces(now);
        let step = self.advance_stages(request, now, attempt);
        attempt.begin();
        self.faults.note_writes(&self.store, now);
        match (step, attempt.lost) {
            (Step::Done(reply), Some(lost)) if !reply.is_refusal() => Step::Done(Reply::lost(lost)),
            (step, _) => step,
        }
    }

    /// Advances a request through its stages.
    fn advance_stages(&mut self, request: &Request<'_>, now: Time, attempt: &mut Attempt) -> Step {
        let Self { programs, access, catalog, store, .. } = self;
        if let Some(reply) = programs::answer(programs, access, Objects { catalog, store }, request, now) {
            return Step::Done(reply);
        }
        let access = self.check_access(request);
        if attempt.is_new() {
            self.access.usage.add(request, access.is_ok());
        }
        self.advance_granted(request, access, now, attempt)
    }

    /// Advances a request whose access is decided.
    fn advance_granted(
        &mut self,
        request: &Request<'_>,
        mut access: Outcome<()>,
        now: Time,
        attempt: &mut Attempt,
    ) -> Step {
        let (kind, path) = match self.route(request, &mut access, now) {
            Route::Answered(reply) => return Step::Done(reply),
            Route::Kind(kind, path) => (kind, path),
        };
        if access.is_ok()
            && kind.is_aggregated()
            && let Some(step) = self.advance_alias(&kind, request, now, attempt)
        {
            return step;
        }
        let mut info = RequestInfo::new(kind, path, request, now);
        info.visible = self.visible(&info);
        if access.is_ok() && attempt.is_new() {
            match self.faults.verdict(&info) {
                Some(Verdict::Refuse(rejection)) => access = Err(rejection),
                Some(Verdict::AfterWrite(lost)) => attempt.lost = Some(lost),
                Some(Verdict::Drop) => return Step::Done(Reply::dropped()),
                None => {}
            }
        }
        info.past = self.past(&info);
        info.skew = self.faults.clock_skew(&info.kind.resource, || Reader::of(&info, info.verb()));
        loop {
            // A request without access ends in the first iteration.
            let access = std::mem::replace(&mut access, Ok(()));
            let call = Call::new(info.clone(), attempt);
            let reply = self.run(call, access);
            let calls = attempt.take_pending();
            if !calls.is_empty() {
                return Step::Calls(calls);
            }
            if !attempt.take_restart() {
                return Step::Done(reply);
            }
        }
    }

    /// Finds the destination of a request. Without access, a path of the server itself is answered with the rejection.
    fn route<'a>(&mut self, request: &'a Request<'a>, access: &mut Outcome<()>, now: Time) -> Route<'a> {
        let path = match &request.target {
            Target::Path(path) if access.is_ok() && self.is_delegated_path(request, path) => {
                return Route::Answered(Reply::text(503, "service unavailable"));
            }
            Target::Path(path) => {
                let access = std::mem::replace(access, Ok(()));
                let answer = access.and_then(|()| self.served().answer(request, path, now));
                return Route::Answered(answer.unwrap_or_else(|rejection| Reply::rejection(&rejection)));
            }
            Target::Resource(path) => path,
        };
        match self.catalog.resolve(path) {
            Ok(kind) => Route::Kind(kind, path),
            Err(_)
                if access.is_ok()
                    && discovery::is_delegated(&self.catalog, &self.store, &path.group, &path.version) =>
            {
                Route::Answered(Reply::text(503, "service unavailable"))
            }
            Err(missing) => {
                let missing = std::mem::replace(access, Ok(())).err().unwrap_or(missing);
                Route::Answered(self.paths.document_or_error(request, path, &missing))
            }
        }
    }

    /// The parts of the server that its own paths show.
    fn served(&mut self) -> Served<'_> {
        Served {
            paths: &self.paths,
            documents: &mut self.documents,
            catalog: &self.catalog,
            store: &self.store,
            profile: &self.profile,
            access: &self.access,
            definitions: (self.tables.definitions, self.definitions.epoch()),
        }
    }

    /// Whether a path is below a group and version of another server, and this one has no document for it.
    fn is_delegated_path(&self, request: &Request<'_>, path: &str) -> bool {
        let mut parts = path.trim_matches('/').splitn(4, '/');
        let (Some("apis"), Some(group), Some(version)) = (parts.next(), parts.next(), parts.next()) else {
            return false;
        };
        discovery::is_delegated(&self.catalog, &self.store, group, version)
            && self.paths.document(request, path).is_none()
    }

    /// The revision whose state a read of the cache shows, if a fault shows the client the past.
    fn past(&mut self, info: &RequestInfo<'_>) -> Option<u64> {
        let request = info.request;
        if request.method != Method::Get || !self.faults.change_views() || !info.kind.rules.stored {
            return None;
        }
        // A read without a version shows the latest state, whatever a cache has.
        let requested = options::version(request.query.get("resourceVersion")).ok().flatten()?;
        let verb = if info.path.name.is_empty() { "list" } else { "get" };
        let past = self.faults.past(&Reader::of(info, verb), &self.store, info.now)?;
        Some(past.max(requested))
    }

    /// Runs a call from its start. No client sees the reply of a call that waits for a webhook.
    fn run(&mut self, mut call: Call<'_>, access: Outcome<()>) -> Reply {
        let reply = access
            .and_then(|()| routes::check(&call.info, self.profile.minor))
            .and_then(|()| self.negotiate(&mut call))
            .and_then(|()| self.dispatch(&mut call));
        if call.attempt.is_ahead() {
            return Reply::rejection(&BoxedRejection::internal(""));
        }
        let reply = self.present(&mut call, reply);
        if call.attempt.is_unfinished() {
            return Reply::rejection(&BoxedRejection::internal(""));
        }
        let mut reply = reply.unwrap_or_else(|rejection| Reply::rejection(&rejection));
        reply.warnings.append(&mut call.warnings);
        reply.warnings = warnings::sent(reply.warnings);
        reply.media = call.form.media;
        reply.absent_times = self.profile.minor < since::ABSENT_TIMES_OMITTED;
        self.follow_up(&call, &reply);
        reply
    }

    /// Warns about deprecated versions, and reads options and media types.
    fn negotiate(&self, call: &mut Call<'_>) -> Outcome<()> {
        if let Some(warning) =
            call.info.kind.custom.as_ref().and_then(|custom| custom.version.warning.clone())
        {
            call.warnings.push(warning);
        }
        let deprecation =
            call.info.kind.deprecation.as_ref().filter(|(since, _)| *since <= self.profile.minor);
        if let Some((_, text)) = deprecation {
            let text = text.clone();
            call.warnings.push(text);
        }
        if routes::is_connection(&call.info) {
            // The answer is not of the server. A dry run is impossible, whatever its value is.
            let is_dry_run = call.info.request.query.is_given("dryRun");
            return if is_dry_run {
                Err(BoxedRejection::bad_request("dryRun is not supported"))
            } else {
                Ok(())
            };
        }
        call.check_options(&self.profile)
    }

    /// Runs a call up to its end, or ends it with what a copy of the server prepared.
    fn dispatch(&mut self, call: &mut Call<'_>) -> Outcome<Reply> {
        if let Some(ended) = self.end_prepared(call) {
            return ended;
        }
        let reply = self.run_verb(call);
        if let Err(rejection) = &reply
            && call.attempt.is_refused_ahead()
        {
            self.keep_refusal(call, rejection.clone());
        }
        reply
    }

    /// Runs the subresource or the verb of a call.
    fn run_verb(&mut self, call: &mut Call<'_>) -> Outcome<Reply> {
        if let Some(reply) = self.aggregated_reply(call)? {
            return Ok(reply);
        }
        if let Some(reply) = self.subresource(call)? {
            return Ok(reply);
        }
        self.definitions.check_storage(&call.info, &self.profile)?;
        if !call.info.kind.rules.verbs.contains(&call.info.verb()) {
            return Err(BoxedRejection::method_not_allowed());
        }
        let named = !call.info.path.name.is_empty();
        match (call.info.request.method, named) {
            (Method::Post, false) if !call.info.kind.rules.stored && call.info.has_matching_scope() => {
                self.review(call)
            }
            _ if !call.info.kind.rules.stored => Err(BoxedRejection::method_not_allowed()),
            (Method::Get, _) if call.info.is_watch() => self.watch(call),
            (Method::Get, true) => read::get(&self.store, &call.info),
            (Method::Get, false) => Lister::of(self).list(&call.info),
            (Method::Post, _) => self.create(call),
            (Method::Put, true) => self.update(call),
            (Method::Patch, true) => self.patch(call),
            (Method::Delete, true) => self.delete(call),
            (Method::Delete, false) => self.delete_collection(call),
            (Method::Put | Method::Patch, false) | (Method::Options | Method::Other, _) => {
                Err(BoxedRejection::method_not_allowed())
            }
        }
    }

    /// Shows a reply in the view that the client asked for, with objects converted to the requested version.
    fn present(&mut self, call: &mut Call<'_>, reply: Outcome<Reply>) -> Outcome<Reply> {
        let reply = reply.and_then(|reply| {
            let view = call.form.view.with_options(&call.info.request.query)?;
            let reply = match call.info.skew {
                Some(skew) => reply.skewed(skew),
                None => reply,
            };
            view.apply(reply, &call.info.kind, call.info.now)
        });
        // A failed conversion cannot follow a write: the verb runs all conversions that it needs before it stores.
        match conversions::run_wanted(call, self.stored_objects()) {
            Ok(()) => reply,
            Err(rejection) => Err(conversions::error(&call.info, &self.profile, rejection)),
        }
    }

    /// Counts a request. After a write, logs it and charges quotas.
    fn follow_up(&mut self, call: &Call<'_>, reply: &Reply) {
        self.paths.metrics().count(&call.info, reply.code);
        if matches!(call.info.request.method, Method::Get) {
            self.reads.add(&call.info, reply);
            return;
        }
        if call.options.dry_run {
            return;
        }
        self.log.add(call, reply);
        self.admission.update_quota_statuses(&self.catalog, &mut self.store, call);
    }
}
