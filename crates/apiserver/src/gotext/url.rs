//! URLs as Go parses them (`url.ParseRequestURI` of `net/url`), with Go's messages for invalid ones.

use std::fmt;

use super::quote;

/// The parts of a URL.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Url {
    pub(crate) scheme: String,
    /// Unescaped, with the port.
    pub(crate) host: String,
    /// As written, escaped.
    pub(crate) path: String,
    pub(crate) query: String,
}

impl Url {
    /// Parses an absolute URI or an absolute path. Fragments are not parsed: a `#` is an ordinary character.
    ///
    /// # Errors
    /// Go's message.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        read(text).map_err(|why| format!("parse {}: {why}", quote(text)))
    }

    /// The host without its port, and the port.
    pub(crate) fn host_and_port(&self) -> (&str, &str) {
        if let Some(end) = self.host.find(']') {
            let port = self.host.get(end + 1..).and_then(|rest| rest.strip_prefix(':')).unwrap_or("");
            return (self.host.get(1..end).unwrap_or(""), port);
        }
        let at = self.host.rfind(':').unwrap_or(self.host.len());
        (&self.host[..at], self.host.get(at + 1..).unwrap_or(""))
    }

    /// The path without escapes.
    pub(crate) fn unescaped_path(&self) -> String {
        // It was unescaped once when the URL was parsed.
        unescape(&self.path, |_| Ok(()), false).unwrap_or_default()
    }

    /// The parameters of the query in their order (`ParseQuery`), without invalid ones.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = (String, String)> {
        let readable = self.query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';'));
        readable.filter_map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let plain = |text: &str| unescape(&text.replace('+', " "), |_| Ok(()), false).ok();
            Some((plain(name)?, plain(value)?))
        })
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.host, self.path)?;
        if self.query.is_empty() { Ok(()) } else { write!(f, "?{}", self.query) }
    }
}

/// Cleans a path like `path.Join("/", path)` in Go: one slash between elements, no `.` or `..`, none at the end.
pub(crate) fn clean_path(path: &str) -> String {
    let mut elements = Vec::new();
    for element in path.split('/') {
        match element {
            "" | "." => {}
            ".." => drop(elements.pop()),
            element => elements.push(element),
        }
    }
    format!("/{}", elements.join("/"))
}

/// Escapes a path for a URL.
pub(crate) fn escape_path(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

fn read(text: &str) -> Result<Url, String> {
    if text.chars().any(|c| c.is_ascii_control()) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    if text.is_empty() {
        return Err("empty url".to_owned());
    }
    if text == "*" {
        return Ok(Url { path: text.to_owned(), ..Url::default() });
    }
    let (scheme, rest) = split_scheme(text)?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut url = Url { scheme, query: query.to_owned(), ..Url::default() };
    if !rest.starts_with('/') {
        // An opaque URL: only the scheme is known.
        return if url.scheme.is_empty() { Err("invalid URI for request".to_owned()) } else { Ok(url) };
    }
    let mut path = rest;
    if let Some(rest) = rest.strip_prefix("//").filter(|_| !url.scheme.is_empty()) {
        let (authority, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        url.host = read_authority(authority)?;
        path = rest;
    }
    unescape(path, |_| Ok(()), false)?;
    path.clone_into(&mut url.path);
    Ok(url)
}

fn split_scheme(text: &str) -> Result<(String, &str), String> {
    for (at, c) in text.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            ':' => return Ok((text[..at].to_ascii_lowercase(), &text[at + 1..])),
            _ => break,
        }
    }
    Ok((String::new(), text))
}

/// The host, with its port, of `user@host:port`.
fn read_authority(authority: &str) -> Result<String, String> {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    let host = read_host(host)?;
    if let Some(user) = user {
        let known = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
        if !user.chars().all(known) {
            return Err("net/url: invalid userinfo".to_owned());
        }
        unescape(user, |_| Ok(()), false)?;
    }
    Ok(host)
}

