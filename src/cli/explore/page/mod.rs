//! An exploration as one self-contained HTML page: no script, no network, no other file.

mod chart;

use std::path::Path;

use minijinja::value::Serde;
use minijinja::{Environment, context};
use serde::Serialize;

use self::chart::Chart;
use super::report::{self, Summary};
use crate::cli::files;
use crate::explore::Finding;
use crate::report::html;

/// The template's data of a finding.
#[derive(Serialize)]
struct Section {
    oracle: String,
    cause: String,
    history: String,
    text: String,
    rule: String,
    place: String,
    command: String,
    file: String,
    scenario: String,
}

/// The template's data of the states of a kind.
#[derive(Serialize)]
struct Kind<'s> {
    title: &'s str,
    states: Vec<(&'s str, u64)>,
}

/// Writes the page.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write(path: &Path, summary: Summary<'_>) -> Result<(), String> {
    let page = render(summary).map_err(|error| error.to_string())?;
    files::write(path, &page)
}

fn render(summary: Summary<'_>) -> Result<String, html::PageError> {
    let state = summary.state;
    let exploration = &state.exploration;
    let kinds = report::states_by_kind(exploration).into_iter();
    let kinds: Vec<Kind<'_>> = kinds.map(|(kind, states)| Kind { title: title(kind), states }).collect();
    let sections: Vec<Section> = exploration.findings.iter().map(section).collect();
    let never: Vec<_> =
        report::never_seen(exploration).into_iter().filter(|(_, names)| !names.is_empty()).collect();
    let mut templates = Environment::new();
    templates.add_template("page.html", include_str!("page.html"))?;
    templates.get_template("page.html")?.render(context! {
        style => html::STYLE,
        own_style => include_str!("page.css"),
        version => env!("CARGO_PKG_VERSION"),
        seed => state.seed.to_string(),
        shard => state.shard.clone(),
        figures => Serde(figures(summary)),
        chart => Serde(Chart::of(state.curve.points())),
        findings => Serde(sections),
        never => Serde(never),
        cut_short => Serde(cut_short(summary)),
        kinds => Serde(kinds),
    })
}

/// The figures of the page's head, with their names.
fn figures(summary: Summary<'_>) -> Vec<(&'static str, String)> {
    let exploration = &summary.state.exploration;
    let rate = report::new_per_minute(exploration, summary.known, summary.wall);
    vec![
        ("runs", exploration.runs.to_string()),
        ("simulated years", format!("{:.2}", report::years(exploration))),
        ("states", exploration.states_seen().to_string()),
        ("new states per minute", format!("{rate:.1}")),
        ("cases in the corpus", exploration.corpus.len().to_string()),
        ("runs to shrink findings", exploration.shrinking_runs.to_string()),
    ]
}

/// The errors that ended runs early, the most frequent first.
fn cut_short(summary: Summary<'_>) -> Vec<(&str, u64)> {
    let mut rows: Vec<(&str, u64)> =
        summary.state.exploration.cut_short.iter().map(|(why, runs)| (&**why, *runs)).collect();
    rows.sort_by_key(|(_, runs)| u64::MAX - runs);
    rows
}

fn section(finding: &Finding) -> Section {
    let finding = &finding.without_secrets();
    Section {
        oracle: finding.oracle.clone(),
        cause: finding.cause.split_once(": ").map_or(&*finding.cause, |(_, cause)| cause).to_owned(),
        history: report::history(finding),
        text: finding.text.clone(),
        rule: finding.rule(),
        place: finding.place.as_ref().map_or_else(String::new, ToString::to_string),
        command: finding.command(),
        file: finding.file_name(),
        scenario: without_comments(&finding.scenario()),
    }
}

/// A scenario without the comments at its beginning, which the page has beside it.
fn without_comments(scenario: &str) -> String {
    scenario.split_inclusive('\n').skip_while(|line| line.starts_with('#')).collect()
}

/// The heading of the states of a kind.
fn title(kind: &str) -> &str {
    match kind {
        "alert" => "Alerts",
        "condition" => "Conditions",
        "event" => "Events",
        "history" => "Histories of ClusterVersion",
        "insight" => "Insights",
        "message" => "Messages of conditions",
        "node" => "Nodes",
        "pod" => "Pods",
        "process" => "Processes",
        "refusal" => "Rejected requests",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::corpus::State;
    use super::*;

    #[test]
    fn the_page_escapes_texts_and_has_no_script() {
        let mut state = State::new(None, 7);
        state.exploration.runs = 3;
        state.curve.push(3, 1);
        state.exploration.states.insert("event <b>".to_owned(), 2);
        state.exploration.cut_short.insert("update: \"<i>\"".to_owned(), 1);
        state.exploration.alerts.insert("Down".to_owned());
        let page = render(Summary { state: &state, known: 0, wall: Duration::from_secs(60) }).unwrap();
        for text in ["event", "&lt;b&gt;", "&lt;i&gt;", "Down", "No run broke a rule.", "<svg"] {
            assert!(page.contains(text), "{text}: {page}");
        }
        assert!(!page.contains("<script") && !page.contains("<b>"), "{page}");
        assert!(page.contains("default-src 'none'"), "{page}");
    }
}
