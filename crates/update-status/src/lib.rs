//! The update status of an OpenShift cluster, computed from its objects: the update status controller, its
//! insights, and the text of `oc adm upgrade status`.

pub mod assessment;
pub mod controller;
pub mod insight;
pub mod status;
