//! Tests of controllers in Rust: a controller runs in a simulated cluster, in virtual time, without a socket or a process.
//!
//! A [`Tunnel`] is a scenario with programs. Each program is an async function that gets a [`kube::Client`], and it runs
//! until the scenario ends. Its timers (`tokio::time`, and with them `Action::requeue`, back-offs and renewals of Leases)
//! fire in cluster time, so an hour takes as long as the events in it.
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::api::{Api, Patch, PatchParams};
//! use windtunnel::tunnel::{Identity, Tunnel};
//!
//! /// Writes a heartbeat every ten minutes.
//! async fn heartbeat(client: kube::Client) -> kube::Result<()> {
//!     let api: Api<ConfigMap> = Api::namespaced(client, "default");
//!     for beat in 0.. {
//!         let object = serde_json::json!({
//!             "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "heartbeat" },
//!             "data": { "beat": format!("{beat}") },
//!         });
//!         api.patch("heartbeat", &PatchParams::apply("heartbeat"), &Patch::Apply(object)).await?;
//!         tokio::time::sleep(std::time::Duration::from_secs(600)).await;
//!     }
//!     Ok(())
//! }
//!
//! let scenario = "
//! name: The heartbeat goes on
//! cluster: {version: 4.18.3, nodes: {control-plane: 1}}
//! timeline:
//! - advance: 55m
//! - expect: {object: ConfigMap/default/heartbeat, fields: {data.beat: '5'}}
//! ";
//! let outcome = Tunnel::text("heartbeat.yaml", scenario)?
//!     .program("heartbeat", Identity::admin(), heartbeat)
//!     .seed(1)
//!     .run()?;
//! outcome.assert_passed();
//! let written: ConfigMap = outcome.get("default", "heartbeat").unwrap();
//! assert_eq!(written.data.unwrap()["beat"], "5");
//! # Ok::<(), windtunnel::tunnel::TunnelError>(())
//! ```
//!
//! The same scenario and seed give the same record, with these limits: a program must not read the wall clock or draw
//! random numbers, `tokio::select!` must be `biased`, and a program that makes one request after the other for the objects
//! of a store (`Store::state`, a hash map) must sort them first. Requests that a program makes at the same moment are
//! ordered by windtunnel.

mod error;
mod files;
mod outcome;
mod program;

use std::path::Path;
use std::sync::Arc;

pub use windtunnel_core::Identity;
use windtunnel_openshift::environment::ContainerPlace;

pub use self::error::TunnelError;
use self::files::ScenarioFiles;
pub use self::outcome::TunnelOutcome;
pub use self::program::ProgramOutput;
use crate::engine::{EmbeddedPlace, EmbeddedProgram, ProgramFuture, StartProgram, run_plan_with_programs};
use crate::plan::Plan;
use crate::scenario;

/// A scenario with programs in Rust. The [module](self) has an example.
#[derive(Debug, Clone)]
#[must_use = "`run` runs it"]
pub struct Tunnel {
    plan: Plan,
    programs: Vec<EmbeddedProgram>,
    seed: u64,
    /// The number of steps at the start of the timeline that [`Tunnel::fault`] added.
    injected: usize,
    /// The first argument that cannot be used, for [`Tunnel::run`].
    mistake: Option<String>,
}

impl Tunnel {
    /// Reads a scenario from a file. Of a scenario with a table of parameters, it takes the first row.
    ///
    /// # Errors
    /// The file cannot be read, or all its mistakes with file, line and column.
    pub fn scenario(path: impl AsRef<Path>) -> Result<Self, TunnelError> {
        let path = path.as_ref().display().to_string();
        let text = files::read(Path::new(&path)).map_err(TunnelError::Unreadable)?;
        Self::text(&path, &text)
    }

    /// Reads a scenario from a text. `name` is the name of its file in messages; paths in the scenario are relative to it,
    /// and do not lead out of its folder.
    ///
    /// # Errors
    /// All mistakes, with file, line and column.
    pub fn text(name: &str, yaml: &str) -> Result<Self, TunnelError> {
        let plan = scenario::parse(name, yaml, &ScenarioFiles)?;
        Ok(Self { plan, programs: Vec::new(), seed: 1, injected: 0, mistake: None })
    }

