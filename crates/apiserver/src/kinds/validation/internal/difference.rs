//! Unified diffs of JSON texts, as the server appends them to errors about immutable fields
//! (`k8s.io/apimachinery/pkg/util/diff`, which matches lines like Python's `difflib`).

use std::collections::BTreeMap;

/// The number of equal lines around a change.
const CONTEXT: usize = 3;

/// Lines `from.0..from.1` of the old text and `to.0..to.1` of the new text.
#[derive(Debug, Clone, Copy)]
struct Span {
    equal: bool,
    from: (usize, usize),
    to: (usize, usize),
}

/// Returns the unified diff of two texts.
pub(in crate::kinds::validation) fn unified(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
    let mut out = String::new();
    for group in grouped(spans(&old, &new)) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let (from, to) = ((first.from.0, last.from.1), (first.to.0, last.to.1));
        out.push_str(&format!("@@ -{} +{} @@\n", range(from), range(to)));
        for span in &group {
            let (removed, added) = (&old[span.from.0..span.from.1], &new[span.to.0..span.to.1]);
            if span.equal {
                write(&mut out, ' ', removed);
            } else {
                write(&mut out, '-', removed);
                write(&mut out, '+', added);
            }
        }
    }
    out
}

fn write(out: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        out.push(sign);
        out.push_str(line);
        out.push('\n');
    }
}

/// A range of lines in a header: the first line and the number of lines, unless it is one.
fn range((start, end): (usize, usize)) -> String {
    match end - start {
        1 => (start + 1).to_string(),
        0 => format!("{start},0"),
        length => format!("{},{length}", start + 1),
    }
}

/// The equal and unequal spans of two texts, in order.
fn spans(old: &[&str], new: &[&str]) -> Vec<Span> {
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, line) in new.iter().enumerate() {
        places.entry(line).or_default().push(place);
    }
    let mut matches = Vec::new();
    collect(old, &places, (0, old.len()), (0, new.len()), &mut matches);
    matches.push((old.len(), new.len(), 0));
    let (mut spans, mut from, mut to) = (Vec::<Span>::new(), 0, 0);
    for (i, j, length) in matches {
        if from < i || to < j {
            spans.push(Span { equal: false, from: (from, i), to: (to, j) });
        }
        (from, to) = (i + length, j + length);
        match spans.last_mut().filter(|last| last.equal && last.from.1 == i && last.to.1 == j) {
            Some(last) => (last.from.1, last.to.1) = (from, to),
            None if length > 0 => spans.push(Span { equal: true, from: (i, from), to: (j, to) }),
            None => {}
        }
    }
    spans
}

/// Collects the longest match in two ranges, after those to the left and before those to the right of it.
fn collect(
    old: &[&str],
    places: &BTreeMap<&str, Vec<usize>>,
    from: (usize, usize),
    to: (usize, usize),
    matches: &mut Vec<(usize, usize, usize)>,
) {
    let (mut i, mut j, mut length) = (from.0, to.0, 0);
    let mut before: BTreeMap<usize, usize> = BTreeMap::new();
    for (place, line) in old.iter().enumerate().take(from.1).skip(from.0) {
        let mut lengths = BTreeMap::new();
        let candidates = places.get(line).into_iter().flatten();
        for other in candidates.copied().filter(|other| (to.0..to.1).contains(other)) {
            let size = 1 + other.checked_sub(1).and_then(|left| before.get(&left)).copied().unwrap_or(0);
            lengths.insert(other, size);
            if size > length {
                (i, j, length) = (place + 1 - size, other + 1 - size, size);
            }
        }
        before = lengths;
    }
    if length > 0 {
        collect(old, places, (from.0, i), (to.0, j), matches);
        matches.push((i, j, length));
        collect(old, places, (i + length, from.1), (j + length, to.1), matches);
    }
}

/// Groups spans that are near each other, and shortens the equal ones around the groups.
fn grouped(mut spans: Vec<Span>) -> Vec<Vec<Span>> {
    let tail = |span: Span| Span {
        from: (span.from.0.max(span.from.1.saturating_sub(CONTEXT)), span.from.1),
        to: (span.to.0.max(span.to.1.saturating_sub(CONTEXT)), span.to.1),
        ..span
    };
    let head = |span: Span| Span {
        from: (span.from.0, span.from.1.min(span.from.0 + CONTEXT)),
        to: (span.to.0, span.to.1.min(span.to.0 + CONTEXT)),
        ..span
    };
    if let Some(first) = spans.first_mut().filter(|span| span.equal) {
        *first = tail(*first);
    }
    if let Some(last) = spans.last_mut().filter(|span| span.equal) {
        *last = head(*last);
    }
    let mut groups = vec![Vec::new()];
    for span in spans {
        let far = span.equal && span.from.1 - span.from.0 > 2 * CONTEXT;
        let Some(group) = groups.last_mut() else { continue };
        if far {
            group.push(head(span));
            groups.push(vec![tail(span)]);
        } else {
            group.push(span);
        }
    }
    groups.retain(|group| group.iter().any(|span| !span.equal));
    groups
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
