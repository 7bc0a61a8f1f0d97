//! URLs.

use super::opaque::Opaque;
use super::{Row, text};
use crate::apiserver::cel::value::{Fault, Key, Map, Outcome, Value};
use std::collections::BTreeMap;
use std::rc::Rc;

pub(super) const ROWS: &[Row] = &[
    (0, "url(string) -> kubernetes.URL", url),
    (0, "isURL(string) -> bool", is_url),
    (0, "kubernetes.URL: getScheme() -> string", scheme),
    (0, "kubernetes.URL: getHost() -> string", host),
    (0, "kubernetes.URL: getHostname() -> string", hostname),
    (0, "kubernetes.URL: getPort() -> string", port),
    (0, "kubernetes.URL: getEscapedPath() -> string", path),
    (0, "kubernetes.URL: getQuery() -> map(string, list(string))", query),
];

/// A URL in its parts (`url.ParseRequestURI`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Url {
    scheme: String,
    /// With the port.
    host: String,
    path: String,
    query: String,
}

impl Url {
    /// An absolute URI or an absolute path.
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("parse \"{text}\": {why}");
        if text.is_empty() {
            return Err(wrong("empty url"));
        }
        if text.chars().any(char::is_control) {
            return Err(wrong("net/url: invalid control character in URL"));
        }
        let (scheme, rest) = split_scheme(text).map_err(wrong)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        if !rest.starts_with('/') && scheme.is_empty() {
            return Err(wrong("invalid URI for request"));
        }
        if !rest.starts_with('/') {
            // Opaque: nothing but the scheme is known.
            return Ok(Self { scheme, query: query.to_owned(), ..Self::default() });
        }
        let mut url = Self { scheme, query: query.to_owned(), path: rest.to_owned(), ..Self::default() };
        if let Some(authority) = rest.strip_prefix("//").filter(|_| !url.scheme.is_empty()) {
            let end = authority.find('/').unwrap_or(authority.len());
            let (host, path) = authority.split_at(end);
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            check_host(host).map_err(|why| wrong(&why))?;
            path.clone_into(&mut url.path);
            host.clone_into(&mut url.host);
        }
        if has_bad_escape(&url.path) {
            return Err(wrong("invalid URL escape"));
        }
        Ok(url)
    }

    /// The host without its port, and the port.
    fn host_and_port(&self) -> (&str, &str) {
        let bare = |host: &'_ str| host.len();
        if let Some(end) = self.host.find(']') {
            let port = self.host.get(end + 1..).and_then(|rest| rest.strip_prefix(':')).unwrap_or("");
            return (self.host.get(1..end).unwrap_or(""), port);
        }
        let at = self.host.rfind(':').unwrap_or(bare(&self.host));
        (&self.host[..at], self.host.get(at + 1..).unwrap_or(""))
    }
}

fn split_scheme(text: &str) -> Result<(String, &str), &'static str> {
    for (at, c) in text.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return Err("missing protocol scheme"),
            ':' => return Ok((text[..at].to_ascii_lowercase(), &text[at + 1..])),
            _ => break,
        }
    }
    Ok((String::new(), text))
}

fn check_host(host: &str) -> Result<(), String> {
    let rest = match host.strip_prefix('[') {
        Some(inner) => inner.split_once(']').ok_or("missing ']' in host")?.1,
        None => host.rfind(':').map_or("", |at| &host[at..]),
    };
    let port_ok = rest.is_empty()
        || rest.strip_prefix(':').is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()));
    if !port_ok {
        return Err(format!("invalid port \"{rest}\" after host"));
    }
    match host.chars().find(|c| " <>\"\\^`{|}".contains(*c)) {
        Some(bad) => Err(format!("invalid character \"{bad}\" in host name")),
        None => Ok(()),
    }
}

fn has_bad_escape(path: &str) -> bool {
    path.match_indices('%').any(|(at, _)| {
        !path.get(at + 1..at + 3).is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()))
    })
}

fn url<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let parsed = Url::parse(text(args, 0));
    parsed
        .map(|url| Value::opaque(Opaque::Url(url)))
        .map_err(|why| Fault::new(format!("URL parse error during conversion from string: {why}")))
}

/// What keeps a text from being a URL.
pub(crate) fn problem(text: &str) -> Option<String> {
    Url::parse(text).err()
}

fn is_url<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(Url::parse(text(args, 0)).is_ok()))
}

fn with<'a>(args: &[Value<'a>], part: impl Fn(&Url) -> String) -> Outcome<'a> {
    match args {
        [Value::Opaque(opaque)] => match &**opaque {
            Opaque::Url(url) => Ok(Value::text(part(url))),
            _ => Err(Fault::no_overload()),
        },
        _ => Err(Fault::no_overload()),
    }
}

fn scheme<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    with(args, |url| url.scheme.clone())
}

fn host<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    with(args, |url| url.host.clone())
}

fn hostname<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    with(args, |url| url.host_and_port().0.to_owned())
}

fn port<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    with(args, |url| url.host_and_port().1.to_owned())
}

fn path<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    with(args, |url| escaped(&url.path))
}

/// A path with everything escaped that must be (`EscapedPath`): if anything is not, all is escaped anew.
fn escaped(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@!'()*[]%".contains(&byte);
    if path.bytes().all(plain) {
        return path.to_owned();
    }
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(&byte);
    let decoded = decode(&path.replace('+', "%2B"));
    decoded
        .bytes()
        .map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn query<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let Value::String(query) = with(args, |url| url.query.clone())? else { return Err(Fault::no_overload()) };
    let mut out: BTreeMap<Key, Vec<Value<'a>>> = BTreeMap::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        out.entry(Key::String(decode(name))).or_default().push(Value::text(decode(value)));
    }
    let out = out.into_iter().map(|(key, values)| (key, Value::list(values))).collect();
    Ok(Value::Map(Map::Made(Rc::new(out))))
}

fn decode(text: &str) -> String {
    let mut out = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let hex = text.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (byte, hex) {
            (b'%', Some(decoded)) => {
                out.push(decoded);
                at += 2;
            }
            (b'+', _) => out.push(b' '),
            (other, _) => out.push(*other),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}
