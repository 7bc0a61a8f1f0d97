//! Cleanup work that must happen at the end of a run, after a failure or panic, and on an interrupt.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

type Work = Box<dyn FnOnce() + Send>;

/// All pending cleanup work, oldest first.
#[derive(Clone, Default)]
pub struct Cleanups(Arc<(Mutex<Pending>, Condvar)>);

#[derive(Default)]
struct Pending {
    next: u64,
    works: BTreeMap<u64, Work>,
    /// The thread that cleans up. Other threads wait for it, since they may own what its work needs.
    busy: Option<ThreadId>,
}

/// The handle of cleanup work: dropping it does the work, unless it was done before.
#[must_use = "dropping it cleans up"]
pub struct Guard {
    all: Cleanups,
    number: u64,
}

/// A flag that makes runs end early and clean up.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Sets the flag.
    pub fn request(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Returns whether the flag is set.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

impl Cleanups {
    /// Registers `work`, which is done once: when the guard is dropped or when [`Cleanups::run`] is called,
    /// whichever is first.
    pub fn add(&self, work: impl FnOnce() + Send + 'static) -> Guard {
        let mut pending = self.wait_until_idle();
        let number = pending.next;
        pending.next += 1;
        pending.works.insert(number, Box::new(work));
        Guard { all: self.clone(), number }
    }

    /// Returns whether cleanup work is being done now.
    pub fn is_at_work(&self) -> bool {
        self.lock().busy.is_some()
    }

    /// Does all work now, newest first.
    pub fn run(&self) {
        self.run_all();
        self.end(None);
    }

    /// Does all work before the process exits. Afterwards, every thread with cleanup work blocks until the
    /// exit.
    pub fn run_last(&self) {
        self.run_all();
    }

    fn run_all(&self) {
        self.wait_until_idle().busy = Some(std::thread::current().id());
        loop {
            // The lock is free during the work, which may drop other guards.
            let last = self.lock().works.pop_last();
            let Some((_, work)) = last else { return };
            run_and_catch_panics(work);
        }
    }

    /// Marks this thread as finished, or as back at the outer work that it was doing before.
    fn end(&self, before: Option<ThreadId>) {
        self.lock().busy = before;
        self.0.1.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no other thread is cleaning up.
    fn wait_until_idle(&self) -> MutexGuard<'_, Pending> {
        let own = std::thread::current().id();
        let is_busy = |pending: &mut Pending| pending.busy.is_some_and(|thread| thread != own);
        self.0.1.wait_while(self.lock(), is_busy).unwrap_or_else(PoisonError::into_inner)
    }
}

impl Guard {
    /// Leaves the work to [`Cleanups::run`].
    pub fn leave(self) {
        std::mem::forget(self);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut pending = self.all.wait_until_idle();
        let Some(work) = pending.works.remove(&self.number) else { return };
        // A thread that exits the process waits for this work. The work may drop another guard.
        let before = pending.busy.replace(std::thread::current().id());
        drop(pending);
        run_and_catch_panics(work);
        self.all.end(before);
    }
}

/// Does work. A panic prints its message, but must not block other threads or skip other work.
fn run_and_catch_panics(work: Work) {
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

    fn recorder(done: &Arc<Mutex<Vec<&'static str>>>, what: &'static str) -> impl FnOnce() + Send + use<> {
        let done = Arc::clone(done);
        move || done.lock().unwrap().push(what)
    }

    #[test]
    fn does_each_work_once() {
        let (all, done) = (Cleanups::default(), Arc::default());
        let first = all.add(recorder(&done, "first"));
        let second = all.add(recorder(&done, "second"));
        let third = all.add(recorder(&done, "third"));
        drop(second);
        all.run();
        drop((first, third));
        assert_eq!(*done.lock().unwrap(), ["second", "third", "first"]);
    }

    #[test]
    fn dropping_a_guard_waits_for_the_thread_that_does_its_work() {
        let (all, done) = (Cleanups::default(), Arc::default());
        let (begun, begins) = std::sync::mpsc::channel();
        let (end, ends) = std::sync::mpsc::channel::<()>();
        let undone = recorder(&done, "undone");
        let guard = all.add(move || {
            begun.send(()).unwrap();
            ends.recv().unwrap();
            undone();
        });
        let runner = std::thread::spawn(move || all.run());
        begins.recv().unwrap();
        let record = recorder(&done, "dropped");
        let dropper = std::thread::spawn(move || {
            drop(guard);
            record();
        });
        end.send(()).unwrap();
        runner.join().unwrap();
        dropper.join().unwrap();
        assert_eq!(*done.lock().unwrap(), ["undone", "dropped"]);
    }

    #[test]
    fn exiting_waits_for_a_guard_that_is_being_dropped() {
        let (all, done) = (Cleanups::default(), Arc::default());
        let (begun, begins) = std::sync::mpsc::channel();
        let (end, ends) = std::sync::mpsc::channel::<()>();
        let (within, undone) = (all.add(recorder(&done, "within")), recorder(&done, "undone"));
        let guard = all.add(move || {
            drop(within);
            begun.send(()).unwrap();
            ends.recv().unwrap();
            undone();
        });
        let dropper = std::thread::spawn(move || drop(guard));
        begins.recv().unwrap();
        let record = recorder(&done, "process ends");
        let ender = std::thread::spawn(move || {
            all.run_last();
            record();
        });
        end.send(()).unwrap();
        dropper.join().unwrap();
        ender.join().unwrap();
        assert_eq!(*done.lock().unwrap(), ["within", "undone", "process ends"]);
    }

    #[test]
    fn work_that_panics_blocks_no_other_work() {
        let (all, done) = (Cleanups::default(), Arc::default());
        let other = all.add(recorder(&done, "other"));
        drop(all.add(|| panic!("on purpose")));
        all.add(|| panic!("on purpose")).leave();
        all.run();
        drop(other);
        assert_eq!(*done.lock().unwrap(), ["other"]);
    }

    #[test]
    fn a_panicking_thread_cleans_up() {
        let (all, done) = (Cleanups::default(), Arc::default());
        let work = recorder(&done, "done");
        let thread = std::thread::spawn(move || {
            let _guard = all.add(work);
            panic!("on purpose");
        });
        assert!(thread.join().is_err());
        assert_eq!(*done.lock().unwrap(), ["done"]);
    }
}
