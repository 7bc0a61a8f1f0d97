//! Parses the path and the query of a request.

use std::borrow::Cow;

/// The path of a request. Parsing looks at the syntax alone: the resource need not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target<'a> {
    /// A resource under `/api` or `/apis`.
    Resource(ResourcePath<'a>),
    /// Any other path, such as `/version` or `/apis/apps/v1`.
    Path(Cow<'a, str>),
}

/// A path to a resource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourcePath<'a> {
    /// API group; empty for the core group.
    pub group: Cow<'a, str>,
    /// API version.
    pub version: Cow<'a, str>,
    /// Namespace; empty for cluster scope or all namespaces.
    pub namespace: Cow<'a, str>,
    /// Plural.
    pub resource: Cow<'a, str>,
    /// Name; empty for the collection.
    pub name: Cow<'a, str>,
    /// Subresource; empty for the object itself.
    pub subresource: Cow<'a, str>,
    /// Whether the path has the old `watch` prefix.
    pub watch: bool,
    /// Whether the path names a namespace without a name, as in `namespaces//pods`.
    pub has_empty_namespace: bool,
}

/// Query parameters in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Creates a query from key-value pairs.
    pub fn new(pairs: Vec<(String, String)>) -> Self {
        Self(pairs)
    }

    /// Reads the part of a URL after `?`.
    pub fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(&key.replace('+', " ")).into_owned(), decode(&value.replace('+', " ")).into_owned())
        });
        Self(pairs.collect())
    }

    /// All parameters, by name.
    pub fn pairs(&self) -> &[(String, String)] {
        &self.0
    }

    /// These parameters, then those of another query.
    pub(crate) fn followed_by(&self, other: Self) -> Self {
        Self(self.0.iter().cloned().chain(other.0).collect())
    }

    /// The first value of a parameter; empty if it is not given.
    pub fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    /// All values of a parameter.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether a parameter is given, with or without a value.
    pub fn is_given(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    /// Whether a boolean parameter is set: given as anything but `false` or `0`, even without a value
    /// (`runtime.Convert_Slice_string_To_bool`).
    pub fn is_true(&self, name: &str) -> bool {
        let value = self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        value.is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }
}

impl<'a> Target<'a> {
    /// Splits a URL path.
    pub fn parse(path: &'a str) -> Self {
        // Go splits the decoded path.
        if path.contains("%2f") || path.contains("%2F") {
            let split = path.replace("%2f", "/").replace("%2F", "/");
            return match ResourcePath::parse(&split) {
                Some(found) => Self::Resource(found.into_owned()),
                None => Self::Path(Cow::Owned(decode(&split).into_owned())),
            };
        }
        ResourcePath::parse(path).map_or_else(|| Self::Path(decode(path)), Self::Resource)
    }
}

impl<'a> ResourcePath<'a> {
    fn parse(path: &'a str) -> Option<Self> {
        let mut parts: Vec<&'a str> = path.trim_matches('/').split('/').collect();
        if let Some(empty) = parts.iter().position(|part| part.is_empty()) {
            if parts[..empty].contains(&"proxy") {
                parts.retain(|part| !part.is_empty());
            } else if empty > 0 && parts[empty - 1] == "namespaces" && matches!(empty, 3 | 4) {
                // A parameter of a route matches an empty segment.
                parts.drain(empty - 1..=empty);
                let path = parts.join("/");
                let found = ResourcePath::parse(&path)?.into_owned();
                return Some(ResourcePath { has_empty_namespace: true, ..found });
            } else {
                // No route has an empty segment.
                return match parts[..] {
                    ["api", version, ..] => Some(Self::unknown("", version)),
                    ["apis", group, version, ..] if empty > 2 => Some(Self::unknown(group, version)),
                    _ => None,
                };
            }
        }
        let (group, version, mut rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return None,
        };
        let watch = rest.len() > 1 && rest[0] == "watch";
        if watch {
            rest = &rest[1..];
        }
        // `namespaces/x/status` and `namespaces/x/finalize` are subresources of the namespace itself.
        let (namespace, rest) = match rest {
            ["namespaces", _, "status" | "finalize"] => ("", rest),
            ["namespaces", namespace, inner @ ..] if !inner.is_empty() => (*namespace, inner),
            _ => ("", rest),
        };
        let (resource, name, subresource) = match rest {
            [resource] => (*resource, "", Cow::Borrowed("")),
            [resource, name] => (*resource, *name, Cow::Borrowed("")),
            [resource, name, subresource] => (*resource, *name, decode(subresource)),
            [resource, name, more @ ..] => (*resource, *name, Cow::Owned(more.join("/"))),
            [] => return None,
        };
        Some(Self {
            group: decode(group),
            version: decode(version),
            namespace: decode(namespace),
            resource: decode(resource),
            name: decode(name),
            subresource,
            watch,
            has_empty_namespace: false,
        })
    }

