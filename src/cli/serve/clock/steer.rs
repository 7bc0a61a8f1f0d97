//! Runs a simulated cluster up to the time of its clock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use windtunnel_apiserver::service::Shared;
use windtunnel_core::clock::Clock as _;

use super::ClusterClock;
use crate::cli::print_notice;
use crate::engine::{Session, SessionError};

/// The maximum interval between advances, for controllers beside the engine, whose timers it does not know.
pub(super) const AT_LEAST_EVERY: Duration = Duration::from_secs(1);

/// Runs the cluster until `stopping` is set: whenever something is due or a client has written, up to the current
/// time of the clients, which stands still meanwhile.
///
/// # Errors
/// As [`Session::advance`].
pub(in crate::cli::serve) fn run(
    session: &mut Session,
    clock: &ClusterClock,
    shared: &Shared,
    stopping: &AtomicBool,
    runtime: &Handle,
) -> Result<(), SessionError> {
    let mut changes = shared.subscribe();
    while !stopping.load(Ordering::Relaxed) {
        // Writes from here on end the wait below.
        changes.borrow_and_update();
        let moment = clock.hold();
        if moment > session.now() || !clock.is_paused() {
            session.run_scraped_to(moment)?;
            session.clear_record();
        }
        let next = session.next_moment();
        clock.release(next);
        if clock.take_met() {
            print_notice(
                "the cluster's clock has caught up with this machine's; its time passes at 1x from now on",
            );
        }
        let wait = clock.until(next).min(AT_LEAST_EVERY);
        if !wait.is_zero() {
            runtime.block_on(async {
                let _ = tokio::time::timeout(wait, changes.changed()).await;
            });
        }
    }
    Ok(())
}
