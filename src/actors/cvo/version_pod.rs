//! The version pod: its shape, and what the operator makes of its state.

#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use md5::{Digest as _, Md5};
use serde_json::{Value, json};

use super::behaviour::Behaviour;
use super::lease::NAMESPACE;
use crate::model::Object;

/// Value of the label `k8s-app` on version pods.
pub(super) const LABEL: &str = "retrieve-openshift-release";
/// The ServiceAccount of version pods, in releases that have one for them.
pub(super) const ACCOUNT: &str = "update-payload";
const PAYLOADS: &str = "/etc/cvo/updatepayloads";
const DEADLINE_SECONDS: i64 = 120;

/// What decides a version pod's shape.
#[derive(Debug)]
pub(super) struct VersionPod<'a> {
    /// The release image.
    pub(super) image: &'a str,
    /// The operator's own node.
    pub(super) node: &'a str,
    /// What the operator's release makes of it.
    pub(super) behaviour: Behaviour,
    /// Random end of the temporary directory's name.
    pub(super) directory: String,
}

impl VersionPod<'_> {
    /// The Pod by itself.
    pub(super) fn pod(&self, name: &str) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": NAMESPACE,
                "labels": { "k8s-app": LABEL },
                "annotations": { "openshift.io/required-scc": "privileged" },
            },
            "spec": self.spec(true),
        })
    }

    /// The Job with the pod as its template.
    pub(super) fn job(&self, name: &str) -> Value {
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": { "name": name, "namespace": NAMESPACE },
            "spec": {
                "activeDeadlineSeconds": DEADLINE_SECONDS,
                "template": { "spec": self.spec(false) },
            },
        })
    }

    fn spec(&self, own_deadline: bool) -> Value {
        let place = payload_directory(self.image);
        let temporary = format!("{PAYLOADS}/{place}-{}", self.directory);
        let copies = self.behaviour.copies_manifests;
        let verb: &[&str] = if copies { &["cp", "-r"] } else { &["mv"] };
        let act = if copies { "copy" } else { "move" };
        let carry = |what: &str| {
            let mut command: Vec<String> = verb.iter().map(|word| (*word).to_owned()).collect();
            command.extend([format!("/{what}"), format!("{temporary}/{what}")]);
            command
        };
        let container = |name: &str, command: Vec<String>| self.container(name, &command);
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let mut cleanup = container("cleanup", words(&["sh", "-c", "rm -fR ./*"]));
        cleanup["workingDir"] = json!(format!("{PAYLOADS}/"));
        let mut spec = json!({
            "initContainers": [
                cleanup,
                container("make-temporary-directory", words(&["mkdir", &temporary])),
                container(&format!("{act}-operator-manifests-to-temporary-directory"), carry("manifests")),
                container(&format!("{act}-release-manifests-to-temporary-directory"), carry("release-manifests")),
            ],
            "containers": [
                container("rename-to-final-location", words(&["mv", &temporary, &format!("{PAYLOADS}/{place}")])),
            ],
            "restartPolicy": "OnFailure",
            "nodeName": self.node,
            "nodeSelector": { "node-role.kubernetes.io/master": "" },
            "tolerations": [{ "key": "node-role.kubernetes.io/master" }],
            "priorityClassName": "openshift-user-critical",
            "volumes": [{ "name": "payloads", "hostPath": { "path": PAYLOADS } }],
        });
        if self.behaviour.has_payload_account {
            spec["serviceAccountName"] = json!(ACCOUNT);
        }
        if own_deadline {
            spec["activeDeadlineSeconds"] = json!(DEADLINE_SECONDS);
        }
        spec
    }

    fn container(&self, name: &str, command: &[String]) -> Value {
        let mut container = json!({
            "name": name,
            "image": self.image,
            "command": command,
            "resources": { "requests": { "cpu": "10m", "memory": "50Mi", "ephemeral-storage": "2Mi" } },
            "securityContext": { "privileged": true, "readOnlyRootFilesystem": self.behaviour.copies_manifests },
            "volumeMounts": [{ "name": "payloads", "mountPath": PAYLOADS }],
        });
        if self.behaviour.asks_for_logs {
            container["terminationMessagePolicy"] = json!("FallbackToLogsOnError");
        }
        container
    }
}

/// The directory that a payload is kept in.
pub(super) fn payload_path(image: &str) -> String {
    format!("{PAYLOADS}/{}", payload_directory(image))
}

/// Name of the directory that a payload is kept in: the MD5 of the pull specification, in 22 letters.
fn payload_directory(image: &str) -> String {
    URL_SAFE_NO_PAD.encode(Md5::digest(image))
}

/// What a look at the Pod or Job came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Judgement {
    /// Not decided yet.
    Waiting,
    /// The payload is there.
    Done,
    /// It failed, and why.
    Failed(String),
}

/// Judges a watched Pod: a pending one fails early only for a refused signature or an unknown manifest, or when a
/// container ended with a message.
pub(super) fn judge_pod(pod: &Object) -> Judgement {
    let said = statuses(pod);
    let failed = |at: &str| {
        let mut text = format!(
            "pod {} failed{at} with reason \"{}\" and message \"{}\"",
            pod.name(),
            pod.text("/status/reason"),
            pod.text("/status/message"),
        );
        if !said.is_empty() {
            let list: Vec<&str> = said.iter().map(|(text, _)| text.as_str()).collect();
            text += &format!(" and status {}", list.join(","));
        }
        Judgement::Failed(text)
    };
    match pod.text("/status/phase") {
        "Succeeded" => Judgement::Done,
        "Failed" => failed(""),
        "Pending" if said.iter().any(|(_, early)| *early) => failed(" at pending"),
        _ => Judgement::Waiting,
    }
}

/// What each container says that waits or has ended with a message, and whether that ends the wait early.
/// Containers stand before init containers.
fn statuses(pod: &Object) -> Vec<(String, bool)> {
    let mut said = Vec::new();
    for (kind, pointer) in
        [("container", "/status/containerStatuses"), ("initcontainer", "/status/initContainerStatuses")]
    {
        for status in pod.list(pointer) {
            let name = status["name"].as_str().unwrap_or_default();
            for state in ["waiting", "terminated"] {
                let detail = &status["state"][state];
                let text = |field: &str| detail[field].as_str().unwrap_or_default();
                let (reason, message) = (text("reason"), text("message"));
                if message.is_empty() {
                    continue;
                }
                let early = state == "terminated"
                    || reason == "SignatureValidationFailed"
                    || (reason == "ErrImagePull" && message.contains("manifest unknown"));
                let line =
                    format!("{kind} {name} is {state} with reason \"{reason}\" and message \"{message}\"");
                said.push((line, early));
            }
        }
    }
    said
}

/// Judges a Job by its own status only: nothing tells what its pod suffers from.
pub(super) fn judge_job(job: &Object) -> Judgement {
    let count = |field: &str| job.number(&format!("/status/{field}")).unwrap_or(0);
    if count("succeeded") > 0 {
        return Judgement::Done;
    }
    let failed =
        job.list("/status/conditions").iter().find(|c| c["type"] == "Failed" && c["status"] == "True");
    if count("active") > 0 || (count("failed") == 0 && failed.is_none()) {
        return Judgement::Waiting;
    }
    let text = |field: &str, default: &str| {
        failed.and_then(|condition| condition[field].as_str()).unwrap_or(default).to_owned()
    };
    Judgement::Failed(format!(
        "deadline exceeded, reason: \"{}\", message: \"{}\"",
        text("reason", "DeadlineExceeded"),
        text("message", "Job was active longer than specified deadline"),
    ))
}
