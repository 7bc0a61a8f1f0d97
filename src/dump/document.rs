//! Parses a file of a dump: objects, lists of objects, an answer of Prometheus, or a report of what could not be collected.

use serde::de::IgnoredAny;
use serde_json::Value;
use windtunnel_core::Object;
use windtunnel_core::bounded::{self, Exceeded, Limits};

use super::inventory::Uncollected;
use super::objects::Found;
use super::{alerts, config_maps, layout, place, uncollected};

#[derive(Debug)]
pub(super) enum Content {
    /// All objects; an empty list has none. The text is the reason why others are not understood.
    Objects(Vec<Object>, Option<String>),
    /// The body of an answer to `/api/v1/alerts`.
    Alerts(alerts::Origin, String),
    /// A key of a ConfigMap.
    Key(config_maps::Key),
    /// No object, for this reason, but perhaps a report.
    Nothing(&'static str, Vec<Uncollected>),
    /// Only a report.
    Uncollected(Vec<Uncollected>),
}

/// The reason why a file cannot be parsed.
#[derive(Debug)]
pub(super) enum DocumentError {
    /// It is too large.
    Exceeded(Exceeded),
    /// It is invalid: `path:line:column: why`.
    Invalid(String),
}

/// Parses a file. `within` is its path in the dump, which may say the kind of its objects. Takes values and documents from the
/// limits, but no memory, since the caller decides what to keep.
///
/// # Errors
/// The file is invalid, or too large.
pub(super) fn parse(
    path: &str,
    within: &str,
    text: &str,
    left: &mut Limits,
) -> Result<Content, DocumentError> {
    if let Some(key) = config_maps::Key::of(within, text) {
        return Ok(Content::Key(key));
    }
    if alerts::is_metrics(within) {
        return Ok(match alerts::of_metrics(text) {
            Some(body) => Content::Alerts(alerts::Origin::Metrics, body),
            None => Content::Nothing("metrics", Vec::new()),
        });
    }
    if uncollected::is_log(within) {
        return Ok(Content::Nothing("a log", uncollected::of_log(path, text)));
    }
    if uncollected::is_error(text) {
        return Ok(Content::Uncollected(uncollected::of_text(path, text)));
    }
    if within.ends_with(".stderr") {
        return Ok(Content::Nothing("a log", Vec::new()));
    }
    let documents = match documents(path, text, left) {
        Ok(documents) => documents,
        // A later stage reports the invalid answer as `oc` does.
        Err(DocumentError::Invalid(_)) if alerts::is_answer(path) => {
            return Ok(Content::Alerts(alerts::Origin::Alerts, text.to_owned()));
        }
        // Many texts begin with a bracket.
        Err(DocumentError::Invalid(_)) if !layout::is_data(path) && !text.contains("apiVersion") => {
            return Ok(Content::Nothing("no YAML or JSON", Vec::new()));
        }
        Err(error) => return Err(error),
    };
    Ok(of_documents(path, within, documents))
}

/// Returns the content of parsed documents.
fn of_documents(path: &str, within: &str, documents: Vec<Value>) -> Content {
    if let [document] = &documents[..] {
        if let Some((origin, body)) = alerts::of_answer(within, document) {
            return Content::Alerts(origin, body);
        }
        if uncollected::is_of_errors(within)
            && let Some(errors) = uncollected::of_json(path, document)
        {
            return Content::Uncollected(errors);
        }
        if within.ends_with("insights-operator/gathers.json") {
            return Content::Nothing("a report of Insights", uncollected::of_insights(path, document));
        }
    }
    let found = Found::of(documents, &place::of(within));
    let remark = found.remark();
    if found.objects.is_empty() && !found.is_list && remark.is_none() {
        return Content::Nothing("YAML or JSON without objects", Vec::new());
    }
    Content::Objects(found.objects, remark)
}

/// Parses JSON, which is many times faster than YAML; and YAML if the text is no JSON.
fn documents(path: &str, text: &str, left: &mut Limits) -> Result<Vec<Value>, DocumentError> {
    let without_logs = without_logs(text);
    let text = without_logs.as_deref().unwrap_or(text);
    let start = text.trim_start();
    if start.is_empty() {
        return Ok(Vec::new());
    }
    if start.starts_with(['{', '[']) {
        return json_or_flow_style(path, text, left);
    }
    bounded::yaml(text, left).map_err(|failure| of_parser(path, failure))
}

/// Parses a text that begins with a bracket: JSON, or YAML in flow style, such as a mapping in one line.
fn json_or_flow_style(path: &str, text: &str, left: &mut Limits) -> Result<Vec<Value>, DocumentError> {
    let no_json = match bounded::json(text, left) {
        Ok(value) => return Ok(vec![value]),
        Err(bounded::TextError::Json(error)) => match several(path, text, left) {
            Some(values) => return values,
            None => bounded::TextError::Json(error),
        },
        Err(failure) => return Err(of_parser(path, failure)),
    };
    let (is_named, is_quoted) = (is_named_json(path), starts_with_quote(text));
    if is_named && is_quoted {
        // Some damaged JSON is YAML with another meaning.
        return Err(of_parser(path, no_json));
    }
    // Damaged JSON takes nothing from the limits.
    let mut left_after = left.clone();
    match bounded::yaml(text, &mut left_after) {
        Err(_) if is_named || is_quoted => Err(of_parser(path, no_json)),
        parsed => {
            *left = left_after;
            parsed.map_err(|failure| of_parser(path, failure))
        }
    }
}

/// Parses several values of JSON: lines, or values one after the other. Returns `None` if the first one is invalid.
fn several(path: &str, text: &str, left: &Limits) -> Option<Result<Vec<Value>, DocumentError>> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let (mut values, mut start, mut left) = (Vec::new(), 0, left.clone());
    while let Some(next) = stream.next() {
        match next {
            Ok(IgnoredAny) => {
                let end = stream.byte_offset();
                match bounded::json(&text[start..end], &left) {
                    Ok(value) => {
                        left.bytes = left.bytes.saturating_sub(bounded::size(&value));
                        values.push(value);
                    }
                    Err(failure) => return Some(Err(of_parser(path, failure))),
                }
                start = end;
            }
            // Another document of YAML may follow.
            Err(_) if values.is_empty() || !text[start..].trim_start().starts_with(['{', '[']) => {
                return None;
            }
            Err(error) => return Some(Err(of_parser(path, bounded::TextError::Json(error)))),
        }
    }
    Some(Ok(values))
}

