//! Results of image pulls, with the messages of CRI-O and the kubelet.

use jiff::SignedDuration;
use windtunnel_core::View;
use windtunnel_core::clock::{Time, after};

use super::signature;
use crate::registry::{Image, Pull, digest_of, repository_of};

/// The address of the DNS server in CRI-O's message about an unknown registry host.
const RESOLVER: &str = "10.0.0.2:53";

/// The result of a pull.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The pull succeeds.
    Arrives {
        /// Whether it takes more than a minute.
        slowly: bool,
    },
    /// The pull fails with this error.
    Fails(PullError),
    /// The registry never answers.
    Never,
}

/// The waiting state of a container after a failed pull.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PullError {
    /// The reason, such as `ErrImagePull`.
    pub(super) reason: &'static str,
    /// CRI-O's message, as the kubelet reports it.
    pub(super) message: String,
}

/// The state of the pull of one image for one pod.
#[derive(Debug, Clone)]
pub(super) enum Pulling {
    /// The pull is in progress and ends at `until` with `outcome`.
    Underway { since: Time, until: Time, outcome: Outcome, failures: u32 },
    /// The pull failed. The status shows the error until `quiet_at`, and the next attempt is at `retry_at`.
    Failed { error: PullError, quiet_at: Time, retry_at: Time, failures: u32 },
}

impl Pulling {
    /// Shifts all times when the clock is set.
    pub(super) fn leap(&mut self, by: SignedDuration) {
        let times = match self {
            Self::Underway { since, until, .. } => [since, until],
            Self::Failed { quiet_at, retry_at, .. } => [quiet_at, retry_at],
        };
        for at in times {
            *at = after(*at, by);
        }
    }
}

impl PullError {
    /// The error in the message of the Event.
    pub(super) fn event_message(&self) -> String {
        match self.message.split_once(" because the ").and_then(|(_, cause)| cause.split_once(": ")) {
            Some((_, cause)) if self.reason != "ErrImagePull" => format!("{}: {cause}", self.reason),
            _ => self.message.clone(),
        }
    }

    /// The message of `ImagePullBackOff` after this error. It includes the error since Kubernetes 1.32.
    pub(super) fn back_off_message(&self, image: &str, kubelet_minor: u32) -> String {
        let back_off = format!("Back-off pulling image \"{image}\"");
        if kubelet_minor >= 32 { format!("{back_off}: {}: {}", self.reason, self.message) } else { back_off }
    }
}

/// The result of a pull of `image` with the registry's answer `found`, in the messages of a kubelet of
/// version 1.`kubelet_minor`.
pub(super) fn attempt(found: &Image, view: &View, image: &str, kubelet_minor: u32) -> Outcome {
    if matches!(found.pull, Pull::Succeeds | Pull::Slow)
        && let Some(cause) = signature::rejection(view, found.sigstore, image)
    {
        return Outcome::Fails(PullError {
            reason: "SignatureValidationFailed",
            message: format!(
                "image pull failed for {image} because the signature validation failed: \
                 Source image rejected: {cause}"
            ),
        });
    }
    let cause = match found.pull {
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
        Pull::WrongDigest => {
            let message = other_digest(image, kubelet_minor);
            return Outcome::Fails(PullError { reason: "ErrImagePull", message });
        }
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
    let initializing = format!("initializing source docker://{image}: {cause}");
    let message = runtime_text(&initializing, &format!("build image source: {cause}"), kubelet_minor);
    Outcome::Fails(PullError { reason: "ErrImagePull", message })
}

/// The error for a manifest with a wrong digest, which CRI-O reports while it determines the manifest's type.
fn other_digest(image: &str, kubelet_minor: u32) -> String {
    let digest = digest_of(image).unwrap_or_default();
    let cause = format!("Manifest does not match provided manifest digest {digest}");
    let image_error = format!("determining manifest MIME type for docker://{image}: {cause}");
    runtime_text(&image_error, &cause, kubelet_minor)
}

/// The error as the kubelet receives it. CRI-O 4.20 (Kubernetes 1.33) also tries the image as an OCI
/// artifact. Kubelets before 1.32 keep gRPC's prefix for errors of unknown type.
fn runtime_text(error: &str, of_artifact: &str, kubelet_minor: u32) -> String {
    match kubelet_minor {
        33.. => format!(
            "unable to pull image or OCI artifact: pull image err: {error}; artifact err: get manifest: {of_artifact}"
        ),
        32 => error.to_owned(),
        _ => format!("rpc error: code = Unknown desc = {error}"),
    }
}

fn reading(image: &str) -> String {
    let repository = repository_of(image);
    let reference =
        digest_of(image).or_else(|| image.strip_prefix(repository)?.strip_prefix(':')).unwrap_or("latest");
    format!("reading manifest {reference} in {repository}")
}

fn host(image: &str) -> &str {
    repository_of(image).split('/').next().unwrap_or_default()
}

/// The waiting state of a container with an invalid image name, which is not pulled.
pub(super) fn misnamed(image: &str) -> Option<PullError> {
    let possible = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-/:".contains(c);
    let repository = repository_of(image);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{NodeEnvironment as _, Standalone};

    const IMAGE: &str = "quay.io/openshift-release-dev/ocp-release@sha256:0000";

    fn check(image: &str, minor: u32, message: &str, back_off: &str) {
        let found = Standalone::default().payload(image);
        let Outcome::Fails(error) = attempt(&found, &View::default(), image, minor) else {
            panic!("the pull of {image} did not fail")
        };
        assert_eq!((error.reason, error.message.as_str()), ("ErrImagePull", message));
        assert_eq!(error.back_off_message(image, minor), back_off);
    }

    #[test]
    fn reports_an_unknown_manifest_like_each_version_of_kubelet_and_cri_o() {
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
    fn reports_a_manifest_with_a_wrong_digest_by_the_requested_digest() {
        let image = Image { pull: Pull::WrongDigest, ..Image::default() };
        let message_of = |minor| match attempt(&image, &View::default(), IMAGE, minor) {
            Outcome::Fails(error) => error.message,
            _ => panic!("the pull did not fail"),
        };
        let cause = "Manifest does not match provided manifest digest sha256:0000";
        let raw = format!("determining manifest MIME type for docker://{IMAGE}: {cause}");
        assert_eq!(message_of(27), format!("rpc error: code = Unknown desc = {raw}"));
        assert_eq!(message_of(32), raw);
        let both = format!(
            "unable to pull image or OCI artifact: pull image err: {raw}; artifact err: get manifest: {cause}"
        );
        assert_eq!(message_of(33), both);
    }

    #[test]
    fn rejects_invalid_image_names_without_a_pull() {
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
}
