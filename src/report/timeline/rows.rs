//! The lines of a timeline, and which of them are left out because they differ only in digits.

use std::collections::BTreeMap;

use crate::base::clock::Time;

/// One line.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) at: Time,
    pub(super) object: String,
    pub(super) change: String,
    pub(super) by: String,
    pub(super) is_step: bool,
    left_out: bool,
}

/// Lines that follow each other for one subject of one object and differ only in digits.
#[derive(Debug)]
struct Alike {
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
        let shape = shape(&change);
        let index = self.rows.len();
        let row =
            Row { at, object: object.to_owned(), change, by: by.to_owned(), is_step: false, left_out: false };
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

    /// Adds a line that spans all columns.
    pub(super) fn add_step(&mut self, at: Time, change: String) {
        let row =
            Row { at, object: String::new(), change, by: String::new(), is_step: true, left_out: false };
        self.rows.push(row);
    }

    /// The lines to show.
    pub(super) fn kept(&self) -> Vec<&Row> {
        self.rows.iter().filter(|row| !row.left_out).collect()
    }
}

impl Default for Alike {
    fn default() -> Self {
        // No change has an empty text, so nothing is alike yet.
        Self { shape: String::new(), latest: None }
    }
}

/// A text with every run of digits as one `#`; texts without digits are alike to none.
fn shape(text: &str) -> String {
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
