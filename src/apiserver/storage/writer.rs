//! The thread that makes changes durable: whatever waits when it is free goes into one commit.

use std::sync::mpsc::{Receiver, Sender, channel};

use tokio::sync::oneshot;

use super::{Change, Storage, StorageError};

/// Who waits for a batch.
type Done = Box<dyn FnOnce(Result<(), StorageError>) + Send>;

/// Changes of one request.
struct Batch {
    changes: Vec<Change>,
    done: Done,
}

/// Hands changes to the thread, in the order in which they are to be made.
#[derive(Clone)]
pub(crate) struct Writer(Sender<Batch>);

/// Tells when the changes of a request are durable.
#[derive(Debug)]
pub(crate) struct Ticket(oneshot::Receiver<Result<(), StorageError>>);

impl Writer {
    /// Starts the thread. It ends when the last writer is dropped, or with the first failure.
    pub(crate) fn start(storage: Box<dyn Storage>) -> Self {
        let (queue, batches) = channel();
        std::thread::spawn(move || run(storage, &batches));
        Self(queue)
    }

    pub(crate) fn submit(&self, changes: Vec<Change>) -> Ticket {
        let (tell, ticket) = oneshot::channel();
        // Whoever no longer waits does not care.
        self.send(changes, move |outcome| drop(tell.send(outcome)));
        Ticket(ticket)
    }

    /// The same for threads that may wait: what is received comes when the changes are durable; nothing if they will not
    /// be.
    pub(crate) fn submit_sync(&self, changes: Vec<Change>) -> Receiver<Result<(), StorageError>> {
        let (tell, ticket) = channel();
        self.send(changes, move |outcome| drop(tell.send(outcome)));
        ticket
    }

    fn send(&self, changes: Vec<Change>, done: impl FnOnce(Result<(), StorageError>) + Send + 'static) {
        // If the thread has ended, `done` is dropped, and the ticket tells.
        let _ = self.0.send(Batch { changes, done: Box::new(done) });
    }
}

impl Ticket {
    /// Waits until the changes are durable.
    ///
    /// # Errors
    /// They will not be.
    pub(crate) async fn durable(self) -> Result<(), StorageError> {
        let gone = || StorageError("the storage failed before".to_owned());
        self.0.await.unwrap_or_else(|_| Err(gone()))
    }
}

fn run(mut storage: Box<dyn Storage>, batches: &Receiver<Batch>) {
    while let Ok(first) = batches.recv() {
        let (mut changes, mut waiting) = (first.changes, vec![first.done]);
        for more in batches.try_iter() {
            changes.extend(more.changes);
            waiting.push(more.done);
        }
        let outcome = storage.commit(&changes);
        for done in waiting {
            done(outcome.clone());
        }
        if outcome.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::model::resources;

    /// Remembers how many changes each commit had; fails at the third.
    struct Counting(Arc<Mutex<Vec<usize>>>);

    impl Storage for Counting {
        fn commit(&mut self, changes: &[Change]) -> Result<(), StorageError> {
            let mut commits = self.0.lock().unwrap();
            commits.push(changes.len());
            if commits.len() == 3 { Err(StorageError("disk full".to_owned())) } else { Ok(()) }
        }
    }

    fn change(revision: u64) -> Vec<Change> {
        vec![Change { key: resources::NODES.key("", "n"), revision, object: None }]
    }

    #[tokio::test]
    async fn what_waits_together_is_committed_together_and_nothing_after_a_failure() {
        let commits = Arc::new(Mutex::new(Vec::new()));
        let writer = Writer::start(Box::new(Counting(Arc::clone(&commits))));
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
        assert_eq!(commits.lock().unwrap().iter().sum::<usize>(), 50);
        assert!(commits.lock().unwrap().len() <= 2);
        while commits.lock().unwrap().len() < 2 {
            writer.submit(change(51)).durable().await.unwrap();
        }
        assert_eq!(writer.submit(change(52)).durable().await, Err(StorageError("disk full".to_owned())));
        assert!(writer.submit(change(53)).durable().await.is_err());
    }
}
