//! The processes of a cluster's programs, and the server that they reach.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::process::Pid;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use windtunnel_apiserver::https::{self, Authority, Serving, Settings, random_token};
use windtunnel_apiserver::service::Shared;
use windtunnel_core::clock::Clock;
use windtunnel_core::probe::ProbeKind;
use windtunnel_core::rng::Streams;

use super::asleep::Threads;
use super::folder::{Access, Folder, below};
use super::gate::ProgramGate;
use super::namespace::Namespaces;
use super::probes::{self, ExecContext};
use super::process::Process;
use super::{Endpoint, ProbeOrder, ProgramEvent, ProgramOrder};
use crate::backends::BackendError;

/// How long the lines of an ended program may take to arrive.
const LAST_LINES: Duration = Duration::from_millis(500);

/// How much longer a probe may take while the clock of the cluster stands still: no time passes there.
const STANDSTILL: Duration = Duration::from_secs(4);

/// Starts programs beside an API server and serves them. Dropping it kills all of them.
#[derive(Debug)]
pub(super) struct ProgramHost {
    pub(super) server: Shared,
    pub(super) gate: ProgramGate,
    running: Mutex<BTreeMap<String, Running>>,
    /// The short names of users in records. The first program of a user names it: version pods have the account of the
    /// operator, and write nothing.
    names: Mutex<BTreeMap<String, String>>,
    /// Processes that were killed at a write and are not events yet.
    crashes: Mutex<Vec<ProgramEvent>>,
    /// The number of starts and ends of programs.
    pub(super) turnover: AtomicU64,
    /// The number of probes without an answer.
    probes: AtomicUsize,
    /// Probes that have not begun.
    ordered: Mutex<Vec<(String, ProbeOrder)>>,
    files: TempDir,
    pub(super) serving: Serving,
    /// How programs get a view of the machine of their own.
    namespaces: Option<Namespaces>,
    /// Whether the clock of the cluster runs on while programs work.
    follows_clock: bool,
    /// The threads of the server.
    pub(super) threads: Arc<Threads>,
    /// The server runs on it.
    runtime: Option<Runtime>,
}

/// A running program.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) name: String,
    pub(super) process: Process,
    /// The speed of the cluster's clock beside it; `None` in lockstep.
    pub(super) speed: Option<f64>,
    folder: Folder,
    /// The place in which the commands of its probes run.
    context: ExecContext,
    /// The results of probes that the engine has not taken.
    results: Vec<ProgramEvent>,
    /// Whether it is stopped.
    pub(super) is_paused: bool,
    /// When it was started.
    started: Instant,
}

impl Running {
    /// Whether it has ended, has printed something, or has answered a probe.
    pub(super) fn has_events(&self) -> bool {
        self.process.has_lines() || !self.results.is_empty() || self.process.exit_code().is_some()
    }
}

impl ProgramHost {
    /// Serves `server` to programs on a free port of the loopback.
    ///
    /// # Errors
    /// The server cannot listen, or no folder for files can be created.
    pub(super) fn new(
        server: &Shared,
        clock: Arc<dyn Clock>,
        authority: Authority,
    ) -> Result<Self, BackendError> {
        let failed = |error: &dyn std::fmt::Display| BackendError::Failed(error.to_string());
        let server = server.with_clock(clock);
        let gate = ProgramGate::new();
        let threads = Arc::<Threads>::default();
        let started = Arc::clone(&threads);
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        runtime.worker_threads(2).enable_all().on_thread_start(move || started.add_current());
        let runtime = runtime.build().map_err(|error| failed(&error))?;
        let https_gate = Some(Arc::new(gate.clone()) as _);
        let settings = Settings { authority: Some(authority), gate: https_gate, ..Settings::default() };
        let served = server.clone();
        // A thread of its own, because the caller may be on another runtime.
        let serving = std::thread::scope(|scope| {
            scope.spawn(|| runtime.block_on(https::serve(served, settings))).join()
        });
        let serving = serving.map_err(|_| failed(&"the server panicked"))?.map_err(|error| failed(&error))?;
        let files = TempDir::with_prefix("windtunnel-programs-").map_err(|error| failed(&error))?;
        Ok(Self {
            server,
            gate,
            running: Mutex::default(),
            names: Mutex::default(),
            crashes: Mutex::default(),
            turnover: AtomicU64::new(0),
            probes: AtomicUsize::new(0),
            ordered: Mutex::default(),
            files,
            serving,
            namespaces: Namespaces::find(),
            follows_clock: false,
            threads,
            runtime: Some(runtime),
        })
    }

