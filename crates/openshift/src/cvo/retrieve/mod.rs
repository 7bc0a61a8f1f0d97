//! Retrieval of a release image: verifies its signature, then copies the manifests by a Job or Pod on the
//! operator's own node. The ClusterVersion worker is blocked meanwhile.

pub(super) mod accept;
pub(super) mod load;
pub(super) mod preconditions;
#[cfg(test)]
mod tests;
pub(super) mod verify;
pub(super) mod version_pod;

use std::sync::Arc;

use jiff::SignedDuration;
use windtunnel_controllers::registry::Contents;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{JOBS, PODS};
use windtunnel_core::rng::Stream;
use windtunnel_core::{Answer, Object, Operation, Resource, View, Write};

use self::verify::{STORE_TIMEOUT, SignatureSources, Trust, Verifier};
use self::version_pod::{Judgement, VersionPod};
use super::behaviour::{Behaviour, RetrievalMethod as By};
use super::desired::Target;
use super::lease::NAMESPACE;
use super::outbox::{Outbox, Purpose};
use crate::environment::Environment;

/// The time limit of a retrieval, in releases that have one.
const TIMEOUT: SignedDuration = SignedDuration::from_mins(4);
/// The poll interval for Jobs.
const JOB_POLL: SignedDuration = SignedDuration::from_secs(3);

/// A payload on the node's disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Retrieved {
    /// Whether the signature is valid.
    pub(super) verified: bool,
    /// The verification error that `force` overrode, for `acceptedRisks`, or empty.
    pub(super) risk: String,
    /// The causes of that error.
    pub(super) causes: String,
}

/// Why a retrieval failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RetrievalError {
    /// The outermost error, for conditions.
    pub(super) text: String,
    /// Its causes, which only Events contain. May be empty.
    pub(super) causes: String,
}

impl From<String> for RetrievalError {
    fn from(text: String) -> Self {
        Self { text, causes: String::new() }
    }
}

/// A retrieval in progress.
#[derive(Debug, Clone)]
pub(super) struct Retrieval {
    pub(super) target: Target,
    /// The time limit, if this release has one.
    deadline: Option<Time>,
    stage: Stage,
    retrieved: Retrieved,
    /// Errors of deletions of earlier Jobs and Pods.
    prune_errors: Vec<String>,
}

#[derive(Debug, Clone)]
enum Stage {
    /// Until this time. `None` means forever: no signature store answers and there is no time limit.
    Verify {
        until: Option<Time>,
    },
    Prune,
    Create,
    Await {
        name: String,
        poll_at: Time,
    },
    Failed(String),
}

/// Properties of the operator process that retrievals need.
#[derive(Debug, Clone)]
pub(super) struct OperatorContext {
    /// The operator's own node.
    pub(super) node: String,
    pub(super) behaviour: Behaviour,
    pub(super) environment: Arc<Environment>,
    /// Random suffixes of names.
    pub(super) names: Stream,
    /// Image of the payload on the node's disk, which needs no second Pod. Empty for none.
    pub(super) stored_image: String,
    /// The keyrings and stores in the operator's own payload.
    pub(super) trust: Trust,
    pub(super) verifier: Verifier,
}

impl OperatorContext {
    /// Finds the payload that an earlier process retrieved to this node: that of the last pod that succeeded
    /// here.
    pub(super) fn find_stored_payload(&mut self, view: &View) {
        let has_fetched = |pod: &&Object| {
            pod.name().starts_with("version-")
                && pod.text("/spec/nodeName") == self.node
                && pod.text("/status/phase") == "Succeeded"
        };
        let made_at = |pod: &&Object| pod.text("/metadata/creationTimestamp").to_owned();
        let last = view.list_in(&PODS, NAMESPACE).filter(has_fetched).max_by_key(made_at);
        self.stored_image =
            last.map_or_else(String::new, |pod| pod.text("/spec/containers/0/image").to_owned());
    }

    /// Returns whether the node's disk has the complete payload of `image`.
    fn holds(&self, image: &str) -> bool {
        self.stored_image == image && self.confirm(image).is_ok()
    }

    /// Checks that the retrieved contents of `image` are a payload.
    fn confirm(&self, image: &str) -> Result<(), String> {
        let file = match self.environment.release_image(image).contents {
            Contents::NoPayload => "manifests",
            Contents::NoImageReferences => "release-manifests/image-references",
            _ => return Ok(()),
        };
        let place = version_pod::payload_path(image);
        let step = match self.behaviour.retrieval {
            By::Pod => format!("confirming the presence of release-image content in \"{place}\": "),
            By::Job => String::new(),
        };
        let missing = format!("stat {place}/{file}: no such file or directory");
        Err(format!("Unable to download and prepare the update: {step}{missing}"))
    }
}

