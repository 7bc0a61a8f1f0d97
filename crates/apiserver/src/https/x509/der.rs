//! Elements of DER, the encoding of certificates.

pub(super) const BOOLEAN: u8 = 0x01;
pub(super) const INTEGER: u8 = 0x02;
pub(super) const UTC_TIME: u8 = 0x17;
pub(in crate::https) const SEQUENCE: u8 = 0x30;
pub(in crate::https) const OID: u8 = 0x06;

/// An element: its tag, its content, and all of it.
#[derive(Debug, Clone, Copy)]
pub(in crate::https) struct Element<'a> {
    pub(in crate::https) tag: u8,
    pub(in crate::https) content: &'a [u8],
    pub(super) whole: &'a [u8],
}

/// Reads elements that follow each other.
#[derive(Debug, Clone, Copy)]
pub(in crate::https) struct Reader<'a>(pub(in crate::https) &'a [u8]);

impl<'a> Reader<'a> {
    /// The next element; `None` at the end, or if the rest is malformed.
    pub(in crate::https) fn next(&mut self) -> Option<Element<'a>> {
        let (tag, input) = self.0.split_first()?;
        let (length, input) = input.split_first()?;
        let (length, input) = match length {
            0..=0x7f => (usize::from(*length), input),
            0x81..=0x84 => {
                let (digits, rest) = input.split_at_checked(usize::from(length & 0x7f))?;
                (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
            }
            _ => return None,
        };
        let (content, rest) = input.split_at_checked(length)?;
        let whole = self.0.get(..self.0.len() - rest.len())?;
        self.0 = rest;
        Some(Element { tag: *tag, content, whole })
    }

    /// The next element, if it has this tag.
    pub(in crate::https) fn next_if(&mut self, tag: u8) -> Option<Element<'a>> {
        if self.0.first() != Some(&tag) {
            return None;
        }
        self.next()
    }

    /// A reader of the content of the next element.
    pub(in crate::https) fn enter(&mut self) -> Option<Self> {
        self.next().map(|element| Self(element.content))
    }

    pub(in crate::https) fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }
}
