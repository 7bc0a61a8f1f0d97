//! The update status of an OpenShift cluster, computed from its objects.
//!
//! | module | has |
//! |---|---|
//! | [`assessment`] | the conclusions about the ClusterVersion, operators, nodes, pools and health: pure functions, and the only place for rules |
//! | [`status`] | the text of `oc adm upgrade status`, byte for byte |
//! | [`controller`] | the update status controller, which publishes insights |
//! | [`insight`] | insights as data, in the form of the API |
//! | [`producer`] | insight producers besides the controller: registrations, deliveries, and what they may say |
//!
//! `status` and `controller` both use `assessment` and `insight`, and do not use each other. Only `controller` uses
//! `producer`.

pub mod assessment;
pub mod controller;
pub mod insight;
pub mod producer;
pub mod status;
