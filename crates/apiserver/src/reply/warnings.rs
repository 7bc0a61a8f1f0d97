//! The warnings that an answer carries, of those that its request caused (`WithWarningRecorder`).

use std::collections::BTreeSet;

/// The number of characters in all headers from which on warnings are cut, and no more are sent.
const MOST: usize = 4 * 1024;
/// The number of characters of a cut warning.
const CUT: usize = 256;

/// The warnings to send: each one once, and cut if all together are too long. Those that no header can have are left out.
pub(crate) fn sent(warnings: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut sent: Vec<String> = Vec::new();
    let (mut written, mut cuts) = (0, false);
    for warning in warnings.into_iter().filter(|warning| !warning.is_empty()) {
        if cuts && written >= MOST {
            break;
        }
        if !seen.insert(warning.clone()) || warning.contains(char::is_control) {
            continue;
        }
        if !cuts && written + warning.chars().count() > MOST {
            cuts = true;
            sent.iter_mut().for_each(cut);
            written = sent.iter().map(|text| text.chars().count()).sum();
        }
        sent.push(warning);
        if let Some(last) = sent.last_mut() {
            if cuts {
                cut(last);
            }
            written += last.chars().count();
        }
    }
    sent
}

/// Shortens a warning.
fn cut(warning: &mut String) {
    if let Some((end, _)) = warning.char_indices().nth(CUT) {
        warning.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(warnings: &[String]) -> Vec<usize> {
        sent(warnings.to_vec()).iter().map(|warning| warning.chars().count()).collect()
    }

    #[test]
    fn each_warning_is_sent_once_and_only_if_a_header_can_have_it() {
        let given = ["a", "", "b", "a", "c\nd"].map(str::to_owned);
        assert_eq!(sent(given.to_vec()), ["a", "b"]);
    }

    #[test]
    fn long_warnings_are_cut_once_all_are_too_long() {
        let long = |letter: char, count: usize| String::from(letter).repeat(count);
        assert_eq!(lengths(&[long('a', 2000), long('ä', 2096)]), [2000, 2096]);
        assert_eq!(lengths(&[long('a', 2000), long('ä', 2097), long('c', 10)]), [256, 256, 10]);
        let many: Vec<String> = (0..10_000).map(|number| format!("{number:0300}")).collect();
        assert_eq!(lengths(&many), [256; 16]);
    }
}
