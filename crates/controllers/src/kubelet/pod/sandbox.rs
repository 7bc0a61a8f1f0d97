//! The pod sandbox, which is created before the first container, and the delay until the kubelet detects the
//! end of a process.

use jiff::SignedDuration;
use windtunnel_core::Object;
use windtunnel_core::rng::Streams;

use super::worker::{PodSync, random_duration};

/// The creation time of a sandbox with the host network, in milliseconds.
const ON_HOST: (u64, u64) = (200, 700);
/// The creation time of a sandbox with an address from a network plug-in, in milliseconds.
const WITH_NETWORK: (u64, u64) = (600, 1_800);
/// The delay until the kubelet detects the end of a process, in milliseconds. It lists containers once a
/// second (pod lifecycle event generator).
const RELIST: (u64, u64) = (20, 1_000);

impl PodSync<'_> {
    /// Starts to create the sandbox of a new pod.
    pub(super) fn make_sandbox(&mut self) {
        let on_host = self.pod["spec"]["hostNetwork"] == true;
        let takes =
            random_duration(&mut self.stream("sandbox", "", 0), if on_host { ON_HOST } else { WITH_NETWORK });
        self.memory.sandbox_at = Some(self.site.now + takes);
    }

    /// Whether the sandbox is not ready yet. A restarted kubelet finds the sandboxes of its pods ready.
    pub(super) fn waits_for_sandbox(&mut self) -> bool {
        let Some(at) = self.memory.sandbox_at.filter(|at| *at > self.site.now) else { return false };
        self.out.why = Some(format!("creating the sandbox of {}", self.key));
        self.schedule_by(at);
        true
    }
}

/// The delay until the kubelet detects that a process of `pod` has ended.
pub(in crate::kubelet) fn exit_detection_delay(
    streams: Streams,
    pod: &Object,
    container: &str,
) -> SignedDuration {
    let run = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
    let run =
        run.filter(|status| status["name"] == container).find_map(|status| status["restartCount"].as_u64());
    let name = format!("kubelet/relist/{}/{container}/{}", pod.uid(), run.unwrap_or(0));
    random_duration(&mut streams.stream(&name), RELIST)
}
