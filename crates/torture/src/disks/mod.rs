//! Disks that fail at each of their operations: clients never see refused writes, and no acknowledged one is lost.

mod full;
pub mod once;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use windtunnel_apiserver::ApiServer;
use windtunnel_apiserver::storage::{DataDir, DiskFault, Operations, Saved};

use crate::area::Area;
use crate::outcome::{Kind, Outcome};
use crate::trial::Trial;
use once::{Ran, Run, Step};

/// The number of writes of a run.
const WRITES: usize = 200;

/// The number of objects.
const OBJECTS: usize = 12;

/// A way to fail: its name, the error number of Linux, the operations, and whether it lasts.
type Way = (&'static str, i32, Operations, bool);

/// All ways to fail.
const WAYS: [Way; 4] = [
    ("no space left", 28, Operations::Writes, true),
    ("I/O error", 5, Operations::All, false),
    ("failing fsync", 5, Operations::Syncs, false),
    ("read-only file system", 30, Operations::Writes, true),
];

/// Lets the disk fail at its operations in a random order, as many as the time allows, and fills a real disk.
pub(crate) fn run(trial: &Trial) -> Result<Outcome, String> {
    let mut outcome = Outcome::new(Area::Disks);
    full::run(trial, &mut outcome)?;
    let server = ApiServer::builder().saved(Saved::default()).build(once::now());
    let mut draws = trial.draws("disks");
    let steps = draw_steps(&mut draws, WRITES);
    let mut faults = Vec::new();
    for way in WAYS {
        let ran = run_once(&server, &steps, fault(way, usize::MAX));
        add(&mut outcome, way, usize::MAX, &ran);
        faults.extend((0..ran.operations).map(|from| (way, from)));
    }
    let all = faults.len();
    draws.shuffle(&mut faults);
    let done = in_threads(trial, &server, &steps, &faults, &mut outcome);
    outcome.count(done as u64, "failed operations");
    outcome.note(format!("{done} of the {all} operations of {WRITES} writes failed"));
    Ok(outcome)
}

fn fault((_, error, operations, lasting): Way, from: usize) -> DiskFault {
    DiskFault { from, error, operations, lasting }
}

fn run_once(server: &ApiServer, steps: &[Step], fault: DiskFault) -> Ran {
    once::run(&Run { server, steps, fault }, &|data: DataDir| Box::new(data))
}

/// Draws writes: each sets an object to a new value, or deletes it.
pub fn draw_steps(draws: &mut fastrand::Rng, number: usize) -> Vec<Step> {
    let mut step = |number: usize| {
        let name = format!("m{}", draws.usize(..OBJECTS));
        let value = || format!("{number}{}", "x".repeat(draws.usize(..3000)));
        let deletes = number % 4 == 3;
        (name, (!deletes).then(value))
    };
    (0..number).map(&mut step).collect()
}

/// Runs with each fault until the time is over. Returns the number of runs.
fn in_threads(
    trial: &Trial,
    server: &ApiServer,
    steps: &[Step],
    faults: &[(Way, usize)],
    outcome: &mut Outcome,
) -> usize {
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let shared = Mutex::new(outcome);
    let work = || {
        while !trial.is_over() {
            let Some((way, from)) = faults.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
            let ran = run_once(server, steps, fault(*way, *from));
            done.fetch_add(1, Ordering::Relaxed);
            add(&mut shared.lock().unwrap_or_else(PoisonError::into_inner), *way, *from, &ran);
        }
    };
    let panics = thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().filter_map(|worker| worker.join().err()).collect::<Vec<_>>()
    });
    let mut outcome = shared.lock().unwrap_or_else(PoisonError::into_inner);
    for panic in panics {
        outcome.add(Kind::Panic, windtunnel_core::panics::text(&*panic));
    }
    done.into_inner()
}

fn add(outcome: &mut Outcome, (name, ..): Way, from: usize, ran: &Ran) {
    outcome.count(ran.acknowledged, "acknowledged writes");
    for lost in &ran.lost {
        outcome.add(Kind::Lost, format!("{name} at operation {from}: {lost}"));
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_apiserver::storage::{Change, Storage, StorageError};

    use super::*;

    /// A storage that acknowledges its n-th commit and does not make it.
    struct Forgetful {
        data: DataDir,
        left: usize,
    }

    impl Storage for Forgetful {
        fn commit(&mut self, changes: &[Change]) -> Result<(), StorageError> {
            self.left = self.left.saturating_sub(1);
            if self.left == 1 { Ok(()) } else { self.data.commit(changes) }
        }
    }

    fn server() -> ApiServer {
        ApiServer::builder().saved(Saved::default()).build(once::now())
    }

    #[test]
    fn nothing_is_lost_at_some_operations_of_each_way_to_fail() {
        let (server, steps) = (server(), draw_steps(&mut fastrand::Rng::with_seed(1), 12));
        for way in WAYS {
            let all = run_once(&server, &steps, fault(way, usize::MAX));
            assert_eq!((&all.lost, all.operations > 20), (&Vec::new(), true), "{way:?}");
            for from in (0..all.operations).step_by(all.operations / 8) {
                let ran = run_once(&server, &steps, fault(way, from));
                assert_eq!(ran.lost, [""; 0], "{way:?} at {from}");
            }
        }
    }

    #[test]
    fn a_commit_that_is_acknowledged_and_not_made_is_lost() {
        let steps: Vec<Step> =
            ["a", "b", "c"].into_iter().map(|name| (name.to_owned(), Some(name.to_owned()))).collect();
        let run = Run { server: &server(), steps: &steps, fault: fault(WAYS[0], usize::MAX) };
        // The first commit has the objects of the new server, the third one the object `b`.
        let ran = once::run(&run, &|data| Box::new(Forgetful { data, left: 4 }));
        assert_eq!(ran.acknowledged, 4);
        let lost = "b: absent, not `b`";
        assert_eq!(
            ran.lost,
            [
                format!("after the last write, in a crash of the process: {lost}"),
                format!("after the last write, in a crash of the machine: {lost}"),
                format!("after the end: {lost}"),
            ]
        );
    }

    #[test]
    fn the_same_seed_draws_the_same_writes() {
        let draw = |seed| draw_steps(&mut fastrand::Rng::with_seed(seed), 40);
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        assert_eq!(draw(1).iter().filter(|(_, value)| value.is_none()).count(), 10);
    }
}
