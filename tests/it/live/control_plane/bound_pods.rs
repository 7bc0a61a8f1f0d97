//! The pods that are bound to the foreign node during a run.

use std::collections::BTreeSet;
use std::thread::JoinHandle;

use futures::channel::oneshot;
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::Pod;
use kube::api::Api;
use kube::runtime::{WatchStreamExt as _, watcher};

use super::foreign::NODE;
use crate::cli::serve::{client, run};

/// A watch of the node's pods on its own thread: the API server drops old events before a long run ends.
pub(crate) struct BoundPods {
    end: oneshot::Sender<()>,
    thread: JoinHandle<BTreeSet<String>>,
}

impl BoundPods {
    pub(super) fn start(kubeconfig: String) -> Self {
        let (end, ended) = oneshot::channel();
        let thread = std::thread::spawn(move || run(collect(&kubeconfig, ended)));
        Self { end, thread }
    }

    /// Ends the watch. Returns the names of all pods that were bound to the node during the watch or before.
    pub(crate) fn names(self) -> BTreeSet<String> {
        drop(self.end);
        self.thread.join().unwrap()
    }
}

async fn collect(kubeconfig: &str, ended: oneshot::Receiver<()>) -> BTreeSet<String> {
    let pods: Api<Pod> = Api::all(client(kubeconfig).await);
    let bound = watcher::Config::default().fields(&format!("spec.nodeName={NODE}"));
    let touched = watcher(pods, bound).touched_objects().take_until(ended);
    touched.map_ok(|pod| pod.metadata.name.unwrap()).try_collect().await.unwrap()
}