impl Retrieval {
    /// Starts a retrieval.
    pub(super) fn new(target: Target, site: &OperatorContext, view: &View, now: Time) -> Self {
        let until = site.verifier.known_at(&target.image, &SignatureSources::of(site, view), now);
        // A forced update does not wait forever for a signature that it does not need.
        let until = until.or_else(|| target.force.then(|| now + STORE_TIMEOUT));
        Self {
            target,
            deadline: site.behaviour.limits_retrieval.then(|| now + TIMEOUT),
            stage: Stage::Verify { until },
            retrieved: Retrieved { verified: true, risk: String::new(), causes: String::new() },
            prune_errors: Vec::new(),
        }
    }

    /// The time at which the retrieval continues. `None` while it waits for an answer only.
    pub(super) fn wake_at(&self) -> Option<Time> {
        match &self.stage {
            Stage::Verify { until } => *until,
            Stage::Await { poll_at, .. } => [Some(*poll_at), self.deadline].into_iter().flatten().min(),
            Stage::Prune | Stage::Create | Stage::Failed(_) => self.deadline,
        }
    }

    /// Continues the retrieval. Returns its result when it has ended.
    pub(super) fn run(
        &mut self,
        site: &mut OperatorContext,
        view: &View,
        now: Time,
        out: &mut Outbox,
    ) -> Option<Result<Retrieved, RetrievalError>> {
        loop {
            match &self.stage {
                Stage::Verify { until } if until.is_some_and(|until| until <= now) => {
                    if let Err(error) = self.verify(site, view, now) {
                        return Some(Err(error));
                    }
                    self.stage = Stage::Prune;
                    prune(site.behaviour.retrieval, view, out);
                }
                Stage::Prune if !out.awaits(Purpose::Prune) && !self.prune_errors.is_empty() => {
                    return Some(Err(self.not_pruned().into()));
                }
                Stage::Prune if !out.awaits(Purpose::Prune) && site.holds(&self.target.image) => {
                    return Some(Ok(self.retrieved.clone()));
                }
                Stage::Prune if !out.awaits(Purpose::Prune) => {
                    let write = self.creation(site);
                    if write.resource == PODS {
                        let spawning = format_args!("Spawning Pod {} ...", write.key().name);
                        out.info(now, "updatepayload.go:294", spawning);
                    }
                    out.push(Purpose::Retrieve, write);
                    self.stage = Stage::Create;
                }
                Stage::Await { name, poll_at } => {
                    let judgement = judge(site.behaviour.retrieval, view, name, *poll_at, now);
                    log_judgement(site.behaviour.retrieval, view, name, &judgement, now, out);
                    if judgement == Judgement::Done {
                        // The deletions before it left no other payload on the disk.
                        site.stored_image.clone_from(&self.target.image);
                        if let Err(error) = site.confirm(&self.target.image) {
                            return Some(Err(error.into()));
                        }
                    }
                    return self.handle_judgement(judgement, site.behaviour.retrieval, now);
                }
                Stage::Failed(cause) => return Some(Err(error_text(site.behaviour.retrieval, cause).into())),
                Stage::Verify { .. } | Stage::Prune | Stage::Create => return None,
            }
        }
    }

    /// Handles the answer to the creation of the Job or Pod.
    pub(super) fn created(&mut self, answer: &Answer, now: Time) {
        self.stage = match &answer.outcome {
            Ok(object) => Stage::Await { name: object.name().to_owned(), poll_at: now + JOB_POLL },
            Err(rejection) => Stage::Failed(rejection.message.clone()),
        };
    }

    /// Handles the answer to a deletion of a Job or Pod. Operators that use Jobs only log errors.
    pub(super) fn pruned(&mut self, by: By, answer: &Answer) {
        if let (Err(rejection), By::Pod, Operation::Delete(_)) =
            (&answer.outcome, by, &answer.write.operation)
        {
            let kind = if answer.write.resource == JOBS { "job" } else { "pod" };
            let text = format!("failed to delete {kind} {}: {}", answer.write.name, rejection.message);
            self.prune_errors.push(text);
        }
    }

