//! Calls the admission webhooks that apply to a write, in order.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::admission::converted::{Versioned, Write};
use crate::admission::reinvocation::Reinvocation;
use crate::admission::review;
use crate::admission::webhook::Webhook;
use crate::admission::{Admitter, Attributes};
use crate::call::Call;
use crate::gotext::json_syntax::syntax_error;
use crate::gotext::quote;
use crate::kinds::Kind;
use crate::outbound::client_config;
use crate::outbound::endpoint::with_service_endpoint;
use crate::outbound::hooks::{self, HookCall};
use crate::patch::apply_own;
use crate::rejection::{BoxedRejection, Outcome};

impl Admitter<'_> {
    /// Calls the mutating webhooks, in their order; in a second run only those that are due.
    pub(in crate::admission) fn call_mutating(
        &self,
        call: &mut Call<'_>,
        attributes: Attributes<'_>,
        mut object: Option<&mut Value>,
        reinvocation: &mut Reinvocation,
    ) -> Outcome<()> {
        if self.admission.mutating.is_empty() {
            return Ok(());
        }
        reinvocation.start(|all| &mut all.webhooks, object.as_deref());
        for webhook in self.admission.mutating_webhooks() {
            let Some(kind) = self.choose_kind(call, webhook, attributes, object.as_deref())? else {
                continue;
            };
            if !reinvocation.runs(|all| &all.webhooks, &webhook.id) {
                continue;
            }
            let changed = self.call_one_mutating(call, webhook, &kind, attributes, object.as_deref_mut())?;
            reinvocation.note(|all| &mut all.webhooks, &webhook.id, changed, webhook.reinvoked);
        }
        reinvocation.end(|all| &mut all.webhooks, object.as_deref());
        Ok(())
    }

    /// Calls one mutating webhook with the object as `kind`; returns whether it changed the object.
    fn call_one_mutating(
        &self,
        call: &mut Call<'_>,
        webhook: &Webhook,
        kind: &Kind,
        attributes: Attributes<'_>,
        object: Option<&mut Value>,
    ) -> Outcome<bool> {
        let Some(patch) = self.call_webhook(call, webhook, kind, attributes, object.as_deref(), true)? else {
            return Ok(false);
        };
        if patch.as_array().is_some_and(Vec::is_empty) {
            return Ok(false);
        }
        let Some(object) = object else {
            let why = "attempted to modify the object, which is not supported for this operation";
            return Err(BoxedRejection::internal_error(&format!(
                "admission webhook {} {why}",
                quote(&webhook.name)
            )));
        };
        let Some(versioned) = self.versioned(call, kind, attributes, Some(object))?.object else {
            return Ok(false);
        };
        let changed =
            apply_own(&patch, &versioned).map_err(|fault| BoxedRejection::internal_error(fault.text()))?;
        let changed = self.written(call, kind, attributes, changed)?;
        let changed = changed.map_err(|why| BoxedRejection::internal_error(&why))?;
        let differs = changed != *object;
        *object = changed;
        Ok(differs)
    }

    /// Calls all validating webhooks, at the same time; returns the first rejection.
    pub(in crate::admission) fn call_validating(
        &self,
        call: &mut Call<'_>,
        attributes: Attributes<'_>,
        object: Option<&Value>,
    ) -> Outcome<()> {
        let mut first = Ok(());
        for webhook in self.admission.validating_webhooks() {
            let Some(kind) = self.choose_kind(call, webhook, attributes, object)? else { continue };
            let answer = self.call_webhook(call, webhook, &kind, attributes, object, false);
            if first.is_ok() {
                first = answer.map(drop);
            }
        }
        first
    }

    /// The version of the kind in which the webhook takes the write; `None` if its rules, selectors or conditions do
    /// not match.
    fn choose_kind(
        &self,
        call: &mut Call<'_>,
        webhook: &Webhook,
        attributes: Attributes<'_>,
        object: Option<&Value>,
    ) -> Outcome<Option<Arc<Kind>>> {
        let chosen = webhook.matching.choose(self, &call.kind, &call.path.subresource, attributes, object)?;
        let Some(kind) = chosen else { return Ok(None) };
        if !webhook.is_conditional() {
            return Ok(Some(kind));
        }
        let versioned = self.versioned(call, &kind, attributes, object)?;
        let write = Write { kind: &kind, attributes: versioned.attributes(attributes) };
        match self.meets(&webhook.conditions, call, write, versioned.object.as_deref()) {
            Ok(met) => Ok(Some(Arc::clone(&kind)).filter(|_| met)),
            Err(_) if webhook.ignores_failure => Ok(None),
            Err(why) => Err(BoxedRejection::forbidden(&call.kind.resource, attributes.name, &why)),
        }
    }

    /// Calls a webhook; returns its patch.
    fn call_webhook(
        &self,
        call: &mut Call<'_>,
        webhook: &Webhook,
        kind: &Kind,
        attributes: Attributes<'_>,
        object: Option<&Value>,
        mutating: bool,
    ) -> Outcome<Option<Value>> {
        if call.dry_run && !webhook.dry_run {
            let why = format!("admission webhook {} does not support dry run", quote(&webhook.name));
            return Err(BoxedRejection::bad_request(why));
        }
        let Versioned { object, old } = self.versioned(call, kind, attributes, object)?;
        let mut review =
            review::request(webhook.review, call, kind, attributes, object.as_deref(), old.as_deref());
        review["request"]["uid"] = json!(hooks::uid(&webhook.id, &review, call.now));
        let hook = HookCall { target: webhook.target.clone(), review, timeout: webhook.timeout };
        let hook = with_service_endpoint(hook, |resource, namespace, name| {
            self.objects().get(resource, namespace, name)
        });
        let result = match client_config::check_bundle(&hook.target) {
            Err(why) => Err(format!("could not get REST client: {why}")),
            Ok(()) => match call.attempt.ask(hook.clone())? {
                Ok(answer) => review::response(&webhook.name, &hook.review, &answer, mutating)
                    .map_err(|why| format!("received invalid webhook response: {why}")),
                Err(error) => Err(format!("failed to call webhook: {error}")),
            },
        };
        let result = result.and_then(|verdict| {
            call.warnings.extend(verdict.warnings);
            verdict.denied.map_or_else(|| parsed(verdict.patch).map(Ok), |denied| Ok(Err(denied)))
        });
        match result {
            Ok(verdict) => verdict,
            Err(_) if webhook.ignores_failure => Ok(None),
            Err(why) => Err(BoxedRejection::internal_error(&format!(
                "failed calling webhook {}: {why}",
                quote(&webhook.name)
            ))),
        }
    }
}

/// The operations of a webhook's patch.
fn parsed(patch: Option<Vec<u8>>) -> Result<Option<Value>, String> {
    let Some(bytes) = patch else { return Ok(None) };
    let wrong = |error: serde_json::Error| syntax_error(&bytes).unwrap_or_else(|| error.to_string());
    let parsed = serde_json::from_slice(&bytes).map_err(wrong);
    parsed.map(Some).map_err(|why| format!("received undecodable patch in webhook response: {why}"))
}
