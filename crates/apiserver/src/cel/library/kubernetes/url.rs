//! URL functions.

use crate::cel::library::{Row, text};
use crate::cel::value::opaque::Opaque;
use crate::cel::value::{EvalError, Key, Map, Outcome, Value};
use crate::gotext::url::Url;
use std::collections::BTreeMap;
use std::rc::Rc;

pub(in crate::cel::library) const ROWS: &[Row] = &[
    (0, "url(string) -> kubernetes.URL", url),
    (0, "isURL(string) -> bool", is_url),
    (0, "kubernetes.URL: getScheme() -> string", scheme),
    (0, "kubernetes.URL: getHost() -> string", host),
    (0, "kubernetes.URL: getHostname() -> string", hostname),
    (0, "kubernetes.URL: getPort() -> string", port),
    (0, "kubernetes.URL: getEscapedPath() -> string", path),
    (0, "kubernetes.URL: getQuery() -> map(string, list(string))", query),
];

fn url<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    // The whole text must be valid, but its fragment is no part of the path or of the query.
    let whole = text(args, 0);
    let parsed = Url::parse(whole);
    let parsed = parsed.and_then(|url| match whole.split_once('#') {
        Some((start, _)) => Url::parse(start),
        None => Ok(url),
    });
    parsed
        .map(|url| Value::opaque(Opaque::Url(url)))
        .map_err(|why| EvalError::new(format!("URL parse error during conversion from string: {why}")))
}

fn is_url<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(Url::parse(text(args, 0)).is_ok()))
}

fn url_argument<'v>(args: &'v [Value<'_>]) -> Result<&'v Url, EvalError> {
    match args {
        [Value::Opaque(opaque)] => match &**opaque {
            Opaque::Url(url) => Ok(url),
            _ => Err(EvalError::no_overload()),
        },
        _ => Err(EvalError::no_overload()),
    }
}

fn url_part<'a>(args: &[Value<'a>], part: impl Fn(&Url) -> String) -> Outcome<'a> {
    url_argument(args).map(|url| Value::text(part(url)))
}

fn scheme<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    url_part(args, |url| url.scheme.clone())
}

fn host<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    url_part(args, |url| url.host.clone())
}

fn hostname<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    url_part(args, |url| url.host_and_port().0.to_owned())
}

fn port<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    url_part(args, |url| url.host_and_port().1.to_owned())
}

fn path<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    url_part(args, |url| escaped(&url.path))
}

/// Escapes a path (`EscapedPath`). If any character needs escaping, the whole path is escaped again.
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
    let url = url_argument(args)?;
    let mut out: BTreeMap<Key, Vec<Value<'a>>> = BTreeMap::new();
    for (name, value) in url.parameters() {
        out.entry(Key::String(name)).or_default().push(Value::text(value));
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
