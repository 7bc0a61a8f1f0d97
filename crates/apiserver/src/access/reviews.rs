//! Access reviews: a client creates an object, and the server answers with its status and does not store it.

use serde_json::{Map, Value, json};
use windtunnel_core::Identity;
use windtunnel_core::clock::{Time, rfc3339};

use super::{Attributes, AuthorizationMode};
use crate::access::Access;
use crate::access::attributes::Subject;
use crate::access::rbac::rule::Rule;
use crate::access::tokens::token::ISSUER;
use crate::call::Call;
use crate::field::{Cause, FieldError, Shown};
use crate::gotext::quote;
use crate::kinds::objects::Objects;
use crate::metadata;
use crate::profile::Profile;
use crate::rejection::{BoxedRejection, Outcome};
use crate::reply::Reply;

const AUTHORIZATION: &str = "authorization.k8s.io";

impl Access {
    /// Answers a decoded review.
    pub(crate) fn review(
        &mut self,
        objects: Objects<'_>,
        call: &Call<'_>,
        mut review: Value,
        profile: &Profile,
    ) -> Outcome<Reply> {
        if !review["spec"].is_object() {
            review["spec"] = json!({});
        }
        let who = call.request.user;
        match &*call.kind.resource.plural {
            "selfsubjectaccessreviews" => {
                check_review(&review, false, profile)?;
                let groups: Vec<&str> = who.all_groups().collect();
                review["status"] = self.decision(objects, &who.user, &groups, &review["spec"]);
            }
            "subjectaccessreviews" | "localsubjectaccessreviews" => {
                if call.kind.resource.namespaced {
                    match_namespace(&mut review, &call.path.namespace)?;
                }
                check_review(&review, true, profile)?;
                let groups = review["spec"]["groups"].as_array().into_iter().flatten();
                let groups: Vec<&str> = groups.filter_map(Value::as_str).collect();
                let user = review["spec"]["user"].as_str().unwrap_or_default();
                review["status"] = self.decision(objects, user, &groups, &review["spec"]);
            }
            "selfsubjectrulesreviews" => {
                let namespace = review["spec"]["namespace"].as_str().unwrap_or_default();
                if namespace.is_empty() {
                    return Err(BoxedRejection::bad_request("no namespace on request"));
                }
                review["status"] = self.rules_of(objects, who, namespace);
                review["spec"] = json!({});
                review["metadata"] = json!({});
            }
            "tokenreviews" => {
                let token = review["spec"]["token"].as_str().unwrap_or_default();
                if token.is_empty() {
                    let why = "token is required for TokenReview in authentication";
                    return Err(BoxedRejection::bad_request(why));
                }
                review["status"] = self.token_status(objects, &review["spec"], call.now);
            }
            _ => {
                review["metadata"] = json!({ "creationTimestamp": rfc3339(call.now) });
                review.as_object_mut().map(|review| review.remove("spec"));
                review["status"] = json!({ "userInfo": user_info(who) });
            }
        }
        Ok(Reply::value(201, review))
    }

    fn decision(&mut self, objects: Objects<'_>, user: &str, groups: &[&str], spec: &Value) -> Value {
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
        let decision = self.decide(objects, user, groups, &asked);
        let mut status = json!({ "allowed": decision.allowed });
        if !decision.reason.is_empty() {
            status["reason"] = json!(decision.reason);
        }
        status
    }

    /// The status of a SelfSubjectRulesReview: all rules of a user in a namespace.
    fn rules_of(&mut self, objects: Objects<'_>, who: &Identity, namespace: &str) -> Value {
        if self.mode == AuthorizationMode::AlwaysAllow {
            let rules = |rule: Rule| [rule.as_json()];
            return json!({
                "resourceRules": rules(Rule::all_resources()),
                "nonResourceRules": rules(Rule::all_urls()),
                "incomplete": false,
            });
        }
        self.policy.follow(objects.store);
        let groups: Vec<&str> = who.all_groups().collect();
        let (rules, error) = self.policy.rules(Subject { user: &who.user, groups: &groups }, namespace);
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

    fn token_status(&self, objects: Objects<'_>, spec: &Value, now: Time) -> Value {
        let token = spec["token"].as_str().unwrap_or_default();
        let audiences = spec["audiences"].as_array().into_iter().flatten();
        let mut audiences: Vec<&str> = audiences.filter_map(Value::as_str).collect();
        if audiences.is_empty() {
            audiences.push(ISSUER);
        }
        match self.bearer(objects, token, &audiences, now) {
            Ok((who, audiences)) => {
                json!({ "authenticated": true, "user": user_info(&who), "audiences": audiences })
            }
            Err(why) => json!({ "user": {}, "error": why }),
        }
    }
}

/// Validates an access review; with `subject`, one whose spec names the user.
fn check_review(review: &Value, subject: bool, profile: &Profile) -> Outcome<()> {
    let spec = &review["spec"];
    let (resource, other) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let mut errors = Vec::new();
    if resource.is_object() && other.is_object() {
        let why = "cannot be specified in combination with resourceAttributes";
        errors.push(invalid_attributes(other, why));
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
    let has_metadata = metadata.is_some_and(|map| map.keys().any(|field| !subject || field != "namespace"));
    if has_metadata {
        errors.push(FieldError::invalid("metadata", review["metadata"].clone(), "must be empty"));
    }
    if review["kind"] == "LocalSubjectAccessReview" {
        errors.extend(check_local(review));
    }
    invalid(&errors, profile)
}

/// Sets the namespace of a review to that of its path, unless it has another one.
fn match_namespace(review: &mut Value, namespace: &str) -> Outcome<()> {
    let own = metadata::text(review, "namespace");
    if !own.is_empty() && own != namespace {
        return Err(BoxedRejection::other_namespace());
    }
    metadata::metadata_mut(review).insert("namespace".to_owned(), json!(namespace));
    Ok(())
}

/// Validates that a review asks about its own namespace.
fn check_local(review: &Value) -> Vec<FieldError> {
    let spec = &review["spec"];
    let asked = spec["resourceAttributes"]["namespace"].as_str().unwrap_or_default();
    let mut errors = Vec::new();
    if spec["resourceAttributes"].is_object() && asked != metadata::text(review, "namespace") {
        let why = "must match metadata.namespace";
        errors.push(FieldError::invalid("spec.resourceAttributes.namespace", asked, why));
    }
    if spec["nonResourceAttributes"].is_object() {
        errors.push(invalid_attributes(&spec["nonResourceAttributes"], "disallowed on this kind of request"));
    }
    errors
}

/// The error for `nonResourceAttributes`, which it shows with the names of Go.
fn invalid_attributes(attributes: &Value, why: &str) -> FieldError {
    let text = |field: &str| attributes[field].as_str().unwrap_or_default();
    let json = json!({ "Path": text("path"), "Verb": text("verb") }).to_string();
    let (path, verb) = (quote(text("path")), quote(text("verb")));
    let go = format!("authorization.NonResourceAttributes{{Path:{path}, Verb:{verb}}}");
    let (field, detail) = ("spec.nonResourceAttributes".to_owned(), why.to_owned());
    FieldError { cause: Cause::Invalid, field, value: Shown::Raw { json, go }, detail }
}

/// Returns the 422 error of an invalid review. Like the real server, it does not name the kind.
fn invalid(errors: &[FieldError], profile: &Profile) -> Outcome<()> {
    if errors.is_empty() {
        return Ok(());
    }
    Err(BoxedRejection::invalid(AUTHORIZATION, "", "", errors, profile))
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
