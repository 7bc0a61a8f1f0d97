//! The parts of ASN.1 in DER that identities and certificate requests need (X.690).

const OID: u8 = 0x06;
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

/// The tag and content of the first element, and the rest.
pub(crate) fn element(input: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, input) = input.split_first()?;
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
    Some((*tag, content, rest))
}

/// Parses the content of a name; `None` if it is malformed.
pub(crate) fn name(mut sets: &[u8]) -> Option<Name> {
    let mut name = Name::default();
    while !sets.is_empty() {
        let (_, mut set, rest) = element(sets)?;
        sets = rest;
        while !set.is_empty() {
            let (_, pair, rest) = element(set)?;
            set = rest;
            let (OID, kind, value) = element(pair)? else { return None };
            let (_, value, _) = element(value)?;
            let text = String::from_utf8_lossy(value).into_owned();
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
    let (_, request, _) = element(request)?;
    let (_, info, _) = element(request)?;
    let (_, _version, info) = element(info)?;
    name(element(info)?.1)
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