    /// A path of a group and version that is not of a resource.
    fn unknown(group: &'a str, version: &'a str) -> Self {
        Self { group: decode(group), version: decode(version), ..Self::default() }
    }

    fn into_owned(self) -> ResourcePath<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        ResourcePath {
            group: own(self.group),
            version: own(self.version),
            namespace: own(self.namespace),
            resource: own(self.resource),
            name: own(self.name),
            subresource: own(self.subresource),
            watch: self.watch,
            has_empty_namespace: self.has_empty_namespace,
        }
    }
}

/// Decodes percent encoding. Invalid escapes stay unchanged.
pub(crate) fn unescape(text: &str) -> Cow<'_, str> {
    decode(text)
}

fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let escaped = (*byte == b'%')
            .then(|| bytes.get(at + 1..at + 3))
            .flatten()
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        out.push(escaped.unwrap_or(*byte));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(path: &str) -> String {
        match Target::parse(path) {
            Target::Path(path) => format!("path {path}"),
            Target::Resource(found) => [
                found.group,
                found.version,
                found.namespace,
                found.resource,
                found.name,
                found.subresource,
                Cow::Borrowed(if found.watch { "watch" } else { "" }),
            ]
            .join("|"),
        }
    }

    #[test]
    fn paths_are_split_by_syntax() {
        for (path, parts) in [
            ("/api/v1/pods", "|v1||pods|||"),
            ("/api/v1/namespaces", "|v1||namespaces|||"),
            ("/api/v1/namespaces/a", "|v1||namespaces|a||"),
            ("/api/v1/namespaces/a/status", "|v1||namespaces|a|status|"),
            ("/api/v1/namespaces/a/pods/b/log", "|v1|a|pods|b|log|"),
            ("/apis/apps/v1/namespaces/a/deployments", "apps|v1|a|deployments|||"),
            ("/api/v1/watch/namespaces/a/pods/b", "|v1|a|pods|b||watch"),
            ("/apis/g.io/v1/things/a%3Ab", "g.io|v1||things|a:b||"),
            ("/apis/apps/v1", "path /apis/apps/v1"),
            ("/version", "path /version"),
            ("/api/v1/namespaces/a/configmaps/", "|v1|a|configmaps|||"),
            ("/api/v1/namespaces/a/configmaps/%2F", "|v1|a|configmaps|||"),
            ("/api/v1/namespaces%2Fa%2fconfigmaps/b%2525", "|v1|a|configmaps|b%25||"),
            ("/api/v1//namespaces", "|v1|||||"),
            ("/api/v1/namespaces//pods/a", "|v1||pods|a||"),
            ("/apis/apps/v1//deployments", "apps|v1|||||"),
            ("/api/v1/namespaces/a/services/b/proxy//c", "|v1|a|services|b|proxy/c|"),
        ] {
            assert_eq!(split(path), parts, "{path}");
        }
    }

    #[test]
    fn queries_are_decoded_and_tolerate_the_empty_pairs_that_kube_sends() {
        let query = Query::parse("&watch=true&labelSelector=a%20in+%28b%29");
        assert!(query.is_true("watch"));
        assert_eq!(query.get("labelSelector"), "a in (b)");
        assert_eq!(query.get("limit"), "");
    }
}
