//! PEM blocks, as Go's `encoding/pem` reads them.

use base64::Engine as _;

/// A PEM block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) label: String,
    pub(crate) has_headers: bool,
    pub(crate) bytes: Vec<u8>,
}

/// The well-formed blocks of a text.
pub(crate) fn blocks(text: &[u8]) -> Vec<Block> {
    let text = String::from_utf8_lossy(text);
    let mut lines = text.lines();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        let label = line.trim_end().strip_prefix("-----BEGIN ").and_then(|rest| rest.strip_suffix("-----"));
        if let Some(label) = label {
            found.extend(read(label, &mut lines));
        }
    }
    found
}

/// Reads a block after its first line; `None` if it is malformed.
fn read<'a>(label: &str, lines: &mut impl Iterator<Item = &'a str>) -> Option<Block> {
    let end = format!("-----END {label}-----");
    let (mut data, mut has_headers) = (String::new(), false);
    for line in lines {
        let line = line.trim();
        if line == end {
            let bytes = base64::engine::general_purpose::STANDARD.decode(data).ok()?;
            return Some(Block { label: label.to_owned(), has_headers, bytes });
        }
        if line.contains(':') && data.is_empty() {
            has_headers = true;
        } else {
            data.push_str(line);
        }
    }
    None
}

/// Whether bytes are one ASN.1 sequence, as those of a certificate are.
pub(super) fn is_sequence(bytes: &[u8]) -> bool {
    let [0x30, length, rest @ ..] = bytes else { return false };
    if *length < 0x80 {
        return rest.len() == usize::from(*length);
    }
    let count = usize::from(length & 0x7f);
    let Some((size, rest)) = rest.split_at_checked(count) else { return false };
    count <= 4 && rest.len() == size.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_blocks_and_skips_malformed_ones() {
        let text = b"x\n-----BEGIN A-----\nMAA=\n-----END A-----\n-----BEGIN B-----\n?\n-----END B-----\n";
        let block = Block { label: "A".to_owned(), has_headers: false, bytes: vec![0x30, 0] };
        assert_eq!(blocks(text), [block]);
        assert!(is_sequence(&[0x30, 0]));
        assert!(is_sequence(&[0x30, 0x81, 1, 5]));
        assert!(!is_sequence(&[0x30, 2, 5]));
        assert!(!is_sequence(b"hello"));
    }
}
