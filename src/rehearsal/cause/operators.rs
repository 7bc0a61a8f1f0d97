//! Operators that are not done.

use windtunnel_core::resources::CLUSTER_OPERATORS;
use windtunnel_core::{View, condition};

use super::{Blamed, Found, version_message};
use crate::plan::FaultTarget;
use crate::rehearsal::repair::Repair;

/// The operator that is not available or degraded, and for which the cluster-version operator waits.
pub(super) fn find(view: &View) -> Option<Found> {
    let waiting = version_message(view);
    let bad = |kind: &'static str, status: &'static str| {
        view.list(&CLUSTER_OPERATORS).filter_map(move |operator| {
            let found =
                condition::find_in_status(operator, kind).filter(|found| found["status"] == status)?;
            Some((operator, format!("{kind}={status}: {}", found["message"].as_str().unwrap_or_default())))
        })
    };
    let mut all: Vec<_> = bad("Available", "False").chain(bad("Degraded", "True")).collect();
    // The one that the cluster-version operator names comes first.
    all.sort_by_key(|(operator, _)| !waiting.contains(operator.name()));
    let (operator, message) = all.into_iter().next()?;
    let name = operator.name();
    let waits = format!("the cluster-version operator waits for operator {name}");
    let text = format!("repair operator {name}: {message}");
    let repair = Repair::heal(text, FaultTarget::Operator(name.to_owned()));
    Some(Found::new(Blamed::object(operator), waits, &message, Some(repair)))
}
