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
use crate::selector::Visible;
use crate::store::Stored;

/// The owners of an object's fields before it is written.
#[derive(Debug)]
pub(crate) enum Owners {
    /// The value of `metadata.managedFields` in the body.
    Given(Option<Value>),
    /// The entries that an apply computed.
    Decided(Managers),
}

impl Default for Owners {
    fn default() -> Self {
        Self::Given(None)
    }
}

/// A request to a kind, and what processing it has found out so far.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) info: RequestInfo<'a>,
    pub(crate) options: WriteOptions,
    pub(crate) form: ReplyForm,
    pub(crate) body: DecodedBody,
    pub(crate) written: WrittenObject,
    pub(crate) warnings: Vec<String>,
    /// The answers of webhooks to this request.
    pub(crate) attempt: &'a mut Attempt,
}

/// A request and its kind, and what faults change for its client.
#[derive(Debug, Clone)]
pub(crate) struct RequestInfo<'a> {
    pub(crate) kind: Arc<Kind>,
    pub(crate) path: &'a ResourcePath<'a>,
    pub(crate) request: &'a Request<'a>,
    pub(crate) now: Time,
    /// The revision whose state a read of the cache shows, because of a fault; `None` for the present.
    pub(crate) past: Option<u64>,
    /// The difference of the client's clock, because of a fault.
    pub(crate) skew: Option<ClockSkew>,
    /// The objects that the client may see in a kind of an aggregated API server; `None` for all.
    pub(crate) visible: Option<Visible>,
}

/// The form of the response.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplyForm {
    /// The form in which it shows objects.
    pub(crate) view: View,
    pub(crate) media: Media,
}

/// The object in the body of a write, as the decoder found it.
#[derive(Debug, Default)]
pub(crate) struct DecodedBody {
    /// The paths of repeated fields in the body; the last field with a name counts. For applies, messages about repeated keys.
    pub(crate) duplicates: Vec<String>,
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
}

/// The object that a call writes.
#[derive(Debug, Default)]
pub(crate) struct WrittenObject {
    /// The object before and after, for the log.
    pub(crate) before: Option<Stored>,
    pub(crate) after: Option<Stored>,
    /// A new object that admission admitted, but that the storage rejected because one of its name exists.
    pub(crate) refused_new: Option<Value>,
    /// The name of an object that is being created: from its metadata, or generated from its `generateName`.
    pub(crate) new_name: Option<String>,
    /// Whether the object is written although it equals the stored one, because its encoding differs: that of a custom
    /// resource has the empty metadata of an apply, which every read drops.
    pub(crate) is_encoded_anew: bool,
}

impl<'a> Call<'a> {
    pub(crate) fn new(info: RequestInfo<'a>, attempt: &'a mut Attempt) -> Self {
        Self {
            info,
            options: WriteOptions::default(),
            form: ReplyForm { view: View::default(), media: Media::Json },
            body: DecodedBody::default(),
            written: WrittenObject::default(),
            warnings: Vec::new(),
            attempt,
        }
    }

    /// Reads the accepted media types, and the options that all writes share.
    pub(crate) fn check_options(&mut self, profile: &Profile) -> Outcome<()> {
        self.form = ReplyForm::negotiate(&self.info, profile)?;
        let request = self.info.request;
        if request.method == Method::Post {
            // Only a create negotiates the format of its body before it reads its options.
            body::check_media_type(&request.content_type)?;
        }
        // The verb reads the options of a deletion, which may be in its body.
        if matches!(request.method, Method::Post | Method::Put | Method::Patch) {
            self.options = WriteOptions::read(request, profile)?;
        }
        Ok(())
    }
}

impl ReplyForm {
    /// Chooses the media type and the view of the response.
    fn negotiate(info: &RequestInfo<'_>, profile: &Profile) -> Outcome<Self> {
        let objects = match &info.kind.custom {
            Some(_) => Objects::Custom,
            // Only these have columns.
            None if (info.kind.rules.stored || info.kind.is_aggregated())
                && matches!(&*info.path.subresource, "" | "scale" | "status") =>
            {
                Objects::BuiltIn
            }
            None => Objects::Answers,
        };
        let request = info.request;
        let (media, shape) = accept::negotiate(&request.accept, objects)?;
        let pretty = media == Media::Json && accept::is_pretty(&request.query, &request.user_agent);
        let media = if pretty { Media::PrettyJson } else { media };
        Ok(Self { view: View { shape, minor: profile.minor, ..View::default() }, media })
    }
}

impl<'a> RequestInfo<'a> {
    /// A request to a kind from a client without faults.
    pub(crate) fn new(
        kind: Arc<Kind>,
        path: &'a ResourcePath<'a>,
        request: &'a Request<'a>,
        now: Time,
    ) -> Self {
        Self { kind, path, request, now, past: None, skew: None, visible: None }
    }

    /// Whether it is a watch: by the prefix of its path, or by the `watch` parameter of a list.
    pub(crate) fn is_watch(&self) -> bool {
        let has_parameter = self.path.name.is_empty() && self.request.query.is_true("watch");
        self.request.method == Method::Get && (self.path.watch || has_parameter)
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
            (Method::Options | Method::Other, _) => "",
        }
    }

    /// The key of the object in the path.
    pub(crate) fn key(&self) -> Key {
        self.kind.key(&self.path.namespace, &self.path.name)
    }

    /// Whether it writes a subresource that only changes a part of the object, and is validated differently.
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
