//! Why a release is not accepted, short enough for the first line of a failure. The cause is at the end of what the
//! cluster-version operator reports about a failed retrieval, and at the beginning of what it reports about preconditions.

use serde_json::Value;
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::resources::PODS;
use windtunnel_core::text::truncate;

use crate::engine::runtime::Simulation;
use crate::record::{Event, WriteEvent};

/// The longest message in a first line, in characters.
const MESSAGE_MAX: usize = 260;

/// The characters at the start of a longer message of a failed retrieval that are kept.
const START: usize = 60;

/// The longest reason of a failed pull, in characters.
const PULL_MAX: usize = 120;

/// The characters of a digest that are kept.
const DIGEST: usize = 12;

/// The namespace of the pods that copy a payload.
const NAMESPACE: &str = "openshift-cluster-version";

/// Reasons of waiting containers that have no error of their own.
const NO_ERRORS: [&str; 3] = ["ContainerCreating", "PodInitializing", "ImagePullBackOff"];

/// Returns a condition of ClusterVersion as `Type=Status Reason "message"`. If it rejects a release, the message is shortened, and
/// what a user can do comes first.
pub(super) fn explained(condition: &Value) -> String {
    let Condition { kind, status, reason, message } = Condition::from_value(condition);
    if (&*kind, &*status) != ("ReleaseAccepted", "False") {
        return condition_text(condition);
    }
    let advice = advice(&reason, &message).map(|advice| format!("{advice}; ")).unwrap_or_default();
    format!("{advice}{kind}={status} {reason} \"{}\"", short(&reason, &message))
}

/// Formats a condition as `Type=Status Reason "message"`.
pub(super) fn condition_text(condition: &Value) -> String {
    let Condition { kind, status, reason, message } = Condition::from_value(condition);
    let reason = if reason.is_empty() { reason } else { format!(" {reason}") };
    format!("{kind}={status}{reason} \"{message}\"")
}

/// Returns what a user can do about a rejected release.
fn advice(reason: &str, message: &str) -> Option<&'static str> {
    match reason {
        "PreconditionChecks" if message.contains("\"AdminAckRequired\"") => Some(
            "acknowledge the gate in ConfigMap openshift-config/admin-acks, or update with `force: true`",
        ),
        "PreconditionChecks" => Some("an update with `force: true` skips preconditions"),
        _ => None,
    }
}

/// Returns a message without version and image of the release, which the expectation names.
fn short(reason: &str, message: &str) -> String {
    let message = match reason {
        "PreconditionChecks" => message.split_once("\": ").map_or(message, |(_, why)| why),
        _ => message.split_once(" failure=").map_or(message, |(_, why)| why),
    };
    let message = short_digests(&message.replace('\n', " "));
    if reason == "PreconditionChecks" {
        let several = "Multiple precondition checks failed:";
        let message = message.strip_prefix(several).unwrap_or(&message);
        return truncate(message.trim_start_matches([' ', '*']), MESSAGE_MAX);
    }
    let length = message.chars().count();
    if length <= MESSAGE_MAX {
        return message;
    }
    let start: String = message.chars().take(START).collect();
    format!("{start} ... {}", tail(&message, MESSAGE_MAX - START))
}

/// Returns the last characters of a text.
fn tail(text: &str, length: usize) -> String {
    text.chars().skip(text.chars().count().saturating_sub(length)).collect()
}

/// Shortens the digests in a text.
fn short_digests(text: &str) -> String {
    let is_digest =
        |part: &str| part.len() >= 64 && part.bytes().take(64).all(|byte| byte.is_ascii_hexdigit());
    let mut parts = text.split("sha256:");
    let mut short = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        short += "sha256:";
        let (start, rest) = if is_digest(part) { (&part[..DIGEST], &part[64..]) } else { ("", part) };
        short += start;
        short += if start.is_empty() { "" } else { "..." };
        short += rest;
    }
    short
}

/// Returns the names of two images, one desired and one installed: their versions if ClusterVersion has them and they differ,
/// or else short digests.
pub(super) fn named_images(cluster_version: &Value, wanted: &str, installed: &str) -> [String; 2] {
    let versions = [wanted, installed].map(|image| version_of(cluster_version, image));
    match versions {
        [Some(wanted), Some(installed)] if wanted != installed => [wanted, installed],
        _ => [wanted, installed].map(short_digests),
    }
}

/// Returns the version of an image that ClusterVersion names.
fn version_of(cluster_version: &Value, image: &str) -> Option<String> {
    let (desired, status) = (&cluster_version["spec"]["desiredUpdate"], &cluster_version["status"]);
    let lists =
        ["history", "availableUpdates"].into_iter().filter_map(|list| status[list].as_array()).flatten();
    let risky =
        status["conditionalUpdates"].as_array().into_iter().flatten().map(|update| &update["release"]);
    let mut named = [desired, &status["desired"]].into_iter().chain(lists).chain(risky);
    let is_named =
        |named: &&Value| named["image"] == image && !named["version"].as_str().unwrap_or_default().is_empty();
    let version = named.find(is_named).and_then(|named| named["version"].as_str());
    version.or_else(|| version_in_message(cluster_version, image)).map(str::to_owned)
}

