//! DER (X.690), the encoding of certificates and of requests for them: its elements, and the names in both.

pub(crate) const BOOLEAN: u8 = 0x01;
pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const UTC_TIME: u8 = 0x17;
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const OID: u8 = 0x06;

/// OID 2.5.4.3.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
/// OID 2.5.4.10.
const ORGANIZATION: &[u8] = &[0x55, 0x04, 0x0a];

/// The parts of a name in a certificate that Kubernetes uses.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Name {
    /// The last common name; empty if there is none.
    pub(crate) common_name: String,
    pub(crate) organizations: Vec<String>,
}

/// An element: its tag, its content, and all of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Element<'a> {
    pub(crate) tag: u8,
    pub(crate) content: &'a [u8],
    pub(crate) whole: &'a [u8],
}

/// Reads elements that follow each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    /// The next element; `None` at the end, or if the rest is malformed.
    pub(crate) fn next(&mut self) -> Option<Element<'a>> {
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
    pub(crate) fn next_if(&mut self, tag: u8) -> Option<Element<'a>> {
        if self.0.first() != Some(&tag) {
            return None;
        }
        self.next()
    }

    /// A reader of the content of the next element.
    pub(crate) fn enter(&mut self) -> Option<Self> {
        self.next().map(|element| Self(element.content))
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }
}

/// Parses the content of a name; `None` if it is malformed.
pub(crate) fn name(sets: &[u8]) -> Option<Name> {
    let mut name = Name::default();
    let mut sets = Reader(sets);
    while !sets.is_at_end() {
        let mut set = sets.enter()?;
        while !set.is_at_end() {
            let mut pair = set.enter()?;
            let kind = pair.next_if(OID)?.content;
            let text = String::from_utf8_lossy(pair.next()?.content).into_owned();
            match kind {
                COMMON_NAME => name.common_name = text,
                ORGANIZATION => name.organizations.push(text),
                _ => {}
            }
        }
    }
    Some(name)
}

/// The subject of a certificate request (RFC 2986, section 4.1); `None` if it is malformed.
pub(crate) fn subject_of_request(request: &[u8]) -> Option<Name> {
    let mut info = Reader(request).enter()?.enter()?;
    info.next()?;
    name(info.next()?.content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrap(tag: u8, parts: &[Vec<u8>]) -> Vec<u8> {
        let content = parts.concat();
        let length = u8::try_from(content.len()).unwrap();
        let head = if length < 0x80 { vec![tag, length] } else { vec![tag, 0x81, length] };
        [head, content].concat()
    }

    fn part(kind: &[u8], text: &str) -> Vec<u8> {
        let pair = wrap(0x30, &[wrap(OID, &[kind.to_vec()]), wrap(0x0c, &[text.as_bytes().to_vec()])]);
        wrap(0x31, &[pair])
    }

    #[test]
    fn the_subject_of_a_request_has_a_common_name_and_organizations() {
        let long = "a".repeat(130);
        let subject = [part(ORGANIZATION, "x"), part(&[0x55, 0x04, 0x06], "CH"), part(ORGANIZATION, "y")];
        let subject = wrap(0x30, &[subject.concat(), part(COMMON_NAME, &long[..100])]);
        let request = wrap(0x30, &[wrap(0x30, &[wrap(0x02, &[vec![0]]), subject])]);
        let name = subject_of_request(&request).unwrap();
        assert_eq!(
            (&*name.common_name, &name.organizations[..]),
            (&long[..100], &["x".to_owned(), "y".to_owned()][..])
        );
        assert_eq!(subject_of_request(&request[..20]), None);
        assert_eq!(subject_of_request(&[]), None);
    }
}
