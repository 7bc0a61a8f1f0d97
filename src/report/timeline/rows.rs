//! The lines of a timeline, and which of them are left out because they differ only in digits.

use std::collections::BTreeMap;

use windtunnel_core::clock::Time;

/// Where in a line its text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Span {
    /// In the columns.
    Columns,
    /// After the time, over all other columns.
    Step,
    /// As for [`Span::Step`], below the step that it tells of.
    Below,
}

/// One line.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) at: Time,
    pub(super) object: String,
    pub(super) change: String,
    pub(super) by: String,
    pub(super) span: Span,
    left_out: bool,
}

/// Lines that follow each other for one subject of one object and differ only in digits.
#[derive(Debug, Default)]
struct Alike {
    /// What they have in common; empty where nothing is alike.
    shape: String,
    /// Index of the latest, if it is not the first.
    latest: Option<usize>,
}

/// All lines, in order of time.
#[derive(Debug, Default)]
pub(super) struct Rows {
    rows: Vec<Row>,
    alike: BTreeMap<(String, String), Alike>,
}

impl Rows {
    /// Adds a change; `subject` is what of the object changed, such as `condition Progressing`.
    pub(super) fn add(&mut self, at: Time, object: &str, subject: &str, change: String, by: &str) {
        let shape = shape(subject, &change);
        let index = self.rows.len();
        let row = Row {
            at,
            object: object.to_owned(),
            change,
            by: by.to_owned(),
            span: Span::Columns,
            left_out: false,
        };
        self.rows.push(row);
        let run = self.alike.entry((object.to_owned(), subject.to_owned())).or_default();
        if run.shape != shape || shape.is_empty() {
            *run = Alike { shape, latest: None };
        } else if let Some(between) = run.latest.replace(index)
            && let Some(row) = self.rows.get_mut(between)
        {
            row.left_out = true;
        }
    }

    /// Adds a line for a step: its beginning or its end.
    pub(super) fn add_step(&mut self, at: Time, text: String) {
        self.add_spanning(at, text, Span::Step);
    }

    /// Adds the line for a step's end. Where nothing stands between it and the beginning, one line tells of both.
    pub(super) fn end_step(&mut self, at: Time, text: String, beginning: &str) {
        if self.rows.last().is_some_and(|row| row.span == Span::Step && row.change == beginning) {
            self.rows.pop();
        }
        self.add_step(at, text);
    }

    /// Adds the lines that say why a step failed, or what it printed.
    pub(super) fn add_below(&mut self, at: Time, text: &str) {
        for line in text.lines() {
            self.add_spanning(at, line.to_owned(), Span::Below);
        }
    }

    fn add_spanning(&mut self, at: Time, change: String, span: Span) {
        self.rows.push(Row { at, object: String::new(), change, by: String::new(), span, left_out: false });
    }

    /// The lines to show.
    pub(super) fn kept(&self) -> Vec<&Row> {
        self.rows.iter().filter(|row| !row.left_out).collect()
    }
}

/// Subjects of which every change is told: what was asked for, and what came of it.
const ALWAYS_TOLD: &[&str] = &["request", "history", "replicas"];

/// A text with every run of digits as one `#`; texts without digits are alike to none, and so are those of
/// [`ALWAYS_TOLD`].
fn shape(subject: &str, text: &str) -> String {
    if ALWAYS_TOLD.contains(&subject) {
        return String::new();
    }
    let mut out = String::with_capacity(text.len());
    let mut digits = false;
    for letter in text.chars() {
        if !letter.is_ascii_digit() {
            out.push(letter);
        } else if !out.ends_with('#') {
            out.push('#');
            digits = true;
        }
    }
    if digits { out } else { String::new() }
}
