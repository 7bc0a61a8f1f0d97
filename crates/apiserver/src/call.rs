//! One request on its way through the server, with what is found out about it.

use std::sync::Arc;

use serde_json::Value;
use windtunnel_core::Key;
use windtunnel_core::clock::Time;

use super::accept::{self, Media, Offer};
use super::apply::Managers;
use super::delta::Delta;
use super::hooks::Attempt;
use super::kinds::Kind;
use super::options::{self, WriteOptions};
use super::profile::Profile;
use super::request::{Method, Request, ResourcePath};
use super::status::{Outcome, Refused};
use super::store::Stored;
use super::view::View;

/// What is known of the owners of an object's fields before it is written.
#[derive(Debug)]
pub(crate) enum Owners {
    /// `metadata.managedFields` as the body has it.
    Given(Option<Value>),
    /// The entries that an apply came to.
    Decided(Managers),
}

/// A request to a kind.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) kind: Arc<Kind>,
    pub(crate) path: &'a ResourcePath<'a>,
    pub(crate) request: &'a Request<'a>,
    pub(crate) now: Time,
    pub(crate) dry_run: bool,
    pub(crate) options: WriteOptions,
    /// How the answer shows objects.
    pub(crate) view: View,
    /// What the answer is written in.
    pub(crate) media: Media,
    pub(crate) warnings: Vec<String>,
    /// Paths of fields that the body has more than once; the last one counts.
    pub(crate) duplicates: Vec<String>,
    /// The object before and after, for the log.
    pub(crate) before: Option<Stored>,
    pub(crate) after: Option<Stored>,
    /// The name of an object that is being created: from its metadata, or made from a `generateName`.
    pub(crate) new_name: Option<String>,
    pub(crate) owners: Owners,
    /// What the body is held against while it is decoded: the object that is updated, of the schema in force.
    pub(crate) known: Option<Stored>,
    /// The fields of the object that a patch can have changed; `None`: all of them.
    pub(crate) touched: Option<Vec<String>>,
    /// How the decoded body differs from that.
    pub(crate) delta: Option<Delta>,
    /// What webhooks said to this request.
    pub(crate) attempt: &'a mut Attempt,
}

impl<'a> Call<'a> {
    pub(crate) fn new(
        kind: Arc<Kind>,
        path: &'a ResourcePath<'a>,
        request: &'a Request<'a>,
        now: Time,
        attempt: &'a mut Attempt,
    ) -> Self {
        Self {
            kind,
            path,
            request,
            now,
            dry_run: false,
            options: WriteOptions::default(),
            view: View::default(),
            media: Media::Json,
            warnings: Vec::new(),
            duplicates: Vec::new(),
            before: None,
            after: None,
            new_name: None,
            owners: Owners::Given(None),
            known: None,
            touched: None,
            delta: None,
            attempt,
        }
    }

    /// Reads what the client accepts and the options that all writes share.
    pub(crate) fn check_options(&mut self, profile: &Profile) -> Outcome<()> {
        self.negotiate(profile)?;
        match self.request.method {
            Method::Post | Method::Put | Method::Patch => {
                self.options = WriteOptions::read(self.request, profile)?;
                self.dry_run = self.options.dry_run;
            }
            Method::Delete => {
                let kind = options::options_kind(self.request.method);
                self.dry_run = options::dry_run(&self.request.query, kind, profile)?;
            }
            Method::Get | Method::Other => {}
        }
        Ok(())
    }

    /// Chooses how the answer is written and what it shows.
    fn negotiate(&mut self, profile: &Profile) -> Outcome<()> {
        let list = self.request.method == Method::Get && self.path.name.is_empty();
        let offer = Offer { custom: self.kind.custom.is_some(), list, watch: self.is_watch() };
        let (media, shape) = accept::negotiate(&self.request.accept, offer)?;
        let query = &self.request.query;
        let pretty = media == Media::Json && accept::is_pretty(query, &self.request.user_agent);
        self.media = if pretty { Media::PrettyJson } else { media };
        self.view = View::read(shape, query, profile.minor)?;
        Ok(())
    }

    /// Whether the call is a watch: by the path's prefix, or by a parameter of a list.
    pub(crate) fn is_watch(&self) -> bool {
        let asked = self.path.name.is_empty() && self.request.query.is_true("watch");
        self.request.method == Method::Get && (self.path.watch || asked)
    }

    /// The verb of the request as discovery and roles name it; empty for other methods.
    pub(crate) fn verb(&self) -> &'static str {
        match (self.request.method, self.path.name.is_empty()) {
            (Method::Get, _) if self.is_watch() => "watch",
            (Method::Get, true) => "list",
            (Method::Get, false) => "get",
            (Method::Post, _) => "create",
            (Method::Put, _) => "update",
            (Method::Patch, _) => "patch",
            (Method::Delete, true) => "deletecollection",
            (Method::Delete, false) => "delete",
            (Method::Other, _) => "",
        }
    }

    /// Which object, by the path.
    pub(crate) fn key(&self) -> Key {
        self.kind.key(&self.path.namespace, &self.path.name)
    }

    /// Whether the call writes only a part of the object, which the rules for the whole do not hold for.
    pub(crate) fn writes_part(&self) -> bool {
        matches!(&*self.path.subresource, "status" | "approval" | "ephemeralcontainers" | "resize")
    }

    /// Whether the path has a namespace if the kind lives in one.
    pub(crate) fn is_at_place(&self) -> bool {
        self.kind.resource.namespaced != self.path.namespace.is_empty()
    }

    /// Checks that the subresource is there. Custom resources answer as if the object was not.
    pub(crate) fn check_subresource(&self) -> Outcome<()> {
        let known = match &*self.path.subresource {
            "" => true,
            "status" => self.kind.rules.status,
            name => self.kind.subresources.iter().any(|one| one.name == name),
        };
        match (known, &self.kind.custom) {
            (true, _) => Ok(()),
            (false, Some(_)) => Err(Refused::not_found(&self.kind.resource, &self.path.name)),
            (false, None) => Err(Refused::unknown_resource()),
        }
    }
}
