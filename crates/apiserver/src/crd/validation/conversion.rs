//! Validation of the conversion between versions.

use serde_json::{Value, json};
use windtunnel_core::condition;

use super::{list, text};
use crate::field::{FieldError, Shown};
use crate::names;
use crate::outbound::client_config;
use crate::repeats::repeated;

/// Review versions that the server supports.
const REVIEWS: [&str; 2] = ["v1", "v1beta1"];

pub(super) fn check(crd: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let conversion = &crd["spec"]["conversion"];
    let mut errors = Vec::new();
    if conversion.is_null() {
        return errors;
    }
    let at = |field: &str| format!("spec.conversion.{field}");
    let config = &conversion["webhook"]["clientConfig"];
    let reviews = list(conversion, "/webhook/conversionReviewVersions");
    match text(conversion, "/strategy") {
        "Webhook" => {
            let at = at("webhookClientConfig");
            if config.is_null() {
                errors.push(FieldError::required(at, "required when strategy is set to Webhook"));
            } else {
                errors.extend(client_config::check(config, &at));
                errors.extend(check_bundle(config, old, &at));
            }
            errors.extend(check_reviews(reviews));
            return errors;
        }
        "None" => {}
        "" => errors.push(FieldError::required(at("strategy"), "")),
        other => {
            let known = ["None", "Webhook"];
            errors.push(FieldError::not_supported(at("strategy"), Shown::Json(json!(other)), &known));
        }
    }
    let why = "should not be set when strategy is not set to Webhook";
    if !config.is_null() {
        errors.push(FieldError::forbidden(at("webhookClientConfig"), why));
    }
    if !reviews.is_empty() {
        errors.push(FieldError::forbidden(at("conversionReviewVersions"), why));
    }
    errors
}

/// An established definition must not get an invalid CA bundle, unless its bundle was invalid before.
fn check_bundle(config: &Value, old: Option<&Value>, at: &str) -> Option<FieldError> {
    let old = old.filter(|old| condition::is_true(old, "Established"))?;
    let before = text(old, "/spec/conversion/webhook/clientConfig/caBundle");
    let given = config["caBundle"].as_str().unwrap_or_default();
    let was_wrong = !before.is_empty() && !client_config::is_bundle(before);
    if given.is_empty() || client_config::is_bundle(given) || was_wrong {
        return None;
    }
    let why = "unable to load root certificates: unable to parse bytes as PEM block";
    Some(FieldError::invalid(format!("{at}.caBundle"), given, why))
}

fn check_reviews(reviews: &[Value]) -> Vec<FieldError> {
    let at = "spec.conversion.conversionReviewVersions";
    if reviews.is_empty() {
        return vec![FieldError::required(at, "")];
    }
    let mut errors = Vec::new();
    let is_repeated = repeated(reviews.iter().map(Value::to_string));
    for (index, version) in reviews.iter().enumerate() {
        let (name, at) = (version.as_str().unwrap_or_default(), format!("{at}[{index}]"));
        if is_repeated[index] {
            errors.push(FieldError::invalid(at, name, "duplicate version"));
            continue;
        }
        let wrong = names::dns1035_label(name).into_iter();
        errors.extend(wrong.map(|why| FieldError::invalid(at.as_str(), name, why)));
    }
    if !reviews.iter().any(|version| REVIEWS.iter().any(|known| version == known)) {
        let why = format!("must include at least one of {}", REVIEWS.join(", "));
        errors.push(FieldError::invalid_list(at, &json!(reviews), "string", why));
    }
    errors
}
