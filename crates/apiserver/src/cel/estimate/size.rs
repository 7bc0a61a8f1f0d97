//! Bounds of the number of characters, bytes or elements of a value.

use crate::cel::eval::cost::{PER_CHARACTER, PER_PATTERN_CHARACTER};

/// The minimum and maximum number of characters, bytes or elements of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Size {
    /// The size of a value about which nothing is known.
    pub(super) const UNKNOWN: Self = Self::up_to(u64::MAX);

    pub(super) const fn exactly(size: u64) -> Self {
        Self { min: size, max: size }
    }

    pub(super) const fn up_to(max: u64) -> Self {
        Self { min: 0, max }
    }

    /// The smallest size that includes all of `sizes`.
    pub(super) fn including(sizes: impl Iterator<Item = Self>) -> Self {
        sizes.reduce(Self::or).unwrap_or(Self::exactly(0))
    }

    /// The size of a value that is one of two values.
    pub(super) fn or(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// The size of two concatenated values.
    pub(super) fn plus(self, other: Self) -> Self {
        Self { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(super) fn times(self, other: Self) -> Self {
        Self { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    /// The cost of reading a text of this size `times` times.
    pub(super) fn read_cost(self, times: u32) -> u64 {
        scaled(self.max, f64::from(times) * PER_CHARACTER)
    }

    /// The cost of searching a text of this size for a pattern of size `pattern`.
    pub(super) fn match_cost(self, pattern: Self) -> u64 {
        // An empty text still costs the compilation of the pattern.
        let text = self.plus(Self::exactly(1)).read_cost(1);
        text.saturating_mul(scaled(pattern.max, PER_PATTERN_CHARACTER))
    }
}

/// A size times a factor, rounded up.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "costs are rounded, and casts saturate"
)]
pub(super) fn scaled(size: u64, by: f64) -> u64 {
    (size as f64 * by).ceil() as u64
}

/// The sizes of the keys and values of a list or map that the expression itself builds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entries {
    pub(super) is_list: bool,
    /// The size of a key; an index has the size 1.
    pub(super) key: Size,
    pub(super) value: Size,
}

impl Entries {
    pub(super) fn of_list(value: Size) -> Self {
        Self { is_list: true, key: Size::exactly(1), value }
    }

    pub(super) fn of_map(key: Size, value: Size) -> Self {
        Self { is_list: false, key, value }
    }

    /// The entries of a concatenation of, or a choice between, two values; unknown if either is unknown.
    pub(super) fn union(left: Option<Self>, right: Option<Self>) -> Option<Self> {
        let (left, right) = (left?, right?);
        Some(Self { is_list: left.is_list, key: left.key.or(right.key), value: left.value.or(right.value) })
    }
}
