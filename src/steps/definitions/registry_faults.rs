//! When: faults of releases in the registry, of webhooks and of CustomResourceDefinitions.

use cucumber::gherkin::Step;
use cucumber::when;
use windtunnel_core::requests::faults::RequestFilter;
use windtunnel_openshift::environment::ReleaseFault;

use super::faults::{begin, requests};
use crate::plan::{CrdFault, FaultTarget, InjectedFault};
use crate::steps::phrase::pull_result;
use crate::steps::world::{ClusterWorld, StepError, find_release};

/// Changes the result of new pulls of a release, for a time or until `is as before`.
///
/// ```gherkin
/// When pulling release 4.20.3 finds the registry unavailable for 20 minutes
/// When pulling release 4.20.3 is as before
/// ```
#[when(
    regex = r"^(?:at (?:\d+ \w+|change \d+ of \S+) )?pulling release (\S+) (is unauthorized|finds no manifest|finds another digest|finds no registry|finds the registry unavailable|is slow|hangs|is as before)(?: for (\d+ \w+))?$"
)]
async fn pull(
    world: &mut ClusterWorld,
    version: String,
    answer: String,
    time: String,
    step: &Step,
) -> Result<(), StepError> {
    let version = find_release(&version)?.version;
    let fault = match answer.as_str() {
        "is as before" => None,
        other => Some(InjectedFault::Release(version.clone(), ReleaseFault::Pull(pull_result(other)?))),
    };
    begin(world, step, fault, FaultTarget::Release(version), &time).await
}

/// Breaks the image or the signatures of a release, for a time or until it recovers. Pulls in progress and
/// images that the cluster has already are not affected.
///
/// ```gherkin
/// When release 4.20.3 loses its OpenPGP signature
/// When release 4.20.3 becomes corrupt for 20 minutes
/// When release 4.20.3 recovers
/// ```
#[when(
    regex = r"^(?:at (?:\d+ \w+|change \d+ of \S+) )?release (\S+) (loses its Sigstore signature|gets a Sigstore signature by another key|gets a Sigstore signature for another identity|gets an expired Sigstore signature|loses its OpenPGP signature|is signed by another key|gets no answer about its OpenPGP signature|becomes corrupt|loses its image references|gets image references of another version|gets unreadable metadata|loses its payload|has containers that crash|has containers that run out of memory|has containers that cannot be created|recovers)(?: for (\d+ \w+))?$"
)]
async fn release(
    world: &mut ClusterWorld,
    version: String,
    how: String,
    time: String,
    step: &Step,
) -> Result<(), StepError> {
    let name = match how.as_str() {
        "loses its Sigstore signature" => "sigstore-missing",
        "gets a Sigstore signature by another key" => "sigstore-wrong-key",
        "gets a Sigstore signature for another identity" => "sigstore-wrong-identity",
        "gets an expired Sigstore signature" => "sigstore-expired",
        "loses its OpenPGP signature" => "openpgp-missing",
        "is signed by another key" => "openpgp-wrong-key",
        "gets no answer about its OpenPGP signature" => "openpgp-unanswered",
        "becomes corrupt" => "corrupt",
        "loses its image references" => "no-image-references",
        "gets image references of another version" => "other-image-references",
        "gets unreadable metadata" => "unreadable-metadata",
        "loses its payload" => "no-payload",
        "has containers that crash" => "containers-crash",
        "has containers that run out of memory" => "containers-out-of-memory",
        "has containers that cannot be created" => "containers-cannot-be-created",
        _ => "",
    };
    let version = find_release(&version)?.version;
    let fault = ReleaseFault::named(name).map(|fault| InjectedFault::Release(version.clone(), fault));
    begin(world, step, fault, FaultTarget::Release(version), &time).await
}

/// Adds an admission webhook that covers these writes and does not answer, for a time or until it is removed.
///
/// ```gherkin
/// When a webhook for updates of ClusterOperator/dns status is unreachable
/// When a webhook for writes of Deployment is unreachable for 30 minutes
/// When the webhook for updates of ClusterOperator/dns status is removed
/// ```
#[when(
    regex = r"^(?:at (?:\d+ \w+|change \d+ of \S+) )?(?:a|the) webhook for (create|update|patch|delete|write)s? of ([^\s/]+)(?:/(\S+))?(?: (status|scale))? is (unreachable|removed)(?: for (\d+ \w+))?$"
)]
#[expect(clippy::too_many_arguments, reason = "one for each part of the step")]
async fn webhook(
    world: &mut ClusterWorld,
    verb: String,
    kind: String,
    name: String,
    subresource: String,
    how: String,
    time: String,
    step: &Step,
) -> Result<(), StepError> {
    let subresource = Some(subresource).filter(|subresource| !subresource.is_empty());
    let writes = RequestFilter { subresource, ..requests(&world.kinds, &verb, &kind, name)? };
    let fault = (how == "unreachable").then(|| InjectedFault::Webhook(writes.clone()));
    begin(world, step, fault, FaultTarget::Webhook(writes), &time).await
}

/// Makes a CustomResourceDefinition conflict with another one. Either its objects were stored in a version
/// that no release has, so that it cannot be changed; or another definition uses its names, so that the new
/// definition is not accepted.
///
/// ```gherkin
/// When CustomResourceDefinition clusterversions.config.openshift.io has objects stored in another version
/// When CustomResourceDefinition backups.config.openshift.io finds its names taken for 1 hour
/// When CustomResourceDefinition backups.config.openshift.io recovers
/// ```
#[when(
    regex = r"^(?:at (?:\d+ \w+|change \d+ of \S+) )?CustomResourceDefinition (\S+) (has objects stored in another version|finds its names taken|recovers)(?: for (\d+ \w+))?$"
)]
async fn definition(
    world: &mut ClusterWorld,
    name: String,
    how: String,
    time: String,
    step: &Step,
) -> Result<(), StepError> {
    let fault = match how.as_str() {
        "has objects stored in another version" => Some(CrdFault::StoredVersion),
        "finds its names taken" => Some(CrdFault::NamesTaken),
        _ => None,
    };
    let fault = fault.map(|fault| InjectedFault::Crd(name.clone(), fault));
    begin(world, step, fault, FaultTarget::Crd(name), &time).await
}
