//! The paths of a server that are not resources.

use windtunnel_core::clock::Time;

use crate::paths::Served;
use crate::rejection::Outcome;
use crate::reply::Reply;
use crate::request::Request;
use crate::server::ApiServer;

impl ApiServer {
    /// Serves `GET path` with this JSON from now on, like [`Builder::document`](crate::Builder::document).
    pub fn set_document(&mut self, path: impl Into<String>, json: impl Into<String>) {
        self.paths.set_document(path.into(), json.into());
    }

    /// Serves a path that is not a resource.
    pub(crate) fn path(&mut self, request: &Request<'_>, path: &str, now: Time) -> Outcome<Reply> {
        let mut served = Served {
            paths: &self.paths,
            documents: &mut self.documents,
            catalog: &self.catalog,
            store: &self.store,
            profile: &self.profile,
            access: &self.access,
            definitions: (self.tables.definitions, self.definitions.epoch()),
        };
        served.answer(request, path, now)
    }
}
