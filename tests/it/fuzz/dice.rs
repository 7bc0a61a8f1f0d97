//! Random draws of a case: numbers, choices, unusual values.

use serde_json::{Value, json};
use windtunnel_core::rng::{Stream, Streams};

use super::requests::words::{FIELDS, WORDS};

/// The draws of one case.
pub(super) struct Dice(Stream);

impl Dice {
    /// The draws of a campaign and a seed.
    pub(super) fn new(campaign: &str, seed: u64) -> Self {
        Self(Streams::new(seed).stream(campaign))
    }

    /// A number from `low` to `high`, both included.
    pub(super) fn number(&mut self, low: u64, high: u64) -> u64 {
        self.0.between(low, high)
    }

    /// The same for lengths.
    pub(super) fn count(&mut self, low: usize, high: usize) -> usize {
        usize::try_from(self.0.between(low as u64, high as u64)).unwrap()
    }

    /// Returns true with a chance of one in `of`.
    pub(super) fn one_in(&mut self, of: u64) -> bool {
        self.0.between(1, of) == 1
    }

    /// An index into a list of this length.
    pub(super) fn index(&mut self, length: usize) -> usize {
        self.count(0, length - 1)
    }

    /// A random item of a list.
    pub(super) fn pick<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.index(list.len())]
    }

    /// A whole number of any size.
    pub(super) fn integer(&mut self) -> i64 {
        i64::from_ne_bytes(self.0.bits().to_ne_bytes()) >> self.0.between(0, 63)
    }

    /// A number that is rarely whole.
    pub(super) fn float(&mut self) -> f64 {
        let scale = [1.0, 10.0, 1e20, -1e-9][self.index(4)];
        self.0.fraction() * scale
    }

    /// A minor that the server supports.
    pub(super) fn minor(&mut self) -> u32 {
        u32::try_from(self.0.between(24, 36)).unwrap()
    }

    /// Any JSON.
    pub(super) fn value(&mut self, depth: u32) -> Value {
        match self.number(0, if depth == 0 { 4 } else { 8 }) {
            0 => Value::Null,
            1 => json!(self.one_in(2)),
            2 => json!(self.integer()),
            3 => json!(self.pick(WORDS)),
            4 => json!(self.float()),
            5 => (0..self.number(0, 3)).map(|_| self.value(depth - 1)).collect(),
            _ => {
                let fields = (0..self.number(0, 5))
                    .map(|_| (self.pick(FIELDS).to_owned(), self.value(depth - 1)))
                    .collect();
                Value::Object(fields)
            }
        }
    }

    /// A JSON pointer into a value.
    pub(super) fn place(&mut self, value: &Value) -> String {
        let mut pointer = String::new();
        let mut at = value;
        while !self.one_in(5) {
            let (step, next) = match at {
                Value::Object(map) if !map.is_empty() => {
                    let (key, next) = map.iter().nth(self.index(map.len())).unwrap();
                    (key.replace('~', "~0").replace('/', "~1"), next)
                }
                Value::Array(items) if !items.is_empty() => {
                    let index = self.index(items.len());
                    (index.to_string(), &items[index])
                }
                _ => break,
            };
            pointer = format!("{pointer}/{step}");
            at = next;
        }
        pointer
    }

    /// Replaces up to `most` places of a value.
    pub(super) fn damaged(&mut self, mut value: Value, most: u64) -> Value {
        for _ in 0..self.number(0, most) {
            let pointer = self.place(&value);
            let new = self.value(3);
            if let Some(found) = value.pointer_mut(&pointer) {
                *found = new;
            }
        }
        value
    }

    /// Replaces places of a value in one of twelve calls.
    pub(super) fn damaged_seldom(&mut self, value: Value) -> Value {
        if self.one_in(12) { self.damaged(value, 2) } else { value }
    }
}
