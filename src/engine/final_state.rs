//! The end of a plan in the form in which the ends of two runs are compared.

use windtunnel_core::View;
use windtunnel_core::resources::CLUSTER_VERSIONS;

use super::restored::Contents;
use super::restored::volatile::BETWEEN_RUNS;
use super::run::Failure;
use super::session::Session;

/// The end of a plan: the cluster, or the step that failed.
pub(super) type End = Result<Contents, Failure>;

/// The end of a session's plan.
pub(super) fn end_of(session: &Session, failure: Option<Failure>) -> End {
    failure.map_or_else(|| Ok(comparable_state(&session.simulation.view)), Err)
}

/// Returns how the end of a plan with a fault differs from the end without: the result of `compare`, or the step that fails.
pub(super) fn difference<D: From<String>>(
    without: &End,
    with: &End,
    compare: impl FnOnce(&Contents, &Contents) -> Option<D>,
) -> Option<D> {
    match (without, with) {
        (Ok(without), Ok(with)) => compare(without, with),
        (Ok(_), Err(failure)) => Some(format!("{}: {}", failure.step, failure.error).into()),
        // A plan that fails anyway has no end to compare.
        (Err(_), _) => None,
    }
}

/// The cluster without times, generated names and records of the past.
///
/// Of ClusterVersion's history only the newest entry is compared: an operator that restarts before it has replaced itself
/// first retargets to its own release, and records that.
fn comparable_state(view: &View) -> Contents {
    let mut contents = Contents::of(view, &[BETWEEN_RUNS]);
    for (_, content) in contents.iter_mut().filter(|(key, _)| key.is_kind(&CLUSTER_VERSIONS)) {
        for (part, field) in [("metadata", "generation"), ("status", "observedGeneration")] {
            content.value[part].as_object_mut().and_then(|fields| fields.remove(field));
        }
        if let Some(history) = content.value["status"]["history"].as_array_mut() {
            history.truncate(1);
        }
    }
    contents
}
