//! Makes damaged inputs of valid ones.

use crate::fuzz::dice::Dice;

/// The most bytes of an input.
const LONGEST: usize = 256 << 10;

/// The most levels of nesting that are inserted.
const DEEPEST: usize = 60_000;

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

/// Those of them that are numbers.
const NUMBERS: std::ops::Range<usize> = 6..19;

/// Pairs of brackets for nesting.
const BRACKETS: [(&[u8], &[u8]); 5] =
    [(b"[", b"]"), (b"{\"a\":", b"}"), (b"(", b")"), (b"- ", b""), (b"<a>", b"</a>")];

/// Draws a damaged input from valid ones.
pub(in crate::fuzz) fn damaged(dice: &mut Dice, valid: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = valid[dice.index(valid.len())].clone();
    for _ in 0..dice.number(1, 4) {
        damage(dice, &mut bytes, valid);
        bytes.truncate(LONGEST);
    }
    bytes
}

fn damage(dice: &mut Dice, bytes: &mut Vec<u8>, valid: &[Vec<u8>]) {
    let at = dice.count(0, bytes.len());
    match dice.number(0, 10) {
        0 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << dice.number(0, 7)),
        1 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = any_byte(dice)),
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..end(dice, at, bytes.len()))),
        4 => {
            let part = bytes[at..end(dice, at, bytes.len())].to_vec();
            let times = (1 << dice.number(0, 11)).min(LONGEST / part.len().max(1));
            insert(bytes, at, &part.repeat(times));
        }
        5 => {
            let other = &valid[dice.index(valid.len())];
            bytes.truncate(at);
            bytes.extend_from_slice(&other[dice.count(0, other.len())..]);
        }
        6 => insert(bytes, at, TOKENS[dice.index(TOKENS.len())]),
        7 => replace_number(dice, bytes, at),
        8 => nest(dice, bytes, at),
        _ => move_line(dice, bytes),
    }
}

fn any_byte(dice: &mut Dice) -> u8 {
    u8::try_from(dice.number(0, 255)).unwrap()
}

/// The end of a part, which is short more often than long.
fn end(dice: &mut Dice, from: usize, length: usize) -> usize {
    let span = 1 << dice.number(0, 15);
    from + dice.count(0, span.min(length - from))
}

fn insert(bytes: &mut Vec<u8>, at: usize, part: &[u8]) {
    bytes.splice(at..at, part.iter().copied());
}

/// Replaces the next number after a place.
fn replace_number(dice: &mut Dice, bytes: &mut Vec<u8>, at: usize) {
    let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit).map(|found| at + found) else { return };
    let length = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let new = match dice.number(0, 2) {
        0 => "9".repeat(dice.count(1, 399)).into_bytes(),
        1 => dice.integer().unsigned_abs().to_string().into_bytes(),
        _ => TOKENS[NUMBERS][dice.index(NUMBERS.len())].to_vec(),
    };
    bytes.splice(start..start + length, new);
}

/// Inserts many levels of brackets, or wraps everything in them.
fn nest(dice: &mut Dice, bytes: &mut Vec<u8>, at: usize) {
    let (open, close) = BRACKETS[dice.index(BRACKETS.len())];
    let depth = (1_usize << dice.number(0, 16)).min(DEEPEST);
    if dice.one_in(2) {
        insert(bytes, at, &[open.repeat(depth), close.repeat(depth)].concat());
    } else {
        *bytes = [open.repeat(depth), std::mem::take(bytes), close.repeat(depth)].concat();
    }
}

/// Swaps two lines, or repeats one.
fn move_line(dice: &mut Dice, bytes: &mut Vec<u8>) {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    if lines.is_empty() {
        return;
    }
    let one = dice.index(lines.len());
    let other = dice.index(lines.len());
    if dice.one_in(2) {
        lines.swap(one, other);
    } else {
        lines.insert(other, lines[one]);
    }
    *bytes = lines.concat();
}

#[test]
fn damaged_inputs_differ_and_are_bounded() {
    let valid =
        [b"{\"a\": [1, 22, \"x\"]}\n{\"b\": 3}\n".to_vec(), b"kind: A\nspec:\n  n: 7\n".to_vec(), Vec::new()];
    let inputs: Vec<Vec<u8>> = (0..600).map(|seed| damaged(&mut Dice::new("damage", seed), &valid)).collect();
    assert!(inputs.iter().all(|input| input.len() <= LONGEST));
    assert!(inputs.iter().filter(|input| !valid.contains(input)).count() > 300);
}
