//! What an image pull comes to, in the words of CRI-O and the kubelet.

use crate::base::clock::Time;
use crate::model::world::{Pull, Registry, Signature, digest_of};
use crate::model::{View, resources::CLUSTER_IMAGE_POLICIES};

/// The address of the resolver in CRI-O's text about a registry that cannot be found.
const RESOLVER: &str = "10.0.0.2:53";

/// What a pull comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The image arrives.
    Arrives {
        /// After more than a minute.
        slowly: bool,
    },
    /// The kubelet shows this waiting state.
    Fails(PullError),
    /// No answer ever comes.
    Never,
}

/// The waiting state of a container whose image could not be pulled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PullError {
    /// Such as `ErrImagePull`.
    pub(super) reason: &'static str,
    /// CRI-O's text, as the kubelet passes it on.
    pub(super) message: String,
}

/// The pull of one image for one pod.
#[derive(Debug)]
pub(super) enum Pulling {
    /// It is under way and comes to `outcome` at `until`.
    Underway { since: Time, until: Time, outcome: Outcome, failures: u32 },
    /// It failed; the error shows until `quiet_at`, and the next try is at `retry_at`.
    Failed { error: PullError, quiet_at: Time, retry_at: Time, failures: u32 },
}

impl PullError {
    /// What the Event about it says was wrong.
    pub(super) fn told(&self) -> String {
        match self.message.split_once(" because the ").and_then(|(_, cause)| cause.split_once(": ")) {
            Some((_, cause)) if self.reason != "ErrImagePull" => format!("{}: {cause}", self.reason),
            _ => self.message.clone(),
        }
    }

    /// The message of `ImagePullBackOff` after this error. Since Kubernetes 1.32 it ends with the error.
    pub(super) fn back_off_message(&self, image: &str, kubelet_minor: u32) -> String {
        let back_off = format!("Back-off pulling image \"{image}\"");
        if kubelet_minor >= 32 { format!("{back_off}: {}: {}", self.reason, self.message) } else { back_off }
    }
}

/// What a pull of `image` comes to now, told by a kubelet of Kubernetes 1.`kubelet_minor`.
pub(super) fn attempt(registry: &Registry, view: &View, image: &str, kubelet_minor: u32) -> Outcome {
    let found = registry.resolve(image);
    let cause = match found.pull {
        Pull::Succeeds | Pull::Slow
            if found.sigstore == Signature::Missing && wants_signature(view, image) =>
        {
            return Outcome::Fails(PullError {
                reason: "SignatureValidationFailed",
                message: format!(
                    "image pull failed for {image} because the signature validation failed: \
                     Source image rejected: A signature was required, but no signature exists"
                ),
            });
        }
        Pull::Succeeds => return Outcome::Arrives { slowly: false },
        Pull::Slow => return Outcome::Arrives { slowly: true },
        Pull::Unavailable => {
            let host = host(image);
            return Outcome::Fails(PullError {
                reason: "RegistryUnavailable",
                message: format!(
                    "image pull failed for {image} because the registry is unavailable: pinging container registry \
                     {host}: received unexpected HTTP status: 503 Service Unavailable"
                ),
            });
        }
        Pull::Hangs => return Outcome::Never,
        Pull::ManifestUnknown => format!("{}: manifest unknown", reading(image)),
        Pull::Unauthorized => {
            format!("{}: unauthorized: access to the requested resource is not authorized", reading(image))
        }
        Pull::Unreachable => {
            let host = host(image);
            format!(
                "pinging container registry {host}: Get \"https://{host}/v2/\": \
                 dial tcp: lookup {host} on {RESOLVER}: no such host"
            )
        }
    };
    let message = runtime_text(image, &cause, kubelet_minor);
    Outcome::Fails(PullError { reason: "ErrImagePull", message })
}

/// The error as it reaches the kubelet: CRI-O of 4.20 (Kubernetes 1.33) tries the image as an OCI artifact too, and
/// kubelets before 1.32 keep the prefix that gRPC puts before errors of no known kind.
fn runtime_text(image: &str, cause: &str, kubelet_minor: u32) -> String {
    let error = format!("initializing source docker://{image}: {cause}");
    match kubelet_minor {
        33.. => format!(
            "unable to pull image or OCI artifact: pull image err: {error}; \
             artifact err: get manifest: build image source: {cause}"
        ),
        32 => error,
        _ => format!("rpc error: code = Unknown desc = {error}"),
    }
}

fn reading(image: &str) -> String {
    let repository = repository(image);
    let reference =
        digest_of(image).or_else(|| image.strip_prefix(repository)?.strip_prefix(':')).unwrap_or("latest");
    format!("reading manifest {reference} in {repository}")
}

