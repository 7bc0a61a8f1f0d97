//! An in-memory Kubernetes API server. It computes the replies of a kube-apiserver from its store, a request and the current
//! time.
//!
//! [`ApiServer::handle`] is synchronous, reads no clock and derives all random values from its seed, so the same requests at
//! the same times get the same bytes. [`service`] wraps it into a `tower::Service`, so that an unchanged `kube::Client` can
//! use it in-process. The module `https` serves it to other clients.
//!
//! ```
//! # use futures::{StreamExt as _, TryStreamExt as _};
//! # use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
//! # use kube::runtime::{WatchStreamExt as _, watcher};
//! # use serde_json::json;
//! # use windtunnel_apiserver::{ApiServer, service::Shared};
//! # use windtunnel_core::clock::{Time, VirtualClock};
//! # use windtunnel_core::{Identity, Write, resources::CUSTOM_RESOURCE_DEFINITIONS};
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
//! # runtime.block_on(async {
//! # let now: Time = "2024-01-01T00:00:00Z".parse()?;
//! # let widgets = json!({ "metadata": { "name": "widgets.example.io" }, "spec": {
//! #     "group": "example.io", "scope": "Cluster", "names": { "plural": "widgets", "kind": "Widget" },
//! #     "versions": [{ "name": "v1", "served": true, "storage": true, "schema": {
//! #         "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } } }] } });
//! # let widget = ApiResource::from_gvk(&GroupVersionKind::gvk("example.io", "v1", "Widget"));
//! let server = Shared::new(ApiServer::builder().build(now), VirtualClock::starting_at(now));
//! server.write(&Write::create(&CUSTOM_RESOURCE_DEFINITIONS, widgets), &Identity::admin(), now)?;
//! let api: Api<DynamicObject> = Api::all_with(server.client(&Identity::admin()), &widget);
//! api.create(&PostParams::default(), &DynamicObject::new("w", &widget)).await?;
//! let seen = watcher(api, watcher::Config::default()).applied_objects().boxed().try_next().await?;
//! # assert_eq!(seen.and_then(|object| object.metadata.name).as_deref(), Some("w"));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! The server supports:
//!
//! - Custom resources: validation with ratcheting, pruning, defaulting, CEL rules and the status subresource. The Kubernetes
//!   minor in [`Profile`] decides about the details, and can change while the server runs.
//! - Built-in kinds: decoding by tables of their fields (`facts`), defaults, validation (`kinds`) and subresources
//!   (`subresources`). No container runs: requests for logs, `exec`, `attach` and `portforward` get an error that says so.
//!   Logs come from an [`Upstream`], or else from the annotation `log.windtunnel.dev/CONTAINER` of the pod. `proxy`
//!   sends requests to an [`Upstream`].
//! - All four patch types. The server tracks the owners of fields (`apply`) with every write, unless the builder disables it.
//! - Admission: quotas, limit ranges, ValidatingAdmissionPolicies, MutatingAdmissionPolicies, and webhooks. The server calls
//!   admission and conversion webhooks through the [`Hooks`] that it was built with.
//! - RBAC with the roles and bindings in the store, including those of every cluster ([`AuthorizationMode`]).
//!   [`ApiServer::authenticate`] finds the user of an HTTP request.
//!
//! Clients that accept only protobuf get JSON.
#![cfg_attr(not(feature = "https"), allow(dead_code, reason = "some parts serve only clients over HTTPS"))]

mod access;
mod admission;
mod apply;
mod call;
mod cel;
mod crd;
mod delta;
mod der;
mod discovery;
mod facts;
mod faults;
mod field;
mod field_set;
mod gotext;
#[cfg(feature = "https")]
pub mod https;
mod import;
mod kinds;
pub mod known_fields;
mod metadata;
mod names;
mod openapi;
mod outbound;
mod patch;
mod paths;
mod pipeline;
mod profile;
mod rejection;
mod repeats;
mod reply;
mod request;
mod schema;
mod selector;
mod server;
pub mod service;
pub mod storage;
mod store;
mod subresources;
mod verbs;
mod watch;
mod wording;

pub use crate::call::attempt::Attempt;
pub use crate::faults::Incident;
pub use crate::outbound::hooks::{HookCall, HookError, HookResponse, HookService, HookTarget, Hooks};
pub use crate::outbound::upstream::{LogRequest, PathRequest, Permission, PodRequest, PodResponse, Upstream};
pub use crate::pipeline::Step;
pub use crate::reply::table::Table;
pub use crate::request::accept::Media;
pub use crate::server::builder::Builder;
pub use crate::server::control_plane::Endpoint;
pub use crate::server::log::{ClientRead, WriteOutcome};
pub use crate::watch::stream::{Poll, Watch};
pub use access::{AuthorizationMode, RequestCount, RuleUse, UserAccess};
pub use admission::known::AdmissionPlugins;
pub use crd::{RuleCost, rule_costs};
pub use import::{ImportFinding, Imported};
pub use kinds::strategy::service::ServiceNetwork;
pub use profile::{Profile, StatusScope, TooLong};
pub use reply::{ConnectionDropped, List, Reply, ReplyBody};
pub use request::{Body, Impersonate, Method, Query, Request, ResourcePath, Target, Text, Via};
pub use server::definitions::delays::DefinitionPace;
pub use server::{ApiServer, HistoryExpired};
pub use store::{Event, EventKind, Stored};
