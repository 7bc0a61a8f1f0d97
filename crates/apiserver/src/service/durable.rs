//! A server with a storage: requests wait until their writes are durable, and writes that the storage rejects are reverted.

use std::sync::{Arc, Mutex};

use windtunnel_core::clock::{Clock, Time};
use windtunnel_core::{Identity, Object, Rejection, Write};

use super::notifier::ChangeNotifier;
use super::{Shared, lock};
use crate::paths;
use crate::rejection::BoxedRejection;
use crate::reply::Reply;
use crate::request::{Method, Request, Target};
use crate::server::ApiServer;
use crate::storage::writer::{self, CommitObserver, Writer, Written};
use crate::storage::{Report, Storage, StorageError};

/// The error response to a write that the storage rejected.
pub(super) fn storage_error(error: &StorageError) -> BoxedRejection {
    BoxedRejection::internal(format!("storage: {error}"))
}

/// Whether the response to a request may contain writes that are not durable yet.
pub(super) fn saw_pending(server: &ApiServer, request: &Request<'_>) -> bool {
    let store = &server.store;
    let definitions = || store.is_pending_in(server.tables.definitions);
    match &request.target {
        _ if !store.is_pending() => false,
        Target::Path(path) => !paths::health::is_probe(path) && definitions(),
        Target::Resource(path) if request.method == Method::Get => match server.catalog.resolve(path) {
            Ok(kind) => store.is_pending_in(kind.table) || kind.custom.is_some() && definitions(),
            Err(_) => definitions(),
        },
        Target::Resource(_) => true,
    }
}

impl Shared {
    /// Shares a server that was built with the contents of `storage` ([`Builder::saved`](crate::Builder::saved)). From now
    /// on a write is durable before it is answered, and before any client sees it.
    ///
    /// # Errors
    /// The storage rejects the objects that the server created while it was built.
    pub fn stored(
        mut server: ApiServer,
        clock: Arc<dyn Clock>,
        mut storage: Box<dyn Storage>,
        report: Report,
    ) -> Result<Self, StorageError> {
        storage.commit(&server.store.take_changes())?;
        server.store.mark_durable(server.revision());
        let shared = Self::new(server, Arc::clone(&clock));
        let (server, notifier) = (Arc::clone(&shared.server), Arc::clone(&shared.notifier));
        let observer = Box::new(ServerUpdater { server, notifier, clock, report });
        Ok(Self { writer: Some(Writer::start(storage, observer)), ..shared })
    }

    /// Makes a write without HTTP.
    ///
    /// # Errors
    /// The server rejects the write.
    pub fn write(&self, write: &Write, who: &Identity, now: Time) -> Result<Object, Rejection> {
        self.write_by("", write, who, now)
    }

    /// Makes a write as a client with this user agent.
    ///
    /// # Errors
    /// The server rejects the write.
    pub fn write_by(
        &self,
        agent: &str,
        write: &Write,
        who: &Identity,
        now: Time,
    ) -> Result<Object, Rejection> {
        let call = |server: &mut ApiServer| server.write_by(agent, write, who, now);
        let (result, receipt) = self.call_and_submit(call, |_| false, Writer::submit_sync);
        match receipt.map_or(Ok(()), writer::Receipt::durable) {
            Ok(()) => result,
            Err(error) => Reply::rejection(&storage_error(&error)).into_object(),
        }
    }

    /// Waits until all writes are durable, and then calls the server directly.
    pub fn with_durable<T>(&self, call: impl FnOnce(&mut ApiServer) -> T) -> T {
        loop {
            let mut server = self.lock();
            let Some(writer) = self.writer.as_ref().filter(|_| server.store.is_pending()) else {
                return call(&mut server);
            };
            let receipt = writer.submit_sync(Written::default());
            drop(server);
            let _ = receipt.durable();
        }
    }

    /// Waits until all writes are durable, and closes the storage, if there is one. Later writes fail.
    pub fn close(&self) {
        if let Some(writer) = &self.writer {
            let _ = writer.close().durable();
        }
    }
}

/// Updates the server after each commit of the storage thread.
struct ServerUpdater {
    server: Arc<Mutex<ApiServer>>,
    notifier: Arc<ChangeNotifier>,
    clock: Arc<dyn Clock>,
    report: Report,
}

impl CommitObserver for ServerUpdater {
    fn made_durable(&self, revision: u64, changed_tables: Vec<writer::ChangedTables>) {
        lock(&self.server).store.mark_durable(revision);
        for tables in changed_tables {
            self.notifier.notify(tables);
        }
    }

    fn rewind(&self, why: &StorageError, last: &mut dyn FnMut()) {
        let mut server = lock(&self.server);
        last();
        let was_stalled = server.store.stalled().is_some();
        server.rewind(&why.0, self.clock.now());
        drop(server);
        // Reverting a definition replaces its kinds, so wake their watches to end them.
        self.notifier.notify(None);
        if !was_stalled {
            (self.report)(why);
        }
    }
}
