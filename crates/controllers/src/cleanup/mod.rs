//! Controllers that delete obsolete objects, or let them go: the garbage collector, the pod garbage collector, the
//! namespace controller, and those that protect volumes in use.

pub mod garbage_collector;
pub mod namespaces;
pub mod pod_gc;
pub mod volume_protection;
