//! Repeated and unknown fields of a body, about which the server warns.

use crate::call::{Call, RequestInfo};
use crate::gotext::quote;
use crate::rejection::{BoxedRejection, Outcome};
use crate::request::options::FieldValidation;
use crate::request::{Body, duplicates, media_type, yaml};

/// Warns about repeated and unknown fields, or rejects them.
///
/// # Errors
/// 400 with all of them, if the client asks for strict validation. `prefix` is the start of its message.
pub(crate) fn report(call: &mut Call<'_>, prefix: &str, unknown: &[String]) -> Outcome<()> {
    let repeated = std::mem::take(&mut call.body.duplicates);
    if repeated.is_empty() && unknown.is_empty() {
        return Ok(());
    }
    let texts = if is_media(&call.info, "application/yaml") {
        let unknown = unknown.iter().map(|path| format!("unknown field {}", quote(path)));
        match call.options.field_validation {
            // Its error about repeated keys is one text.
            FieldValidation::Strict if !repeated.is_empty() => {
                std::iter::once(yaml::strict_error(&repeated)).chain(unknown).collect()
            }
            _ => repeated.into_iter().chain(unknown).collect(),
        }
    } else {
        of_json(&call.info, &repeated, unknown)
    };
    match call.options.field_validation {
        FieldValidation::Ignore => Ok(()),
        FieldValidation::Warn => {
            call.warnings.extend(texts);
            Ok(())
        }
        FieldValidation::Strict => {
            Err(BoxedRejection::bad_request(format!("{prefix}strict decoding error: {}", texts.join(", "))))
        }
    }
}

/// Messages about repeated and unknown fields of JSON. The decoder of built-in kinds finds them in the order of the body.
fn of_json(info: &RequestInfo<'_>, repeated: &[String], unknown: &[String]) -> Vec<String> {
    let order = if info.kind.custom.is_none() { field_order(info) } else { Vec::new() };
    let position = |path: &String, count: usize| {
        let mut found = order.iter().enumerate().filter(|(_, known)| *known == path).map(|(at, _)| at);
        found.nth(count).unwrap_or(usize::MAX)
    };
    let mut texts: Vec<(usize, String)> = Vec::new();
    texts.extend(repeated.iter().map(|path| (position(path, 1), format!("duplicate field {}", quote(path)))));
    texts.extend(unknown.iter().map(|path| (position(path, 0), format!("unknown field {}", quote(path)))));
    texts.sort_by_key(|(at, _)| *at);
    texts.into_iter().map(|(_, text)| text).collect()
}

/// The paths of the fields in a JSON body, in whose order the decoder of built-in kinds finds mistakes.
fn field_order(info: &RequestInfo<'_>) -> Vec<String> {
    let is_json = is_media(info, "application/json");
    match &info.request.body {
        Body::Bytes(bytes) if is_json => duplicates::paths(bytes),
        _ => Vec::new(),
    }
}

/// Whether the body has a media type.
fn is_media(info: &RequestInfo<'_>, name: &str) -> bool {
    media_type::parse(&info.request.content_type).as_deref() == Some(name)
}
