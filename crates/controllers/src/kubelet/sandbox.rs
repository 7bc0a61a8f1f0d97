//! What comes before the first container of a pod: its sandbox, with the network in it. And how soon an end is noticed.

use jiff::SignedDuration;
use windtunnel_core::Object;
use windtunnel_core::rng::Streams;

use super::worker::{Look, draw};

/// How long a sandbox takes whose network is that of the node, in milliseconds.
const ON_HOST: (u64, u64) = (200, 700);
/// The same for one that a network plug-in must give an address.
const WITH_NETWORK: (u64, u64) = (600, 1_800);
/// How long after its end a process is missed: containers are listed once a second (the pod lifecycle event generator).
const RELIST: (u64, u64) = (20, 1_000);

impl Look<'_> {
    /// Begins to make the sandbox of a pod that the kubelet has taken on.
    pub(super) fn make_sandbox(&mut self) {
        let on_host = self.pod["spec"]["hostNetwork"] == true;
        let takes = draw(&mut self.stream("sandbox", "", 0), if on_host { ON_HOST } else { WITH_NETWORK });
        self.memory.sandbox_at = Some(self.site.now + takes);
    }

    /// Whether the sandbox is still being made. That of a pod which another process of the kubelet took on is there.
    pub(super) fn waits_for_sandbox(&mut self) -> bool {
        let Some(at) = self.memory.sandbox_at.filter(|at| *at > self.site.now) else { return false };
        self.out.why = Some(format!("making the sandbox of {}", self.key));
        self.look_again(at);
        true
    }
}

/// How long it takes until the kubelet sees that a process of `pod` has ended.
pub(super) fn until_missed(streams: Streams, pod: &Object, container: &str) -> SignedDuration {
    let run = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
    let run =
        run.filter(|status| status["name"] == container).find_map(|status| status["restartCount"].as_u64());
    let name = format!("kubelet/relist/{}/{container}/{}", pod.uid(), run.unwrap_or(0));
    draw(&mut streams.stream(&name), RELIST)
}
