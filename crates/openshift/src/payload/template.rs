//! Expansion of templates in the operator's own manifests, as far as they use Go's template language.

/// The cluster profile of clusters with their own control plane.
pub(super) const PROFILE: &str = "self-managed-high-availability";

/// Why a template cannot be expanded.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ExpandError {
    /// It uses a field that this operator does not know.
    UnknownField(String),
    /// It is invalid.
    Broken(String),
}

/// Expands all actions in a text. `None` if it has none. Supported are `.ReleaseImage`, `.ClusterProfile`,
/// `.Images`, and string constants, by which templates write literal braces.
///
/// # Errors
/// `<line>:<column>: <what>` of the first unsupported action.
pub(super) fn expand(text: &str, release_image: &str) -> Result<Option<String>, ExpandError> {
    if !text.contains("{{") {
        return Ok(None);
    }
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(begin) = rest.find("{{") {
        let fault = |what: String| {
            let before = &text[..text.len() - rest.len() + begin];
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            format!("{}:{column}: {what}", before.matches('\n').count() + 1)
        };
        let inside = &rest[begin + 2..];
        let end = end_of(inside)
            .ok_or_else(|| ExpandError::Broken(fault("expected `}}` after this `{{`".to_owned())))?;
        let action = &inside[..end];
        let (trims_before, trims_after) = (action.starts_with("- "), action.ends_with(" -"));
        let head = &rest[..begin];
        out.push_str(if trims_before { head.trim_end() } else { head });
        let expression = action.strip_prefix('-').unwrap_or(action);
        let expression = expression.strip_suffix('-').unwrap_or(expression).trim();
        let value = value(expression, release_image).ok_or_else(|| {
            let expected = "expected `.ReleaseImage`, `.ClusterProfile`, `.Images` or a string constant";
            let what = fault(format!("{expected}, found `{expression}`"));
            if is_field(expression) { ExpandError::UnknownField(what) } else { ExpandError::Broken(what) }
        })?;
        out.push_str(&value);
        rest = &inside[end + 2..];
        if trims_after {
            rest = rest.trim_start();
        }
    }
    out.push_str(rest);
    Ok(Some(out))
}

/// Returns whether an action is a field, such as `.ReleaseImage`.
fn is_field(action: &str) -> bool {
    let names = action.strip_prefix('.').unwrap_or_default();
    !names.is_empty()
        && names.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'_')
}

/// The end of an action, ignoring braces within string constants.
fn end_of(inside: &str) -> Option<usize> {
    let (mut quote, mut escaped) = (None, false);
    for (index, letter) in inside.char_indices() {
        match quote {
            Some('"') if escaped => escaped = false,
            Some('"') if letter == '\\' => escaped = true,
            Some(open) if letter == open => quote = None,
            None if letter == '"' || letter == '`' => quote = Some(letter),
            None if inside[index..].starts_with("}}") => return Some(index),
            _ => {}
        }
    }
    None
}

fn value(action: &str, release_image: &str) -> Option<String> {
    match action {
        ".ReleaseImage" => return Some(release_image.to_owned()),
        ".ClusterProfile" => return Some(PROFILE.to_owned()),
        _ => {}
    }
    let raw = action.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    if let Some(raw) = raw.filter(|raw| !raw.contains('`')) {
        return Some(raw.to_owned());
    }
    if action.starts_with('"') {
        return serde_json::from_str(action).ok();
    }
    // The simulation does not depend on the actual image.
    action.strip_prefix(".Images.").map(|name| format!("{release_image}-{}", name.to_lowercase()))
}