    /// Lets the programs run beside a clock that never waits for them.
    pub(super) fn follow_clock(&mut self) {
        self.follows_clock = true;
    }

    /// A call for each event of a program: the engine may wait for it, for the programs or for its own clock.
    fn notifier(&self) -> Arc<dyn Fn() + Send + Sync> {
        let (gate, server) = (self.gate.clone(), self.follows_clock.then(|| self.server.clone()));
        Arc::new(move || {
            gate.notify();
            server.iter().for_each(Shared::wake);
        })
    }

    /// The running programs.
    pub(super) fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a program.
    ///
    /// # Errors
    /// The reason why it cannot be started, for the user.
    pub(super) fn start(&self, order: &ProgramOrder) -> Result<(), String> {
        let token = random_token();
        let user = order.user.clone().with_program(&order.name, &order.id);
        self.server.with(|server| server.accept_token(&token, user));
        let access = Access {
            kubeconfig: self.serving.kubeconfig_for(&token),
            authority: self.serving.authority().certificate_pem(),
            url: self.serving.url(),
            token,
        };
        let name = order.id.replace('/', "_");
        let folder = below(&self.files.path().join("programs"), &name).and_then(|path| {
            Folder::fill(path, &self.files.path().join("shared"), order, &access, self.namespaces)
        });
        let mut folder =
            folder.map_err(|error| format!("the folder of {name:?} cannot be written: {error}"))?;
        let command = folder.command(order, &access, self.namespaces)?;
        let process = Process::start(&order.id, command, self.files.path(), &self.notifier())?;
        let user = order.user.user.clone();
        self.names
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(user)
            .or_insert_with(|| order.name.clone());
        let context = folder.exec_context(order, &process, self.namespaces);
        let running = Running {
            name: order.name.clone(),
            process,
            speed: if self.follows_clock { Some(1.0) } else { order.speed },
            folder,
            context,
            results: Vec::new(),
            is_paused: false,
            started: now(),
        };
        self.lock().insert(order.id.clone(), running);
        self.turnover.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// How long a program has been running.
    pub(super) fn age(&self, id: &str) -> Duration {
        self.lock().get(id).map_or(Duration::ZERO, |running| running.started.elapsed())
    }

    /// Sends SIGTERM to a program. Its end is an event.
    pub(super) fn terminate(&self, id: &str) {
        if let Some(running) = self.lock().get(id) {
            running.process.terminate();
        }
        self.turnover.fetch_add(1, Ordering::Relaxed);
    }

    /// Kills a program and all that it started. Returns the lines that it has printed. Its end is no event.
    pub(super) fn kill(&self, id: &str) -> Vec<ProgramEvent> {
        let killed = self.lock().remove(id);
        self.turnover.fetch_add(1, Ordering::Relaxed);
        killed.map_or_else(Vec::new, |running| running.process.take_lines())
    }

    /// Takes the order for a probe of a program. In lockstep it begins when the programs are quiet, so that the answer does
    /// not depend on the speed of the machine.
    pub(super) fn probe(self: &Arc<Self>, id: &str, order: ProbeOrder) {
        let is_scaled = self.lock().get(id).is_some_and(|one| one.speed.is_some());
        if is_scaled {
            self.begin_probe(id, order);
        } else {
            self.lock_probes().push((id.to_owned(), order));
        }
    }

    /// Begins the probes that were ordered. Returns whether there were any.
    pub(super) fn begin_probes(self: &Arc<Self>) -> bool {
        let orders = std::mem::take(&mut *self.lock_probes());
        let has_any = !orders.is_empty();
        for (id, order) in orders {
            self.begin_probe(&id, order);
        }
        has_any
    }

    /// Whether probes wait until the programs are quiet.
    pub(super) fn has_ordered_probes(&self) -> bool {
        !self.lock_probes().is_empty()
    }

    fn lock_probes(&self) -> MutexGuard<'_, Vec<(String, ProbeOrder)>> {
        self.ordered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin_probe(self: &Arc<Self>, id: &str, order: ProbeOrder) {
        let Some(runtime) = &self.runtime else { return };
        let running = self.lock();
        let Some(one) = running.get(id) else { return };
        let (ports, context, pid) = (one.folder.ports().clone(), one.context.clone(), one.process.pid);
        let limit = if one.speed.is_some() { order.timeout } else { order.timeout + STANDSTILL };
        drop(running);
        self.probes.fetch_add(1, Ordering::Relaxed);
        // A probe does not keep the programs alive.
        let (host, id) = (Arc::downgrade(self), id.to_owned());
        runtime.spawn(async move {
            let result = probes::probe(order.target, &ports, &context, limit).await;
            if let Some(host) = host.upgrade() {
                host.finish_probe(id, pid, order.kind, result);
            }
        });
    }

    fn finish_probe(&self, id: String, pid: Pid, kind: ProbeKind, result: Result<(), String>) {
        // Another process may have taken its place.
        if let Some(one) = self.lock().get_mut(&id).filter(|one| one.process.pid == pid) {
            one.results.push(ProgramEvent::Probed { id, kind, result });
        }
        self.probes.fetch_sub(1, Ordering::Relaxed);
        (self.notifier())();
    }

    /// Whether a probe waits for its answer.
    pub(super) fn is_probing(&self) -> bool {
        self.probes.load(Ordering::Relaxed) > 0
    }

    /// Brings the volumes of a program up to date.
    pub(super) fn refresh(&self, id: &str, files: &BTreeMap<String, Vec<u8>>) {
        let mut running = self.lock();
        // A folder that cannot be written has failed the start of the program already.
        if running.get_mut(id).is_some_and(|one| one.folder.refresh(files).unwrap_or(false)) {
            self.look_again();
        }
    }

    /// Takes the lines and the ends of programs since the last call.
    pub(super) fn take_events(&self) -> Vec<ProgramEvent> {
        let mut running = self.lock();
        let mut events = std::mem::take(&mut *self.lock_crashes());
        let mut ended = Vec::new();
        for (id, Running { process, results, .. }) in &mut *running {
            events.append(results);
            if let Some(code) = process.exit_code() {
                wait_for_last_lines(process);
                ended.push((id.clone(), code));
            }
            events.extend(process.take_lines());
        }
        for (id, code) in ended {
            running.remove(&id);
            self.turnover.fetch_add(1, Ordering::Relaxed);
            events.push(ProgramEvent::Exited { id, code });
        }
        events
    }

    /// Lets the programs work at this moment: something other than a write changed what the server shows them.
    pub(super) fn look_again(&self) {
        self.turnover.fetch_add(1, Ordering::Relaxed);
    }

    /// Kills a process at one of its writes, which is an event, as its end is.
    pub(super) fn crash(&self, id: &str, write: &str) {
        if let Some(running) = self.lock().get(id) {
            running.process.kill();
            self.lock_crashes().push(ProgramEvent::Crashed { id: id.to_owned(), write: write.to_owned() });
        }
    }

    fn lock_crashes(&self) -> MutexGuard<'_, Vec<ProgramEvent>> {
        self.crashes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops all processes of a program, or lets them continue. Returns whether there are any.
    pub(super) fn pause(&self, name: &str, is_paused: bool) -> bool {
        let mut running = self.lock();
        let mut found = false;
        for one in running.values_mut().filter(|one| one.name == name) {
            one.process.pause(is_paused);
            (one.is_paused, found) = (is_paused, true);
        }
        self.turnover.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// The address of the server.
    pub(super) fn endpoint(&self) -> Endpoint {
        let address = self.serving.address();
        Endpoint {
            host: address.ip().to_string(),
            port: address.port(),
            authority: self.serving.authority().certificate_pem(),
        }
    }

    /// The short name, in records, of a user that runs a program.
    pub(super) fn name_of(&self, user: &str) -> Option<String> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).get(user).cloned()
    }
}

impl Drop for ProgramHost {
    fn drop(&mut self) {
        // The caller may be on another runtime, where a drop may not block.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The key of the server's authority, as PEM. Its certificate is in the cluster and so in the record: the same seed must give
/// the same one, which needs a key whose signatures are not random (Ed25519, RFC 8410).
pub(super) fn authority_key(seed: u64) -> String {
    const HEADER: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    let mut draws = Streams::new(seed).stream("programs/authority");
    let mut key = HEADER.to_vec();
    key.extend((0..32).map(|_| u8::try_from(draws.between(0, 255)).unwrap_or_default()));
    format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(key))
}

#[expect(clippy::disallowed_methods, reason = "programs live in wall time")]
fn now() -> Instant {
    Instant::now()
}

/// Waits for the lines of an ended process, which may still be on their way.
#[expect(clippy::disallowed_methods, reason = "programs live in wall time")]
fn wait_for_last_lines(process: &Process) {
    // Processes that it started may hold its output open.
    process.kill();
    let ended = Instant::now();
    while !process.is_silent() && ended.elapsed() < LAST_LINES {
        std::thread::sleep(Duration::from_millis(1));
    }
}
