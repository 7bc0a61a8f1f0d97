//! Texts of a scenario, and differences of fields, which repeat often, as indices into lists.

use std::collections::BTreeMap;

use super::diff;

/// A line of a difference: the indices of the path and of the values before and after.
pub(super) type Line = [usize; 3];

/// Distinct values in the order of their first use.
#[derive(Debug, Default)]
pub(super) struct Numbered<T> {
    pub(super) list: Vec<T>,
    known: BTreeMap<T, usize>,
}

impl<T: Ord + Clone> Numbered<T> {
    /// Returns the index of a value, and adds it if it is new.
    pub(super) fn number(&mut self, value: T) -> usize {
        if let Some(index) = self.known.get(&value) {
            return *index;
        }
        self.list.push(value.clone());
        self.known.insert(value, self.list.len() - 1);
        self.list.len() - 1
    }
}

/// Distinct texts and lines in the order of their first use. The first text is the empty one.
#[derive(Debug)]
pub(super) struct Texts {
    texts: Numbered<String>,
    lines: Numbered<Line>,
}

impl Texts {
    /// Returns the list with the empty text alone.
    pub(super) fn new() -> Self {
        let mut texts = Numbered::default();
        texts.number(String::new());
        Self { texts, lines: Numbered::default() }
    }

    /// Returns the index of a text, and adds it if it is new.
    pub(super) fn number(&mut self, text: &str) -> usize {
        self.texts.number(text.to_owned())
    }

    /// Returns the index of a line, and adds it if it is new.
    pub(super) fn line(&mut self, line: &diff::Line) -> usize {
        let line = [&line.0, &line.1, &line.2].map(|text| self.number(text));
        self.lines.number(line)
    }

    /// Returns all texts and lines in their order.
    pub(super) fn into_lists(self) -> (Vec<String>, Vec<Line>) {
        (self.texts.list, self.lines.list)
    }
}
