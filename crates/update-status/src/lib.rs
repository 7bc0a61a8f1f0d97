//! What the objects of an OpenShift cluster say about its update: the update status controller, its insights, and the text of
//! `oc adm upgrade status`.

pub mod insight;
pub mod insights;
pub mod node_phase;
pub mod status;