fn read_host(host: &str) -> Result<String, String> {
    let port = if host.starts_with('[') {
        &host[host.rfind(']').ok_or("missing ']' in host")? + 1..]
    } else {
        host.rfind(':').map_or("", |at| &host[at..])
    };
    let digits = port.strip_prefix(':').is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()));
    if !port.is_empty() && !digits {
        return Err(format!("invalid port {} after host", quote(port)));
    }
    let known = |c: char| {
        if !c.is_ascii() || c.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:[]<>\"".contains(c) {
            return Ok(());
        }
        Err(format!("invalid character {} in host name", quote(&c.to_string())))
    };
    unescape(host, known, true)
}

/// Decodes escapes. In hosts, only the percent sign and characters outside ASCII may be escaped.
fn unescape(text: &str, known: impl Fn(char) -> Result<(), String>, host: bool) -> Result<String, String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.char_indices();
    while let Some((at, c)) = rest.next() {
        if c != '%' {
            known(c)?;
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        let digits = text.get(at + 1..at + 3).filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
        let byte = digits.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match byte.filter(|byte| !host || *byte >= 0x80 || *byte == b'%') {
            Some(byte) => out.push(byte),
            None => {
                let shown: String = text[at..].chars().take(3).collect();
                return Err(format!("invalid URL escape {}", quote(&shown)));
            }
        }
        rest.nth(1);
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_urls_like_go() {
        for text in [
            "/foo",
            "https://a/b c",
            "mailto:x",
            "*",
            "https://a<b",
            "http://[::1]:80/x",
            "https://u:p@h/%41",
        ] {
            assert!(Url::parse(text).is_ok(), "{text}");
        }
        let url = Url::parse("HTTPS://user@a.b:8443/x%20y?q=1&q=2&a;b=1&%zz=1&c=a+b").unwrap();
        assert_eq!((&*url.scheme, &*url.host, &*url.path), ("https", "a.b:8443", "/x%20y"));
        assert_eq!(url.host_and_port(), ("a.b", "8443"));
        let pairs: Vec<_> = url.parameters().collect();
        assert_eq!(pairs, [("q", "1"), ("q", "2"), ("c", "a b")].map(|(a, b)| (a.to_owned(), b.to_owned())));
    }

    #[test]
    fn paths_are_cleaned_and_escaped_like_those_of_kubernetes_clients() {
        for (path, clean) in [
            ("", "/"),
            ("/", "/"),
            ("//x/", "/x"),
            ("/a/../x", "/x"),
            ("/../x", "/x"),
            ("/a/./b//c", "/a/b/c"),
        ] {
            assert_eq!(clean_path(path), clean, "{path}");
        }
        for (path, escaped) in [
            ("/x y", "/x%20y"),
            ("/a\"b|c^", "/a%22b%7Cc%5E"),
            ("/ä?", "/%C3%A4%3F"),
            ("/a+b@c:d$e&f;=,~", "/a+b@c:d$e&f;=,~"),
        ] {
            assert_eq!(escape_path(path), escaped);
        }
        let url = Url::parse("https://h:1/%41/%7e?a=b").unwrap();
        assert_eq!(
            (url.unescaped_path().as_str(), url.to_string().as_str()),
            ("/A/~", "https://h:1/%41/%7e?a=b")
        );
    }

    #[test]
    fn rejects_invalid_urls_with_gos_messages() {
        for (text, why) in [
            ("", "empty url"),
            ("foo", "invalid URI for request"),
            (":x", "missing protocol scheme"),
            ("https://a.b#x", "invalid character \"#\" in host name"),
            ("https://a b", "invalid character \" \" in host name"),
            ("https://a%b", "invalid URL escape \"%b\""),
            ("https://a%41.b", "invalid URL escape \"%41\""),
            ("https://u p@h", "net/url: invalid userinfo"),
            ("https://u%zz@h", "invalid URL escape \"%zz\""),
            ("https://h:x", "invalid port \":x\" after host"),
            ("https://[::1", "missing ']' in host"),
            ("https://h/%g", "invalid URL escape \"%g\""),
            ("a\u{7f}", "net/url: invalid control character in URL"),
        ] {
            assert_eq!(Url::parse(text).unwrap_err(), format!("parse {}: {why}", quote(text)));
        }
    }
}
