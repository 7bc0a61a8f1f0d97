//! Unified diffs of JSON texts, as the server appends them to errors about immutable fields
//! (`k8s.io/apimachinery/pkg/util/diff`). They choose the same lines as `difflib` of Python.

use std::collections::BTreeMap;
use std::ops::Range;

/// The number of equal lines around a change.
const CONTEXT: usize = 3;
/// From this number of lines on, lines that occur often are no anchors.
const POPULAR_FROM: usize = 200;

/// Two ranges of lines, and whether they are equal.
#[derive(Debug, Clone)]
struct Block {
    old: Range<usize>,
    new: Range<usize>,
    is_equal: bool,
}

/// Returns the unified diff of two texts, without the names of files.
pub(super) fn unified(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
    let mut out = String::new();
    for group in groups(blocks(&old, &new)) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let range = |start: usize, end: usize| match end - start {
            1 => format!("{}", start + 1),
            0 => format!("{start},0"),
            length => format!("{},{length}", start + 1),
        };
        let old_range = range(first.old.start, last.old.end);
        out.push_str(&format!("@@ -{old_range} +{} @@\n", range(first.new.start, last.new.end)));
        for block in &group {
            if block.is_equal {
                write_lines(' ', &old[block.old.clone()], &mut out);
            } else {
                write_lines('-', &old[block.old.clone()], &mut out);
                write_lines('+', &new[block.new.clone()], &mut out);
            }
        }
    }
    out
}

fn write_lines(sign: char, lines: &[&str], out: &mut String) {
    for line in lines {
        out.push(sign);
        out.push_str(line);
        out.push('\n');
    }
}

/// Groups of changes that are near each other, with equal lines around them (`GetGroupedOpCodes`).
fn groups(mut blocks: Vec<Block>) -> Vec<Vec<Block>> {
    if let Some(first) = blocks.first_mut().filter(|block| block.is_equal) {
        first.old.start = first.old.start.max(first.old.end.saturating_sub(CONTEXT));
        first.new.start = first.new.start.max(first.new.end.saturating_sub(CONTEXT));
    }
    if let Some(last) = blocks.last_mut().filter(|block| block.is_equal) {
        last.old.end = last.old.end.min(last.old.start + CONTEXT);
        last.new.end = last.new.end.min(last.new.start + CONTEXT);
    }
    let mut groups = Vec::new();
    let mut group: Vec<Block> = Vec::new();
    for block in blocks {
        if block.is_equal && block.old.len() > 2 * CONTEXT {
            let mut end = block.clone();
            end.old.end = end.old.start + CONTEXT;
            end.new.end = end.new.start + CONTEXT;
            group.push(end);
            groups.push(std::mem::take(&mut group));
            let (old, new) = (block.old.end - CONTEXT, block.new.end - CONTEXT);
            group.push(Block { old: old..block.old.end, new: new..block.new.end, is_equal: true });
        } else {
            group.push(block);
        }
    }
    groups.push(group);
    groups.retain(|group| group.iter().any(|block| !block.is_equal));
    groups
}

/// The equal and the different ranges, in order (`GetOpCodes`).
fn blocks(old: &[&str], new: &[&str]) -> Vec<Block> {
    let mut blocks = Vec::new();
    let (mut at_old, mut at_new) = (0, 0);
    for (start_old, start_new, size) in matches(old, new) {
        if at_old < start_old || at_new < start_new {
            blocks.push(Block { old: at_old..start_old, new: at_new..start_new, is_equal: false });
        }
        (at_old, at_new) = (start_old + size, start_new + size);
        if size > 0 {
            blocks.push(Block { old: start_old..at_old, new: start_new..at_new, is_equal: true });
        }
    }
    blocks
}

