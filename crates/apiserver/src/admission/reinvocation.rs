//! The second run of mutating admission (`reinvocationPolicy`).
//!
//! If a webhook or a policy changes an object, the whole list runs once more. Plug-ins always run again; a webhook or a policy only if
//! it asks for it with `IfNeeded`, ran before, and the object has changed since.

use serde_json::Value;

/// The progress of one write through mutating admission.
#[derive(Debug, Default)]
pub(in crate::admission) struct Reinvocation {
    /// Whether anything changed the object, which causes a second run.
    wanted: bool,
    is_second_run: bool,
    pub(in crate::admission) webhooks: Invocations,
    pub(in crate::admission) policies: Invocations,
}

/// The invocations of one engine: webhooks or policies.
#[derive(Debug, Default)]
pub(in crate::admission) struct Invocations {
    /// Those that have run since the last change and may run again.
    invoked: Vec<String>,
    /// Those that run again.
    due: Vec<String>,
    /// The object after the last run of the engine.
    last: Option<Value>,
}

impl Reinvocation {
    /// Begins the second run; returns whether there is one.
    pub(in crate::admission) fn begin(&mut self) -> bool {
        self.is_second_run = true;
        self.wanted
    }

    /// Whether the invocation with this identifier runs, in this run.
    pub(in crate::admission) fn runs(&self, engine: fn(&Self) -> &Invocations, id: &str) -> bool {
        !self.is_second_run || engine(self).due.iter().any(|due| due == id)
    }

    /// Handles the start of an engine. In the second run everything that may run again is due if the object has changed since.
    pub(in crate::admission) fn start(
        &mut self,
        engine: fn(&mut Self) -> &mut Invocations,
        object: Option<&Value>,
    ) {
        let is_second_run = self.is_second_run;
        let invocations = engine(self);
        if is_second_run && invocations.last.as_ref() != object {
            invocations.repeat_all();
        }
    }

    /// Handles the end of an invocation.
    pub(in crate::admission) fn note(
        &mut self,
        engine: fn(&mut Self) -> &mut Invocations,
        id: &str,
        changed: bool,
        may_run_again: bool,
    ) {
        self.wanted |= changed;
        let invocations = engine(self);
        if changed {
            invocations.repeat_all();
        }
        if may_run_again {
            invocations.invoked.push(id.to_owned());
        }
    }

    /// Handles the end of an engine's run. Only a second run compares the object, so it is kept only if there can be one.
    pub(in crate::admission) fn end(
        &mut self,
        engine: fn(&mut Self) -> &mut Invocations,
        object: Option<&Value>,
    ) {
        let invocations = engine(self);
        if !invocations.invoked.is_empty() {
            invocations.last = object.cloned();
        }
    }
}

impl Invocations {
    fn repeat_all(&mut self) {
        self.due.append(&mut self.invoked);
    }
}
