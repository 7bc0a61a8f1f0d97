//! The rows of a timeline. Rows that differ only in digits are left out.

use std::collections::BTreeMap;

use windtunnel_core::clock::Time;

/// The columns that a row's text occupies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Span {
    /// The columns.
    Columns,
    /// All columns after the time.
    Step,
    /// As [`Span::Step`], below the step that it belongs to.
    Below,
}

#[derive(Debug)]
pub(super) struct Row {
    pub(super) at: Time,
    pub(super) object: String,
    pub(super) change: String,
    pub(super) by: String,
    pub(super) span: Span,
    left_out: bool,
}

/// Consecutive rows of one subject of one object that differ only in digits.
#[derive(Debug, Default)]
struct Alike {
    /// Their common text without digits; empty if no row can be left out.
    shape: String,
    /// Index of the latest row, if it is not the first.
    latest: Option<usize>,
}

/// The object of a row that can be grouped with others of its kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group<'o> {
    pub(super) kind: &'o str,
    pub(super) name: &'o str,
}

/// The last row, if it is grouped: its change and the names of its objects.
#[derive(Debug)]
struct Grouped {
    index: usize,
    kind: String,
    change: String,
    names: Vec<String>,
}

/// All rows, in order of time.
#[derive(Debug, Default)]
pub(super) struct Rows {
    all: Vec<Row>,
    grouped: Option<Grouped>,
    alike: BTreeMap<(String, String), Alike>,
}

impl Rows {
    /// Adds a change; `subject` is the changed part of the object, such as `condition Progressing`.
    pub(super) fn add(&mut self, at: Time, object: &str, subject: &str, change: String, by: &str) {
        let shape = shape(subject, &change);
        let index = self.all.len();
        let row = Row {
            at,
            object: object.to_owned(),
            change,
            by: by.to_owned(),
            span: Span::Columns,
            left_out: false,
        };
        self.all.push(row);
        let run = self.alike.entry((object.to_owned(), subject.to_owned())).or_default();
        if run.shape != shape || shape.is_empty() {
            *run = Alike { shape, latest: None };
        } else if let Some(between) = run.latest.replace(index)
            && let Some(row) = self.all.get_mut(between)
        {
            row.left_out = true;
        }
    }

    /// Adds a change that each object of a kind has once. Rows of the same change that follow each other become one, with the
    /// names of the objects and the time of the last one.
    pub(super) fn add_grouped(&mut self, at: Time, object: Group<'_>, change: String, by: &str) {
        let Group { kind, name } = object;
        let is_same = |group: &&mut Grouped| {
            group.index + 1 == self.all.len() && group.kind == kind && group.change == change
        };
        if let Some(group) = self.grouped.as_mut().filter(is_same) {
            group.names.push(name.to_owned());
            let text = format!("{change}: {}", group.names.join(", "));
            if let Some(row) = self.all.get_mut(group.index) {
                (row.at, row.object, row.change) = (at, format!("{kind}s"), text);
                row.by = String::new();
            }
            return;
        }
        let (index, names) = (self.all.len(), vec![name.to_owned()]);
        self.grouped = Some(Grouped { index, kind: kind.to_owned(), change: change.clone(), names });
        let object = format!("{kind}/{name}");
        let (by, span) = (by.to_owned(), Span::Columns);
        self.all.push(Row { at, object, change, by, span, left_out: false });
    }

    /// Adds a row for the start or the end of a step.
    pub(super) fn add_step(&mut self, at: Time, text: String) {
        self.add_spanning(at, text, Span::Step);
    }

    /// Adds the row for the end of a step. If nothing happened since its start, the row replaces that of the
    /// start.
    pub(super) fn end_step(&mut self, at: Time, text: String, beginning: &str) {
        if self.all.last().is_some_and(|row| row.span == Span::Step && row.change == beginning) {
            self.all.pop();
        }
        self.add_step(at, text);
    }

    /// Adds rows with the reason of a failure, or with the output of a command.
    pub(super) fn add_below(&mut self, at: Time, text: &str) {
        for line in text.lines() {
            self.add_spanning(at, line.to_owned(), Span::Below);
        }
    }

    fn add_spanning(&mut self, at: Time, change: String, span: Span) {
        self.all.push(Row { at, object: String::new(), change, by: String::new(), span, left_out: false });
    }

    pub(super) fn visible_rows(&self) -> Vec<&Row> {
        self.all.iter().filter(|row| !row.left_out).collect()
    }
}

/// Subjects whose changes are all shown: requests and their results.
const ALWAYS_SHOWN: &[&str] = &["request", "history", "replicas"];

/// Returns a text with each run of digits replaced by `#`; empty for texts that are always shown: those
/// without digits and those of [`ALWAYS_SHOWN`].
fn shape(subject: &str, text: &str) -> String {
    if ALWAYS_SHOWN.contains(&subject) {
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
