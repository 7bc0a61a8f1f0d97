//! A server with one definition.

use serde_json::Value;
use windtunnel_apiserver::{ApiServer, Method, Request};
use windtunnel_core::clock::Time;
use windtunnel_core::{Identity, Object, Rejection, Resource, Write};

use super::{Cause, causes, creation};
use crate::release::Definition;

/// A server with one definition.
#[derive(Debug, Clone)]
pub(crate) struct Side {
    server: ApiServer,
    user: Identity,
    now: Time,
}

/// A rejected write and its errors.
#[derive(Debug, Clone)]
pub(crate) struct WriteRejection {
    pub(crate) causes: Vec<Cause>,
}

impl Side {
    /// Creates a definition on a server.
    pub(super) fn install(
        mut server: ApiServer,
        definition: &Definition,
        now: Time,
    ) -> Result<Self, Rejection> {
        let user = Identity::admin();
        server.write(&creation(definition), &user, now)?;
        Ok(Self { server, user, now })
    }

    /// The name that field paths of errors of a status write lack, if they lack it.
    pub(crate) fn unnamed_section(&self) -> Option<&'static str> {
        (!self.server.profile().status_in_field).then_some("status")
    }

    /// Makes a write.
    pub(crate) fn write(&mut self, write: &Write) -> Result<Object, Rejection> {
        self.server.write(write, &self.user, self.now)
    }

    /// The stored object, as a client reads it in the version of `resource`.
    pub(crate) fn read(&self, resource: &Resource, namespace: &str, name: &str) -> Option<Object> {
        self.server.object(resource, namespace, name)
    }

    /// Answers as another Kubernetes minor from now on.
    pub(crate) fn set_minor(&mut self, minor: u32) {
        self.server.set_kubernetes_minor(minor);
    }

    /// Creates an object with its status.
    pub(crate) fn store(
        &mut self,
        resource: &Resource,
        has_status: bool,
        object: &Value,
    ) -> Result<Object, WriteRejection> {
        let failed = |rejection: &Rejection, section| WriteRejection { causes: causes(rejection, section) };
        let mut body = object.clone();
        let status = body.as_object_mut().filter(|_| has_status).and_then(|fields| fields.remove("status"));
        let created =
            self.write(&Write::create(resource, body)).map_err(|rejection| failed(&rejection, None))?;
        let Some(status) = status else { return Ok(created) };
        let mut whole = created.to_value();
        whole["status"] = status;
        let written = self.write(&Write::update_status(resource, whole));
        written.map_err(|rejection| {
            let failure = failed(&rejection, self.unnamed_section());
            self.remove(resource, &created);
            failure
        })
    }

    /// Replaces a stored object, or its status, by another state.
    pub(crate) fn replace(
        &mut self,
        resource: &Resource,
        is_status: bool,
        stored: &Object,
        after: &Value,
    ) -> (Write, Result<Object, Rejection>) {
        let mut body = after.clone();
        body["metadata"] = stored["metadata"].clone();
        let update = if is_status { Write::update_status } else { Write::update };
        let write = update(resource, body);
        let answer = self.write(&write);
        (write, answer)
    }

    /// Stores an object and changes it, for the time of one experiment.
    pub(crate) fn probe_change(
        &mut self,
        resource: &Resource,
        has_status: bool,
        states: (&Value, &Value),
        is_status: bool,
    ) -> Result<(), WriteRejection> {
        let (before, after) = states;
        let stored = self.store(resource, has_status, before)?;
        let (_, answer) = self.replace(resource, is_status, &stored, after);
        self.remove(resource, &stored);
        let section = self.unnamed_section().filter(|_| is_status);
        answer.map(|_| ()).map_err(|rejection| WriteRejection { causes: causes(&rejection, section) })
    }

    /// The answer to a read.
    pub(crate) fn get(&mut self, path: &str) -> Result<Object, Rejection> {
        self.server.handle(&Request::new(Method::Get, path, &self.user), self.now).into_object()
    }

    /// Deletes an object.
    pub(crate) fn remove(&mut self, resource: &Resource, object: &Object) {
        // An object without finalizers is deleted at once.
        let _ = self.write(&Write::delete_now(resource, object.namespace(), object.name()));
    }

    /// Stores an object for the time of one experiment.
    pub(crate) fn probe(
        &mut self,
        resource: &Resource,
        has_status: bool,
        object: &Value,
    ) -> Result<Object, WriteRejection> {
        let stored = self.store(resource, has_status, object)?;
        self.remove(resource, &stored);
        Ok(stored)
    }
}

/// An object without the fields that a server sets.
pub(crate) fn bare(object: &Value) -> Value {
    let mut copy = object.clone();
    if let Some(meta) = copy.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"] {
            meta.remove(field);
        }
    }
    copy
}
