//! Makes damaged inputs of valid ones.

use fastrand::Rng;

/// The most bytes of an input.
const LEN_MAX: usize = 256 << 10;

/// The most levels of nesting that are inserted.
const DEPTH_MAX: usize = 60_000;

/// Texts that readers often get wrong.
const TOKENS: [&[u8]; 28] = [
    b"null",
    b"true",
    b"\"\"",
    b"''",
    b"{}",
    b"[]",
    b"-1",
    b"0",
    b"-0",
    b"1e999",
    b"1e-999",
    b"NaN",
    b".inf",
    b"9223372036854775807",
    b"9223372036854775808",
    b"-9223372036854775809",
    b"18446744073709551616",
    b"0.1e+309",
    b"99999999999999999999999999999999999999",
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x98\x80",
    b"\r\n",
    b"&a [*a]",
    b"9999-12-31T23:59:60Z",
    b"4.999999999999.18446744073709551615",
];

/// Pairs of brackets for nesting.
const BRACKETS: [(&[u8], &[u8]); 5] =
    [(b"[", b"]"), (b"{\"a\":", b"}"), (b"(", b")"), (b"- ", b""), (b"<a>", b"</a>")];

/// A way to damage an input.
#[derive(Debug, Clone, Copy)]
enum Damage {
    FlipBit,
    ChangeByte,
    Truncate,
    Delete,
    Repeat,
    Splice,
    Token,
    Number,
    Nest,
    SwapLines,
    RepeatLine,
}

const DAMAGES: [Damage; 11] = [
    Damage::FlipBit,
    Damage::ChangeByte,
    Damage::Truncate,
    Damage::Delete,
    Damage::Repeat,
    Damage::Splice,
    Damage::Token,
    Damage::Number,
    Damage::Nest,
    Damage::SwapLines,
    Damage::RepeatLine,
];

/// Draws a damaged input from valid ones.
pub(super) fn mutate(examples: &[Vec<u8>], draws: &mut Rng) -> Vec<u8> {
    let mut bytes = draws.choice(examples).cloned().unwrap_or_default();
    for _ in 0..=draws.usize(..4) {
        let damage = DAMAGES[draws.usize(..DAMAGES.len())];
        apply(damage, &mut bytes, examples, draws);
        bytes.truncate(LEN_MAX);
    }
    bytes
}

fn apply(damage: Damage, bytes: &mut Vec<u8>, examples: &[Vec<u8>], draws: &mut Rng) {
    let at = draws.usize(..=bytes.len());
    match damage {
        Damage::FlipBit => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << draws.u8(..8);
            }
        }
        Damage::ChangeByte => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = draws.u8(..);
            }
        }
        Damage::Truncate => bytes.truncate(at),
        Damage::Delete => drop(bytes.drain(at..end(at, bytes.len(), draws))),
        Damage::Repeat => {
            let part = bytes[at..end(at, bytes.len(), draws)].to_vec();
            let times = (1 << draws.u32(..12)).min(LEN_MAX / part.len().max(1));
            insert(bytes, at, &part.repeat(times));
        }
        Damage::Splice => {
            let other = draws.choice(examples).map_or(&[][..], Vec::as_slice);
            let from = draws.usize(..=other.len());
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
        Damage::Token => insert(bytes, at, TOKENS[draws.usize(..TOKENS.len())]),
        Damage::Number => replace_number(bytes, at, draws),
        Damage::Nest => nest(bytes, at, draws),
        Damage::SwapLines | Damage::RepeatLine => change_lines(damage, bytes, draws),
    }
}

/// The end of a part, which is short more often than long.
fn end(from: usize, len: usize, draws: &mut Rng) -> usize {
    let span = 1 << draws.u32(..16);
    from + draws.usize(..=span.min(len - from))
}

fn insert(bytes: &mut Vec<u8>, at: usize, part: &[u8]) {
    bytes.splice(at..at, part.iter().copied());
}

/// Replaces the next number after a place.
fn replace_number(bytes: &mut Vec<u8>, at: usize, draws: &mut Rng) {
    let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit).map(|found| at + found) else { return };
    let length = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let new = match draws.u8(..3) {
        0 => "9".repeat(draws.usize(1..400)).into_bytes(),
        1 => draws.u64(..).to_string().into_bytes(),
        _ => TOKENS[draws.usize(6..19)].to_vec(),
    };
    bytes.splice(start..start + length, new);
}

/// Inserts many levels of brackets, or wraps everything in them.
fn nest(bytes: &mut Vec<u8>, at: usize, draws: &mut Rng) {
    let (open, close) = BRACKETS[draws.usize(..BRACKETS.len())];
    let depth = (1_usize << draws.u32(..17)).min(DEPTH_MAX);
    if draws.bool() {
        insert(bytes, at, &[open.repeat(depth), close.repeat(depth)].concat());
    } else {
        *bytes = [open.repeat(depth), std::mem::take(bytes), close.repeat(depth)].concat();
    }
}

fn change_lines(damage: Damage, bytes: &mut Vec<u8>, draws: &mut Rng) {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    if lines.is_empty() {
        return;
    }
    let (one, other) = (draws.usize(..lines.len()), draws.usize(..lines.len()));
    if matches!(damage, Damage::SwapLines) {
        lines.swap(one, other);
    } else {
        lines.insert(other, lines[one]);
    }
    *bytes = lines.concat();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examples() -> Vec<Vec<u8>> {
        vec![
            b"{\"a\": [1, 22, \"x\"]}\n{\"b\": 3}\n".to_vec(),
            b"kind: A\nspec:\n  n: 7\n".to_vec(),
            Vec::new(),
        ]
    }

    #[test]
    fn every_damage_changes_some_input_and_none_panics() {
        for damage in DAMAGES {
            let mut draws = Rng::with_seed(1);
            let mut changed = 0;
            for example in examples().iter().cycle().take(600) {
                let mut bytes = example.clone();
                apply(damage, &mut bytes, &examples(), &mut draws);
                changed += usize::from(bytes != *example);
            }
            assert!(changed > 100, "{damage:?}: {changed}");
        }
    }

    #[test]
    fn inputs_are_bounded_and_depend_on_the_seed_alone() {
        let inputs = |seed| {
            let mut draws = Rng::with_seed(seed);
            (0..500).map(|_| mutate(&examples(), &mut draws)).collect::<Vec<_>>()
        };
        assert!(inputs(1) == inputs(1) && inputs(1) != inputs(2));
        assert!(inputs(3).iter().all(|input| input.len() <= LEN_MAX));
        // Without any example there is still an input.
        mutate(&[], &mut Rng::with_seed(1));
    }

    #[test]
    fn a_number_is_replaced_as_a_whole() {
        let mut bytes = b"a 123 b".to_vec();
        replace_number(&mut bytes, 0, &mut Rng::with_seed(5));
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.starts_with("a ") && text.ends_with(" b") && text != "a 123 b", "{text}");
    }
}
