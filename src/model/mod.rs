//! The nouns of a cluster as plain data. No IO, no clock, no HTTP.

pub mod alert;
mod by_key;
pub mod certificate;
mod change;
mod changed;
pub mod condition;
pub mod counter;
pub mod fault;
pub mod graph;
pub mod insight;
pub mod machine;
pub mod manifests;
pub mod node_phase;
mod object;
mod outages;
pub(crate) mod patch;
pub mod payload;
pub mod pod;
pub mod promql;
pub mod release;
mod resource;
pub mod resources;
pub mod selector;
pub mod signature;
mod view;
pub mod vocabulary;
pub mod world;
mod write;

pub(crate) use by_key::ByKey;
pub use change::{Change, ChangeKind};
pub use object::Object;
pub(crate) use object::{member, text_of};
pub use resource::{Key, Resource};
pub use view::View;
pub use write::{Answer, DeleteOptions, Identity, Operation, Propagation, Refusal, Write};
