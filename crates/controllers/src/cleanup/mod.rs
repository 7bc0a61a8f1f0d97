//! Controllers that delete obsolete objects: the garbage collector, the pod garbage collector and the
//! namespace controller.

pub mod garbage_collector;
pub mod namespaces;
pub mod pod_gc;
