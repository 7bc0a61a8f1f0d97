//! Reports of an operator whose ClusterOperator has a fault annotation.

use jiff::SignedDuration;
use serde_json::{Map, Value, json};
use windtunnel_controllers::faults::{Fault, FaultKind};
use windtunnel_core::Object;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::condition::{self, Condition};

/// How long a flapping operator keeps its report. The alert `ClusterOperatorFlapping` fires at more than two
/// changes in two minutes.
const FLAP: SignedDuration = SignedDuration::from_secs(30);

/// The reason of healthy conditions.
pub(super) const WELL: &str = "AsExpected";
/// The message of healthy conditions.
pub(super) const WELL_MESSAGE: &str = "All is well";

/// The prefix of a rollout's target in the message of `Progressing`. The cause of a wait can follow after a
/// colon.
pub(crate) const WORKING_TOWARDS: &str = "Working towards ";

/// The rollout target in a message of `Progressing`.
pub(super) fn target_in(message: &str) -> Option<&str> {
    let rest = message.strip_prefix(WORKING_TOWARDS)?;
    Some(rest.split_once(": ").map_or(rest, |(target, _)| target))
}

/// When a rollout ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// After a time that depends on the seed.
    Seeded,
    AtOnce,
    Never,
}

/// The health that the annotations of a ClusterOperator make its operator report.
#[derive(Debug)]
pub(crate) struct FaultReport {
    fault: Option<Fault>,
}

impl FaultReport {
    /// Reads the annotations of `object`. `None` without a fault annotation.
    pub(crate) fn from_annotations(object: &Value) -> Option<Self> {
        Some(Self { fault: Fault::from_annotations(object)? })
    }

    fn is(&self, kind: FaultKind) -> bool {
        self.fault.as_ref().is_some_and(|fault| fault.kind == kind)
    }

    /// Returns when rollouts end. After a silent fault the rollout is complete at once, because it continued
    /// without reports.
    pub(crate) fn pace(&self, object: &Value) -> Pace {
        let was_silent = object["status"].as_object().is_none_or(Map::is_empty);
        match self.is(FaultKind::Stalled) {
            true => Pace::Never,
            false if was_silent => Pace::AtOnce,
            false => Pace::Seeded,
        }
    }

    /// Returns whether rollouts start but never end.
    pub(crate) fn stalls(&self) -> bool {
        self.is(FaultKind::Stalled)
    }

    /// The object with an empty status. `None` if the status is already empty.
    pub(crate) fn silenced(object: &Object) -> Option<Value> {
        let has_status = object["status"].as_object().is_some_and(|status| !status.is_empty());
        has_status.then(|| {
            let mut value = object.to_value();
            value["status"] = json!({});
            value
        })
    }

    /// Returns whether the operator reports nothing.
    pub(crate) fn is_silent(&self) -> bool {
        self.is(FaultKind::Silent)
    }

    /// The next time at which the report of a flapping operator changes.
    pub(crate) fn changes_at(&self, now: Time) -> Option<Time> {
        let into = now.as_second().rem_euclid(FLAP.as_secs());
        self.is(FaultKind::Flapping).then(|| after(now, SignedDuration::from_secs(FLAP.as_secs() - into)))
    }

    /// Returns whether the fault decides a condition: no other report of the operator changes it then.
    pub(crate) fn decides(&self, kind: &str) -> bool {
        match kind {
            "Available" => self.is(FaultKind::Unavailable) || self.is(FaultKind::Flapping),
            "Degraded" => self.is(FaultKind::Degraded),
            "Progressing" => self.is(FaultKind::Stalled),
            "Upgradeable" => self.is(FaultKind::NotUpgradeable),
            _ => false,
        }
    }

    /// Sets the conditions in the status of `object`. `rejection` is the Upgradeable=False condition for other
    /// reasons. A condition that the operator reports for a reason of its own (`is_own`) is kept, unless the
    /// fault decides it. Returns whether the status changed.
    pub(crate) fn report(
        &self,
        rejection: Option<&Condition>,
        is_own: impl Fn(&Condition) -> bool,
        object: &mut Value,
        now: Time,
    ) -> bool {
        let mut list = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        // An operator that was never deployed is not available, even with an annotation that heals it.
        let deployed = condition::find(&list, "Available").is_some();
        let is_own_report = |kind: &str| {
            condition::find(&list, kind).is_some_and(|found| is_own(&Condition::from_value(found)))
        };
        if let Some(progressing) =
            self.progressing(&list).filter(|_| self.stalls() || !is_own_report("Progressing"))
        {
            condition::set(&mut list, &progressing, now);
        }
        for condition in self.conditions(rejection, now) {
            let is_kept = !self.decides(&condition.kind)
                && condition::find(&list, &condition.kind)
                    .is_some_and(|found| is_own(&Condition::from_value(found)));
            if !is_kept && (deployed || condition.kind != "Available" || condition.status == "False") {
                condition::set(&mut list, &condition, now);
            }
        }
        let list = Value::Array(list);
        let changed = object["status"]["conditions"] != list;
        object["status"]["conditions"] = list;
        changed
    }

    fn conditions(&self, rejection: Option<&Condition>, now: Time) -> [Condition; 3] {
        let up = now.as_second().div_euclid(FLAP.as_secs()) % 2 == 0;
        let unavailable = self.is(FaultKind::Unavailable) || self.is(FaultKind::Flapping) && !up;
        [
            self.condition("Available", if unavailable { "False" } else { "True" }, unavailable),
            self.faulty("Degraded", FaultKind::Degraded, "True", "False"),
            match rejection.filter(|_| !self.is(FaultKind::NotUpgradeable)) {
                Some(rejection) => rejection.clone(),
                None => self.faulty("Upgradeable", FaultKind::NotUpgradeable, "False", "True"),
            },
        ]
    }

    /// `Progressing` during a rollout. A stalled rollout reports its reason.
    fn progressing(&self, list: &[Value]) -> Option<Condition> {
        let found = condition::find(list, "Progressing").map(Condition::from_value)?;
        let target = target_in(&found.message).filter(|_| found.status == "True")?;
        let stalled = self.fault.as_ref().filter(|fault| fault.kind == FaultKind::Stalled);
        let [reason, message] =
            stalled.map_or(["", ""], |fault| [fault.reason.as_str(), fault.message.as_str()]);
        let reason = if reason.is_empty() { "Progressing" } else { reason };
        let colon = if message.is_empty() { "" } else { ": " };
        Some(Condition::new(
            "Progressing",
            "True",
            reason,
            format!("{WORKING_TOWARDS}{target}{colon}{message}"),
        ))
    }

    fn faulty(&self, kind: &str, fault: FaultKind, bad: &str, good: &str) -> Condition {
        let is_bad = self.is(fault);
        self.condition(kind, if is_bad { bad } else { good }, is_bad)
    }

    fn condition(&self, kind: &str, status: &str, is_bad: bool) -> Condition {
        let fault = self.fault.as_ref().filter(|_| is_bad);
        let Some(fault) = fault else { return Condition::new(kind, status, WELL, WELL_MESSAGE) };
        let or = |text: &str, otherwise: &str| if text.is_empty() { otherwise } else { text }.to_owned();
        let message = or(&fault.message, &format!("An injected fault sets {kind}={status}"));
        Condition::new(kind, status, &or(&fault.reason, "FaultInjected"), message)
    }
}
