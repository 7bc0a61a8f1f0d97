//! The version pod, which copies a payload to the node, and the interpretation of its status.

#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use md5::{Digest as _, Md5};
use serde_json::{Value, json};
use windtunnel_core::{Object, pod};

use crate::cvo::access::PAYLOAD_ACCOUNT;
use crate::cvo::behaviour::Behaviour;
use crate::cvo::lease::NAMESPACE;

/// Value of the label `k8s-app` on version pods.
pub(in crate::cvo) const LABEL: &str = "retrieve-openshift-release";
const PAYLOADS: &str = "/etc/cvo/updatepayloads";
const DEADLINE_SECONDS: i64 = 120;

/// The parameters of a version pod.
#[derive(Debug)]
pub(in crate::cvo) struct VersionPod<'a> {
    pub(in crate::cvo) image: &'a str,
    /// The operator's own node.
    pub(in crate::cvo) node: &'a str,
    pub(in crate::cvo) behaviour: Behaviour,
    /// Random suffix of the temporary directory.
    pub(in crate::cvo) directory: String,
}

impl VersionPod<'_> {
    /// The version pod as a Pod.
    pub(in crate::cvo) fn pod(&self, name: &str) -> Value {
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

    /// The Job with the version pod as its template.
    pub(in crate::cvo) fn job(&self, name: &str) -> Value {
        let mut template = json!({ "spec": self.spec(false) });
        if self.behaviour.requires_scc {
            template["metadata"] = json!({ "annotations": { "openshift.io/required-scc": "privileged" } });
        }
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": { "name": name, "namespace": NAMESPACE },
            "spec": {
                "activeDeadlineSeconds": DEADLINE_SECONDS,
                "template": template,
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
            spec["serviceAccountName"] = json!(PAYLOAD_ACCOUNT);
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
        if self.behaviour.falls_back_to_logs {
            container["terminationMessagePolicy"] = json!("FallbackToLogsOnError");
        }
        container
    }
}

/// The directory of a payload on the node.
pub(in crate::cvo) fn payload_path(image: &str) -> String {
    format!("{PAYLOADS}/{}", payload_directory(image))
}

/// The name of a payload's directory: the MD5 of the pull spec in 22 characters.
fn payload_directory(image: &str) -> String {
    URL_SAFE_NO_PAD.encode(Md5::digest(image))
}

/// The result of a Pod's or Job's status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cvo) enum Judgement {
    /// The result is still open.
    Waiting,
    /// The payload was copied.
    Done,
    /// It failed with this error.
    Failed(String),
}

/// Interprets the status of a Pod. A pending Pod fails early only for an invalid image signature or an
/// unknown manifest, or if a container terminated with a message.
pub(in crate::cvo) fn judge_pod(pod: &Object) -> Judgement {
    let failed = |at: &str, states: &[String]| {
        Judgement::Failed(format!(
            "pod {} failed{at} with reason {:?} and message {:?} and status {}",
            pod.name(),
            pod.text("/status/reason"),
            pod.text("/status/message"),
            states.join(","),
        ))
    };
    match pod::phase(pod) {
        "Succeeded" => Judgement::Done,
        "Failed" => failed("", &statuses(pod, |_, message| !message.is_empty())),
        "Pending" => {
            let states = statuses(pod, cannot_start);
            if states.is_empty() { Judgement::Waiting } else { failed(" at pending", &states) }
        }
        "Running" => Judgement::Waiting,
        other => Judgement::Failed(format!("pod {} is with unexpected phase {other}", pod.name())),
    }
}

/// Returns whether a waiting container cannot start any more.
fn cannot_start(reason: &str, message: &str) -> bool {
    reason == "SignatureValidationFailed"
        || (reason == "ErrImagePull" && message.contains("manifest unknown"))
}

/// The states of containers that wait for a reason selected by `selects`, or have terminated with a message.
/// Containers come before init containers.
fn statuses(pod: &Object, selects: fn(&str, &str) -> bool) -> Vec<String> {
    let mut states = Vec::new();
    for (kind, pointer) in
        [("container", "/status/containerStatuses"), ("initcontainer", "/status/initContainerStatuses")]
    {
        for status in pod.list(pointer) {
            let name = status["name"].as_str().unwrap_or_default();
            for state in ["waiting", "terminated"] {
                let detail = &status["state"][state];
                let text = |field: &str| detail[field].as_str().unwrap_or_default();
                let (reason, message) = (text("reason"), text("message"));
                let counts = match state {
                    "waiting" => detail.is_object() && selects(reason, message),
                    _ => !message.is_empty(),
                };
                if counts {
                    states.push(format!(
                        "{kind} {name} is {state} with reason {reason:?} and message {message:?}"
                    ));
                }
            }
        }
    }
    states
}

/// Interprets a Job by its own status, because the operator does not look at its pod.
pub(in crate::cvo) fn judge_job(job: &Object) -> Judgement {
    let count = |field: &str| job.number(&format!("/status/{field}")).unwrap_or(0);
    if count("succeeded") > 0 {
        return Judgement::Done;
    }
    let failed = job.conditions().iter().find(|c| c["type"] == "Failed" && c["status"] == "True");
    let is_late = failed.is_some_and(|condition| condition["reason"] == "DeadlineExceeded");
    if count("active") > 0 || (count("failed") == 0 && !is_late) {
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
