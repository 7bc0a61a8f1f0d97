//! The thread that makes changes durable: everything that waits when the thread is free goes into one commit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, Sender, channel};

use tokio::sync::oneshot;
use windtunnel_core::Key;

use super::{Change, Storage, StorageError};
use crate::store::TableId;

/// Which tables a write concerns; `None` for all of them.
pub(crate) type Moved = Option<BTreeSet<TableId>>;

/// Who waits for a batch.
type Done = Box<dyn FnOnce(Result<(), StorageError>) + Send>;

/// What one request wrote; nothing, if it only waits for what others wrote before it.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) changes: Vec<Change>,
    pub(crate) moved: Moved,
}

/// The server in memory, which the thread tells how its writes came out.
pub(crate) trait Memory: Send {
    /// Everything up to a revision is durable, and may be seen by clients.
    fn made_durable(&self, revision: u64, moved: Vec<Moved>);

    /// The storage takes no writes: everything that is not durable is taken back. `last` is called while nobody can write.
    /// Returns the restored state of the objects concerned.
    fn rewind(&self, why: &StorageError, last: &mut dyn FnMut()) -> Vec<Change>;
}

/// What a request wrote, and who waits for it.
struct Batch {
    written: Written,
    done: Done,
    /// Whether the thread ends after it.
    last: bool,
}

/// Hands changes to the thread, in the order in which they are to be made.
#[derive(Clone)]
pub(crate) struct Writer(Sender<Batch>);

/// Tells when the changes of a request are durable.
#[derive(Debug)]
pub(crate) struct Ticket(oneshot::Receiver<Result<(), StorageError>>);

/// The same for threads that may wait.
#[derive(Debug)]
pub(crate) struct Receipt(Receiver<Result<(), StorageError>>);

impl Writer {
    /// Starts the thread. It ends when it is closed, or the last writer is dropped.
    pub(crate) fn start(storage: Box<dyn Storage>, memory: Box<dyn Memory>) -> Self {
        let (queue, batches) = channel();
        std::thread::spawn(move || run(storage, &*memory, &batches));
        Self(queue)
    }

    pub(crate) fn submit(&self, written: Written) -> Ticket {
        let (tell, ticket) = oneshot::channel();
        // Whoever no longer waits does not care.
        self.send(written, false, move |outcome| drop(tell.send(outcome)));
        Ticket(ticket)
    }

    /// The same for threads that may wait.
    pub(crate) fn submit_sync(&self, written: Written) -> Receipt {
        let (tell, ticket) = channel();
        self.send(written, false, move |outcome| drop(tell.send(outcome)));
        Receipt(ticket)
    }

    /// Closes the storage once all that was submitted is durable. Later writes fail.
    pub(crate) fn close(&self) -> Receipt {
        let (tell, ticket) = channel();
        self.send(Written::default(), true, move |outcome| drop(tell.send(outcome)));
        Receipt(ticket)
    }

    fn send(
        &self,
        written: Written,
        last: bool,
        done: impl FnOnce(Result<(), StorageError>) + Send + 'static,
    ) {
        // If the thread has ended, `done` is dropped, and the ticket tells.
        let _ = self.0.send(Batch { written, done: Box::new(done), last });
    }
}

/// The error of writes that come after the end.
pub(crate) fn closed() -> StorageError {
    StorageError("the storage is closed".to_owned())
}

impl Ticket {
    /// Waits until the changes are durable.
    ///
    /// # Errors
    /// They are not, and are taken back.
    pub(crate) async fn durable(self) -> Result<(), StorageError> {
        self.0.await.unwrap_or_else(|_| Err(closed()))
    }
}

impl Receipt {
    /// As [`Ticket::durable`].
    ///
    /// # Errors
    /// As [`Ticket::durable`].
    pub(crate) fn durable(self) -> Result<(), StorageError> {
        self.0.recv().unwrap_or_else(|_| Err(closed()))
    }
}

/// What waits at the same time, and becomes durable together.
#[derive(Default)]
struct Group {
    changes: Vec<Change>,
    moved: Vec<Moved>,
    waiting: Vec<Done>,
    last: bool,
}

impl Group {
    fn add(&mut self, batch: Batch) {
        if !batch.written.changes.is_empty() {
            self.changes.extend(batch.written.changes);
            self.moved.push(batch.written.moved);
        }
        self.waiting.push(batch.done);
        self.last |= batch.last;
    }
}

