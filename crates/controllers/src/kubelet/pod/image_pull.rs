//! Image pulls for waiting containers, with attempts, errors and back-off.

use jiff::SignedDuration;

use super::pull_outcome::{self, Outcome, PullError, Pulling};
use crate::kubelet::pod::crash::payload_place;
use crate::kubelet::pod::environment;
use crate::kubelet::pod::pod_status::State;
use crate::kubelet::pod::worker::{PodSync, random_duration};
use crate::recorder::Notice;

/// The longest back-off between two pulls of an image.
const BACK_OFF_MAX: SignedDuration = SignedDuration::from_secs(300);

impl PodSync<'_> {
    /// Pulls the image of a waiting container and starts the container once the image is present.
    pub(super) fn pull(&mut self, index: usize) {
        let (now, image) = (self.site.now, self.status.containers[index].image.clone());
        if self.images.contains(&image) && !self.must_pull_again(index) {
            if !self.could_not_be_created(index) {
                let text = format!("Container image \"{image}\" already present on machine");
                self.record_event(Notice::normal("Pulled", text));
            }
            return self.start(index);
        }
        if let Some(error) = self.unpullable(index, &image) {
            return self.wait_with_error(index, &error);
        }
        let pulling = match self.memory.pulls.remove(&image) {
            None => self.begin_pull(&image, 0),
            Some(Pulling::Failed { retry_at, failures, .. }) if retry_at <= now => {
                self.begin_pull(&image, failures)
            }
            Some(Pulling::Underway { since, until, outcome, failures }) if until <= now => match outcome {
                Outcome::Arrives { .. } => {
                    self.record_pulled(&image, now.duration_since(since));
                    self.images.insert(image);
                    return self.start(index);
                }
                Outcome::Never => Pulling::Underway { since, until, outcome, failures },
                Outcome::Fails(error) => self.fail_pull(index, &image, error, failures + 1),
            },
            Some(Pulling::Failed { error, quiet_at, retry_at, failures }) if quiet_at <= now => {
                if !self.is_waiting_for(index, "ImagePullBackOff") {
                    self.record_event(Notice::normal(
                        "BackOff",
                        format!("Back-off pulling image \"{image}\""),
                    ));
                    self.record_event(Notice::warning("Failed", "Error: ImagePullBackOff"));
                }
                let message = error.back_off_message(&image, self.site.minor);
                crate::marks::PULL_BACK_OFF.reach();
                let reason = "ImagePullBackOff".to_owned();
                self.status.containers[index].transition_to(State::Waiting { reason, message });
                Pulling::Failed { error, quiet_at, retry_at, failures }
            }
            Some(going_on) => going_on,
        };
        match &pulling {
            Pulling::Underway { outcome: Outcome::Never, .. } => {}
            Pulling::Underway { until, .. } => self.schedule_by(*until),
            Pulling::Failed { quiet_at, retry_at, .. } => {
                self.schedule_by(if *quiet_at > now { *quiet_at } else { *retry_at });
            }
        }
        self.out.why = Some(format!("pulling {image} for {}", self.key));
        self.memory.pulls.insert(image, pulling);
    }

    /// The reason for not trying to pull an image. A container with such an image has no back-off.
    fn unpullable(&self, index: usize, image: &str) -> Option<PullError> {
        let never = self.has_policy(index, "Never");
        pull_outcome::misnamed(image).or_else(|| {
            never.then(|| PullError {
                reason: "ErrImageNeverPull",
                message: format!("Container image \"{image}\" is not present with pull policy of Never"),
            })
        })
    }

    /// Whether to pull although the image is present. An image that was pulled for a container which could
    /// not be created is not pulled again.
    fn must_pull_again(&self, index: usize) -> bool {
        self.has_policy(index, "Always") && !self.could_not_be_created(index)
    }

    /// Whether the container could not be created although its image is present.
    fn could_not_be_created(&self, index: usize) -> bool {
        ["CreateContainerError", environment::CONFIG_ERROR].iter().any(|why| self.is_waiting_for(index, why))
    }

    fn has_policy(&self, index: usize, policy: &str) -> bool {
        self.spec(index)["imagePullPolicy"] == policy
    }

    pub(super) fn is_waiting_for(&self, index: usize, wanted: &str) -> bool {
        matches!(&self.status.containers[index].state, State::Waiting { reason, .. } if reason == wanted)
    }

    /// Makes a container wait with an error that no pull can fix.
    fn wait_with_error(&mut self, index: usize, PullError { reason, message }: &PullError) {
        self.out.why = Some(message.clone());
        if !self.is_waiting_for(index, reason) {
            let event = if *reason == "InvalidImageName" { "InspectFailed" } else { reason };
            self.record_event(Notice::warning(event, message.clone()));
            self.record_event(Notice::warning("Failed", format!("Error: {reason}")));
        }
        let (reason, message) = ((*reason).to_owned(), message.clone());
        self.status.containers[index].transition_to(State::Waiting { reason, message });
    }

    /// Records the Event for a completed pull. It includes the image size since Kubernetes 1.30.
    fn record_pulled(&mut self, image: &str, took: SignedDuration) {
        let took = in_seconds(took);
        let mut text = format!("Successfully pulled image \"{image}\" in {took} ({took} including waiting)");
        if self.site.minor >= 30 {
            let size = self.site.streams.stream(&format!("image/{image}")).between(500_000_000, 600_000_000);
            text += &format!(". Image size: {size} bytes.");
        }
        self.record_event(Notice::normal("Pulled", text));
    }

    fn begin_pull(&mut self, image: &str, failures: u32) -> Pulling {
        let (environment, wants_payload) = (self.site.environment, self.wants_payload(image));
        let answer = |reference: &str| {
            if wants_payload { environment.payload(reference) } else { environment.image(reference) }
        };
        let sources = self.site.registries.sources(image);
        let outcome = pull_outcome::attempt(&sources, answer, self.site.view, image, self.site.minor);
        // Layers take time. Errors return quickly, also when the registry cannot be reached.
        let millis = match outcome {
            Outcome::Arrives { .. } if self.images.contains(image) => (300, 900),
            Outcome::Arrives { slowly: false } => (2_000, 8_000),
            Outcome::Arrives { slowly: true } => (65_000, 100_000),
            Outcome::Fails(_) | Outcome::Never => (300, 900),
        };
        self.record_event(Notice::normal("Pulling", format!("Pulling image \"{image}\"")));
        let since = self.site.now;
        let until = since + random_duration(&mut self.stream("pull", image, failures), millis);
        Pulling::Underway { since, until, outcome, failures }
    }

    /// Whether a container extracts the release payload of this image.
    fn wants_payload(&self, image: &str) -> bool {
        let mut specs =
            ["/spec/initContainers", "/spec/containers"].into_iter().flat_map(|list| self.pod.list(list));
        specs.any(|spec| spec["image"] == image && payload_place(spec).is_some())
    }

    /// Starts the back-off: 10 s, doubled with each failure, from the time of the failure. A random part
    /// spreads the pods.
    fn fail_pull(&mut self, index: usize, image: &str, error: PullError, failures: u32) -> Pulling {
        let now = self.site.now;
        self.record_event(Notice::warning(
            "Failed",
            format!("Failed to pull image \"{image}\": {}", error.event_message()),
        ));
        self.record_event(Notice::warning("Failed", format!("Error: {}", error.reason)));
        let waiting = State::Waiting { reason: error.reason.to_owned(), message: error.message.clone() };
        self.status.containers[index].transition_to(waiting);
        let doubled = SignedDuration::from_secs(10_i64 << (failures - 1).min(5));
        let mut stream = self.stream("back-off", image, failures);
        let quiet_at = now + random_duration(&mut stream, (1_000, 3_000));
        let retry_at = now + doubled.min(BACK_OFF_MAX) + random_duration(&mut stream, (0, 1_500));
        Pulling::Failed { error, quiet_at, retry_at, failures }
    }
}

/// Formats a time below a minute like Go, to the millisecond: `2.345s`.
fn in_seconds(span: SignedDuration) -> String {
    format!("{}s", f64::from(u32::try_from(span.as_millis()).unwrap_or(u32::MAX)) / 1_000.0)
}