    fn not_pruned(&self) -> String {
        crate::marks::PRUNING_FAILED.reach();
        let errors = match self.prune_errors.as_slice() {
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        format!(
            "Unable to download and prepare the update: failed to prune pods: error deleting pods: {errors}"
        )
    }

    fn handle_judgement(
        &mut self,
        judgement: Judgement,
        by: By,
        now: Time,
    ) -> Option<Result<Retrieved, RetrievalError>> {
        match judgement {
            Judgement::Done => Some(Ok(self.retrieved.clone())),
            Judgement::Failed(cause) => Some(Err(error_text(by, &cause).into())),
            Judgement::Waiting if self.deadline.is_some_and(|deadline| deadline <= now) => {
                crate::marks::RETRIEVAL_TIMED_OUT.reach();
                Some(Err(error_text(by, "timed out waiting for the condition").into()))
            }
            Judgement::Waiting => {
                if let Stage::Await { poll_at, .. } = &mut self.stage
                    && *poll_at <= now
                {
                    *poll_at = now + JOB_POLL;
                }
                None
            }
        }
    }

    /// Verifies the release signature. Without `force` an invalid one ends the retrieval.
    fn verify(&mut self, site: &mut OperatorContext, view: &View, now: Time) -> Result<(), RetrievalError> {
        let Target { version, image, force, .. } = &self.target;
        let error = match site.verifier.verify(image, &SignatureSources::of(site, view)) {
            Ok(signed) => {
                site.verifier.remember(signed);
                return Ok(());
            }
            Err(error) => error,
        };
        let causes = SignatureSources::of(site, view).causes(image, now);
        if !force {
            return Err(RetrievalError { text: format!("The update cannot be verified: {error}"), causes });
        }
        crate::marks::FORCED_UNVERIFIED.reach();
        self.retrieved = Retrieved {
            verified: false,
            risk: format!(
                "Target release version=\"{version}\" image=\"{image}\" cannot be verified, but continuing anyway because the update was forced: {error}"
            ),
            causes,
        };
        Ok(())
    }

    fn creation(&self, site: &mut OperatorContext) -> Write {
        let pod = VersionPod {
            image: &self.target.image,
            node: &site.node,
            behaviour: site.behaviour,
            directory: site.names.suffix(5),
        };
        let name = format!("version-{}-{}", self.target.version, site.names.suffix(5));
        match site.behaviour.retrieval {
            By::Job => Write::create(&JOBS, pod.job(&name)),
            By::Pod => Write::create(&PODS, pod.pod(&name)),
        }
    }
}

/// Adds the operator's prefix to a retrieval error. Releases that use Pods add the failed step.
fn error_text(by: By, cause: &str) -> String {
    let step = if by == By::Pod { "fetching update payload: " } else { "" };
    format!("Unable to download and prepare the update: {step}{cause}")
}

fn judge(by: By, view: &View, name: &str, poll_at: Time, now: Time) -> Judgement {
    let found = |resource: &Resource| view.get(resource, NAMESPACE, name).cloned();
    match by {
        By::Pod => found(&PODS).map_or(Judgement::Waiting, |pod| version_pod::judge_pod(&pod)),
        By::Job if poll_at > now => Judgement::Waiting,
        By::Job => found(&JOBS).map_or(Judgement::Waiting, |job| version_pod::judge_job(&job)),
    }
}

/// Prints the end of a Pod, or that a Job has no active Pod.
fn log_judgement(by: By, view: &View, name: &str, judgement: &Judgement, now: Time, out: &mut Outbox) {
    match (by, judgement) {
        (By::Pod, Judgement::Done) => {
            out.info(now, "updatepayload.go:359", format_args!("Pod {name} succeeded"));
        }
        (By::Pod, Judgement::Failed(cause)) => {
            let source = if cause.contains(" failed at pending ") { "351" } else { "363" };
            let cause = cause.strip_prefix("pod ").unwrap_or(cause);
            out.error(now, &format!("updatepayload.go:{source}"), format_args!("Pod {cause}"));
        }
        (By::Job, Judgement::Done | Judgement::Failed(_)) => {
            let job = view.get(&JOBS, NAMESPACE, name);
            if job.is_some_and(|job| job.number("/status/succeeded").unwrap_or(0) == 0) {
                let line = format_args!("No active pods for job {name} in namespace {NAMESPACE}");
                out.info(now, "batch.go:31", line);
            }
        }
        (_, Judgement::Waiting) => {}
    }
}

/// Deletes leftovers of earlier retrievals: Jobs by name prefix, and Pods by label in releases that use Pods.
fn prune(by: By, view: &View, out: &mut Outbox) {
    for job in view.list_in(&JOBS, NAMESPACE).filter(|job| job.name().starts_with("version-")) {
        out.push(Purpose::Prune, Write::delete(&JOBS, NAMESPACE, job.name()));
    }
    if by == By::Pod {
        let is_leftover =
            |pod: &&Object| pod.label("k8s-app") == Some(version_pod::LABEL) && !pod.is_terminating();
        for pod in view.list_in(&PODS, NAMESPACE).filter(is_leftover) {
            out.push(Purpose::Prune, Write::delete(&PODS, NAMESPACE, pod.name()));
        }
    }
}
