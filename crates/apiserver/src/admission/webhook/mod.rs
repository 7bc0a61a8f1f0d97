//! Admission webhooks: their configurations and calls.

pub(crate) mod configuration;
mod dispatch;

use std::time::Duration;

use serde_json::Value;

use super::policy::expression::{self, Condition};
use crate::admission::matching::Matching;
use crate::outbound::hooks::HookTarget;

/// The default of `timeoutSeconds`.
const TIMEOUT_SECONDS: u64 = 10;

/// One webhook of a configuration, in parsed form.
#[derive(Debug, Clone)]
pub(crate) struct Webhook {
    pub(crate) name: String,
    /// The names of the configuration and of the webhook.
    id: String,
    target: HookTarget,
    timeout: Duration,
    matching: Matching,
    conditions: Vec<Condition>,
    /// Whether a failed call admits the write (`failurePolicy: Ignore`).
    ignores_failure: bool,
    /// Whether the webhook may be called in a dry run.
    dry_run: bool,
    /// Whether a mutating webhook is called again if a later webhook changes the object.
    reinvoked: bool,
    /// The version of `AdmissionReview` that the webhook gets.
    review: &'static str,
}

impl Webhook {
    /// The webhooks of a stored configuration, in its order.
    pub(crate) fn read_all(configuration: &Value) -> Vec<Self> {
        let webhooks = configuration["webhooks"].as_array().map(Vec::as_slice).unwrap_or_default();
        let configuration = configuration["metadata"]["name"].as_str().unwrap_or_default();
        webhooks.iter().map(|webhook| Self::read(configuration, webhook)).collect()
    }

    /// Whether the webhook has match conditions.
    pub(super) fn is_conditional(&self) -> bool {
        !self.conditions.is_empty()
    }

    fn read(configuration: &str, webhook: &Value) -> Self {
        let name = webhook["name"].as_str().unwrap_or_default().to_owned();
        let seconds = webhook["timeoutSeconds"].as_u64().unwrap_or(TIMEOUT_SECONDS);
        let reviews = webhook["admissionReviewVersions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let first =
            reviews.iter().filter_map(Value::as_str).find(|version| matches!(*version, "v1" | "v1beta1"));
        Self {
            id: format!("{configuration}/{name}"),
            name,
            target: crate::outbound::client_config::target(&webhook["clientConfig"]),
            timeout: Duration::from_secs(seconds),
            matching: Matching::read(webhook),
            conditions: expression::conditions(webhook),
            ignores_failure: webhook["failurePolicy"] == "Ignore",
            dry_run: matches!(webhook["sideEffects"].as_str(), Some("None" | "NoneOnDryRun")),
            reinvoked: webhook["reinvocationPolicy"] == "IfNeeded",
            review: if first == Some("v1beta1") { "v1beta1" } else { "v1" },
        }
    }
}
