//! Documents about the API itself, such as discovery: each is made when it is first asked for, and kept until what it
//! tells of changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest as _, Sha512};

use super::reply::{Reply, ReplyBody};

/// A document, and a hash of it.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) bytes: Bytes,
    /// SHA-512 in capital hexadecimal.
    pub(crate) hash: String,
}

/// What a document tells of: the epoch of CustomResourceDefinitions, and the minor of Kubernetes.
pub(crate) type Stamp = (u64, u32);

/// Documents by a name of their own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Documents(BTreeMap<String, (Stamp, Arc<Document>)>);

/// How many documents are kept at most; groups come and go.
const KEPT: usize = 1024;

impl Document {
    pub(crate) fn new(bytes: impl Into<Bytes>) -> Self {
        use std::fmt::Write as _;
        let bytes = bytes.into();
        let mut hash = String::with_capacity(128);
        for byte in Sha512::digest(&bytes) {
            let _ = write!(hash, "{byte:02X}");
        }
        Self { bytes, hash }
    }

    /// The answer that brings the document, or tells that the client has it already.
    pub(crate) fn reply(&self, content_type: &'static str, if_none_match: &str) -> Reply {
        let tag = format!("\"{}\"", self.hash);
        let known = if_none_match.split(',').any(|one| {
            let one = one.trim();
            one == "*" || one.trim_start_matches("W/") == tag
        });
        let mut reply = if known {
            Reply::new(304, ReplyBody::Text(String::new()))
        } else {
            Reply::new(200, ReplyBody::Bytes { content_type, bytes: self.bytes.clone() })
        };
        reply.headers.push(("etag", tag));
        reply.headers.push(("vary", "Accept".to_owned()));
        reply
    }
}

impl Documents {
    /// The document of a name, made now if it was not for `stamp`.
    pub(crate) fn get(&mut self, stamp: Stamp, name: &str, make: impl FnOnce() -> Bytes) -> Arc<Document> {
        if let Some((_, document)) = self.0.get(name).filter(|(of, _)| *of == stamp) {
            return Arc::clone(document);
        }
        if self.0.len() >= KEPT {
            self.0.clear();
        }
        let document = Arc::new(Document::new(make()));
        self.0.insert(name.to_owned(), (stamp, Arc::clone(&document)));
        document
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_made_once_for_what_is_served() {
        let mut documents = Documents::default();
        let mut get = |stamp, text: &'static str| documents.get(stamp, "a", || text.into()).bytes.clone();
        assert_eq!(get((1, 36), "one"), "one");
        assert_eq!(get((1, 36), "two"), "one");
        assert_eq!(get((2, 36), "three"), "three");
    }

    #[test]
    fn who_has_a_document_is_not_sent_it_again() {
        let document = Document::new("x");
        let tag = format!("\"{}\"", document.hash);
        assert_eq!(document.reply("text/plain", "").code, 200);
        assert_eq!(document.reply("text/plain", "\"old\"").code, 200);
        assert_eq!(document.reply("text/plain", &tag).code, 304);
        assert_eq!(document.reply("text/plain", &format!("\"old\", {tag}")).code, 304);
    }
}