fn host(image: &str) -> &str {
    repository(image).split('/').next().unwrap_or_default()
}

/// What a container whose image has no possible name waits with, without a pull.
pub(super) fn misnamed(image: &str) -> Option<PullError> {
    let possible = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-/:".contains(c);
    let repository = repository(image);
    if !repository.is_empty()
        && repository.chars().all(possible)
        && repository.split('/').all(|part| !part.is_empty())
    {
        return None;
    }
    let message = format!(
        "Failed to apply default image tag \"{image}\": couldn't parse image name \"{image}\": invalid reference format"
    );
    Some(PullError { reason: "InvalidImageName", message })
}

/// A pull specification without its tag and digest.
fn repository(image: &str) -> &str {
    let named = image.split('@').next().unwrap_or(image);
    let name = named.rfind('/').map_or(0, |slash| slash + 1);
    match named.get(name..).and_then(|last| last.find(':')) {
        Some(colon) => &named[..name + colon],
        None => named,
    }
}

/// Whether a `ClusterImagePolicy` covers the image.
fn wants_signature(view: &View, image: &str) -> bool {
    let repository = repository(image);
    view.list(&CLUSTER_IMAGE_POLICIES)
        .flat_map(|policy| policy.list("/spec/scopes"))
        .filter_map(|scope| scope.as_str())
        .any(|scope| covers(scope, repository))
}

/// The scope rule of `policy.json` (containers-policy.json(5)): a repository, a namespace or host above it, or
/// `*.domain`.
fn covers(scope: &str, repository: &str) -> bool {
    if let Some(domain) = scope.strip_prefix('*') {
        return repository.split('/').next().is_some_and(|host| host.ends_with(domain));
    }
    repository.strip_prefix(scope).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMAGE: &str = "quay.io/openshift-release-dev/ocp-release@sha256:0000";

    fn check(image: &str, minor: u32, message: &str, back_off: &str) {
        let Outcome::Fails(error) = attempt(&Registry::default(), &View::default(), image, minor) else {
            panic!("the pull of {image} did not fail")
        };
        assert_eq!((error.reason, error.message.as_str()), ("ErrImagePull", message));
        assert_eq!(error.back_off_message(image, minor), back_off);
    }

    #[test]
    fn an_unknown_manifest_reads_as_each_generation_of_kubelets_and_cri_o_says_it() {
        let old_back_off =
            "Back-off pulling image \"quay.io/openshift-release-dev/ocp-release@sha256:0000\"".to_owned();
        let core =
            "reading manifest sha256:0000 in quay.io/openshift-release-dev/ocp-release: manifest unknown";
        let raw = format!("initializing source docker://{IMAGE}: {core}");
        check(IMAGE, 27, &format!("rpc error: code = Unknown desc = {raw}"), &old_back_off);
        check(IMAGE, 32, &raw, &format!("{old_back_off}: ErrImagePull: {raw}"));
        let both = format!(
            "unable to pull image or OCI artifact: pull image err: {raw}; \
             artifact err: get manifest: build image source: {core}"
        );
        check(IMAGE, 33, &both, &format!("{old_back_off}: ErrImagePull: {both}"));
    }

    #[test]
    fn a_name_that_no_image_can_have_is_not_pulled() {
        for image in ["quay.io/a/b@sha256:00", "host:5000/a/b_c.d-e:V1", "busybox"] {
            assert_eq!(misnamed(image), None, "{image}");
        }
        for image in ["", "quay.io/a b", "quay.io//b", "quay.io/a/b,c@sha256:00"] {
            let error = misnamed(image).unwrap_or_else(|| panic!("{image} is no name"));
            let text = format!(
                "Failed to apply default image tag \"{image}\": couldn't parse image name \"{image}\": invalid reference format"
            );
            assert_eq!((error.reason, error.message), ("InvalidImageName", text));
        }
    }

    #[test]
    fn a_scope_covers_whole_path_elements_below_it() {
        let repository = "quay.io/openshift-release-dev/ocp-release";
        for (scope, expected) in [
            (repository, true),
            ("quay.io/openshift-release-dev", true),
            ("quay.io", true),
            ("*.io", true),
            ("quay.io/openshift-release-dev/ocp", false),
            ("registry.ci.openshift.org", false),
        ] {
            assert_eq!(covers(scope, repository), expected, "{scope}");
        }
    }

    #[test]
    fn the_repository_is_what_stands_before_tag_and_digest() {
        for image in
            ["host:5000/a/b:v1", "host:5000/a/b@sha256:00", "host:5000/a/b", "host:5000/a/b:v1@sha256:00"]
        {
            assert_eq!(repository(image), "host:5000/a/b", "{image}");
        }
    }
}
