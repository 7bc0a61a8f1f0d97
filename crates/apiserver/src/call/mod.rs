//! The state of one request while the server processes it.

pub(crate) mod attempt;
pub(crate) mod body_type;
pub(crate) mod decode;
pub(crate) mod field_validation;
pub(crate) mod part;
pub(crate) mod prepared;

use std::sync::Arc;

use serde_json::Value;
use windtunnel_core::Key;
use windtunnel_core::clock::Time;

use self::attempt::Attempt;
use crate::apply::Managers;
use crate::delta::Delta;
use crate::kinds::Kind;
use crate::kinds::typed::Empty;
use crate::profile::Profile;
use crate::rejection::{BoxedRejection, Outcome};
use crate::request::accept::{self, Media, Objects};
use crate::request::body;
use crate::request::clock_skew::ClockSkew;
use crate::request::options::WriteOptions;
use crate::request::view::View;
use crate::request::{Method, Request, ResourcePath};
use crate::store::Stored;

/// The owners of an object's fields before it is written.
#[derive(Debug)]
pub(crate) enum Owners {
    /// The value of `metadata.managedFields` in the body.
    Given(Option<Value>),
    /// The entries that an apply computed.
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
    /// The form in which the response shows objects.
    pub(crate) view: View,
    /// The media type of the response.
    pub(crate) media: Media,
    pub(crate) warnings: Vec<String>,
    /// The paths of repeated fields in the body; the last field with a name counts. For applies, messages about repeated keys.
    pub(crate) duplicates: Vec<String>,
    /// The object before and after, for the log.
    pub(crate) before: Option<Stored>,
    pub(crate) after: Option<Stored>,
    /// A new object that admission admitted, but that the storage rejected because one of its name exists.
    pub(crate) refused_new: Option<Value>,
    /// The name of an object that is being created: from its metadata, or generated from its `generateName`.
    pub(crate) new_name: Option<String>,
    pub(crate) owners: Owners,
    /// The stored object that the decoder compares the body with, if it was written under the current schema.
    pub(crate) baseline: Option<Stored>,
    /// The top-level fields that a patch can have changed; `None` for all of them.
    pub(crate) touched: Option<Vec<String>>,
    /// The difference between the baseline and the decoded body.
    pub(crate) delta: Option<Delta>,
    /// Whether the decoded object has the labels of its template, because the body has none.
    pub(crate) shares_labels: bool,
    /// The lists and maps that the body gives without elements, and that are absent or null in the decoded object.
    pub(crate) empties: Vec<Empty>,
    /// Whether the object is written although it equals the stored one, because its encoding differs: that of a custom
    /// resource has the empty metadata of an apply, which every read drops.
    pub(crate) is_encoded_anew: bool,
    /// The revision whose state a read of the cache shows, because of a fault; `None` for the present.
    pub(crate) past: Option<u64>,
    /// The difference of the client's clock, because of a fault.
    pub(crate) skew: Option<ClockSkew>,
    /// The answers of webhooks to this request.
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
            refused_new: None,
            new_name: None,
            owners: Owners::Given(None),
            baseline: None,
            touched: None,
            delta: None,
            shares_labels: false,
            empties: Vec::new(),
            is_encoded_anew: false,
            past: None,
            skew: None,
            attempt,
        }
    }

    /// Reads the accepted media types, and the options that all writes share.
    pub(crate) fn check_options(&mut self, profile: &Profile) -> Outcome<()> {
        self.negotiate(profile)?;
        if self.request.method == Method::Post {
            // Only a create negotiates the format of its body before it reads its options.
            body::check_media_type(&self.request.content_type)?;
        }
        match self.request.method {
            Method::Post | Method::Put | Method::Patch => {
                self.options = WriteOptions::read(self.request, profile)?;
                self.dry_run = self.options.dry_run;
            }
            // The verb reads the options of a deletion, which may be in its body.
            Method::Get | Method::Delete | Method::Options | Method::Other => {}
        }
        Ok(())
    }

    /// Chooses the media type and the view of the response.
    fn negotiate(&mut self, profile: &Profile) -> Outcome<()> {
        let objects = match &self.kind.custom {
            Some(_) => Objects::Custom,
            // Only these have columns.
            None if self.kind.rules.stored && matches!(&*self.path.subresource, "" | "scale" | "status") => {
                Objects::BuiltIn
            }
            None => Objects::Answers,
        };
        let (media, shape) = accept::negotiate(&self.request.accept, objects)?;
        let query = &self.request.query;
        let pretty = media == Media::Json && accept::is_pretty(query, &self.request.user_agent);
        self.media = if pretty { Media::PrettyJson } else { media };
        self.view = View { shape, minor: profile.minor, ..View::default() };
        Ok(())
    }

    /// Whether the call is a watch: by the prefix of its path, or by the `watch` parameter of a list.
    pub(crate) fn is_watch(&self) -> bool {
        is_watch(self.request, self.path)
    }

    /// The verb of the request as discovery and roles name it; empty for other methods.
    pub(crate) fn verb(&self) -> &'static str {
        verb(self.request, self.path)
    }

    /// The key of the object in the path.
    pub(crate) fn key(&self) -> Key {
        self.kind.key(&self.path.namespace, &self.path.name)
    }

    /// Whether the call writes a subresource that only changes a part of the object, and is validated differently.
    pub(crate) fn writes_part(&self) -> bool {
        matches!(&*self.path.subresource, "status" | "approval" | "ephemeralcontainers" | "resize")
    }

    /// Whether the path has a namespace exactly if the kind is namespaced.
    pub(crate) fn has_matching_scope(&self) -> bool {
        let has_namespace = !self.path.namespace.is_empty() || self.path.has_empty_namespace;
        self.kind.resource.namespaced == has_namespace
    }

    /// Rejects an unknown subresource. For custom resources the error says that the object is missing.
    pub(crate) fn check_subresource(&self) -> Outcome<()> {
        let known = match &*self.path.subresource {
            "" => true,
            "status" => self.kind.rules.status,
            name => self.kind.subresources.iter().any(|subresource| subresource.name == name),
        };
        match (known, &self.kind.custom) {
            (true, _) => Ok(()),
            (false, Some(_)) => Err(BoxedRejection::not_found(&self.kind.resource, &self.path.name)),
            (false, None) => Err(BoxedRejection::unknown_resource()),
        }
    }
}

fn is_watch(request: &Request<'_>, path: &ResourcePath<'_>) -> bool {
    let has_parameter = path.name.is_empty() && request.query.is_true("watch");
    request.method == Method::Get && (path.watch || has_parameter)
}

/// The verb of a request as discovery and roles name it; empty for other methods.
pub(crate) fn verb(request: &Request<'_>, path: &ResourcePath<'_>) -> &'static str {
    match (request.method, path.name.is_empty()) {
        (Method::Get, _) if is_watch(request, path) => "watch",
        (Method::Get, true) => "list",
        (Method::Get, false) => "get",
        (Method::Post, _) => "create",
        (Method::Put, _) => "update",
        (Method::Patch, _) => "patch",
        (Method::Delete, true) => "deletecollection",
        (Method::Delete, false) => "delete",
        (Method::Options | Method::Other, _) => "",
    }
}
