//! Redirects of webhooks, followed as Go's HTTP client does it.

use http::header::LOCATION;
use http::{HeaderValue, Method, StatusCode};

use super::connection::{Incomplete, Outgoing};
use crate::gotext::quote;
use crate::gotext::url::Url;
use crate::outbound::hooks::HookError;

/// The request that follows a redirect; `None` if the response is not one.
///
/// # Errors
/// Go's message about the new URL.
pub(super) fn next(before: &Outgoing, response: &Incomplete) -> Result<Option<Outgoing>, HookError> {
    let keeps_body = match response.head.status {
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER => false,
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
        _ => return Ok(None),
    };
    let location = response.head.headers.get(LOCATION).map(HeaderValue::as_bytes).unwrap_or_default();
    let location = String::from_utf8_lossy(location);
    if location.is_empty() {
        return Ok(None);
    }
    let url = join(&before.url, &location).map_err(|why| {
        let why = format!("failed to parse Location header {}: {why}", quote(&location));
        HookError::no_response(&before.url.to_string(), &why)
    })?;
    let leaves_security = before.url.scheme == "https" && url.scheme == "http";
    Ok(Some(Outgoing {
        method: if keeps_body { before.method.clone() } else { Method::GET },
        body: before.body.clone().filter(|_| keeps_body),
        referer: (!leaves_security).then(|| before.url.to_string()),
        url,
        location: location.into_owned(),
    }))
}

/// The URL of a reference in a document at `base`.
fn join(base: &Url, reference: &str) -> Result<Url, String> {
    let reference = reference.split('#').next().unwrap_or_default();
    let end = reference.find(['/', '?']).unwrap_or(reference.len());
    if reference[..end].contains(':') {
        return Url::parse(reference);
    }
    if reference.starts_with("//") {
        return Url::parse(&format!("{}:{reference}", base.scheme));
    }
    let (path, query) = reference.split_once('?').unwrap_or((reference, ""));
    let folder = base.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let path = match path {
        "" => base.path.clone(),
        path if path.starts_with('/') => path.to_owned(),
        path => format!("{folder}/{path}"),
    };
    let parsed = Url::parse(&without_dots(&path))?;
    Ok(Url { scheme: base.scheme.clone(), host: base.host.clone(), query: query.to_owned(), ..parsed })
}

/// Removes the elements `.` and `..` of an absolute path.
fn without_dots(path: &str) -> String {
    let mut elements: Vec<&str> = Vec::new();
    let rest = path.strip_prefix('/').unwrap_or(path);
    for element in rest.split('/') {
        match element {
            "." => {}
            ".." => drop(elements.pop()),
            element => elements.push(element),
        }
    }
    let is_folder = matches!(rest.rsplit('/').next(), Some("." | ".."));
    format!("/{}{}", elements.join("/"), if is_folder && !elements.is_empty() { "/" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_relative_to_the_document() {
        let base = Url::parse("https://h:1/a/b?c=d").unwrap();
        for (reference, url) in [
            ("/x", "https://h:1/x"),
            ("x?y=z", "https://h:1/a/x?y=z"),
            ("../x/./y#f", "https://h:1/x/y"),
            ("..", "https://h:1/"),
            ("?y", "https://h:1/a/b?y"),
            ("//g/x", "https://g/x"),
            ("http://g:2/x?y", "http://g:2/x?y"),
            ("ftp://x/y", "ftp://x/y"),
        ] {
            assert_eq!(join(&base, reference).unwrap().to_string(), url, "{reference}");
        }
        assert_eq!(join(&base, "/a%zz").unwrap_err(), "parse \"/a%zz\": invalid URL escape \"%zz\"");
    }
}
