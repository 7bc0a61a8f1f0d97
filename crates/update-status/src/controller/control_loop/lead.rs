//! The controller as one of several replicas.

use std::pin::pin;

use futures::future::{Either, select};

use super::{ControllerError, Parts, run};
use crate::controller::election::Election;

/// Waits until this process is the leader, then runs the update status controller while it is.
///
/// # Errors
/// [`ControllerError::LeaseLost`], and those of [`run`].
pub async fn run_leading(election: &mut Election, parts: Parts) -> Result<(), ControllerError> {
    election.wait_until_leading().await;
    match select(pin!(election.renew_until_lost()), pin!(run(parts))).await {
        Either::Left(_) => Err(ControllerError::LeaseLost),
        Either::Right((ended, _)) => ended,
    }
}
