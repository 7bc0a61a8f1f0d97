//! Marks on the objects of a run, by which its cleanup finds them, and other additions to its writes.

pub(super) mod cordon;
pub(super) mod keep_marks;
pub(in crate::backends) mod policy;
pub(in crate::backends) mod runs;
pub(super) mod stamp;
pub(in crate::backends) mod sweep;
