//! Cached documents about the API itself, such as discovery. A document is created at its first request, and again when its
//! content changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest as _, Sha512};

use crate::reply::{Reply, ReplyBody};

/// A document and its hash.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) bytes: Bytes,
    /// SHA-512 in capital hexadecimal.
    pub(crate) hash: String,
}

/// The state that documents depend on: the epoch of CustomResourceDefinitions, and the Kubernetes minor.
pub(crate) type Stamp = (u64, u32);

/// The cached documents by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Documents(BTreeMap<String, (Stamp, Arc<Document>)>);

/// The most cached documents. Definitions can create any number of groups over time.
const MAX_CACHED: usize = 1024;

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

    /// The reply with the document, or 304 if the client already has it.
    pub(crate) fn reply(&self, content_type: &'static str, if_none_match: &str) -> Reply {
        let tag = format!("\"{}\"", self.hash);
        let is_unchanged = if_none_match.split(',').any(|client_tag| {
            let client_tag = client_tag.trim();
            client_tag == "*" || client_tag.trim_start_matches("W/") == tag
        });
        let mut reply = if is_unchanged {
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
    /// The document of a name. Creates it if there is none for `stamp`.
    pub(crate) fn get(&mut self, stamp: Stamp, name: &str, make: impl FnOnce() -> Bytes) -> Arc<Document> {
        if let Some((_, document)) = self.0.get(name).filter(|(made_for, _)| *made_for == stamp) {
            return Arc::clone(document);
        }
        if self.0.len() >= MAX_CACHED {
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
    fn get_creates_a_document_once_per_stamp() {
        let mut documents = Documents::default();
        let mut get = |stamp, text: &'static str| documents.get(stamp, "a", || text.into()).bytes.clone();
        assert_eq!(get((1, 36), "one"), "one");
        assert_eq!(get((1, 36), "two"), "one");
        assert_eq!(get((2, 36), "three"), "three");
    }

    #[test]
    fn reply_is_304_if_the_client_has_the_document() {
        let document = Document::new("x");
        let tag = format!("\"{}\"", document.hash);
        assert_eq!(document.reply("text/plain", "").code, 200);
        assert_eq!(document.reply("text/plain", "\"old\"").code, 200);
        assert_eq!(document.reply("text/plain", &tag).code, 304);
        assert_eq!(document.reply("text/plain", &format!("\"old\", {tag}")).code, 304);
    }
}
