//! The log of a container.
//!
//! There is no kubelet that has one. What a pod's annotation `log.windtunnel.dev/CONTAINER` holds is the log; without it
//! the log is empty.

use serde_json::Value;

use crate::apiserver::call::Call;
use crate::apiserver::reply::{Reply, ReplyBody};
use crate::apiserver::server::ApiServer;
use crate::apiserver::status::{Outcome, Refused};

const ANNOTATION: &str = "log.windtunnel.dev";

impl ApiServer {
    /// `GET .../pods/NAME/log`.
    pub(super) fn log(&mut self, call: &Call<'_>) -> Outcome<Reply> {
        let pod = self.entry(call)?.served();
        let query = &call.request.query;
        let container = container(&pod, query.get("container"))?;
        let log = pod["metadata"]["annotations"][format!("{ANNOTATION}/{container}")].as_str();
        let log = if query.is_true("previous") { "" } else { log.unwrap_or_default() };
        let number = |name: &str| query.get(name).parse::<usize>().ok();
        let mut lines: Vec<&str> = log.split_inclusive('\n').collect();
        if let Some(tail) = number("tailLines") {
            lines.drain(..lines.len().saturating_sub(tail));
        }
        let mut text = lines.concat();
        if let Some(limit) = number("limitBytes").filter(|limit| *limit < text.len()) {
            let end = (0..=limit).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.truncate(end);
        }
        Ok(Reply::new(200, ReplyBody::Text(text)))
    }
}

/// Which container is meant (`validateContainer`).
fn container<'a>(pod: &'a Value, asked: &'a str) -> Outcome<&'a str> {
    let name = crate::apiserver::metadata::text(pod, "name");
    let names = |list: &str| -> Vec<&'a str> {
        let items = pod["spec"][list].as_array().into_iter().flatten();
        items.filter_map(|one| one["name"].as_str()).collect()
    };
    let (own, first, extra) = (names("containers"), names("initContainers"), names("ephemeralContainers"));
    if !asked.is_empty() {
        let known = [&own, &first, &extra].into_iter().any(|list| list.contains(&asked));
        let why = || Refused::bad_request(format!("container {asked} is not valid for pod {name}"));
        return if known { Ok(asked) } else { Err(why()) };
    }
    match own.as_slice() {
        [only] => Ok(only),
        [] => Err(Refused::bad_request(format!("a container name must be specified for pod {name}"))),
        all => {
            let mut why = format!(
                "a container name must be specified for pod {name}, choose one of: [{}]",
                all.join(" ")
            );
            if !first.is_empty() {
                why.push_str(&format!(" or one of the init containers: [{}]", first.join(" ")));
            }
            if !extra.is_empty() {
                why.push_str(&format!(" or one of the ephemeral containers: [{}]", extra.join(" ")));
            }
            Err(Refused::bad_request(why))
        }
    }
}
