//! Go's `sort.Slice`: a pattern-defeating quicksort, deterministic but unstable. The order in which `oc`
//! shows equal elements depends on the details of this algorithm, so only the same algorithm reproduces it.

/// Ranges up to this length are sorted by insertion, which is stable.
const SHORT: usize = 12;
/// Ranges from this length on get a better pivot, and moving a few elements is worthwhile.
const LONG: usize = 50;
/// Maximum number of misplaced elements that partial insertion sort moves before it gives up.
const INSERTIONS_MAX: usize = 5;
/// Number of comparisons in the choice of a pivot. If all of them swap, the range looks descending.
const ALL_SWAPPED: usize = 12;

/// Sorts like `sort.Slice`; `less` returns whether the first element comes before the second.
pub(super) fn unstable<T>(items: &mut [T], less: impl Fn(&T, &T) -> bool) {
    let len = items.len();
    Sorter { items, less }.sort(0, len, bit_length(len));
}

fn bit_length(number: usize) -> u32 {
    usize::BITS - number.leading_zeros()
}

/// The apparent order of a range, from the choice of its pivot.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Looks {
    Mixed,
    Ascending,
    Descending,
}

struct Sorter<'a, T, F> {
    items: &'a mut [T],
    less: F,
}

impl<T, F: Fn(&T, &T) -> bool> Sorter<'_, T, F> {
    fn less(&self, one: usize, other: usize) -> bool {
        (self.less)(&self.items[one], &self.items[other])
    }

    /// Sorts `from..to`, and falls back to heap sort after `limit` unbalanced partitions.
    fn sort(&mut self, mut from: usize, mut to: usize, mut limit: u32) {
        let (mut balanced, mut partitioned) = (true, true);
        loop {
            let len = to - from;
            if len <= SHORT {
                return self.insert(from, to);
            }
            if limit == 0 {
                return self.heap(from, to);
            }
            if !balanced {
                self.break_patterns(from, to);
                limit -= 1;
            }
            let (mut pivot, mut looks) = self.choose_pivot(from, to);
            if looks == Looks::Descending {
                self.items[from..to].reverse();
                pivot = to - 1 - (pivot - from);
                looks = Looks::Ascending;
            }
            if balanced && partitioned && looks == Looks::Ascending && self.partial_insertion_sort(from, to) {
                return;
            }
            // Nothing in the range is less than this pivot, so its equals need no further sorting.
            if from > 0 && !self.less(from - 1, pivot) {
                from = self.partition_equal(from, to, pivot);
                continue;
            }
            let (middle, was_partitioned) = self.partition(from, to, pivot);
            partitioned = was_partitioned;
            let (left, right) = (middle - from, to - middle);
            balanced = left.min(right) >= len / 8;
            if left < right {
                self.sort(from, middle, limit);
                from = middle + 1;
            } else {
                self.sort(middle + 1, to, limit);
                to = middle;
            }
        }
    }

    fn insert(&mut self, from: usize, to: usize) {
        for index in from + 1..to {
            self.sink(index, from);
        }
    }

    /// Moves an element left while it is less than its neighbour, but not past `lowest`.
    fn sink(&mut self, mut index: usize, lowest: usize) {
        while index > lowest && self.less(index, index - 1) {
            self.items.swap(index, index - 1);
            index -= 1;
        }
    }

    fn heap(&mut self, from: usize, to: usize) {
        let len = to - from;
        for root in (0..=(len - 1) / 2).rev() {
            self.sift_down(root, len, from);
        }
        for last in (0..len).rev() {
            self.items.swap(from, from + last);
            self.sift_down(0, last, from);
        }
    }

    fn sift_down(&mut self, mut root: usize, len: usize, first: usize) {
        loop {
            let mut child = 2 * root + 1;
            if child >= len {
                return;
            }
            if child + 1 < len && self.less(first + child, first + child + 1) {
                child += 1;
            }
            if !self.less(first + root, first + child) {
                return;
            }
            self.items.swap(first + root, first + child);
            root = child;
        }
    }

    /// Swaps three elements in the middle with pseudo-random ones. The swaps depend only on the length.
    fn break_patterns(&mut self, from: usize, to: usize) {
        let len = to - from;
        let mask = (1_u64 << bit_length(len)) - 1;
        let mut state = len as u64;
        let middle = from + len / 4 * 2;
        for index in middle - 1..=middle + 1 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let mut other = usize::try_from(state & mask).unwrap_or_default();
            if other >= len {
                other -= len;
            }
            self.items.swap(index, from + other);
        }
    }

    fn choose_pivot(&self, from: usize, to: usize) -> (usize, Looks) {
        let quarter = (to - from) / 4;
        let mut swaps = 0;
        let mut candidates = [1, 2, 3].map(|nth| from + quarter * nth);
        if to - from >= LONG {
            candidates = candidates.map(|index| self.median([index - 1, index, index + 1], &mut swaps));
        }
        let pivot = self.median(candidates, &mut swaps);
        let looks = match swaps {
            0 => Looks::Ascending,
            ALL_SWAPPED => Looks::Descending,
            _ => Looks::Mixed,
        };
        (pivot, looks)
    }

    /// Returns the index of the median of three elements, and counts the swaps.
    fn median(&self, [mut a, mut b, mut c]: [usize; 3], swaps: &mut usize) -> usize {
        let mut order = |one: &mut usize, other: &mut usize| {
            if self.less(*other, *one) {
                *swaps += 1;
                std::mem::swap(one, other);
            }
        };
        order(&mut a, &mut b);
        order(&mut b, &mut c);
        order(&mut a, &mut b);
        b
    }

    /// Moves a few misplaced elements. Returns whether the range is sorted then.
    fn partial_insertion_sort(&mut self, from: usize, to: usize) -> bool {
        let mut index = from + 1;
        for _ in 0..INSERTIONS_MAX {
            while index < to && !self.less(index, index - 1) {
                index += 1;
            }
            if index == to {
                return true;
            }
            if to - from < LONG {
                return false;
            }
            self.items.swap(index, index - 1);
            if index - from >= 2 {
                // Like Go, down to the start of the slice. Elements before the range are not greater, so this
                // stops there.
                self.sink(index - 1, 0);
            }
            if to - index >= 2 {
                self.rise(index + 1, to);
            }
        }
        false
    }

    /// Moves the element before `index` right while its neighbour is less.
    fn rise(&mut self, index: usize, to: usize) {
        for next in index..to {
            if !self.less(next, next - 1) {
                return;
            }
            self.items.swap(next, next - 1);
        }
    }

    /// Partitions a range into elements equal to the pivot and greater ones. Returns the start of the latter.
    fn partition_equal(&mut self, from: usize, to: usize, pivot: usize) -> usize {
        self.items.swap(from, pivot);
        let (mut low, mut high) = (from + 1, to - 1);
        loop {
            while low <= high && !self.less(from, low) {
                low += 1;
            }
            while low <= high && self.less(from, high) {
                high -= 1;
            }
            if low > high {
                return low;
            }
            self.items.swap(low, high);
            low += 1;
            high -= 1;
        }
    }

    /// Partitions a range into elements less than the pivot and the others. Returns the pivot's final index,
    /// and whether the range was already partitioned.
    fn partition(&mut self, from: usize, to: usize, pivot: usize) -> (usize, bool) {
        self.items.swap(from, pivot);
        let (mut low, mut high) = (from + 1, to - 1);
        let mut was_partitioned = true;
        loop {
            while low <= high && self.less(low, from) {
                low += 1;
            }
            while low <= high && !self.less(high, from) {
                high -= 1;
            }
            if low > high {
                self.items.swap(high, from);
                return (high, was_partitioned);
            }
            was_partitioned = false;
            self.items.swap(low, high);
            low += 1;
            high -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pseudo-random numbers below `bound`.
    fn numbers(len: usize, bound: u64) -> Vec<(u64, usize)> {
        let mut state = 88_172_645_463_325_252_u64;
        let mut draw = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % bound
        };
        (0..len).map(|index| (draw(), index)).collect()
    }

    fn check_sorts(mut items: Vec<(u64, usize)>) {
        let mut expected: Vec<u64> = items.iter().map(|(key, _)| *key).collect();
        expected.sort_unstable();
        unstable(&mut items, |one, other| one.0 < other.0);
        assert_eq!(items.iter().map(|(key, _)| *key).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn sorts_every_pattern() {
        for len in [0, 1, 2, 12, 13, 49, 50, 51, 200, 1000, 5000] {
            for bound in [1, 2, 3, 10, 1000, u64::MAX] {
                check_sorts(numbers(len, bound));
            }
            let range = || (0..len).map(|index| (index as u64, index));
            check_sorts(range().collect());
            check_sorts(range().rev().collect());
            check_sorts(range().map(|(key, index)| (key ^ 1, index)).collect());
            check_sorts(range().map(|(key, index)| (key % 64 * (key % 3), index)).collect());
        }
    }

    #[test]
    fn is_stable_up_to_twelve_elements_and_unstable_beyond() {
        let order = |len: usize| {
            let mut items = numbers(len, 3);
            unstable(&mut items, |one, other| one.0 < other.0);
            items
        };
        assert!(order(12).is_sorted());
        assert!(!order(60).is_sorted());
    }

    #[test]
    fn falls_back_to_heap_sort_without_pivots_left() {
        let mut items: Vec<u64> = numbers(100, 50).into_iter().map(|(key, _)| key).collect();
        Sorter { items: &mut items, less: |one: &u64, other: &u64| one < other }.sort(0, 100, 0);
        assert!(items.is_sorted());
    }
}
