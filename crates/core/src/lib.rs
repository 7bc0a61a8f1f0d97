//! The data types of a simulated Kubernetes cluster and the basics that all crates of windtunnel share:
//! virtual time, named random streams, YAML with positions. No IO, no HTTP, no async.
//!
//! ```
//! use serde_json::json;
//! use windtunnel_core::rng::Streams;
//! use windtunnel_core::{Object, resources};
//!
//! let node = Object::new(json!({ "metadata": { "name": "worker-0" }, "status": { "phase": "Ready" } }));
//! assert_eq!(node.name(), "worker-0");
//! assert_eq!(resources::NODES.kind, "Node");
//!
//! // A stream depends on the seed and its name alone.
//! let draw = || Streams::new(7).stream("kubelet/worker-0").between(0, 1000);
//! assert_eq!(draw(), draw());
//! ```

pub mod alert;
pub mod bounded;
pub mod clock;
pub mod jsonpath;
pub mod limits;
pub mod log;
pub mod mark;
mod objects;
pub mod panics;
pub mod probe;
pub mod pull_secret;
pub mod quantity;
pub mod quota;
pub mod rejected_paths;
pub mod requests;
pub mod rng;
pub mod text;
pub mod yaml;

pub use objects::{
    ByKey, Change, ChangeKind, Key, Object, Resource, View, cluster_operator, cluster_version, condition,
    member, name_of, node, patch, pod, pool, resources, selector, text_of,
};
pub use requests::{Answer, DeleteOptions, Identity, Operation, Propagation, Rejection, Write};
