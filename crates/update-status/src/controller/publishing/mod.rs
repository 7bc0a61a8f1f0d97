//! Publishing: the insights of each informer, and the writes that bring the ConfigMap and the UpdateStatus up
//! to date.

pub(super) mod api_insight;
pub(super) mod informer;
mod keep_times;
pub(super) mod publisher;
pub(super) mod update_status;
pub(super) mod update_status_state;
