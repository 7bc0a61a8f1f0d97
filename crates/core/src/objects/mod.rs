//! API objects, their kinds, and collections of them.

mod by_key;
mod change;
mod changed;
pub mod condition;
mod object;
pub mod patch;
pub mod pod;
mod resource;
pub mod resources;
pub mod selector;
mod view;

pub use by_key::ByKey;
pub use change::{Change, ChangeKind};
pub use object::{Object, member, text_of};
pub use resource::{Key, Resource};
pub use view::View;
