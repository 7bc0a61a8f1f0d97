//! The result of loading a payload, as reported in the condition ReleaseAccepted.

use windtunnel_core::condition::Condition;

use crate::cvo::behaviour::Behaviour;
use crate::cvo::desired::Target;
use crate::cvo::events::Notice;
use crate::release::Release;

/// The result of the last attempt to load a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cvo) enum LoadResult {
    /// This process made no attempt yet.
    Untried,
    Loaded {
        version: String,
        image: String,
        /// The architecture of the payload, or empty to omit it, as after a return to the current release.
        architecture: &'static str,
    },
    Failed {
        /// The condition's reason: `RetrievePayload`, `VerifyPayloadVersion`, `PreconditionChecks` ...
        reason: &'static str,
        /// The condition's message.
        message: String,
    },
}

/// The condition ReleaseAccepted of a cluster that was installed at `release`.
pub fn installed_release(release: &Release) -> Option<Condition> {
    LoadResult::loaded(release, release).condition()
}

impl LoadResult {
    /// The operator of release `own` loaded the payload of `release`.
    pub(in crate::cvo) fn loaded(release: &Release, own: &Release) -> Self {
        let is_named = Behaviour::for_release(own).names_architecture;
        let architecture = if is_named { release.architecture.in_cluster_version() } else { "" };
        let (version, image) = (release.version.to_string(), release.image.clone());
        Self::Loaded { version, image, architecture }
    }

    /// The operator returned to the payload of `release`, which is still loaded.
    pub(in crate::cvo) fn returned(release: &Release) -> Self {
        let (version, image) = (release.version.to_string(), release.image.clone());
        Self::Loaded { version, image, architecture: "" }
    }

    /// The payload could not be retrieved.
    pub(in crate::cvo) fn not_retrieved(target: &Target, error: &str) -> Self {
        let Target { version, image, .. } = target;
        Self::Failed {
            reason: "RetrievePayload",
            message: format!(
                "Retrieving payload failed version=\"{version}\" image=\"{image}\" failure={error}"
            ),
        }
    }

    /// The payload has another version than the requested one.
    pub(in crate::cvo) fn wrong_version(target: &Target, actual: &str) -> Self {
        let Target { version, image, .. } = target;
        Self::Failed {
            reason: "VerifyPayloadVersion",
            message: format!(
                "Verifying payload failed version=\"{version}\" image=\"{image}\" failure=release image version {actual} does not match the expected upstream version {version}"
            ),
        }
    }

    /// The retrieved payload cannot be loaded.
    pub(in crate::cvo) fn not_loaded(target: &Target, error: &str) -> Self {
        let Target { version, image, .. } = target;
        Self::Failed {
            reason: "LoadPayload",
            message: format!(
                "Loading payload failed version=\"{version}\" image=\"{image}\" failure={error}"
            ),
        }
    }

    /// A precondition rejected the payload.
    pub(in crate::cvo) fn blocked(release: &Release, summary: &str) -> Self {
        Self::Failed {
            reason: "PreconditionChecks",
            message: format!(
                "Preconditions failed for payload loaded version=\"{}\" image=\"{}\": {summary}",
                release.version, release.image
            ),
        }
    }

    /// The Event for this result. `None` before the first attempt, and for failed retrievals, whose Event
    /// also contains the causes.
    pub(in crate::cvo) fn notice(&self) -> Option<Notice> {
        let Condition { status, reason, message, .. } = self.condition()?;
        Some(match reason.as_str() {
            _ if status == "True" => Notice::normal("PayloadLoaded", message),
            "RetrievePayload" => return None,
            "LoadPayload" => Notice::warning("LoadPayloadFailed", message),
            "VerifyPayloadVersion" => Notice::warning("VerifyPayloadVersionFailed", message),
            _ => Notice::warning("PreconditionBlock", message),
        })
    }

    /// The condition ReleaseAccepted. `None` before the first attempt.
    pub(in crate::cvo) fn condition(&self) -> Option<Condition> {
        match self {
            Self::Untried => None,
            Self::Loaded { version, image, architecture } => {
                let mut message = format!("Payload loaded version=\"{version}\" image=\"{image}\"");
                if !architecture.is_empty() {
                    message += &format!(" architecture=\"{architecture}\"");
                }
                Some(Condition::new("ReleaseAccepted", "True", "PayloadLoaded", message))
            }
            Self::Failed { reason, message } => {
                Some(Condition::new("ReleaseAccepted", "False", reason, message.clone()))
            }
        }
    }
}
