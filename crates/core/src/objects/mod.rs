//! API objects, their kinds, and collections of them.
//!
//! `resources.rs` is the table of known kinds, `view.rs` the state of a cluster as informers see it.

mod by_key;
mod change;
mod changed;
pub mod cluster_operator;
pub mod cluster_version;
pub mod condition;
pub mod node;
mod object;
pub mod patch;
pub mod pod;
pub mod pool;
mod resource;
pub mod resources;
pub mod selector;
mod view;

pub use by_key::ByKey;
pub use change::{Change, ChangeKind};
pub use object::{Object, member, name_of, text_of};
pub use resource::{Key, Resource};
pub use view::View;
