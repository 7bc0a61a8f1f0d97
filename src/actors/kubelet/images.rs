//! How a waiting container's image comes to the node: tries, errors and back-off.

use jiff::SignedDuration;

use super::pull::{self, Outcome, PullError, Pulling};
use super::status::State;
use super::worker::{Look, draw};

/// Longest back-off between two pulls of an image.
const BACK_OFF_MAX: SignedDuration = SignedDuration::from_secs(300);

impl Look<'_> {
    /// Brings the image of a waiting container to the node, and starts the container when it is there.
    pub(super) fn pull(&mut self, index: usize) {
        let (now, image) = (self.site.now, self.status.containers[index].image.clone());
        if self.images.contains(&image) {
            return self.start(index);
        }
        if let Some(PullError { reason, message }) = self.unpullable(index, &image) {
            self.out.why = Some(message.clone());
            let reason = reason.to_owned();
            self.status.containers[index].state = State::Waiting { reason, message };
            return;
        }
        let pulling = match self.memory.pulls.remove(&image) {
            None => self.begin_pull(&image, 0),
            Some(Pulling::Failed { retry_at, failures, .. }) if retry_at <= now => {
                self.begin_pull(&image, failures)
            }
            Some(Pulling::Underway { until, outcome, failures }) if until <= now => match outcome {
                Outcome::Arrives { .. } => {
                    self.images.insert(image);
                    return self.start(index);
                }
                Outcome::Never => Pulling::Underway { until, outcome, failures },
                Outcome::Fails(error) => self.fail_pull(index, &image, error, failures + 1),
            },
            Some(Pulling::Failed { error, quiet_at, retry_at, failures }) if quiet_at <= now => {
                let message = error.back_off_message(&image, self.site.minor);
                let reason = "ImagePullBackOff".to_owned();
                self.status.containers[index].state = State::Waiting { reason, message };
                Pulling::Failed { error, quiet_at, retry_at, failures }
            }
            Some(going_on) => going_on,
        };
        match &pulling {
            Pulling::Underway { outcome: Outcome::Never, .. } => {}
            Pulling::Underway { until, .. } => self.look_again(*until),
            Pulling::Failed { quiet_at, retry_at, .. } => {
                self.look_again(if *quiet_at > now { *quiet_at } else { *retry_at });
            }
        }
        self.out.why = Some(format!("pulling {image} for {}", self.key));
        self.memory.pulls.insert(image, pulling);
    }

    /// Why nobody even tries to pull the image of a container. Such a container has no back-off.
    fn unpullable(&self, index: usize, image: &str) -> Option<PullError> {
        let name = self.status.containers[index].name.as_str();
        let specs = ["/spec/initContainers", "/spec/containers"].map(|list| self.pod.list(list)).concat();
        let never = specs.iter().any(|spec| spec["name"] == name && spec["imagePullPolicy"] == "Never");
        pull::misnamed(image).or_else(|| {
            never.then(|| PullError {
                reason: "ErrImageNeverPull",
                message: format!("Container image \"{image}\" is not present with pull policy of Never"),
            })
        })
    }

    fn begin_pull(&self, image: &str, failures: u32) -> Pulling {
        let outcome = pull::attempt(&self.site.world.registry, self.site.view, image, self.site.minor);
        // Layers take their time; a registry that has none, or refuses, says so at once.
        let millis = match outcome {
            Outcome::Arrives { slowly: false } => (2_000, 8_000),
            Outcome::Arrives { slowly: true } => (65_000, 100_000),
            Outcome::Fails(_) | Outcome::Never => (300, 900),
        };
        let until = self.site.now + draw(&mut self.stream("pull", image, failures), millis);
        Pulling::Underway { until, outcome, failures }
    }

    /// The back-off starts at 10 s, doubles, and counts from the failure; the pod's own rhythm adds a little.
    fn fail_pull(&mut self, index: usize, image: &str, error: PullError, failures: u32) -> Pulling {
        let now = self.site.now;
        self.status.containers[index].state =
            State::Waiting { reason: error.reason.to_owned(), message: error.message.clone() };
        let doubled = SignedDuration::from_secs(10_i64 << (failures - 1).min(5));
        let mut stream = self.stream("back-off", image, failures);
        let quiet_at = now + draw(&mut stream, (1_000, 3_000));
        let retry_at = now + doubled.min(BACK_OFF_MAX) + draw(&mut stream, (0, 1_500));
        Pulling::Failed { error, quiet_at, retry_at, failures }
    }
}
