//! A control plane on the loopback interface with a foreign Ready node: the real one (etcd, kube-apiserver,
//! kube-controller-manager and kube-scheduler as kind starts them), or windtunnel's API server with its
//! controllers.

mod bound_pods;
mod foreign;
mod openshift_build;
mod programs;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject, ListParams, PostParams};
use kube::discovery::{Discovery, verbs};

use self::bound_pods::BoundPods;
use self::foreign::Heartbeat;
pub(crate) use self::foreign::NODE;
use self::programs::Programs;
use crate::cli::environment::{TestEnvironment, pause};
use crate::cli::serve::{Served, client, run};

/// The context of the kubeconfig.
pub(crate) const CONTEXT: &str = "windtunnel";

/// A control plane; its programs end when it is dropped.
pub(crate) struct ControlPlane {
    kubeconfig: String,
    /// Dropped before the server that it writes to.
    _heartbeat: Heartbeat,
    _programs: Running,
}

/// The programs of a control plane.
enum Running {
    Real { _programs: Programs },
    Ours { _served: Served, _environment: TestEnvironment },
}

/// A control plane that one test uses exclusively. Tests that wait for each other share the programs.
pub(crate) struct Turn {
    plane: Arc<ControlPlane>,
    _turn: MutexGuard<'static, ()>,
}

impl std::ops::Deref for Turn {
    type Target = ControlPlane;

    fn deref(&self) -> &ControlPlane {
        &self.plane
    }
}

impl ControlPlane {
    /// The real control plane, once no other test uses it; `None` if a program is missing on this machine.
    pub(crate) fn real() -> Option<Turn> {
        static SHARED: Mutex<Weak<ControlPlane>> = Mutex::new(Weak::new());
        static TURN: Mutex<()> = Mutex::new(());
        let plane = {
            let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
            match shared.upgrade() {
                Some(plane) => plane,
                None => {
                    let programs = Programs::start(CONTEXT)?;
                    let kubeconfig = programs.kubeconfig().to_owned();
                    let plane = Arc::new(Self::of(kubeconfig, Running::Real { _programs: programs }));
                    *shared = Arc::downgrade(&plane);
                    plane
                }
            }
        };
        Some(Turn { plane, _turn: TURN.lock().unwrap_or_else(PoisonError::into_inner) })
    }

    /// Windtunnel's own control plane, which runs on every machine.
    pub(crate) fn ours() -> Self {
        let environment = TestEnvironment::new();
        let flags = ["--bare", "--kubernetes", "1.36", "--controllers", "all", "--kubeconfig", "config"];
        let served = Served::start(&environment, &flags);
        let kubeconfig = environment.read("config");
        Self::of(kubeconfig, Running::Ours { _served: served, _environment: environment })
    }

    fn of(kubeconfig: String, programs: Running) -> Self {
        run(foreign::install(&kubeconfig));
        Self { _heartbeat: Heartbeat::start(kubeconfig.clone()), kubeconfig, _programs: programs }
    }

    /// The kubeconfig of a user with all rights.
    pub(crate) fn kubeconfig(&self) -> &str {
        &self.kubeconfig
    }

    /// All objects as `KIND NAMESPACE/NAME`, except Events: the cluster's controllers write them about
    /// objects that come and go, and they expire.
    pub(crate) fn objects(&self) -> BTreeSet<String> {
        run(async {
            let client = client(self.kubeconfig()).await;
            let discovery = Discovery::new(client.clone()).run().await.unwrap();
            let mut found = BTreeSet::new();
            for (kind, can) in discovery.groups().flat_map(kube::discovery::ApiGroup::recommended_resources) {
                if !can.supports_operation(verbs::LIST) || kind.kind == "Event" {
                    continue;
                }
                let all = Api::<DynamicObject>::all_with(client.clone(), &kind);
                for object in all.list(&ListParams::default()).await.unwrap().items {
                    let namespace = object.metadata.namespace.unwrap_or_default();
                    let name = object.metadata.name.unwrap_or_default();
                    found.insert(format!("{} {namespace}/{name}", kind.kind));
                }
            }
            found
        })
    }

    /// Starts to collect the pods that are bound to the foreign node.
    pub(crate) fn watch_foreign_node(&self) -> BoundPods {
        BoundPods::start(self.kubeconfig.clone())
    }

    /// Waits until a pod has this prefix in its name.
    pub(crate) fn wait_for_pod(&self, namespace: &str, prefix: &str) {
        self.wait_for_pod_that(namespace, prefix, |_| true);
    }

    /// Creates a Deployment, and waits until a pod of it runs. Returns the name of the pod's node.
    pub(crate) fn node_of_new_workload(&self, deployment: &Deployment) -> String {
        let (namespace, name) = (deployment.namespace().unwrap(), deployment.name_any());
        run(async {
            let deployments: Api<Deployment> = Api::namespaced(client(self.kubeconfig()).await, &namespace);
            deployments.create(&PostParams::default(), deployment).await.unwrap();
        });
        let runs =
            |pod: &Pod| pod.status.as_ref().is_some_and(|status| status.phase.as_deref() == Some("Running"));
        let pod = self.wait_for_pod_that(&namespace, &format!("{name}-"), runs);
        pod.spec.and_then(|spec| spec.node_name).unwrap()
    }

    /// Waits until a pod with this prefix in its name meets a condition.
    fn wait_for_pod_that(&self, namespace: &str, prefix: &str, is_met: impl Fn(&Pod) -> bool) -> Pod {
        for _ in 0..1200 {
            let pods = run(async {
                let pods: Api<Pod> = Api::namespaced(client(self.kubeconfig()).await, namespace);
                pods.list(&ListParams::default()).await.unwrap().items
            });
            let named = |pod: &Pod| pod.name_any().starts_with(prefix);
            if let Some(pod) = pods.into_iter().find(|pod| named(pod) && is_met(pod)) {
                return pod;
            }
            pause(100);
        }
        panic!("no pod {namespace}/{prefix}* meets the condition");
    }
}