/// The starts and lengths of equal ranges, adjacent ones joined, and an empty one at the end
/// (`GetMatchingBlocks`).
fn matches(old: &[&str], new: &[&str]) -> Vec<(usize, usize, usize)> {
    let positions = positions(new);
    let mut found = Vec::new();
    let mut open = vec![(0..old.len(), 0..new.len())];
    while let Some((old_range, new_range)) = open.pop() {
        let (start_old, start_new, size) =
            longest(old, new, &positions, old_range.clone(), new_range.clone());
        if size > 0 {
            found.push((start_old, start_new, size));
            open.push((old_range.start..start_old, new_range.start..start_new));
            open.push((start_old + size..old_range.end, start_new + size..new_range.end));
        }
    }
    found.sort_unstable();
    let mut joined: Vec<(usize, usize, usize)> = Vec::new();
    for (start_old, start_new, size) in found {
        match joined.last_mut() {
            Some(last) if last.0 + last.2 == start_old && last.1 + last.2 == start_new => last.2 += size,
            _ => joined.push((start_old, start_new, size)),
        }
    }
    joined.push((old.len(), new.len(), 0));
    joined
}

/// The positions of each line, without lines that occur too often (`chainB`).
fn positions<'a>(lines: &[&'a str]) -> BTreeMap<&'a str, Vec<usize>> {
    let mut positions: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, &line) in lines.iter().enumerate() {
        positions.entry(line).or_default().push(index);
    }
    if lines.len() >= POPULAR_FROM {
        let most = lines.len() / 100 + 1;
        positions.retain(|_, at| at.len() <= most);
    }
    positions
}

/// The longest equal range within two ranges, the first of several (`findLongestMatch`).
fn longest(
    old: &[&str],
    new: &[&str],
    positions: &BTreeMap<&str, Vec<usize>>,
    in_old: Range<usize>,
    in_new: Range<usize>,
) -> (usize, usize, usize) {
    let (mut start_old, mut start_new, mut size) = (in_old.start, in_new.start, 0);
    // The length of the equal range that ends at each position of `new`, for the last line of `old`.
    let mut lengths: BTreeMap<usize, usize> = BTreeMap::new();
    for index in in_old.clone() {
        let mut next = BTreeMap::new();
        let found = positions.get(old[index]).map(Vec::as_slice).unwrap_or_default();
        for &position in found.iter().filter(|position| in_new.contains(position)) {
            let before = position.checked_sub(1).and_then(|before| lengths.get(&before));
            let length = before.copied().unwrap_or(0) + 1;
            next.insert(position, length);
            if length > size {
                (start_old, start_new, size) = (index + 1 - length, position + 1 - length, length);
            }
        }
        lengths = next;
    }
    while start_old > in_old.start && start_new > in_new.start && old[start_old - 1] == new[start_new - 1] {
        (start_old, start_new, size) = (start_old - 1, start_new - 1, size + 1);
    }
    while start_old + size < in_old.end
        && start_new + size < in_new.end
        && old[start_old + size] == new[start_new + size]
    {
        size += 1;
    }
    (start_old, start_new, size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_changes_with_three_lines_of_context() {
        let old = "{\n \"A\": 1,\n \"B\": 2,\n \"C\": 3,\n \"D\": 4,\n \"E\": 5\n}";
        let new = old.replace('4', "9");
        let wanted = "@@ -2,6 +2,6 @@\n  \"A\": 1,\n  \"B\": 2,\n  \"C\": 3,\n- \"D\": 4,\n+ \"D\": 9,\n  \"E\": 5\n }\n";
        assert_eq!(unified(old, &new), wanted);
    }

    #[test]
    fn equal_texts_have_no_difference_and_distant_changes_separate_hunks() {
        assert_eq!(unified("a\nb", "a\nb"), "");
        let old: Vec<String> = (0..20).map(|line| line.to_string()).collect();
        let mut new = old.clone();
        new[0] = "x".to_owned();
        new.push("end".to_owned());
        let text = unified(&old.join("\n"), &new.join("\n"));
        let wanted = "@@ -1,4 +1,4 @@\n-0\n+x\n 1\n 2\n 3\n@@ -18,3 +18,4 @@\n 17\n 18\n 19\n+end\n";
        assert_eq!(text, wanted);
    }
}
