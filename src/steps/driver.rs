//! Runs each session on a thread of its own and controls it by messages, so that simulated time never blocks
//! other scenarios. Thread-local randomness depends only on the session's seed, not on earlier users of the
//! thread.

use std::sync::{Arc, Mutex, PoisonError, mpsc};

use tokio::sync::oneshot;

use crate::backends::Backend;
use crate::engine::{Session, SessionError};
use crate::plan::{ClusterPlan, Plan, ProgramPlan, Snapshot, Step, Variables};
use crate::record::{Record, Secrets};

type Job = Box<dyn FnOnce() + Send>;

/// Idle threads. The next session uses the thread that became idle last, because that thread's allocator
/// caches are still in the processor's caches.
static IDLE: Mutex<Vec<mpsc::Sender<Job>>> = Mutex::new(Vec::new());

type Answer = oneshot::Sender<Result<(), SessionError>>;

enum Command {
    Run(String, Box<Step>, Answer),
    Finish(oneshot::Sender<SessionResults>),
}

/// The results of a finished session.
#[derive(Debug)]
pub(super) struct SessionResults {
    /// The record of the run. The session's thread drops it last if possible, because freeing memory of
    /// another thread is slower.
    pub(super) record: Arc<Record>,
    /// Snapshot texts to write, with their files.
    pub(super) snapshots: Vec<Snapshot>,
    /// The faults that never acted, each with the reason.
    pub(super) idle_faults: Vec<String>,
    /// The values of Secrets, which the record lacks.
    pub(super) secrets: Arc<Secrets>,
}

/// The settings of a session.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    /// Seed of every random draw.
    pub(super) seed: u64,
    /// Whether expectations fail that have held since before the last actions.
    pub(super) strict: bool,
    /// Programs of this machine, in addition to those of the cluster's plan.
    pub(super) programs: Arc<[ProgramPlan]>,
    /// The variables for programs of the cluster's plan; `None` if they may not start.
    pub(super) permitted: Option<Variables>,
    /// Whether the values of Secrets are in output and records.
    pub(super) shows_secrets: bool,
    /// Ids of issues and test cases, for the record.
    pub(super) ids: Vec<String>,
}

/// The handle of a session's thread; dropping it ends the session.
#[derive(Debug)]
pub(super) struct Driver {
    commands: mpsc::Sender<Command>,
}

impl Driver {
    /// Installs the planned cluster on an idle or new thread.
    pub(super) async fn start(
        backend: Arc<dyn Backend>,
        mut cluster: ClusterPlan,
        scenario: String,
        settings: Settings,
    ) -> Result<Self, SessionError> {
        cluster.programs.extend(settings.programs.iter().cloned());
        if let Some(variables) = &settings.permitted {
            for program in &mut cluster.programs {
                program.permit(variables);
            }
        }
        cluster.shows_secrets = settings.shows_secrets;
        let plan = Plan { name: scenario, ids: settings.ids.clone(), ..Plan::new(cluster, Vec::new()) };
        let (commands, inbox) = mpsc::channel();
        let (ready, started) = oneshot::channel();
        on_a_thread(Box::new(move || {
            let mut session = match Session::start_on(&*backend, &plan, settings.seed) {
                Ok(session) => session,
                Err(error) => return drop(ready.send(Err(error))),
            };
            if settings.strict {
                session.be_strict();
            }
            if ready.send(Ok(())).is_ok() {
                serve(session, &inbox);
            }
        }));
        started.await.unwrap_or(Err(SessionError::Ended))?;
        Ok(Self { commands })
    }

    /// Runs one step; `text` is its name in the record.
    pub(super) async fn run(&self, text: &str, step: Step) -> Result<(), SessionError> {
        let (answer, outcome) = oneshot::channel();
        let command = Command::Run(text.to_owned(), Box::new(step), answer);
        self.commands.send(command).map_err(|_| SessionError::Ended)?;
        outcome.await.unwrap_or(Err(SessionError::Ended))
    }

    /// Ends the session and returns its results.
    pub(super) async fn finish(&self) -> Option<SessionResults> {
        let (answer, ended) = oneshot::channel();
        self.commands.send(Command::Finish(answer)).ok()?;
        ended.await.ok()
    }
}

/// Runs a job on an idle thread, or on a new one if none is idle.
fn on_a_thread(job: Job) {
    let idle = || IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    let job = match idle().pop() {
        // A thread in the list is waiting for a job.
        Some(thread) => match thread.send(job) {
            Ok(()) => return,
            Err(mpsc::SendError(job)) => job,
        },
        None => job,
    };
    std::thread::spawn(move || {
        let (jobs, inbox) = mpsc::channel::<Job>();
        let mut next = Some(job);
        while let Some(job) = next {
            job();
            idle().push(jobs.clone());
            next = inbox.recv().ok();
        }
    });
}

fn serve(mut session: Session, inbox: &mpsc::Receiver<Command>) {
    let mut has_failed = false;
    while let Ok(command) = inbox.recv() {
        match command {
            Command::Run(text, step, answer) => {
                let outcome = session.run_recorded_step(&text, &step);
                has_failed |= outcome.is_err();
                // The receiver is gone if the feature was cancelled meanwhile.
                let _ = answer.send(outcome);
            }
            Command::Finish(answer) => {
                let snapshots = session.take_snapshots();
                let secrets = Arc::clone(session.secrets());
                let idle_faults = session.idle_faults(has_failed);
                let record = Arc::new(session.into_record());
                let results = SessionResults { record: Arc::clone(&record), snapshots, idle_faults, secrets };
                let _ = answer.send(results);
                // Returns an error once the driver is dropped.
                let _ = inbox.recv();
                return;
            }
        }
    }
}
