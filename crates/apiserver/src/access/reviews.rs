//! Access reviews: a client creates an object, and the server answers with its status and does not store it.

use serde_json::{Map, Value, json};
use windtunnel_core::Identity;
use windtunnel_core::clock::{Time, rfc3339};

use super::{Attributes, AuthorizationMode};
use crate::access::rbac::policy::Subject;
use crate::access::rbac::rule::Rule;
use crate::access::tokens::token::ISSUER;
use crate::field::FieldError;
use crate::metadata;
use crate::pipeline::call::Call;
use crate::reply::Reply;
use crate::request::decode;
use crate::server::ApiServer;
use crate::status::{Outcome, Refused};

const AUTHORIZATION: &str = "authorization.k8s.io";

impl ApiServer {
    /// Answers a review.
    pub(crate) fn review(&mut self, call: &mut Call<'_>) -> Outcome<Reply> {
        let body = decode::body(call)?;
        let mut review = decode::object(call, body, &self.profile)?;
        if !review["spec"].is_object() {
            review["spec"] = json!({});
        }
        let who = call.request.user;
        match &*call.kind.resource.plural {
            "selfsubjectaccessreviews" => {
                self.check_review(&review, false)?;
                let groups: Vec<&str> = who.all_groups().collect();
                review["status"] = self.decision(&who.user, &groups, &review["spec"]);
            }
            "subjectaccessreviews" | "localsubjectaccessreviews" => {
                let local = call.kind.resource.namespaced;
                self.check_review(&review, true)?;
                if local {
                    self.check_local(&review, &call.path.namespace)?;
                }
                let groups = review["spec"]["groups"].as_array().into_iter().flatten();
                let groups: Vec<&str> = groups.filter_map(Value::as_str).collect();
                let user = review["spec"]["user"].as_str().unwrap_or_default();
                review["status"] = self.decision(user, &groups, &review["spec"]);
            }
            "selfsubjectrulesreviews" => {
                let namespace = review["spec"]["namespace"].as_str().unwrap_or_default();
                if namespace.is_empty() {
                    return Err(Refused::bad_request("no namespace on request"));
                }
                review["status"] = self.rules_of(who, namespace);
                review["spec"] = json!({});
                review["metadata"] = json!({});
            }
            "tokenreviews" => {
                let token = review["spec"]["token"].as_str().unwrap_or_default();
                if token.is_empty() {
                    let why = "token is required for TokenReview in authentication";
                    return Err(Refused::bad_request(why));
                }
                review["status"] = self.token_status(&review["spec"], call.now);
            }
            _ => {
                review["metadata"] = json!({ "creationTimestamp": rfc3339(call.now) });
                review.as_object_mut().map(|review| review.remove("spec"));
                review["status"] = json!({ "userInfo": user_info(who) });
            }
        }
        Ok(Reply::value(201, review))
    }