    /// Adds a program beside the cluster. It starts with the timeline, may do what `identity` may do, and must not end.
    /// `name` is its user agent: faults of requests select it by `by: NAME`.
    pub fn program<S, F>(self, name: &str, identity: Identity, start: S) -> Self
    where
        S: Fn(kube::Client) -> F + Send + Sync + 'static,
        F: Future + Send + 'static,
        F::Output: ProgramOutput,
    {
        self.with(name, EmbeddedPlace::Beside(identity), start)
    }

    /// Adds the program of a container, `NAMESPACE/WORKLOAD/CONTAINER`. It starts and ends with the container, and acts as
    /// the ServiceAccount of the pod. If it returns, the kubelet restarts its container.
    pub fn container<S, F>(mut self, place: &str, start: S) -> Self
    where
        S: Fn(kube::Client) -> F + Send + Sync + 'static,
        F: Future + Send + 'static,
        F::Output: ProgramOutput,
    {
        let parts: Vec<&str> = place.split('/').collect();
        let [namespace, workload, container] = parts[..] else {
            let mistake = format!("expected a container as `NAMESPACE/WORKLOAD/CONTAINER`, found `{place}`");
            self.mistake.get_or_insert(mistake);
            return self;
        };
        let name = container;
        let [namespace, workload, container] = [namespace, workload, container].map(str::to_owned);
        let place = ContainerPlace::Container { namespace, workload, container };
        self.with(name, EmbeddedPlace::In(place), start)
    }

    fn with<S, F>(mut self, name: &str, place: EmbeddedPlace, start: S) -> Self
    where
        S: Fn(kube::Client) -> F + Send + Sync + 'static,
        F: Future + Send + 'static,
        F::Output: ProgramOutput,
    {
        let start = Arc::new(start);
        let start: StartProgram = Arc::new(move |client| {
            let start = Arc::clone(&start);
            Box::pin(async move { start(client).await.into_result() }) as ProgramFuture
        });
        if self.programs.iter().any(|other| other.name == name) {
            self.mistake
                .get_or_insert(format!("there is another program `{name}`; give this one its own name"));
        }
        self.programs.push(EmbeddedProgram { name: name.to_owned(), place, start });
        self
    }

    /// Injects a fault before the first step: the value of a `fault` step, such as
    /// `{api: {by: my-operator}, is: watch-slow, by: 10s, for: 1h}`. Faults come in the order of the calls.
    ///
    /// # Errors
    /// All mistakes. Line 4 is the first line of `fault`.
    pub fn fault(mut self, fault: &str) -> Result<Self, TunnelError> {
        let version = &self.plan.cluster.release.version;
        let text =
            format!("name: fault\ncluster: {{version: {version}}}\ntimeline:\n- fault: {}\n", fault.trim());
        let injected = scenario::parse("fault", &text, &ScenarioFiles)?.timeline;
        let at = self.injected;
        self.injected += injected.len();
        self.plan.timeline.splice(at..at, injected);
        Ok(self)
    }

    /// Sets the seed, from which all random values of the cluster follow. It is 1 by default.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Shows the values of Secrets in the record, the timeline and the failure of a run, instead of `REDACTED`.
    pub fn show_secrets(mut self) -> Self {
        self.plan.cluster.shows_secrets = true;
        self
    }

    /// Runs the scenario on a thread of its own and waits for its end, which takes no longer inside of `#[tokio::test]`. A
    /// run can be repeated.
    ///
    /// # Errors
    /// There is no cluster to run on: an object of the scenario is rejected, or a program has an unusable name or place. A
    /// failed step is no error, but an outcome.
    pub fn run(&self) -> Result<TunnelOutcome, TunnelError> {
        if let Some(mistake) = &self.mistake {
            return Err(TunnelError::Program(mistake.clone()));
        }
        // The caller may be on a runtime, which cannot run the one of the cluster.
        let run = || run_plan_with_programs(&self.plan, self.seed, &self.programs);
        let ended = std::thread::scope(|scope| scope.spawn(run).join());
        let (outcome, objects) = ended.map_err(|_| TunnelError::Panicked)??;
        Ok(TunnelOutcome::new(&self.plan, self.seed, outcome, objects))
    }
}
