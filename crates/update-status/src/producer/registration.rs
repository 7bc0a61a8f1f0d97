//! The registration of a producer: the spec of an UpdateInformer.

use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::Value;
use windtunnel_core::text::parse_units;

use crate::insight::published::{NAMESPACE, RESERVED_NAMES};
use crate::insight::{ImpactLevel, ResourceRef, ScopeType};

/// The bounds of an expiry.
const EXPIRY_MIN: SignedDuration = SignedDuration::from_mins(1);
const EXPIRY_MAX: SignedDuration = SignedDuration::from_hours(24);

/// Maximum number of insights that a registration may allow.
const INSIGHTS_MAX: usize = 32;

/// An UpdateInformer.
#[derive(Debug, Clone, PartialEq)]
pub struct InformerObject {
    /// Its spec, or why it is invalid.
    pub registration: Result<Registration, String>,
    /// `metadata.generation`.
    pub generation: i64,
    /// Its status, as last reported.
    pub status: Value,
}

impl InformerObject {
    /// Reads an UpdateInformer.
    pub fn read(object: &Value) -> Self {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        Self {
            registration: Registration::read(name, &object["spec"]),
            generation: object["metadata"]["generation"].as_i64().unwrap_or_default(),
            status: object["status"].clone(),
        }
    }
}

/// Who speaks for an informer, and what it may say.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Registration {
    /// Who speaks for the informer.
    pub producer: Producer,
    /// The objects that insights may name.
    pub about: Vec<About>,
    /// The parts of the cluster that insights may be about.
    #[serde(default = "default_scopes")]
    pub scopes: Vec<ScopeType>,
    /// The highest impact level that insights may have.
    #[serde(default = "default_level")]
    pub max_level: ImpactLevel,
    /// How long an insight stays without a renewal.
    #[serde(default = "default_expiry", deserialize_with = "expiry")]
    pub expiry: SignedDuration,
    /// The number of insights that are published at a time.
    #[serde(default = "default_count")]
    pub max_insights: usize,
}

/// Who speaks for an informer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Producer {
    /// UpdateInsights of this namespace are insights of the informer.
    pub namespace: String,
    /// The ServiceAccount that may deliver to the HTTPS endpoint; without it nobody may.
    pub service_account: Option<String>,
}

/// Objects that insights may name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct About {
    /// API group; empty for the core group.
    #[serde(default)]
    pub group: String,
    /// Lower-case plural.
    pub resource: String,
    /// The names of the objects; empty for all objects of the resource.
    #[serde(default)]
    pub names: Vec<String>,
}

fn default_scopes() -> Vec<ScopeType> {
    vec![ScopeType::ControlPlane]
}

fn default_level() -> ImpactLevel {
    ImpactLevel::Warning
}

fn default_expiry() -> SignedDuration {
    SignedDuration::from_mins(10)
}

fn default_count() -> usize {
    16
}

fn expiry<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<SignedDuration, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_units(&text).ok_or_else(|| {
        serde::de::Error::custom(format_args!("expected an expiry such as `10m`, found {text:?}"))
    })
}

impl Registration {
    /// Reads the spec of the UpdateInformer with this name. The CustomResourceDefinition has the same rules,
    /// but an administrator may have changed it.
    ///
    /// # Errors
    /// The name is reserved, or a field is missing, invalid or out of bounds.
    pub fn read(name: &str, spec: &Value) -> Result<Self, String> {
        if RESERVED_NAMES.contains(&name) {
            return Err(format!("{name} is a name of the controller: choose another one"));
        }
        let read: Self = serde_json::from_value(spec.clone()).map_err(|error| format!("spec: {error}"))?;
        if read.producer.namespace == NAMESPACE {
            return Err(format!(
                "spec.producer.namespace: {NAMESPACE} has the insights that the controller stores"
            ));
        }
        if read.expiry < EXPIRY_MIN || read.expiry > EXPIRY_MAX {
            return Err(format!("spec.expiry: expected 1m to 24h, found {}s", read.expiry.as_secs()));
        }
        if !(1..=INSIGHTS_MAX).contains(&read.max_insights) {
            return Err(format!(
                "spec.maxInsights: expected 1 to {INSIGHTS_MAX}, found {}",
                read.max_insights
            ));
        }
        Ok(read)
    }

    /// Returns the user that may deliver to the HTTPS endpoint.
    pub fn user(&self) -> Option<String> {
        let account = self.producer.service_account.as_ref()?;
        Some(format!("system:serviceaccount:{}:{account}", self.producer.namespace))
    }

    /// Returns whether insights may name this object.
    pub(crate) fn allows(&self, resource: &ResourceRef) -> bool {
        self.about.iter().any(|about| {
            let is_kind = about.group == resource.group && about.resource == resource.resource;
            is_kind && (about.names.is_empty() || about.names.contains(&resource.name))
        })
    }
}
