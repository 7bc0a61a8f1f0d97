//! Sets of the fields of an object, in the form of `metadata.managedFields`.

pub(crate) mod element;
pub(crate) mod set;

pub(crate) use set::FieldSet;