/// Returns the text without the logs that `kubectl cluster-info dump` prints between objects; `None` if there are none.
fn without_logs(text: &str) -> Option<String> {
    const START: &str = "==== START logs";
    if !text.contains(START) {
        return None;
    }
    let mut is_log = false;
    let line = |line: &str| {
        is_log |= line.starts_with(START);
        let kept = if is_log { "\n" } else { line }.to_owned();
        is_log &= !line.starts_with("==== END logs");
        kept
    };
    Some(text.split_inclusive('\n').map(line).collect())
}

/// Returns whether a file has JSON by its name.
fn is_named_json(path: &str) -> bool {
    let path = path.strip_suffix(".gz").unwrap_or(path);
    path.rsplit_once('.').is_some_and(|(_, extension)| extension == "json")
}

/// Returns whether the first name or text behind the brackets is quoted, as always in JSON and rarely in YAML.
fn starts_with_quote(text: &str) -> bool {
    let is_bracket = |char: char| char.is_whitespace() || char == '{' || char == '[';
    text.trim_start_matches(is_bracket).starts_with('"')
}

fn of_parser(path: &str, failure: bounded::TextError) -> DocumentError {
    match failure {
        bounded::TextError::Exceeded(exceeded) => DocumentError::Exceeded(exceeded),
        bounded::TextError::Yaml(error) => DocumentError::Invalid(format!("{path}:{error}")),
        bounded::TextError::Json(error) => DocumentError::Invalid(format!(
            "{path}:{}:{}: expected JSON: {}",
            error.line(),
            error.column(),
            plain(&error)
        )),
    }
}

/// Returns the error message without the position at its end.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rfind(" at line ").map_or(text.clone(), |end| text[..end].to_owned())
}