    fn decision(&mut self, user: &str, groups: &[&str], spec: &Value) -> Value {
        let reader = |part: &'static str| {
            move |field: &str| spec[part][field].as_str().unwrap_or_default().to_owned().into()
        };
        let asked = if spec["resourceAttributes"].is_object() {
            let text = reader("resourceAttributes");
            Attributes {
                verb: text("verb"),
                group: text("group"),
                resource: text("resource"),
                subresource: text("subresource"),
                namespace: text("namespace"),
                name: text("name"),
                path: None,
            }
        } else {
            let text = reader("nonResourceAttributes");
            Attributes { verb: text("verb"), path: Some(text("path")), ..Attributes::default() }
        };
        let decision = self.decide(user, groups, &asked);
        let mut status = json!({ "allowed": decision.allowed });
        if !decision.reason.is_empty() {
            status["reason"] = json!(decision.reason);
        }
        status
    }

    /// Validates an access review; with `subject`, one whose spec names the user.
    fn check_review(&self, review: &Value, subject: bool) -> Outcome<()> {
        let spec = &review["spec"];
        let (resource, other) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
        let mut errors = Vec::new();
        if resource.is_object() && other.is_object() {
            let text = |field: &str| other[field].as_str().unwrap_or_default();
            let value = json!({ "Path": text("path"), "Verb": text("verb") });
            let why = "cannot be specified in combination with resourceAttributes";
            errors.push(FieldError::invalid("spec.nonResourceAttributes", value, why));
        }
        if !resource.is_object() && !other.is_object() {
            let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            errors.push(FieldError::invalid("spec.resourceAttributes", Value::Null, why));
        }
        let nobody = spec["user"].as_str().unwrap_or_default().is_empty()
            && spec["groups"].as_array().is_none_or(Vec::is_empty);
        if subject && nobody {
            let why = "at least one of user or group must be specified";
            errors.push(FieldError::invalid("spec.user", "", why));
        }
        for field in ["fieldSelector", "labelSelector"] {
            errors.extend(check_selector(&resource[field], &format!("spec.resourceAttributes.{field}")));
        }
        let metadata = review["metadata"].as_object();
        let has_metadata =
            metadata.is_some_and(|map| map.keys().any(|field| !subject || field != "namespace"));
        if has_metadata {
            errors.push(FieldError::invalid("metadata", review["metadata"].clone(), "must be empty"));
        }
        self.invalid(&errors)
    }

    fn check_local(&self, review: &Value, namespace: &str) -> Outcome<()> {
        let spec = &review["spec"];
        let own = metadata::text(review, "namespace");
        let asked = spec["resourceAttributes"]["namespace"].as_str().unwrap_or_default();
        let mut errors = Vec::new();
        if spec["resourceAttributes"].is_object() && asked != own {
            let why = "must match metadata.namespace";
            errors.push(FieldError::invalid("spec.resourceAttributes.namespace", asked, why));
        }
        if spec["nonResourceAttributes"].is_object() {
            let value = spec["nonResourceAttributes"].clone();
            let why = "disallowed on this kind of request";
            errors.push(FieldError::invalid("spec.nonResourceAttributes", value, why));
        }
        self.invalid(&errors)?;
        if own != namespace {
            return Err(Refused::bad_request(format!(
                "spec.resourceAttributes.namespace must match namespace: {namespace}"
            )));
        }
        Ok(())
    }

    /// Returns the 422 error of an invalid review. Like the real server, it does not name the kind.
    fn invalid(&self, errors: &[FieldError]) -> Outcome<()> {
        if errors.is_empty() {
            return Ok(());
        }
        Err(Refused::invalid(AUTHORIZATION, "", "", errors, &self.profile))
    }

    /// The status of a SelfSubjectRulesReview: all rules of a user in a namespace.
    fn rules_of(&mut self, who: &Identity, namespace: &str) -> Value {
        if self.access.mode == AuthorizationMode::AlwaysAllow {
            let rules = |rule: Rule| [rule.as_json()];
            return json!({
                "resourceRules": rules(Rule::all_resources()),
                "nonResourceRules": rules(Rule::all_urls()),
                "incomplete": false,
            });
        }
        self.access.policy.follow(&self.store);
        let groups: Vec<&str> = who.all_groups().collect();
        let (rules, error) =
            self.access.policy.rules(Subject { user: &who.user, groups: &groups }, namespace);
        let (urls, resources): (Vec<Rule>, Vec<Rule>) =
            rules.into_iter().partition(|rule| rule.resources.is_empty());
        let as_json = |rules: Vec<Rule>| rules.iter().map(Rule::as_json).collect::<Vec<_>>();
        let mut status = json!({
            "resourceRules": as_json(resources), "nonResourceRules": as_json(urls), "incomplete": false,
        });
        if !error.is_empty() {
            status["evaluationError"] = json!(error);
        }
        status
    }

    fn token_status(&self, spec: &Value, now: Time) -> Value {
        let token = spec["token"].as_str().unwrap_or_default();
        let audiences = spec["audiences"].as_array().into_iter().flatten();
        let mut audiences: Vec<&str> = audiences.filter_map(Value::as_str).collect();
        if audiences.is_empty() {
            audiences.push(ISSUER);
        }
        match self.bearer(token, &audiences, now) {
            Ok((who, audiences)) => {
                json!({ "authenticated": true, "user": user_info(&who), "audiences": audiences })
            }
            Err(why) => json!({ "user": {}, "error": why }),
        }
    }
}

fn check_selector(selector: &Value, at: &str) -> Option<FieldError> {
    if !selector.is_object() {
        return None;
    }
    let raw = selector["rawSelector"].as_str().unwrap_or_default();
    let requirements = selector["requirements"].as_array().is_some_and(|list| !list.is_empty());
    match (raw, requirements) {
        ("", false) => {
            let why = format!("when {at} is specified, requirements or rawSelector is required");
            Some(FieldError::required(format!("{at}.requirements"), why))
        }
        ("", true) | (_, false) => None,
        (raw, true) => {
            let why = "may not specified at the same time as requirements";
            Some(FieldError::invalid(format!("{at}.rawSelector"), raw, why))
        }
    }
}

/// `authentication.k8s.io/v1 UserInfo`.
fn user_info(who: &Identity) -> Value {
    let mut info = Map::new();
    info.insert("username".to_owned(), json!(who.user));
    if !who.uid.is_empty() {
        info.insert("uid".to_owned(), json!(who.uid));
    }
    let groups: Vec<&str> = who.all_groups().collect();
    info.insert("groups".to_owned(), json!(groups));
    if !who.extra.is_empty() {
        info.insert("extra".to_owned(), json!(who.extra));
    }
    Value::Object(info)
}
