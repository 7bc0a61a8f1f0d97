//! The errors in a rejection, with the places that they name.

use serde_json::Value;
use windtunnel_core::Rejection;

use crate::schema::{Place, Spot};

/// One error of a rejected write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cause {
    pub(crate) place: Place,
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// The errors of a rejection. A rejection without details is an error of the whole object. Some minors leave out the
/// name of the subresource, which `section` adds.
pub(crate) fn causes(rejection: &Rejection, section: Option<&str>) -> Vec<Cause> {
    let text = |cause: &Value, name: &str| cause[name].as_str().unwrap_or_default().to_owned();
    let list = rejection.details["causes"].as_array().map_or(&[][..], Vec::as_slice);
    let mut found: Vec<Cause> = list
        .iter()
        .map(|cause| {
            let message = text(cause, "message");
            let field = Some(text(cause, "field")).filter(|field| !field.is_empty());
            let field = field.or_else(|| named(&message)).unwrap_or_default();
            Cause { place: place(&field, section), reason: text(cause, "reason"), message }
        })
        .collect();
    // A server that stops early adds an error that it skipped others.
    found.retain(|cause| !cause.message.contains("some validation rules were not checked"));
    if found.is_empty() {
        let (reason, message) = (rejection.reason.clone(), rejection.message.clone());
        found.push(Cause { place: Place::default(), reason, message });
    }
    found
}

/// The path in the message of an error about alternatives, which has no field.
fn named(message: &str) -> Option<String> {
    let (before, _) = message.split_once("\" must ")?;
    Some(before.rsplit_once('"')?.1.to_owned())
}

fn place(field: &str, section: Option<&str>) -> Place {
    let mut place = Place::parse(field);
    if let Some(section) = section
        && place.0.first() != Some(&Spot::Field(section.to_owned()))
        && field != "<nil>"
        && !field.starts_with("metadata")
    {
        place.0.insert(0, Spot::Field(section.to_owned()));
    }
    place
}