/// Returns the version of an image in the message of ReleaseAccepted.
fn version_in_message<'v>(cluster_version: &'v Value, image: &str) -> Option<&'v str> {
    let accepted = condition::find_in_status(cluster_version, "ReleaseAccepted")?;
    let (_, named) = accepted["message"].as_str()?.split_once(" version=\"")?;
    let (version, rest) = named.split_once("\" image=\"")?;
    rest.starts_with(image).then_some(version).filter(|version| !version.is_empty())
}

/// Returns why the image of a release was not pulled last time: the status that names only a deadline does not say that.
pub(super) fn failed_pull(simulation: &Simulation) -> Option<String> {
    let is_of_release = |write: &WriteEvent| {
        write.key.is_kind(&PODS) && write.key.namespace == NAMESPACE && write.key.name.starts_with("version-")
    };
    let writes = simulation.record.entries.iter().rev().filter_map(|entry| match &entry.event {
        Event::Write(write) if is_of_release(write) => Some(write),
        _ => None,
    });
    let mut errors = writes.filter_map(|write| error_of(write.after.as_ref()?));
    let error = short_digests(&errors.next()?.replace('\n', " "));
    let (cut, end) = (error.chars().count() > PULL_MAX, tail(&error, PULL_MAX));
    Some(format!("the pull failed: {}{end}", if cut { "..." } else { "" }))
}

/// Returns the error of a waiting container.
fn error_of(pod: &Value) -> Option<&str> {
    let lists = ["initContainerStatuses", "containerStatuses"].into_iter();
    let mut waiting = lists
        .filter_map(|list| pod["status"][list].as_array())
        .flatten()
        .map(|status| &status["state"]["waiting"]);
    let has_error = |waiting: &&Value| {
        waiting["message"].is_string()
            && waiting["reason"].as_str().is_some_and(|reason| !NO_ERRORS.contains(&reason))
    };
    waiting.find(has_error)?["message"].as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rejected(reason: &str, message: &str) -> String {
        explained(
            &json!({ "type": "ReleaseAccepted", "status": "False", "reason": reason, "message": message }),
        )
    }

    fn image() -> String {
        format!("quay.io/o/r@sha256:{}", "ab".repeat(32))
    }

    #[test]
    fn a_rejected_release_is_explained_without_its_image() {
        let of = format!("version=\"4.18.7\" image=\"{}\"", image());
        let digest = "ab".repeat(32);
        let unsigned = format!(
            "Retrieving payload failed {of} failure=The update cannot be verified: unable to verify sha256:{digest} against keyrings: k"
        );
        assert_eq!(
            rejected("RetrievePayload", &unsigned),
            r#"ReleaseAccepted=False RetrievePayload "The update cannot be verified: unable to verify sha256:abababababab... against keyrings: k""#
        );
        let low = format!(
            "Preconditions failed for payload loaded {of}: Multiple precondition checks failed:\n* Precondition \"ClusterVersionRollback\" failed because of \"LowDesiredVersion\": no\n* x"
        );
        let text = rejected("PreconditionChecks", &low);
        let start = "an update with `force: true` skips preconditions; ReleaseAccepted=False PreconditionChecks \"Precondition \"ClusterVersionRollback\" failed because of \"LowDesiredVersion\": no";
        assert!(text.starts_with(start), "{text}");
        let gate = format!(
            "Preconditions failed for payload loaded {of}: Precondition \"x\" failed because of \"AdminAckRequired\": y"
        );
        let text = rejected("PreconditionChecks", &gate);
        assert!(
            text.starts_with("acknowledge the gate")
                && text.ends_with("because of \"AdminAckRequired\": y\""),
            "{text}"
        );
    }

    #[test]
    fn a_long_reason_keeps_its_end() {
        let message = format!(
            "Retrieving payload failed version=\"\" image=\"\" failure=Start {} the cause",
            "x".repeat(500)
        );
        let text = rejected("RetrievePayload", &message);
        assert!(
            text.contains("\"Start x") && text.ends_with("x the cause\"") && text.chars().count() < 320,
            "{text}"
        );
    }

    #[test]
    fn images_are_named_by_their_versions() {
        let version = json!({ "status": { "history": [{ "image": "a", "version": "4.18.3" }], "conditions": [
            { "type": "ReleaseAccepted", "message": format!("failed version=\"4.18.7\" image=\"{}\" failure=x", image()) },
        ] } });
        assert_eq!(named_images(&version, &image(), "a"), ["4.18.7", "4.18.3"]);
        assert_eq!(
            named_images(&version, &image().replace("abab", "cdcd"), "a"),
            ["quay.io/o/r@sha256:cdcdcdcdcdcd...", "a"]
        );
    }
}
