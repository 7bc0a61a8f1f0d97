//! A server whose writes go to a storage: who waits for them, and what becomes of those that it does not take.

use std::sync::{Arc, Mutex};

use windtunnel_core::clock::{Clock, Time};
use windtunnel_core::{Identity, Object, Refusal, Write};

use super::moved::Moved;
use super::{Shared, lock};
use crate::paths;
use crate::reply::Reply;
use crate::request::{Method, Request, Target};
use crate::server::ApiServer;
use crate::status::Refused;
use crate::storage::writer::{self, CommitObserver, Writer, Written};
use crate::storage::{Change, Health, Report, Storage, StorageError};

/// The answer to a write that the storage did not take.
pub(super) fn refused(error: &StorageError) -> Refused {
    Refused::internal(format!("storage: {error}"))
}

/// Whether the answer to a request may contain writes that are not durable yet.
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
    /// Shares a server that was built with what `storage` held ([`Builder::saved`](crate::Builder::saved)): from
    /// now on a write is durable before it is answered, and before anybody sees it.
    ///
    /// # Errors
    /// What a new server holds from the start cannot be stored.
    pub fn stored(
        mut server: ApiServer,
        clock: Arc<dyn Clock>,
        mut storage: Box<dyn Storage>,
        report: Report,
    ) -> Result<Self, StorageError> {
        storage.commit(&server.store.take_changes())?;
        server.store.made_durable(server.revision());
        let shared = Self::new(server, Arc::clone(&clock));
        let (server, moved) = (Arc::clone(&shared.server), Arc::clone(&shared.moved));
        let memory = Box::new(InMemory { server, moved, clock, report });
        Ok(Self { writer: Some(Writer::start(storage, memory)), ..shared })
    }

    /// Makes a write without HTTP in between.
    ///
    /// # Errors
    /// The server's refusal.
    pub fn write(&self, write: &Write, who: &Identity, now: Time) -> Result<Object, Refusal> {
        self.write_by("", write, who, now)
    }

    /// The same for a client of this user agent.
    ///
    /// # Errors
    /// The server's refusal.
    pub fn write_by(&self, agent: &str, write: &Write, who: &Identity, now: Time) -> Result<Object, Refusal> {
        let call = |server: &mut ApiServer| server.write_by(agent, write, who, now);
        let (result, receipt) = self.locked(call, |_| false, Writer::submit_sync);
        match receipt.map_or(Ok(()), writer::Receipt::durable) {
            Ok(()) => result,
            Err(error) => Reply::refused(&refused(&error)).into_object(),
        }
    }

    /// Calls the server when all that it holds is durable.
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

    /// Waits until everything is durable, and closes the storage, if there is one. Later writes fail.
    pub fn close(&self) {
        if let Some(writer) = &self.writer {
            let _ = writer.close().durable();
        }
    }

    /// Tries the storage again for those who ask how the server is.
    pub(super) async fn probe(&self, request: &Request<'_>) {
        let Some(writer) = &self.writer else { return };
        let is_probe = matches!(&request.target, Target::Path(path) if paths::health::is_probe(path));
        if is_probe && self.lock().store.stalled().is_some() {
            let _ = writer.submit(Written::default()).durable().await;
        }
    }
}

/// What the thread that makes writes durable knows of the server.
struct InMemory {
    server: Arc<Mutex<ApiServer>>,
    moved: Arc<Moved>,
    clock: Arc<dyn Clock>,
    report: Report,
}

impl CommitObserver for InMemory {
    fn made_durable(&self, revision: u64, moved: Vec<writer::ChangedTables>) {
        let recovered = lock(&self.server).store.made_durable(revision);
        for tables in moved {
            self.moved.tell(tables);
        }
        if recovered {
            (self.report)(&Health::Recovered);
        }
    }

    fn rewind(&self, why: &StorageError, last: &mut dyn FnMut()) -> Vec<Change> {
        let mut server = lock(&self.server);
        last();
        let knew = server.store.stalled().is_some();
        let again = server.rewind(&why.0, self.clock.now());
        drop(server);
        // Watches of kinds whose definitions changed twice end.
        self.moved.tell(None);
        if !knew {
            (self.report)(&Health::Stalled(why.clone()));
        }
        again
    }
}
