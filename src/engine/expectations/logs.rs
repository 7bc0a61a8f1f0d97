//! Checks expectations about the logs of simulated programs.

use windtunnel_core::Key;

use crate::engine::runtime::Simulation;
use crate::plan::LogMatch;

/// How many of the last lines an error shows.
const SHOWN: usize = 3;

/// Returns whether an expectation is about this container.
pub(super) fn is_meant(wanted: &LogMatch, pod: &Key, container: &str) -> bool {
    pod.namespace == wanted.namespace
        && pod.name.starts_with(&wanted.pod)
        && wanted.container.as_ref().is_none_or(|name| name == container)
}

/// Checks that a pod has printed a matching line.
pub(in crate::engine) fn log(simulation: &Simulation, wanted: &LogMatch) -> Result<(), String> {
    simulation.observers.exports.with_logs(|logs| {
        let mut seen = None;
        for (pod, container, lines) in logs.all(wanted.previous) {
            if !is_meant(wanted, pod, container) {
                continue;
            }
            if lines.iter().any(|line| wanted.line.fits(&line.text)) {
                return Ok(());
            }
            let last = lines.iter().skip(lines.len().saturating_sub(SHOWN)).map(|line| line.text.as_str());
            let last: Vec<&str> = last.collect();
            let (name, count) = (&pod.name, lines.len());
            seen = Some(format!(
                "no line of {count} of container {container} of pod {name} matches; the last ones are:\n{}",
                last.join("\n")
            ));
        }
        let what = if wanted.previous { "previous log" } else { "log" };
        Err(seen.unwrap_or_else(|| format!("no pod {}/{} has a {what}", wanted.namespace, wanted.pod)))
    })
}
