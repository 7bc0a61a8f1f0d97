//! Results of image pulls, with the messages of CRI-O and the kubelet.

use jiff::SignedDuration;
use windtunnel_core::View;
use windtunnel_core::clock::{Time, after};

use super::signature;
use crate::registries_conf::{PATH, PullSource, is_retried};
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

/// The result of a pull of `image`, which tries `sources` in order. `answer` is what a registry answers to a pull
/// specification. The messages are those of a kubelet of version 1.`kubelet_minor`.
pub(super) fn attempt(
    sources: &[PullSource],
    answer: impl Fn(&str) -> Image,
    view: &View,
    image: &str,
    kubelet_minor: u32,
) -> Outcome {
    let (mut failures, mut is_unavailable) = (Vec::new(), false);
    for PullSource { reference, blocked_by } in sources {
        let found = blocked_by.is_none().then(|| answer(reference));
        if let Some(found) = found.as_ref().filter(|found| !is_retried(found)) {
            return outcome_at(found, view, image, kubelet_minor);
        }
        is_unavailable = found.as_ref().is_some_and(|found| found.pull == Pull::Unavailable);
        let cause = match (blocked_by, found) {
            (None, Some(found)) => answered(found.pull, reference),
            (by, _) => blocked(by.as_deref().unwrap_or_default()),
        };
        failures.push((reference, cause));
    }
    let cause = all_failed(&failures);
    if is_unavailable {
        let message = format!("image pull failed for {image} because the registry is unavailable: {cause}");
        return Outcome::Fails(PullError { reason: "RegistryUnavailable", message });
    }
    let initializing = format!("initializing source docker://{image}: {cause}");
    let message = runtime_text(&initializing, &format!("build image source: {cause}"), kubelet_minor);
    Outcome::Fails(PullError { reason: "ErrImagePull", message })
}

/// The result of a pull from the place that was chosen.
fn outcome_at(found: &Image, view: &View, image: &str, kubelet_minor: u32) -> Outcome {
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
    match found.pull {
        Pull::Hangs => Outcome::Never,
        Pull::WrongDigest => {
            let message = other_digest(image, kubelet_minor);
            Outcome::Fails(PullError { reason: "ErrImagePull", message })
        }
        pull => Outcome::Arrives { slowly: pull == Pull::Slow },
    }
}

/// The error of a place without the image, which is not the last place to try.
fn answered(pull: Pull, reference: &str) -> String {
    let host = host(reference);
    match pull {
        Pull::Unauthorized => {
            let error = "unauthorized: access to the requested resource is not authorized";
            format!("{}: {error}", reading(reference))
        }
        Pull::Unreachable => format!(
            "pinging container registry {host}: Get \"https://{host}/v2/\": \
             dial tcp: lookup {host} on {RESOLVER}: no such host"
        ),
        Pull::Unavailable => format!(
            "pinging container registry {host}: received unexpected HTTP status: 503 Service Unavailable"
        ),
        _ => format!("{}: manifest unknown", reading(reference)),
    }
}

/// The error about a place that `registries.conf` blocks (`newDockerClient` of containers/image).
fn blocked(prefix: &str) -> String {
    format!("registry {prefix} is blocked in {PATH} or {PATH}.d")
}

/// The error after all places failed: mirrors, and in the end the source (`newImageSource` of containers/image).
fn all_failed(failures: &[(&String, String)]) -> String {
    let Some(((reference, last), mirrors)) = failures.split_last() else { return String::new() };
    if mirrors.is_empty() {
        return last.clone();
    }
    let mirrors: Vec<String> =
        mirrors.iter().map(|(reference, cause)| format!("[{reference}: {cause}]")).collect();
    format!("(Mirrors also failed: {}): {reference}: {last}", mirrors.join("\n"))
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
    use crate::registries_conf::RegistriesConf;

    const IMAGE: &str = "quay.io/openshift-release-dev/ocp-release@sha256:0000";

    fn check(image: &str, minor: u32, message: &str, back_off: &str) {
        let environment = Standalone::default();
        let sources = RegistriesConf::default().sources(image);
        let outcome = attempt(&sources, |image| environment.payload(image), &View::default(), image, minor);
        let Outcome::Fails(error) = outcome else { panic!("the pull of {image} did not fail") };
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
        let found = |_: &str| Image { pull: Pull::WrongDigest, ..Image::default() };
        let sources = RegistriesConf::default().sources(IMAGE);
        let message_of = |minor| match attempt(&sources, found, &View::default(), IMAGE, minor) {
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

    fn with_mirror(mirror: Pull, source: Pull) -> Outcome {
        let text =
            "[[registry]]\nlocation = \"quay.io\"\n[[registry.mirror]]\nlocation = \"m.example.com\"\n";
        let answer = |reference: &str| {
            let pull = if reference.starts_with("m.") { mirror } else { source };
            Image { pull, ..Image::default() }
        };
        let sources = RegistriesConf::parse(text).unwrap().sources("quay.io/a@sha256:00");
        attempt(&sources, answer, &View::default(), "quay.io/a@sha256:00", 32)
    }

    #[test]
    fn a_mirror_has_priority_and_the_source_is_the_last_resort() {
        let arrives = Outcome::Arrives { slowly: false };
        assert_eq!(with_mirror(Pull::Succeeds, Pull::ManifestUnknown), arrives);
        assert_eq!(with_mirror(Pull::Unreachable, Pull::Succeeds), arrives);
        assert_eq!(with_mirror(Pull::Hangs, Pull::Succeeds), Outcome::Never);
        assert!(matches!(with_mirror(Pull::WrongDigest, Pull::Succeeds), Outcome::Fails(_)));
    }

    #[test]
    fn the_error_names_mirrors_that_failed_before_the_source() {
        let Outcome::Fails(error) = with_mirror(Pull::Unauthorized, Pull::ManifestUnknown) else {
            panic!("the pull did not fail")
        };
        assert_eq!(
            error.message,
            "initializing source docker://quay.io/a@sha256:00: (Mirrors also failed: \
             [m.example.com/a@sha256:00: reading manifest sha256:00 in m.example.com/a: unauthorized: access to the \
             requested resource is not authorized]): quay.io/a@sha256:00: reading manifest sha256:00 in quay.io/a: \
             manifest unknown"
        );
        let Outcome::Fails(error) = with_mirror(Pull::Unreachable, Pull::Unavailable) else {
            panic!("the pull did not fail")
        };
        assert_eq!(error.reason, "RegistryUnavailable");
    }

    #[test]
    fn a_blocked_source_is_not_contacted() {
        let text = "[[registry]]\nlocation = \"quay.io/a\"\nblocked = true\n[[registry.mirror]]\nlocation = \"m\"\n\
                    pull-from-mirror = \"digest-only\"\n";
        let sources = RegistriesConf::parse(text).unwrap().sources("quay.io/a:1");
        let answer = |_: &str| -> Image { panic!("no place may be contacted") };
        let outcome = attempt(&sources, answer, &View::default(), "quay.io/a:1", 32);
        let Outcome::Fails(error) = outcome else { panic!("the pull did not fail") };
        assert_eq!(
            error.message,
            "initializing source docker://quay.io/a:1: registry quay.io/a is blocked in \
             /etc/containers/registries.conf or /etc/containers/registries.conf.d"
        );
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
