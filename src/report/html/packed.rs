//! Data in a page: texts that several scenarios share are written once, and everything is compressed.

use std::collections::BTreeMap;
use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde::Serialize;

use super::data::Data;
use super::texts::Line;

/// Returns a value as JSON, compressed with raw deflate, in base64. The result contains no character that ends
/// or begins an element.
pub(super) fn pack(value: &impl Serialize) -> String {
    // Serialization fails only for maps whose keys are not texts, and there are none. Writing to memory never
    // fails.
    let json = serde_json::to_vec(value).unwrap_or_default();
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    let _ = encoder.write_all(&json);
    STANDARD.encode(encoder.finish().unwrap_or_default())
}

/// The texts and the lines of differences that more than one scenario has.
#[derive(Debug, Default, Serialize)]
pub(super) struct Shared<'a> {
    /// The texts in their order: the empty text first.
    texts: Vec<&'a str>,
    lines: Vec<Line>,
    #[serde(skip)]
    text_numbers: BTreeMap<&'a str, usize>,
    #[serde(skip)]
    line_numbers: BTreeMap<Line, usize>,
}

impl<'a> Shared<'a> {
    /// Returns what the data of several scenarios share.
    pub(super) fn of(all: &[&'a Data]) -> Self {
        let mut texts: BTreeMap<&str, usize> = BTreeMap::new();
        let mut lines: BTreeMap<[&str; 3], usize> = BTreeMap::new();
        for data in all {
            for text in &data.texts {
                *texts.entry(text).or_default() += 1;
            }
            for line in &data.lines {
                *lines.entry(texts_of(data, *line)).or_default() += 1;
            }
        }
        texts.retain(|_, count| *count > 1);
        let text_numbers: BTreeMap<&str, usize> = texts.keys().copied().zip(0..).collect();
        // The texts of a shared line are shared.
        let number = |text: &str| text_numbers.get(text).copied();
        let line = |([path, before, after], _): (&[&str; 3], &usize)| {
            Some([number(path)?, number(before)?, number(after)?])
        };
        let lines: Vec<Line> = lines.iter().filter(|(_, count)| **count > 1).filter_map(line).collect();
        let line_numbers = lines.iter().copied().zip(0..).collect();
        Self { texts: texts.into_keys().collect(), lines, text_numbers, line_numbers }
    }

    /// Returns the data of a scenario that refers to shared texts and lines, and has only its own.
    pub(super) fn rest_of(&self, data: &Data) -> Data {
        let (mut own_texts, mut own_lines) = (Vec::new(), Vec::new());
        let number = |text: &String| {
            self.text_numbers.get(text.as_str()).copied().unwrap_or_else(|| {
                own_texts.push(text.clone());
                self.texts.len() + own_texts.len() - 1
            })
        };
        let texts: Vec<usize> = data.texts.iter().map(number).collect();
        let text = |index: usize| texts.get(index).copied().unwrap_or_default();
        let number = |line: &Line| {
            let line = line.map(text);
            self.line_numbers.get(&line).copied().unwrap_or_else(|| {
                own_lines.push(line);
                self.lines.len() + own_lines.len() - 1
            })
        };
        let lines: Vec<usize> = data.lines.iter().map(number).collect();
        let mut rest = data.renumbered(&text, &|index| lines.get(index).copied().unwrap_or_default());
        (rest.texts, rest.lines) = (own_texts, own_lines);
        rest
    }
}

/// Returns the texts of a line.
fn texts_of(data: &Data, line: Line) -> [&str; 3] {
    line.map(|index| data.texts.get(index).map_or("", String::as_str))
}
