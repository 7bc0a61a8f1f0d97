//! Repeated and unknown fields of a body, about which the server warns.

use crate::call::Call;
use crate::gotext::quote;
use crate::rejection::{BoxedRejection, Outcome};
use crate::request::options::FieldValidation;
use crate::request::{Body, duplicates, media_type, yaml};

/// Warns about repeated and unknown fields, or rejects them.
///
/// # Errors
/// 400 with all of them, if the client asks for strict validation. `prefix` is the start of its message.
pub(crate) fn report(call: &mut Call<'_>, prefix: &str, unknown: &[String]) -> Outcome<()> {
    let repeated = std::mem::take(&mut call.duplicates);
    if repeated.is_empty() && unknown.is_empty() {
        return Ok(());
    }
    let texts = if is_media(call, "application/yaml") {
        let unknown = unknown.iter().map(|path| format!("unknown field {}", quote(path)));
        match call.options.field_validation {
            // Its error about repeated keys is one text.
            FieldValidation::Strict if !repeated.is_empty() => {
                std::iter::once(yaml::strict_error(&repeated)).chain(unknown).collect()
            }
            _ => repeated.into_iter().chain(unknown).collect(),
        }
    } else {
        of_json(call, &repeated, unknown)
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
fn of_json(call: &Call<'_>, repeated: &[String], unknown: &[String]) -> Vec<String> {
    let order = if call.kind.custom.is_none() { field_order(call) } else { Vec::new() };
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
fn field_order(call: &Call<'_>) -> Vec<String> {
    let is_json = is_media(call, "application/json");
    match &call.request.body {
        Body::Bytes(bytes) if is_json => duplicates::paths(bytes),
        _ => Vec::new(),
    }
}

/// Whether the body has a media type.
fn is_media(call: &Call<'_>, name: &str) -> bool {
    media_type::parse(&call.request.content_type).as_deref() == Some(name)
}
