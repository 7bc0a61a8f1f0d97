//! Durations of a node's update steps, by platform.

use jiff::SignedDuration;
use windtunnel_core::View;
use windtunnel_core::resources::INFRASTRUCTURES;
use windtunnel_core::rng::Streams;

/// Minimum and maximum duration in seconds.
pub(super) type Seconds = (u64, u64);

/// The durations of a node's update steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StepDurations {
    /// The minimum time of a drain. Zero without a known platform: the drain then takes only the pods' own
    /// time.
    pub(super) drain: Seconds,
    /// The time to write files and the operating system to the disk.
    pub(super) apply: Seconds,
    /// The time without contact during a reboot.
    pub(super) silence: Seconds,
}

/// Machines of an unknown kind.
const ANY: StepDurations = StepDurations { drain: (0, 0), apply: (60, 120), silence: (60, 150) };
/// Virtual machines.
const VIRTUAL: StepDurations = StepDurations { drain: (30, 90), ..ANY };
/// Physical machines, which run self-tests before they boot.
const METAL: StepDurations = StepDurations { silence: (300, 600), ..VIRTUAL };

/// The durations by the platform in Infrastructure, from recorded updates and first boots (`tests/timings/real.json`).
const PACES: [(&str, StepDurations); 8] = [
    ("None", ANY),
    ("External", ANY),
    ("AWS", StepDurations { drain: (30, 120), apply: (35, 65), silence: (45, 65) }),
    ("Azure", StepDurations { drain: (100, 180), apply: (50, 80), silence: (60, 95) }),
    ("GCP", StepDurations { drain: (30, 100), apply: (20, 60), silence: (45, 75) }),
    ("VSphere", StepDurations { drain: (30, 90), apply: (30, 60), silence: (40, 80) }),
    ("BareMetal", METAL),
    ("EquinixMetal", METAL),
];

impl StepDurations {
    /// The durations in this cluster.
    pub(super) fn of(view: &View) -> Self {
        let infrastructure = view.get(&INFRASTRUCTURES, "", "cluster");
        let platform = infrastructure.map_or("", |found| found.text("/status/platform"));
        let known = PACES.iter().find(|(name, _)| *name == platform).map(|(_, pace)| *pace);
        known.unwrap_or(if platform.is_empty() { ANY } else { VIRTUAL })
    }
}

/// A random duration within a range, from the stream of this name.
pub(super) fn draw(streams: Streams, name: &str, (low, high): Seconds) -> SignedDuration {
    let millis = streams.stream(name).between(low * 1000, high * 1000);
    SignedDuration::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::{Change, ChangeKind, Object};

    use super::*;

    fn on(platform: &str) -> StepDurations {
        let mut view = View::default();
        let object = json!({ "metadata": { "name": "cluster" }, "status": { "platform": platform } });
        view.apply(&Change {
            key: INFRASTRUCTURES.key("", "cluster"),
            kind: ChangeKind::Added,
            object: Object::new(object),
            old: None,
        });
        StepDurations::of(&view)
    }

    /// The average sum of these steps in seconds.
    fn average(StepDurations { drain, apply, silence }: StepDurations) -> u64 {
        [drain, apply, silence].iter().map(|(low, high)| (low + high) / 2).sum()
    }

    #[test]
    fn physical_machines_take_longer_than_virtual_ones_and_azure_longer_than_aws() {
        assert_eq!((on("None"), StepDurations::of(&View::default())), (ANY, ANY));
        assert_eq!(on("OpenStack"), VIRTUAL);
        assert!(average(on("AWS")) < average(on("Azure")));
        assert!(average(on("GCP")) < average(on("BareMetal")));
        // The steps that do not depend on the platform add about a minute.
        assert!((170..190).contains(&average(on("AWS"))), "{}", average(on("AWS")));
        assert!((270..330).contains(&average(on("Azure"))), "{}", average(on("Azure")));
    }

    #[test]
    fn the_same_name_draws_the_same_duration() {
        let streams = Streams::new(1);
        assert_eq!(draw(streams, "a", (60, 120)), draw(streams, "a", (60, 120)));
        assert_eq!(draw(streams, "a", (0, 0)), SignedDuration::ZERO);
    }
}
