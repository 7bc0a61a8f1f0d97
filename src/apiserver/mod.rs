//! An in-memory Kubernetes API server: what a kube-apiserver answers, as a function of its store, a request and `now`.
//!
//! [`ApiServer::handle`] is synchronous, reads no clock and draws randomness only from the streams of its seed, so the
//! same requests at the same times give the same bytes. [`service`] wraps it into a `tower::Service`, so that an unchanged
//! `kube::Client` can talk to it in process; everything asynchronous lives there.
//!
//! Custom resources follow the CustomResourceDefinitions that are written through the API: validation with ratcheting,
//! pruning, defaulting and the status subresource, each as the Kubernetes minor in [`Profile`] does it; the minor can be
//! changed while the server runs. Rules of `x-kubernetes-validations` are not evaluated yet; the place for it is the
//! module `schema::rules`. Server-side apply, strategic merge patches, Tables, protobuf and access control are not served
//! yet: patches of other types are answered with 415, and everyone may do everything.

mod accept;
mod body;
mod call;
mod crd;
mod decode;
mod discovery;
mod field;
mod gotext;
mod kinds;
mod log;
mod metadata;
mod names;
mod options;
mod profile;
mod reply;
mod request;
mod schema;
mod selector;
mod server;
pub mod service;
mod status;
mod store;
mod url;
mod verbs;
mod watch;

pub use log::WriteOutcome;
pub use profile::{Profile, StatusScope, TooLong};
pub use reply::{List, Reply, ReplyBody};
pub use request::{Body, Method, Query, Request, ResourcePath, Target, Via};
pub use server::{ApiServer, Builder, Forgotten};
pub use store::{Event, EventKind};
pub use watch::{Poll, Watch};
