//! Authorization checks, which expressions build step by step.

use std::fmt::Debug;
use std::rc::Rc;

use super::Value;

/// The type of the variable `authorizer`.
pub(crate) const AUTHORIZER: &str = "kubernetes.authorization.Authorizer";
/// The type of the variable `authorizer.requestResource`.
pub(crate) const RESOURCE: &str = "kubernetes.authorization.ResourceCheck";

/// Makes the authorization decisions.
pub(crate) trait Authorizer: Debug {
    /// Returns whether a user is allowed, and the reason.
    fn decide(&self, who: &Account, asked: &CheckAttributes) -> (bool, String);
}

/// A user as an authorizer sees one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) user: String,
    pub(crate) groups: Vec<String>,
}

/// The attributes of an authorization check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CheckAttributes {
    /// The path of a non-resource check.
    pub(crate) path: Option<String>,
    pub(crate) verb: String,
    pub(crate) group: String,
    pub(crate) resource: String,
    pub(crate) subresource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// An authorization check that an expression builds step by step.
#[derive(Debug, Clone)]
pub(crate) struct AuthorizationCheck<'a> {
    pub(crate) authorizer: &'a dyn Authorizer,
    pub(crate) who: Rc<Account>,
    pub(crate) stage: Stage,
}

/// How far an expression built a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stage {
    Authorizer,
    Path(CheckAttributes),
    Group(CheckAttributes),
    Resource(CheckAttributes),
    Decision(bool, String),
}

impl<'a> AuthorizationCheck<'a> {
    /// The variable `authorizer`.
    pub(crate) fn new(authorizer: &'a dyn Authorizer, who: Rc<Account>) -> Self {
        Self { authorizer, who, stage: Stage::Authorizer }
    }

    /// The variable `authorizer.requestResource`.
    pub(crate) fn for_request_resource(
        authorizer: &'a dyn Authorizer,
        who: Rc<Account>,
        asked: CheckAttributes,
    ) -> Self {
        Self { authorizer, who, stage: Stage::Resource(asked) }
    }

    pub(crate) fn type_name(&self) -> &'static str {
        match self.stage {
            Stage::Authorizer => AUTHORIZER,
            Stage::Path(_) => "kubernetes.authorization.PathCheck",
            Stage::Group(_) => "kubernetes.authorization.GroupCheck",
            Stage::Resource(_) => RESOURCE,
            Stage::Decision(..) => "kubernetes.authorization.Decision",
        }
    }

    /// The check at another stage.
    pub(crate) fn with_stage(&self, stage: Stage) -> Value<'a> {
        Value::AuthorizationCheck(Rc::new(Self { stage, ..self.clone() }))
    }
}

/// Inquiries are never equal.
impl PartialEq for AuthorizationCheck<'_> {
    fn eq(&self, _: &Self) -> bool {
        false
    }
}
