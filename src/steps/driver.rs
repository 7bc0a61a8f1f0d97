//! A session on a thread that it has to itself as long as it lasts, driven by messages: simulated time never blocks the features
//! beside it. What a session draws from thread-local randomness follows from its seed, whoever had the thread before.

use std::sync::{Arc, Mutex, PoisonError, mpsc};

use tokio::sync::oneshot;

use crate::backends::Backend;
use crate::engine::{Session, SessionError};
use crate::plan::{ClusterPlan, Snapshot, Step};
use crate::record::Record;

type Job = Box<dyn FnOnce() + Send>;

/// The threads whose sessions have ended. The next session has the one that ended last: what the allocator keeps for that thread is
/// still in the processor's caches.
static IDLE: Mutex<Vec<mpsc::Sender<Job>>> = Mutex::new(Vec::new());

type Answer = oneshot::Sender<Result<(), SessionError>>;

enum Command {
    Play(String, Box<Step>, Answer),
    Finish(oneshot::Sender<Ended>),
}

/// What is left of a session.
#[derive(Debug)]
pub(super) struct Ended {
    /// Everything that happened. The session's thread lets go of it last, if it can: the allocator takes longer for what another
    /// thread made.
    pub(super) record: Arc<Record>,
    /// Texts to be kept, with their files.
    pub(super) snapshots: Vec<Snapshot>,
}

/// The handle of a session's thread; dropping it ends the session.
#[derive(Debug)]
pub(super) struct Driver {
    commands: mpsc::Sender<Command>,
}

impl Driver {
    /// Installs the planned cluster on a thread that has nothing else to do.
    pub(super) async fn start(
        backend: Arc<dyn Backend>,
        cluster: ClusterPlan,
        scenario: String,
        seed: u64,
    ) -> Result<Self, SessionError> {
        let (commands, inbox) = mpsc::channel();
        let (ready, started) = oneshot::channel();
        on_a_thread(Box::new(move || {
            let session = match Session::start_on(&*backend, &cluster, &scenario, &[], seed) {
                Ok(session) => session,
                Err(error) => return drop(ready.send(Err(error))),
            };
            if ready.send(Ok(())).is_ok() {
                serve(session, &inbox);
            }
        }));
        started.await.unwrap_or(Err(SessionError::Ended))?;
        Ok(Self { commands })
    }

    /// Plays one step; `text` is how the record names it.
    pub(super) async fn play(&self, text: &str, step: Step) -> Result<(), SessionError> {
        let (answer, outcome) = oneshot::channel();
        let command = Command::Play(text.to_owned(), Box::new(step), answer);
        self.commands.send(command).map_err(|_| SessionError::Ended)?;
        outcome.await.unwrap_or(Err(SessionError::Ended))
    }

    /// Ends the session and gives what is left of it.
    pub(super) async fn finish(&self) -> Option<Ended> {
        let (answer, ended) = oneshot::channel();
        self.commands.send(Command::Finish(answer)).ok()?;
        ended.await.ok()
    }
}

/// Does a job on an idle thread, or on a new one if there is none.
fn on_a_thread(job: Job) {
    let idle = || IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    let job = match idle().pop() {
        // One that is listed waits for a job.
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
    while let Ok(command) = inbox.recv() {
        match command {
            Command::Play(text, step, answer) => {
                session.begin_step(&text);
                let outcome = session.play(&step);
                session.end_step(&text, &outcome);
                // Nobody listens when the feature was given up meanwhile.
                let _ = answer.send(outcome);
            }
            Command::Finish(answer) => {
                let snapshots = session.take_snapshots();
                let record = Arc::new(session.into_record());
                let _ = answer.send(Ended { record: Arc::clone(&record), snapshots });
                // Comes to nothing as soon as nobody has the driver any more.
                let _ = inbox.recv();
                return;
            }
        }
    }
}
