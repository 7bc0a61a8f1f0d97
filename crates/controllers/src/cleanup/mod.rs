//! The controllers that delete what nobody needs any more.

pub mod garbage_collector;
pub mod namespaces;
pub mod pod_gc;
