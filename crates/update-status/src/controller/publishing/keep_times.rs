//! Keeps the times of unchanged insights.

use crate::insight::Insight;

/// Returns `fresh` with the times of `earlier` that still apply: the transition time of a condition with the
/// same status (`metav1.Condition.lastTransitionTime`), and the acquisition time of an unchanged insight.
pub(in crate::controller) fn keep_times(mut fresh: Insight, earlier: &Insight) -> Insight {
    for condition in fresh.detail.conditions_mut() {
        let same = earlier.detail.conditions().iter().find(|old| old.kind == condition.kind);
        if let Some(old) = same.filter(|old| old.status == condition.status) {
            condition.last_transition_time = old.last_transition_time;
        }
    }
    if fresh.detail == earlier.detail {
        fresh.acquired_at = earlier.acquired_at;
    }
    fresh
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::clock::Time;

    use super::*;
    use crate::assessment::cluster_version::upstream;
    use crate::insight::Detail;

    fn insight(status: &str, message: &str, at: &str) -> Insight {
        let at: Time = at.parse().unwrap();
        let object = json!({"status": {
            "conditions": [{"type": "Progressing", "status": status, "message": message}],
            "history": [{"state": "Partial", "version": "4.14.1", "startedTime": "2024-01-01T00:00:00Z"}],
        }});
        Insight { uid: "cv-x".into(), acquired_at: at, detail: Detail::ClusterVersion(upstream(&object, at)) }
    }

    fn times(insight: &Insight) -> [String; 2] {
        let text = serde_json::to_value(insight).unwrap();
        [&text["acquiredAt"], &text["clusterVersion"]["conditions"][0]["lastTransitionTime"]]
            .map(|time| time.as_str().unwrap().to_owned())
    }

    #[test]
    fn times_change_only_with_the_content_they_belong_to() {
        let (first, second) = ("2024-01-01T01:00:00Z", "2024-01-01T02:00:00Z");
        let earlier = insight("True", "10%", first);
        assert_eq!(keep_times(insight("True", "10%", second), &earlier), earlier);
        assert_eq!(times(&keep_times(insight("True", "20%", second), &earlier)), [second, first]);
        assert_eq!(times(&keep_times(insight("False", "", second), &earlier)), [second, second]);
    }
}
