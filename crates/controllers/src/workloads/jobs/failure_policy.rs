//! Pod failure policies (`spec.podFailurePolicy`).

use serde_json::Value;
use windtunnel_core::{Object, condition};

/// The effect of a failed pod on its Job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The failure counts.
    Count,
    /// The failure does not count.
    Ignore,
    /// The Job fails with this message.
    FailJob(String),
}

/// The verdict of the first rule that matches a failed pod.
pub(super) fn verdict(job: &Object, pod: &Object) -> Verdict {
    for (number, rule) in job.list("/spec/podFailurePolicy/rules").iter().enumerate() {
        let action = rule["action"].as_str().unwrap_or_default();
        let Some(why) = by_exit_code(&rule["onExitCodes"], pod).or_else(|| by_condition(rule, pod)) else {
            continue;
        };
        return match action {
            "FailJob" => Verdict::FailJob(format!("{why} matching {action} rule at index {number}")),
            "Ignore" => Verdict::Ignore,
            _ => Verdict::Count,
        };
    }
    Verdict::Count
}

/// The message for the first container whose exit code matches a rule. Exit code 0 never matches.
fn by_exit_code(rule: &Value, pod: &Object) -> Option<String> {
    let values = rule["values"].as_array()?;
    let lists = ["/status/containerStatuses", "/status/initContainerStatuses"];
    let ended = lists.iter().flat_map(|list| pod.list(list)).filter_map(|status| {
        Some((status["name"].as_str()?, status["state"]["terminated"]["exitCode"].as_i64()?))
    });
    let fits = |(name, code): &(&str, i64)| {
        let is_listed = values.iter().any(|value| value.as_i64() == Some(*code));
        *code != 0
            && rule["containerName"].as_str().is_none_or(|wanted| wanted == *name)
            && is_listed == (rule["operator"] == "In")
    };
    let (name, code) = { ended }.find(fits)?;
    let (namespace, pod) = (pod.namespace(), pod.name());
    Some(format!("Container {name} for pod {namespace}/{pod} failed with exit code {code}"))
}

/// The message for the first condition of the pod that matches a rule.
fn by_condition(rule: &Value, pod: &Object) -> Option<String> {
    let patterns = rule["onPodConditions"].as_array()?;
    let fits = |pattern: &&Value| {
        let status = pattern["status"].as_str().unwrap_or("True");
        pattern["type"]
            .as_str()
            .and_then(|kind| condition::find_in_status(pod, kind))
            .is_some_and(|found| found["status"] == status)
    };
    let kind = patterns.iter().find(fits)?["type"].as_str()?;
    Some(format!("Pod {}/{} has condition {kind}", pod.namespace(), pod.name()))
}
