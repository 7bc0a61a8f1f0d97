//! The wire format of protocol buffers: a sequence of fields. Errors are those of Go's generated code.

/// A value on the wire.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Raw<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
    /// A group. It was skipped, because no type here has one.
    Group,
}

impl Raw<'_> {
    /// The number of the wire type.
    fn wire_type(self) -> u8 {
        match self {
            Self::Varint(_) => 0,
            Self::Fixed64(_) => 1,
            Self::Bytes(_) => 2,
            Self::Group => 3,
            Self::Fixed32(_) => 5,
        }
    }

    /// Go's message about a field of another wire type.
    pub(super) fn unexpected(self, field: &str) -> String {
        format!("proto: wrong wireType = {} for field {}", self.wire_type(), go_name(field))
    }
}

/// The Go name of a field, as far as the JSON name determines it.
fn go_name(field: &str) -> String {
    if field == "metadata" {
        return "ObjectMeta".to_owned();
    }
    let mut letters = field.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

const EOF: &str = "unexpected EOF";

/// Iterates over the fields of a message.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    /// The name of the message, for errors.
    message: &'a str,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], message: &'a str) -> Self {
        Self { rest: bytes, message }
    }

    /// The next field: its number and its value.
    ///
    /// # Errors
    /// Go's message about malformed bytes.
    pub(super) fn next(&mut self) -> Result<Option<(u32, Raw<'a>)>, String> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let key = varint(&mut self.rest)?;
        // Like Go, keep the signed low 32 bits.
        #[expect(clippy::cast_possible_truncation, reason = "as Go does")]
        let number = (key >> 3) as u32;
        let kind = key & 7;
        if kind == 4 {
            return Err(format!("proto: {}: wiretype end group for non-group", self.message));
        }
        if number == 0 || number > i32::MAX as u32 {
            let signed = number.cast_signed();
            return Err(format!("proto: {}: illegal tag {signed} (wire type {key})", self.message));
        }
        value(&mut self.rest, kind).map(|value| Some((number, value)))
    }
}

fn value<'a>(rest: &mut &'a [u8], kind: u64) -> Result<Raw<'a>, String> {
    Ok(match kind {
        0 => Raw::Varint(varint(rest)?),
        1 => Raw::Fixed64(u64::from_le_bytes(fixed(rest)?)),
        2 => {
            let length = varint(rest)?;
            let length = i64::try_from(length)
                .ok()
                .and_then(|length| usize::try_from(length).ok())
                .ok_or("proto: negative length found during unmarshaling")?;
            Raw::Bytes(take(rest, length)?)
        }
        3 => {
            skip_group(rest)?;
            Raw::Group
        }
        5 => Raw::Fixed32(u32::from_le_bytes(fixed(rest)?)),
        other => return Err(format!("proto: illegal wireType {other}")),
    })
}

/// Skips to the end of a group, including nested groups.
fn skip_group(rest: &mut &[u8]) -> Result<(), String> {
    let mut open = 1_u64;
    while open > 0 {
        match varint(rest)? & 7 {
            3 => open += 1,
            4 => open -= 1,
            kind => {
                value(rest, kind)?;
            }
        }
    }
    Ok(())
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8], String> {
    let (taken, after) = rest.split_at_checked(length).ok_or(EOF)?;
    *rest = after;
    Ok(taken)
}

fn fixed<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], String> {
    take(rest, N)?.try_into().map_err(|_| EOF.to_owned())
}

/// Decodes a number in base 128, least significant digit first.
pub(super) fn varint(rest: &mut &[u8]) -> Result<u64, String> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first().ok_or(EOF)?;
        *rest = after;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err("proto: integer overflow".to_owned())
}
