//! The thread that makes changes durable. All changes that wait when the thread is free go into one commit.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, Sender, channel};

use tokio::sync::oneshot;

use super::{Change, Storage, StorageError};
use crate::store::TableId;

/// The tables that a write changes; `None` for all of them.
pub(crate) type ChangedTables = Option<BTreeSet<TableId>>;

/// Called when a batch is committed or has failed.
type Done = Box<dyn FnOnce(Result<(), StorageError>) + Send>;

/// The changes of one request; empty if it only waits for earlier changes.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) changes: Vec<Change>,
    pub(crate) changed_tables: ChangedTables,
}

/// The server in memory, which the thread notifies of the outcome of commits.
pub(crate) trait CommitObserver: Send {
    /// Everything up to a revision is durable and may be shown to clients.
    fn made_durable(&self, revision: u64, changed_tables: Vec<ChangedTables>);

    /// The storage has rejected a write, so everything that is not durable is reverted. `last` is called while
    /// nobody can write.
    fn rewind(&self, why: &StorageError, last: &mut dyn FnMut());
}

/// The changes of a request, and the callback that waits for them.
struct Batch {
    written: Written,
    done: Done,
    /// Whether the thread ends after this batch.
    last: bool,
}

/// Sends changes to the thread, in the order of the writes.
#[derive(Clone)]
pub(crate) struct Writer(Sender<Batch>);

/// Waits asynchronously until the changes of a request are durable.
#[derive(Debug)]
pub(crate) struct Ticket(oneshot::Receiver<Result<(), StorageError>>);

/// Waits until the changes of a request are durable, and blocks the thread.
#[derive(Debug)]
pub(crate) struct Receipt(Receiver<Result<(), StorageError>>);

impl Writer {
    /// Starts the thread. It ends when it is closed or the last writer is dropped.
    pub(crate) fn start(storage: Box<dyn Storage>, memory: Box<dyn CommitObserver>) -> Self {
        let (queue, batches) = channel();
        std::thread::spawn(move || run(storage, &*memory, &batches));
        Self(queue)
    }

    pub(crate) fn submit(&self, written: Written) -> Ticket {
        let (sender, ticket) = oneshot::channel();
        // The receiver may have stopped waiting.
        self.send(written, false, move |outcome| drop(sender.send(outcome)));
        Ticket(ticket)
    }

    /// Like [`Writer::submit`], for threads that may block.
    pub(crate) fn submit_sync(&self, written: Written) -> Receipt {
        let (sender, ticket) = channel();
        self.send(written, false, move |outcome| drop(sender.send(outcome)));
        Receipt(ticket)
    }

    /// Closes the storage once everything submitted is durable. Later writes fail.
    pub(crate) fn close(&self) -> Receipt {
        let (sender, ticket) = channel();
        self.send(Written::default(), true, move |outcome| drop(sender.send(outcome)));
        Receipt(ticket)
    }

    fn send(
        &self,
        written: Written,
        last: bool,
        done: impl FnOnce(Result<(), StorageError>) + Send + 'static,
    ) {
        // If the thread has ended, this drops `done`, and the ticket reports an error.
        let _ = self.0.send(Batch { written, done: Box::new(done), last });
    }
}

/// The error of writes after the storage is closed.
pub(crate) fn closed() -> StorageError {
    StorageError("the storage is closed".to_owned())
}

impl Ticket {
    /// Waits until the changes are durable.
    ///
    /// # Errors
    /// They are not durable, and are reverted.
    pub(crate) async fn durable(self) -> Result<(), StorageError> {
        self.0.await.unwrap_or_else(|_| Err(closed()))
    }
}

impl Receipt {
    /// Blocks the thread until the changes are durable.
    ///
    /// # Errors
    /// Those of [`Ticket::durable`].
    pub(crate) fn durable(self) -> Result<(), StorageError> {
        self.0.recv().unwrap_or_else(|_| Err(closed()))
    }
}

/// The changes that wait at the same time and are committed together.
#[derive(Default)]
struct Group {
    changes: Vec<Change>,
    changed_tables: Vec<ChangedTables>,
    waiting: Vec<Done>,
    last: bool,
}

impl Group {
    fn add(&mut self, batch: Batch) {
        if !batch.written.changes.is_empty() {
            self.changes.extend(batch.written.changes);
            self.changed_tables.push(batch.written.changed_tables);
        }
        self.waiting.push(batch.done);
        self.last |= batch.last;
    }
}

fn run(mut storage: Box<dyn Storage>, memory: &dyn CommitObserver, batches: &Receiver<Batch>) {
    // The first error. The storage gets no changes after it.
    let mut failed = None;
    while let Ok(first) = batches.recv() {
        let mut group = Group::default();
        group.add(first);
        for batch in batches.try_iter() {
            group.add(batch);
        }
        let outcome = match (group.changes.last(), &failed) {
            (None, _) => Ok(()),
            (Some(_), Some(why)) => Err(StorageError::clone(why)),
            (Some(last), None) => storage.commit(&group.changes).map(|()| {
                memory.made_durable(last.revision, std::mem::take(&mut group.changed_tables));
            }),
        };
        if let Err(why) = &outcome {
            // Changes submitted meanwhile are based on changes that are not durable.
            memory.rewind(why, &mut || batches.try_iter().for_each(|batch| group.add(batch)));
            failed = Some(why.clone());
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

    /// Records the revisions of each commit; the third commit fails.
    struct Counting(Arc<Mutex<Vec<Vec<u64>>>>);

    impl Storage for Counting {
        fn commit(&mut self, changes: &[Change]) -> Result<(), StorageError> {
            let mut commits = self.0.lock().unwrap();
            commits.push(changes.iter().map(|change| change.revision).collect());
            if commits.len() == 3 { Err(StorageError("disk full".to_owned())) } else { Ok(()) }
        }
    }

    /// Records the revisions that are durable.
    struct Remembering(Arc<Mutex<Vec<u64>>>);

    impl CommitObserver for Remembering {
        fn made_durable(&self, revision: u64, _: Vec<ChangedTables>) {
            self.0.lock().unwrap().push(revision);
        }

        fn rewind(&self, _: &StorageError, last: &mut dyn FnMut()) {
            last();
        }
    }

    fn change(revision: u64) -> Written {
        let change = Change { key: resources::NODES.key("", "n"), revision, object: None };
        Written { changes: vec![change], changed_tables: None }
    }

    #[tokio::test]
    async fn waiting_changes_are_committed_together_and_a_failed_commit_is_the_last() {
        let (commits, durable) = (Arc::default(), Arc::default());
        let memory = Remembering(Arc::clone(&durable));
        let writer = Writer::start(Box::new(Counting(Arc::clone(&commits))), Box::new(memory));
        let tickets: Vec<Ticket> = {
            // The first commit waits for this lock, and the others wait for the first commit.
            let guard = commits.lock().unwrap();
            let tickets = (0..50).map(|revision| writer.submit(change(revision))).collect();
            drop(guard);
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
        for revision in [52, 53] {
            assert_eq!(writer.submit(change(revision)).durable().await, full);
        }
        // A request without changes only waits for the others.
        assert_eq!(writer.submit(Written::default()).durable().await, Ok(()));
        assert_eq!(commits.lock().unwrap().len(), 3);
        assert!(durable.lock().unwrap().iter().all(|revision| *revision < 52));
        assert_eq!(writer.close().durable(), Ok(()));
        assert_eq!(writer.submit(change(54)).durable().await, Err(closed()));
    }
}
