//! The objects of a live cluster: `--kubeconfig`. Only list requests are made, and none of Secrets.

use std::path::Path;

use kube::api::{Api, DynamicObject, ListParams};
use kube::{Client, Error};
use serde_json::json;
use windtunnel_core::Object;
use windtunnel_core::resources::SECRETS;
use windtunnel_core::text::{counted, error_chain};

use crate::cli::dump_files::cluster::Dumped;
use crate::cli::live::connection::Connection;
use crate::cli::live::{block_on, error_message};
use crate::cli::output::Shown as _;
use crate::cli::record;
use crate::cli::record::watching::Kind;
use crate::record::redact;
use crate::rehearsal::Unseen;

/// The number of objects in an answer.
const PAGE: u32 = 500;
/// The most kinds that a line names.
const NAMED_MAX: usize = 12;

/// What was read of a live cluster.
pub(super) struct Read {
    pub(super) dumped: Dumped,
    /// The kinds that could not be read.
    pub(super) unread: Vec<Unseen>,
    /// How much was read.
    pub(super) notice: String,
}

/// Lists all objects of a cluster, without Secrets.
///
/// # Errors
/// The cluster does not answer.
pub(super) fn read(kubeconfig: &Path) -> Result<Read, String> {
    let place = kubeconfig.shown();
    block_on(async {
        let connection = Connection::from_kubeconfig(kubeconfig, None);
        let config = connection.config().await.map_err(|output| error_message(&output))?;
        let client = Client::try_from(config).map_err(|error| format!("{place}: {}", error_chain(&error)))?;
        let kinds = record::kinds(&client, true).await.map_err(|error| {
            format!("{place}: cannot discover the kinds of the cluster: {}", error_chain(&error))
        })?;
        let (mut objects, mut forbidden, mut failed, mut read) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for kind in kinds.iter().filter(|kind| !is_secret(kind)) {
            match list(&client, kind).await {
                Ok(found) => {
                    read += 1;
                    objects.extend(found.into_iter().map(|object| (place.clone(), object)));
                }
                Err(Error::Api(status)) if status.code == 403 => forbidden.push(kind.name()),
                // A kind of objects that cannot be listed, such as a review.
                Err(Error::Api(status)) if [404, 405].contains(&status.code) => {}
                Err(error) => failed.push(format!("{}: {}", kind.name(), error_chain(&error))),
            }
        }
        let notice = format!(
            "{} of {} read by list requests; Secrets, Events and Leases are not read",
            counted(objects.len(), "object"),
            counted(read, "kind")
        );
        Ok(Read { dumped: Dumped::of_objects(objects), unread: unread(&forbidden, &failed), notice })
    })?
}

fn is_secret(kind: &Kind) -> bool {
    kind.resource.group.is_empty() && kind.resource.plural == SECRETS.plural
}

/// Lists the objects of a kind, page by page.
async fn list(client: &Client, kind: &Kind) -> Result<Vec<Object>, Error> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &kind.resource);
    let (mut found, mut parameters) = (Vec::new(), ListParams::default().limit(PAGE));
    loop {
        let page = api.list(&parameters).await?;
        found.extend(page.items.iter().filter_map(|object| {
            let mut value = serde_json::to_value(object).ok()?;
            value["apiVersion"] = json!(kind.resource.api_version);
            value["kind"] = json!(kind.resource.kind);
            redact(&mut value);
            Some(Object::new(value))
        }));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => return Ok(found),
        }
    }
}

/// What could not be read, and how to read it.
fn unread(forbidden: &[String], failed: &[String]) -> Vec<Unseen> {
    let named = |names: &[String]| {
        let more = names.len().saturating_sub(NAMED_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", names[..names.len().min(NAMED_MAX)].join(", "))
    };
    let mut found = Vec::new();
    if !forbidden.is_empty() {
        found.push(Unseen {
            what: format!("kinds that the user of the kubeconfig may not list: {}", named(forbidden)),
            collect: "oc adm policy add-cluster-role-to-user cluster-reader USER".to_owned(),
        });
    }
    if !failed.is_empty() {
        found.push(Unseen {
            what: format!("kinds that the cluster did not list: {}", named(failed)),
            collect: "oc get apiservices".to_owned(),
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_read_is_named() {
        let names: Vec<String> = (0..14).map(|number| format!("kind{number}")).collect();
        let found = unread(&names, &["pods.metrics.k8s.io: timed out".to_owned()]);
        assert!(found[0].what.ends_with("kind10, kind11 and 2 more"), "{found:?}");
        assert_eq!(found[1].what, "kinds that the cluster did not list: pods.metrics.k8s.io: timed out");
        assert_eq!(unread(&[], &[]), []);
    }
}
