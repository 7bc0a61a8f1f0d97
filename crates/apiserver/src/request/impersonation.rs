//! The user to impersonate (`Impersonate-User` and related headers).

use std::collections::BTreeMap;

use http::HeaderMap;

const EXTRA_PREFIX: &str = "impersonate-extra-";

/// The user to impersonate, from the headers of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Impersonate {
    /// `Impersonate-User`.
    pub user: String,
    /// All `Impersonate-Group` headers.
    pub groups: Vec<String>,
    /// `Impersonate-Uid`.
    pub uid: String,
    /// `Impersonate-Extra-KEY`, by key.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Impersonate {
    /// Reads the headers of a request; `None` if there are no impersonation headers.
    pub fn read(headers: &HeaderMap) -> Option<Self> {
        let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let first = |name: &str| headers.get(name).map(text).unwrap_or_default();
        let mut asked = Self {
            user: first("impersonate-user"),
            groups: headers.get_all("impersonate-group").iter().map(text).collect(),
            uid: first("impersonate-uid"),
            extra: BTreeMap::new(),
        };
        for (name, value) in headers {
            if let Some(key) = name.as_str().strip_prefix(EXTRA_PREFIX) {
                let key = super::url::unescape(key).into_owned();
                asked.extra.entry(key).or_default().push(text(value));
            }
        }
        (asked != Self::default()).then_some(asked)
    }
}
