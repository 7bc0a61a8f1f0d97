//! Events about the pods and claims of a StatefulSet (`recordPodEvent`, `recordClaimEvent`).

use windtunnel_core::resources::{PERSISTENT_VOLUME_CLAIMS, PODS};
use windtunnel_core::{Answer, Key};

use crate::recorder::Notice;

/// The reasons of Events about a verb, and the verb as messages have it.
struct Verb {
    successful: &'static str,
    failed: &'static str,
    title: &'static str,
}

const CREATE: Verb = Verb { successful: "SuccessfulCreate", failed: "FailedCreate", title: "Create" };
const UPDATE: Verb = Verb { successful: "SuccessfulUpdate", failed: "FailedUpdate", title: "Update" };
const DELETE: Verb = Verb { successful: "SuccessfulDelete", failed: "FailedDelete", title: "Delete" };

/// The Event about a write for the set `set`. `capitalizes`: messages begin with a capital letter.
pub(super) fn notice(set: &Key, answer: &Answer, capitalizes: bool) -> Option<Notice> {
    let write = &answer.write;
    let is_pod = write.resource == PODS;
    if !is_pod && write.resource != PERSISTENT_VOLUME_CLAIMS || write.subresource.is_some() {
        return None;
    }
    let verb = match write.verb() {
        "create" => CREATE,
        "update" => UPDATE,
        "delete" => DELETE,
        _ => return None,
    };
    let name = &write.name;
    let begin = if capitalizes { verb.title.to_owned() } else { verb.title.to_lowercase() };
    let of_set = format!("StatefulSet {}", set.name);
    Some(match (&answer.outcome, is_pod) {
        (Ok(_), true) => {
            Notice::normal(verb.successful, format!("{begin} Pod {name} in {of_set} successful"))
        }
        (Ok(_), false) => {
            let pod = pod_of_claim(set, name);
            Notice::normal(verb.successful, format!("{begin} Claim {name} Pod {pod} in {of_set} success"))
        }
        (Err(rejection), _) if rejection.reason == "AlreadyExists" => return None,
        (Err(rejection), true) => {
            let error = &rejection.message;
            Notice::warning(verb.failed, format!("{begin} Pod {name} in {of_set} failed error: {error}"))
        }
        (Err(rejection), false) => {
            let (pod, error) = (pod_of_claim(set, name), &rejection.message);
            let text = format!("{begin} Claim {name} for Pod {pod} in {of_set} failed error: {error}");
            Notice::warning(verb.failed, text)
        }
    })
}

/// The name of the pod of a claim: that of the set with the ordinal at the end of the claim's name.
fn pod_of_claim(set: &Key, claim: &str) -> String {
    format!("{}-{}", set.name, claim.rsplit('-').next().unwrap_or_default())
}
