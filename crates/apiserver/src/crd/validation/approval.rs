//! Groups of the Kubernetes community need the approval of its API review (`api-approved.kubernetes.io`).

use serde_json::Value;

use super::text;
use crate::field::FieldError;

const ANNOTATION: &str = "api-approved.kubernetes.io";
const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

/// The content of the annotation of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Approval {
    /// No annotation.
    Missing,
    /// The URL of the approval.
    Approved,
    /// A reason why there is no approval.
    Bypassed,
    /// Anything else.
    Invalid,
}

impl Approval {
    /// The approval of a definition, if its group needs one.
    pub(crate) fn from_definition(crd: &Value) -> Option<Self> {
        let group = text(crd, "/spec/group");
        let community = ["k8s.io", "kubernetes.io"].iter().any(|domain| {
            group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        });
        let annotation = annotation(crd);
        let url = || {
            annotation.parse::<http::Uri>().is_ok_and(|url| url.scheme().is_some() && url.host().is_some())
        };
        community.then(|| match annotation {
            "" => Self::Missing,
            text if text.starts_with("unapproved") => Self::Bypassed,
            _ if url() => Self::Approved,
            _ => Self::Invalid,
        })
    }

    /// Status, reason and message of the condition `KubernetesAPIApprovalPolicyConformant`.
    pub(crate) fn condition(self, crd: &Value) -> (&'static str, &'static str, String) {
        let given = annotation(crd);
        match self {
            Self::Missing => ("False", "MissingAnnotation", self.message()),
            Self::Invalid => ("False", "InvalidAnnotation", self.message()),
            Self::Bypassed => ("False", "UnapprovedAnnotation", format!("not approved: \"{given}\"")),
            Self::Approved => ("True", "ApprovedAnnotation", format!("approved in {given}")),
        }
    }

    fn message(self) -> String {
        let needed = format!("protected groups must have approval annotation \"{ANNOTATION}\"");
        match self {
            Self::Missing => format!("{needed}, {SEE}"),
            _ => format!("{needed} with either a URL or a reason starting with \"unapproved\", {SEE}"),
        }
    }
}

fn annotation(crd: &Value) -> &str {
    crd["metadata"]["annotations"][ANNOTATION].as_str().unwrap_or_default()
}

/// Rejects a definition without a valid annotation, unless the old one is in the same state.
pub(super) fn check(crd: &Value, old: Option<&Value>) -> Option<FieldError> {
    let state = Approval::from_definition(crd)?;
    if old.is_some_and(|old| Approval::from_definition(old) == Some(state)) {
        return None;
    }
    let at = format!("metadata.annotations[{ANNOTATION}]");
    match state {
        Approval::Missing => Some(FieldError::required(at, state.message())),
        Approval::Invalid => Some(FieldError::invalid(at, annotation(crd), state.message())),
        Approval::Approved | Approval::Bypassed => None,
    }
}
