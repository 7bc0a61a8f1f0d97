//! The version pod: its shape, and what the operator makes of its state.

#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use md5::{Digest as _, Md5};
use serde_json::{Value, json};
use windtunnel_core::Object;

use super::behaviour::Behaviour;
use super::lease::NAMESPACE;

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
    let failed = |at: &str, said: &[String]| {
        Judgement::Failed(format!(
            "pod {} failed{at} with reason {:?} and message {:?} and status {}",
            pod.name(),
            pod.text("/status/reason"),
            pod.text("/status/message"),
            said.join(","),
        ))
    };
    match pod.text("/status/phase") {
        "Succeeded" => Judgement::Done,
        "Failed" => failed("", &statuses(pod, |_, message| !message.is_empty())),
        "Pending" => {
            let said = statuses(pod, is_hopeless);
            if said.is_empty() { Judgement::Waiting } else { failed(" at pending", &said) }
        }
        "Running" => Judgement::Waiting,
        other => Judgement::Failed(format!("pod {} is with unexpected phase {other}", pod.name())),
    }
}

/// Whether what a container waits for will not come.
fn is_hopeless(reason: &str, message: &str) -> bool {
    reason == "SignatureValidationFailed"
        || (reason == "ErrImagePull" && message.contains("manifest unknown"))
}

/// What each container says that waits for what `tells` of, or has ended with a message. Containers stand before init
/// containers.
fn statuses(pod: &Object, tells: fn(&str, &str) -> bool) -> Vec<String> {
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
                let counts = match state {
                    "waiting" => detail.is_object() && tells(reason, message),
                    _ => !message.is_empty(),
                };
                if counts {
                    said.push(format!(
                        "{kind} {name} is {state} with reason {reason:?} and message {message:?}"
                    ));
                }
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