fn run(mut storage: Box<dyn Storage>, memory: &dyn Memory, batches: &Receiver<Batch>) {
    // Current state of the objects whose stored state may be one that was taken back. The next commit writes it.
    let mut uncertain: BTreeMap<Key, Change> = BTreeMap::new();
    let mut stalled = false;
    while let Ok(first) = batches.recv() {
        let mut group = Group::default();
        group.add(first);
        for batch in batches.try_iter() {
            group.add(batch);
        }
        let outcome = if group.changes.is_empty() && !stalled {
            Ok(())
        } else {
            let changes: Vec<Change> = uncertain.values().cloned().chain(group.changes.drain(..)).collect();
            let outcome = storage.commit(&changes);
            if outcome.is_ok() {
                uncertain.clear();
                let revision = changes.last().map_or(0, |change| change.revision);
                memory.made_durable(revision, std::mem::take(&mut group.moved));
            }
            outcome
        };
        stalled = outcome.is_err();
        if let Err(why) = &outcome {
            // What was written meanwhile is built on what is not durable.
            let mut last = || batches.try_iter().for_each(|batch| group.add(batch));
            let again = memory.rewind(why, &mut last);
            uncertain.extend(again.into_iter().map(|change| (change.key.clone(), change)));
        }
        if group.last {
            drop(storage);
            return group.waiting.into_iter().for_each(|done| done(outcome.clone()));
        }
        group.waiting.into_iter().for_each(|done| done(outcome.clone()));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use windtunnel_core::resources;

    use super::*;

    /// Remembers the revisions of each commit; fails at the third.
    struct Counting(Arc<Mutex<Vec<Vec<u64>>>>);

    impl Storage for Counting {
        fn commit(&mut self, changes: &[Change]) -> Result<(), StorageError> {
            let mut commits = self.0.lock().unwrap();
            commits.push(changes.iter().map(|change| change.revision).collect());
            if commits.len() == 3 { Err(StorageError("disk full".to_owned())) } else { Ok(()) }
        }
    }

    /// Says that the node was as at revision 51 before what is taken back.
    struct Remembering(Arc<Mutex<Vec<u64>>>);

    impl Memory for Remembering {
        fn made_durable(&self, revision: u64, _: Vec<Moved>) {
            self.0.lock().unwrap().push(revision);
        }

        fn rewind(&self, _: &StorageError, last: &mut dyn FnMut()) -> Vec<Change> {
            last();
            change(51).changes
        }
    }

    fn change(revision: u64) -> Written {
        let change = Change { key: resources::NODES.key("", "n"), revision, object: None };
        Written { changes: vec![change], moved: None }
    }

    #[tokio::test]
    async fn what_waits_together_is_committed_together_and_a_failure_is_made_up_for() {
        let (commits, durable) = (Arc::default(), Arc::default());
        let memory = Remembering(Arc::clone(&durable));
        let writer = Writer::start(Box::new(Counting(Arc::clone(&commits))), Box::new(memory));
        let tickets: Vec<Ticket> = {
            // The first commit waits for this lock; the others wait for the first.
            let held = commits.lock().unwrap();
            let tickets = (0..50).map(|revision| writer.submit(change(revision))).collect();
            drop(held);
            tickets
        };
        for ticket in tickets {
            assert_eq!(ticket.durable().await, Ok(()));
        }
        assert_eq!(commits.lock().unwrap().iter().map(Vec::len).sum::<usize>(), 50);
        assert!(commits.lock().unwrap().len() <= 2);
        while commits.lock().unwrap().len() < 2 {
            writer.submit(change(51)).durable().await.unwrap();
        }
        let full = Err(StorageError("disk full".to_owned()));
        assert_eq!(writer.submit(change(52)).durable().await, full);
        // The next commit first says again what was before the failure.
        assert_eq!(writer.submit(change(53)).durable().await, Ok(()));
        assert_eq!(commits.lock().unwrap()[3], [51, 53]);
        // Who wrote nothing waits for the others, and no more.
        assert_eq!(writer.submit(Written::default()).durable().await, Ok(()));
        assert_eq!((commits.lock().unwrap().len(), durable.lock().unwrap().last().copied()), (4, Some(53)));
        assert_eq!(writer.close().durable(), Ok(()));
        assert_eq!(writer.submit(change(54)).durable().await, Err(closed()));
    }
}
