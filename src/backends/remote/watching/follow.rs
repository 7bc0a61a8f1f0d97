//! Lists and watches kinds, for the engine's view of the cluster.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use http::Method;
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::Value;
use windtunnel_core::{Rejection, Resource};

use crate::backends::remote::link::{Link, Observation};
use crate::backends::remote::wire;

/// The pause before a retry of a failed list.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// The requested duration of a watch, and the maximum silence: a broken connection may never report an error.
const WATCHED_FOR: Duration = Duration::from_secs(60);
const SILENT_MAX: Duration = Duration::from_secs(75);

/// Follows a kind until the link is closed. The first list is in the inbox when this function returns.
///
/// # Errors
/// The server's rejection of the list.
pub(in crate::backends::remote) async fn follow(
    link: &Arc<Link>,
    resource: &Resource,
) -> Result<(), Rejection> {
    if !link.start_following(resource) {
        return Ok(());
    }
    let revision = match list(link, resource).await {
        Ok(revision) => revision,
        Err(rejection) => {
            link.stop_following(resource);
            return Err(rejection);
        }
    };
    let (link, resource) = (Arc::downgrade(link), resource.clone());
    tokio::spawn(async move {
        let mut revision = Some(revision);
        loop {
            // Closing or dropping the link ends this task.
            let Some(link) = link.upgrade().filter(|link| !link.is_closed()) else { return };
            match revision {
                Some(since) => revision = watch(&link, &resource, since).await,
                None => match list(&link, &resource).await {
                    Ok(new) => revision = Some(new),
                    // The kind is not served any more.
                    Err(rejection) if rejection.code == 404 => return link.stop_following(&resource),
                    Err(_) => {
                        drop(link);
                        tokio::time::sleep(RETRY_PAUSE).await;
                    }
                },
            }
        }
    });
    Ok(())
}

/// Lists a kind into the inbox and returns the revision of the list.
async fn list(link: &Link, resource: &Resource) -> Result<String, Rejection> {
    let mut list = link.wire.read(&resource.path("", "")).await.checked()?;
    let revision = list["metadata"]["resourceVersion"].as_str().unwrap_or("0").to_owned();
    let items = match list["items"].take() {
        Value::Array(items) => items,
        _ => Vec::new(),
    };
    link.report(Observation::All(resource.clone(), items, revision.parse().unwrap_or(0)));
    Ok(revision)
}

/// Watches a kind from a revision on, into the inbox. Returns the revision at which the next watch continues;
/// `None` means that a list is necessary.
async fn watch(link: &Link, resource: &Resource, since: String) -> Option<String> {
    let seconds = WATCHED_FOR.as_secs();
    let query =
        format!("watch=true&allowWatchBookmarks=true&timeoutSeconds={seconds}&resourceVersion={since}");
    let path = format!("{}?{query}", resource.path("", ""));
    let request = wire::request(Method::GET, &path, None, None).ok()?;
    let Ok(response) = link.wire.send(request.map(Body::from)).await else {
        tokio::time::sleep(RETRY_PAUSE).await;
        return Some(since);
    };
    if !response.status().is_success() {
        tokio::time::sleep(RETRY_PAUSE).await;
        return None;
    }
    let (mut since, mut lines) = (since, Lines::default());
    let mut body = response.into_body().into_data_stream();
    while let Ok(Some(Ok(bytes))) = tokio::time::timeout(SILENT_MAX, body.next()).await {
        for mut event in lines.take_in(&bytes) {
            let object = event["object"].take();
            let revision = object["metadata"]["resourceVersion"].as_str().map(str::to_owned);
            match event["type"].as_str() {
                Some("ADDED" | "MODIFIED") => link.report(Observation::Object(resource.clone(), object)),
                Some("DELETED") => link.report(Observation::Gone(resource.clone(), object)),
                Some("BOOKMARK") => {}
                // Most likely the revision is too old.
                _ => return None,
            }
            since = revision.unwrap_or(since);
        }
        if link.is_closed() {
            return None;
        }
    }
    Some(since)
}

/// Splits a stream of bytes into lines of JSON.
#[derive(Debug, Default)]
pub(in crate::backends::remote) struct Lines {
    rest: Vec<u8>,
}

impl Lines {
    /// Adds bytes and returns the lines that are complete now.
    pub(in crate::backends::remote) fn take_in(&mut self, bytes: &[u8]) -> Vec<Value> {
        self.rest.extend_from_slice(bytes);
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
        let lines: Vec<u8> = self.rest.drain(..=end).collect();
        lines.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_lines_from_several_pieces() {
        let mut lines = Lines::default();
        assert!(lines.take_in(b"{\"a\":").is_empty());
        assert_eq!(
            lines.take_in(b"1}\n{\"b\":2}\n{"),
            [serde_json::json!({"a": 1}), serde_json::json!({"b": 2})]
        );
        assert_eq!(lines.take_in(b"}\n"), [serde_json::json!({})]);
    }
}
