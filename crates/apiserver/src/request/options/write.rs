//! The common options of creates, updates and patches (`CreateOptions`, `UpdateOptions`, `PatchOptions`).

use serde_json::json;

use crate::field::{Cause, FieldError, Shown};
use crate::profile::{Profile, since};
use crate::rejection::{BoxedRejection, Outcome};
use crate::request::{JSON_PATCH, MERGE_PATCH, Method, Request, STRATEGIC_PATCH, media_type};

/// The handling of unknown and duplicate fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

/// The kind of a patch, by its media type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteOptions {
    pub(crate) dry_run: bool,
    pub(crate) field_validation: FieldValidation,
    /// Whether an apply takes over fields of other managers.
    pub(crate) force: bool,
}

impl PatchType {
    /// The patch type of a request; `None` if its media type is not a patch.
    pub(crate) fn of(request: &Request<'_>) -> Option<Self> {
        match media_type::of_patch(&request.content_type) {
            JSON_PATCH => Some(Self::Json),
            MERGE_PATCH => Some(Self::Merge),
            STRATEGIC_PATCH => Some(Self::Strategic),
            "application/apply-patch+yaml" => Some(Self::Apply),
            _ => None,
        }
    }
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self { dry_run: false, field_validation: FieldValidation::Warn, force: false }
    }
}

/// Maximum length of the name of a field manager, in bytes (`FieldManagerMaxLength`).
pub(crate) const MANAGER_MAX: usize = 128;

impl WriteOptions {
    /// Parses and validates the options of a create, an update or a patch.
    pub(crate) fn read(request: &Request<'_>, profile: &Profile) -> Outcome<Self> {
        let query = &request.query;
        let mut errors = Vec::new();
        let manager = query.get("fieldManager");
        let applies = request.method == Method::Patch && PatchType::of(request) == Some(PatchType::Apply);
        let force = query.all("force").next();
        if applies && manager.is_empty() {
            errors.push(FieldError::required("fieldManager", "is required for apply patch"));
        } else if !applies && request.method == Method::Patch && force.is_some() {
            errors.push(FieldError::forbidden("force", "may not be specified for non-apply patch"));
        }
        errors.extend(check_manager(manager, profile));
        let dry_run: Vec<&str> = query.all("dryRun").collect();
        if dry_run.iter().any(|value| *value != "All") {
            let given = dry_run.iter().map(|&value| value.to_owned()).collect();
            errors.push(FieldError::not_supported("dryRun", Shown::Strings("string", given), &["All"]));
        }
        let field_validation = match query.get("fieldValidation") {
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            "" | "Warn" => FieldValidation::Warn,
            other => {
                let supported = ["", "Ignore", "Strict", "Warn"];
                let value = Shown::Json(json!(other));
                errors.push(FieldError::not_supported("fieldValidation", value, &supported));
                FieldValidation::Warn
            }
        };
        if !errors.is_empty() {
            let kind = super::options_kind(request.method);
            return Err(BoxedRejection::invalid("meta.k8s.io", kind, "", &errors, profile));
        }
        // Earlier minors accept unknown and duplicate fields whatever the client requests.
        let field_validation = match profile.minor {
            since::FIELD_VALIDATION.. => field_validation,
            _ => FieldValidation::Ignore,
        };
        let force = force.is_some_and(|text| text != "0" && !text.eq_ignore_ascii_case("false"));
        Ok(Self { dry_run: !dry_run.is_empty(), field_validation, force })
    }
}

fn check_manager(name: &str, profile: &Profile) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if name.len() > MANAGER_MAX {
        let why = profile.too_many_bytes_text(MANAGER_MAX as u64);
        errors.push(FieldError::new(Cause::TooLong, "fieldManager", json!(name), why));
    }
    for (at, invalid) in name.char_indices().filter(|(_, letter)| !is_printable(*letter)) {
        let why = format!("invalid character U+{:04X} (at position {at})", u32::from(invalid));
        errors.push(FieldError::invalid("fieldManager", name, why));
    }
    errors
}

/// Whether a character is a letter, mark, number, punctuation, symbol or the plain space (`unicode.IsPrint`).
pub(crate) fn is_printable(letter: char) -> bool {
    letter == ' ' || !(letter.is_control() || letter.is_whitespace())
}
