//! The daemon's health check of the kubelet on its node (`runKubeletHealthzMonitor`).

use jiff::SignedDuration;
use windtunnel_controllers::Effect;
use windtunnel_controllers::faults::FaultKind;
use windtunnel_core::Object;
use windtunnel_core::clock::{Time, after};

use super::MachineConfigDaemon;
use super::failures::fault;

/// The interval of health checks (`kubeletHealthzPollingInterval`).
const INTERVAL: SignedDuration = SignedDuration::from_secs(30);

/// The metric with the number of failed health checks in a row.
pub(crate) const KUBELET_STATE: &str = "mcd_kubelet_state";

/// The state of the health check. No checks are simulated while the kubelet answers.
#[derive(Debug, Clone, Default)]
pub(super) struct KubeletHealth {
    /// When the next check is due.
    pub(super) next: Option<Time>,
    failures: u64,
}

impl KubeletHealth {
    /// Checks a kubelet that answers or not. Returns the number of failures in a row if it changed.
    fn check(&mut self, answers: bool, now: Time) -> Option<u64> {
        let is_due = self.next.is_some_and(|at| at <= now);
        if is_due || self.next.is_none() {
            self.next = (!answers).then(|| after(now, INTERVAL));
        }
        let failures = if answers { 0 } else { self.failures + 1 };
        let is_news = is_due && failures != self.failures;
        is_news.then(|| {
            self.failures = failures;
            failures
        })
    }
}

/// Returns whether the kubelet of a node is stopped.
pub(super) fn has_no_kubelet(node: &Object) -> bool {
    fault(node, FaultKind::KubeletStopped).is_some()
}

impl MachineConfigDaemon {
    /// Checks the kubelet if a check is due.
    pub(super) fn check_kubelet(&mut self, node: &Object, now: Time) -> Option<Effect> {
        let failures = self.kubelet.check(!has_no_kubelet(node), now)?;
        Some(self.counted(KUBELET_STATE, failures))
    }

    /// Resets the metric for a new process.
    pub(super) fn reset_kubelet_health(&mut self) -> Option<Effect> {
        let failures = std::mem::take(&mut self.kubelet).failures;
        (failures > 0).then(|| self.counted(KUBELET_STATE, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_the_kubelet_every_thirty_seconds_until_it_answers_again() {
        let mut health = KubeletHealth::default();
        let mut changes = |answers: &dyn Fn(i64) -> bool| {
            let at = |second| Time::from_second(second).unwrap();
            let results = (0..300).map(|second| (second, health.check(answers(second), at(second))));
            results.filter_map(|(second, count)| Some((second, count?))).collect::<Vec<_>>()
        };
        assert_eq!(changes(&|_| true), [], "no failures while it answers");
        let stopped_from_10_to_115 = |second| !(10..115).contains(&second);
        assert_eq!(changes(&stopped_from_10_to_115), [(40, 1), (70, 2), (100, 3), (130, 0)]);
        let stopped_for_a_while = |second| !(10..20).contains(&second);
        assert_eq!(changes(&stopped_for_a_while), [], "the kubelet runs again before the next check");
    }
}
