//! The operator as a process: the simulated one as an actor beside the API server, the real one as a program.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::SignedDuration;
use serde_json::json;
use tokio::process::{Child, Command};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use windtunnel_apiserver::service::Shared;
use windtunnel_controllers::environment::NodeEnvironment;
use windtunnel_controllers::registry::Image;
use windtunnel_controllers::{Actor, Effect, Input, Interest, Signal, Step, runner};
use windtunnel_core::clock::after;
use windtunnel_core::rng::Streams;
use windtunnel_core::{Identity, Object};
use windtunnel_openshift::cvo::ClusterVersionOperator;
use windtunnel_openshift::environment::Environment;
use windtunnel_openshift::release::Release;

use super::cluster::NAMESPACE;
use super::payload::Published;

/// Starts and ends processes of the operator.
pub(super) enum Operator {
    Simulated(Simulated),
    Real(Real),
}

impl Operator {
    /// Starts a process with the payload of `release`.
    pub(super) fn start(&mut self, release: &Release) {
        match self {
            Self::Simulated(operator) => operator.start(release),
            Self::Real(operator) => operator.start(release),
        }
    }

    /// Ends the process by SIGTERM, and waits until it is gone.
    pub(super) async fn terminate(&mut self) {
        match self {
            Self::Simulated(operator) => operator.terminate().await,
            Self::Real(operator) => operator.terminate().await,
        }
    }

    /// Kills the process.
    pub(super) async fn kill(&mut self) {
        match self {
            Self::Simulated(operator) => drop(operator.process.take()),
            Self::Real(operator) => operator.kill().await,
        }
    }
}

/// The simulated operator.
pub(super) struct Simulated {
    shared: Shared,
    environment: Arc<Environment>,
    processes: u64,
    process: Option<Running>,
}

/// A process of the simulated operator, which dies when this is dropped.
struct Running {
    task: JoinHandle<runner::NoProgress>,
    control: Arc<Control>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Default)]
struct Control {
    terminates: AtomicBool,
    exited: Notify,
}

impl Simulated {
    pub(super) fn new(shared: Shared, payloads: &BTreeMap<String, Published>) -> Self {
        let mut environment = Environment::default();
        for payload in payloads.values() {
            let release = payload.release.clone();
            let digest = windtunnel_controllers::registry::digest_of(&release.image).unwrap().to_owned();
            environment.registry.images.insert(digest, Image::default());
            environment.releases.insert(release.version.clone(), release);
        }
        Self { shared, environment: Arc::new(environment), processes: 0, process: None }
    }

    fn start(&mut self, release: &Release) {
        self.processes += 1;
        let pod = Object::new(json!({
            "metadata": { "name": format!("cluster-version-operator-{}", self.processes), "namespace": NAMESPACE },
            "spec": { "nodeName": "node-a", "containers": [{ "image": release.image }] },
        }));
        let now = self.shared.now();
        let actor =
            ClusterVersionOperator::start(&pod, &self.environment, &Streams::new(self.processes), now);
        let control = Arc::<Control>::default();
        let actor = Controlled { actor: actor.unwrap(), control: Arc::clone(&control), notified: false };
        let task = tokio::spawn(runner::run(self.shared.clone(), vec![Box::new(actor)]));
        self.process = Some(Running { task, control });
    }

    async fn terminate(&mut self) {
        let running = self.process.take().unwrap();
        running.control.terminates.store(true, Ordering::Relaxed);
        running.control.exited.notified().await;
    }
}

/// An actor that ends on demand.
#[derive(Clone)]
struct Controlled {
    actor: ClusterVersionOperator,
    control: Arc<Control>,
    notified: bool,
}

impl Actor for Controlled {
    fn name(&self) -> &str {
        self.actor.name()
    }

    fn identity(&self) -> Identity {
        self.actor.identity()
    }

    fn set_environment(&mut self, environment: &Arc<dyn NodeEnvironment>) {
        self.actor.set_environment(environment);
    }

    fn interests(&self) -> Vec<Interest> {
        self.actor.interests()
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        let ends = self.control.terminates.load(Ordering::Relaxed) && !self.notified;
        self.notified |= ends;
        let signals: &[Signal] = if ends { &[Signal::Terminate] } else { &[] };
        let mut step = self.actor.step(&Input { signals, ..*input });
        if step.effects.iter().any(|effect| matches!(effect, Effect::Exit)) {
            self.control.exited.notify_one();
        }
        // Looks every second whether it is to end.
        let look = after(input.now, SignedDuration::from_secs(1));
        step.wake_at = Some(step.wake_at.map_or(look, |at| at.min(look)));
        step
    }
}

/// The real operator, which sees a folder of its own as `/etc/cvo`.
pub(super) struct Real {
    program: PathBuf,
    folder: PathBuf,
    kubeconfig: PathBuf,
    process: Option<Child>,
    processes: u32,
}

impl Real {
    /// Uses `folder` for its files: `payloads/<version>` has the payloads.
    pub(super) fn new(program: &Path, folder: &Path, kubeconfig: &str) -> Self {
        let path = folder.join("kubeconfig");
        fs::write(&path, kubeconfig).unwrap();
        for below in ["cvo", "upper", "work"] {
            fs::create_dir_all(folder.join(below)).unwrap();
        }
        Self {
            program: program.to_owned(),
            folder: folder.to_owned(),
            kubeconfig: path,
            process: None,
            processes: 0,
        }
    }

    fn start(&mut self, release: &Release) {
        self.processes += 1;
        let log = fs::File::create(self.folder.join(format!("operator-{}.log", self.processes))).unwrap();
        // In a mount namespace of its own, the folder is mounted where the operator looks for payloads.
        let mounts = "mount -t overlay overlay -o lowerdir=/etc,upperdir=$FOLDER/upper,workdir=$FOLDER/work /etc \
                      && mkdir -p /etc/cvo && mount --bind $FOLDER/cvo /etc/cvo && exec \"$@\"";
        let process = Command::new("unshare")
            .args(["--mount", "--", "sh", "-c", mounts, "operator"])
            .arg(&self.program)
            .args(["start", "--listen", "", "--enable-auto-update=false", "--v=2"])
            // As in the Deployment of the payload.
            .arg("--always-enable-capabilities=Ingress")
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(["--release-image", &release.image])
            .env("FOLDER", &self.folder)
            .env("NODE_NAME", "node-a")
            .env("PAYLOAD_OVERRIDE", self.folder.join("payloads").join(release.version.to_string()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .kill_on_drop(true)
            .spawn();
        self.process = Some(process.unwrap());
    }

    async fn terminate(&mut self) {
        let mut process = self.process.take().unwrap();
        let id = process.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().await.unwrap().success());
        process.wait().await.unwrap();
    }

    async fn kill(&mut self) {
        self.process.take().unwrap().kill().await.unwrap();
    }
}
