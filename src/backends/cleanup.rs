//! What has to be undone whatever happens: at the end of a run, when it fails or panics, and when somebody interrupts it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

type Work = Box<dyn FnOnce() + Send>;

/// All that is still to be undone, oldest first.
#[derive(Clone, Default)]
pub struct Cleanups(Arc<(Mutex<Pending>, Condvar)>);

#[derive(Default)]
struct Pending {
    next: u64,
    works: BTreeMap<u64, Work>,
    /// The thread that is undoing things: others wait for it, since they may hold what it needs.
    busy: Option<ThreadId>,
}

/// Something to be undone: dropping this does it, unless somebody did before.
#[must_use = "dropping it cleans up"]
pub struct Guard {
    all: Cleanups,
    number: u64,
}

/// Whether runs are to end where they are, and clean up.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// From now on they are.
    pub fn tell(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether they are.
    pub fn is_told(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

impl Cleanups {
    /// Has `work` be done when the guard is dropped or [`Cleanups::run`] is called, whichever is first, and once.
    pub fn add(&self, work: impl FnOnce() + Send + 'static) -> Guard {
        let mut pending = self.quiet();
        let number = pending.next;
        pending.next += 1;
        pending.works.insert(number, Box::new(work));
        Guard { all: self.clone(), number }
    }

    /// Whether something is being undone at this moment.
    pub fn is_at_work(&self) -> bool {
        self.lock().busy.is_some()
    }

    /// Does everything now, newest first.
    pub fn run(&self) {
        self.run_all();
        self.end(None);
    }

    /// The same for a process that ends now: whoever has something to undo from here on waits for the end.
    pub fn run_last(&self) {
        self.run_all();
    }

    fn run_all(&self) {
        self.quiet().busy = Some(std::thread::current().id());
        loop {
            // The lock is free while the work is done: it may drop other guards.
            let last = self.lock().works.pop_last();
            let Some((_, work)) = last else { return };
            do_whatever_happens(work);
        }
    }

    /// This thread undoes nothing any more but what it was at before.
    fn end(&self, before: Option<ThreadId>) {
        self.lock().busy = before;
        self.0.1.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no other thread is undoing things.
    fn quiet(&self) -> MutexGuard<'_, Pending> {
        let own = std::thread::current().id();
        let is_busy = |pending: &mut Pending| pending.busy.is_some_and(|thread| thread != own);
        self.0.1.wait_while(self.lock(), is_busy).unwrap_or_else(PoisonError::into_inner)
    }
}

impl Guard {
    /// Leaves it to [`Cleanups::run`].
    pub fn leave(self) {
        std::mem::forget(self);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut pending = self.all.quiet();
        let Some(work) = pending.works.remove(&self.number) else { return };
        // Who ends the process meanwhile waits for this; a work may drop another guard.
        let before = pending.busy.replace(std::thread::current().id());
        drop(pending);
        do_whatever_happens(work);
        self.all.end(before);
    }
}

/// A work that panics, which is told, must not keep others waiting or undone.
fn do_whatever_happens(work: Work) {
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
}

impl std::fmt::Debug for Cleanups {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cleanups").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noting(done: &Arc<Mutex<Vec<&'static str>>>, what: &'static str) -> impl FnOnce() + Send + use<> {
        let done = Arc::clone(done);
        move || done.lock().unwrap().push(what)
    }

    #[test]
    fn each_work_is_done_once_whoever_is_first() {
        let (all, done) = (Cleanups::default(), Arc::default());
        let first = all.add(noting(&done, "first"));
        let second = all.add(noting(&done, "second"));
        let third = all.add(noting(&done, "third"));
        drop(second);
        all.run();
        drop((first, third));
        assert_eq!(*done.lock().unwrap(), ["second", "third", "first"]);
    }

    #[test]
    fn who_drops_a_guard_waits_for_who_is_undoing_it() {
        let (all, done) = (Cleanups::default(), Arc::default());
        let (begun, begins) = std::sync::mpsc::channel();
        let (end, ends) = std::sync::mpsc::channel::<()>();
        let undone = noting(&done, "undone");
        let guard = all.add(move || {
            begun.send(()).unwrap();
            ends.recv().unwrap();
            undone();
        });
        let runner = std::thread::spawn(move || all.run());
        begins.recv().unwrap();
        let note = noting(&done, "dropped");
        let dropper = std::thread::spawn(move || {
            drop(guard);
            note();
        });
        end.send(()).unwrap();
        runner.join().unwrap();
        dropper.join().unwrap();
        assert_eq!(*done.lock().unwrap(), ["undone", "dropped"]);
    }

    #[test]
    fn who_ends_the_process_waits_for_who_drops_a_guard() {
        let (all, done) = (Cleanups::default(), Arc::default());
        let (begun, begins) = std::sync::mpsc::channel();
        let (end, ends) = std::sync::mpsc::channel::<()>();
        let (within, undone) = (all.add(noting(&done, "within")), noting(&done, "undone"));
        let guard = all.add(move || {
            drop(within);
            begun.send(()).unwrap();
            ends.recv().unwrap();
            undone();
        });
        let dropper = std::thread::spawn(move || drop(guard));
        begins.recv().unwrap();
        let note = noting(&done, "process ends");
        let ender = std::thread::spawn(move || {
            all.run_last();
            note();
        });
        end.send(()).unwrap();
        dropper.join().unwrap();
        ender.join().unwrap();
        assert_eq!(*done.lock().unwrap(), ["within", "undone", "process ends"]);
    }

    #[test]
    fn a_work_that_panics_keeps_nobody_waiting() {
        let (all, done) = (Cleanups::default(), Arc::default());
        let other = all.add(noting(&done, "other"));
        drop(all.add(|| panic!("on purpose")));
        all.add(|| panic!("on purpose")).leave();
        all.run();
        drop(other);
        assert_eq!(*done.lock().unwrap(), ["other"]);
    }

    #[test]
    fn a_panic_cleans_up() {
        let (all, done) = (Cleanups::default(), Arc::default());
        let work = noting(&done, "done");
        let thread = std::thread::spawn(move || {
            let _guard = all.add(work);
            panic!("on purpose");
        });
        assert!(thread.join().is_err());
        assert_eq!(*done.lock().unwrap(), ["done"]);
    }
}
