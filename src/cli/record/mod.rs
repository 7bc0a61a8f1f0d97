//! `windtunnel record`: records a live cluster.

mod line_file;
mod recorder;
pub(super) mod watching;

use futures::future::{Either, select};
use kube::Client;
use kube::discovery::{ApiCapabilities, ApiGroup, ApiResource, Discovery, Scope, verbs};
use tokio::sync::mpsc::Receiver;
use windtunnel_core::resources;
use windtunnel_core::text::{error_chain, parse_duration};

use super::args::RecordArgs;
use super::live::connection::Connection;
use super::live::{block_on, clock, error_message};
use super::terminal::signal::Signal;
use super::{Exit, print_notice};
use recorder::Recorder;
use watching::{Kind, WatchUpdate, watch};

/// Kinds that change constantly and are not interesting, whose names are secrets, or that show another recorded kind.
const EXCLUDED: [(&str, &str); 8] = [
    ("coordination.k8s.io", "leases"),
    ("", "events"),
    ("events.k8s.io", "events"),
    ("", "endpoints"),
    ("project.openshift.io", "projects"),
    ("oauth.openshift.io", "oauthaccesstokens"),
    ("oauth.openshift.io", "oauthauthorizetokens"),
    ("oauth.openshift.io", "useroauthaccesstokens"),
];

/// Records until a signal, or until the time is over.
///
/// # Errors
/// The cluster does not answer, or the record cannot be written.
pub(super) fn record(args: &RecordArgs) -> Result<Exit, String> {
    let span = args.span.as_deref().map(|text| {
        let span = parse_duration(text).and_then(|span| std::time::Duration::try_from(span).ok());
        span.ok_or_else(|| format!("--for: expected a time such as `2h`, found `{text}`"))
    });
    let span = span.transpose()?;
    block_on(async {
        let signal = Signal::new()?;
        let connection = Connection::from_kubeconfig(&args.kubeconfig, args.context.as_deref());
        let config = connection.config().await.map_err(|output| error_message(&output))?;
        let (client, clock) = clock::client(config).map_err(|error| error_chain(&error))?;
        let kinds = kinds(&client, args.all)
            .await
            .map_err(|error| format!("cannot discover the kinds of the cluster: {}", error_chain(&error)))?;
        if kinds.is_empty() {
            return Err(
                "the cluster has none of the default kinds; use --all to record every kind".to_owned()
            );
        }
        let minor = client.apiserver_version().await.ok().and_then(|version| minor(&version.minor));
        let mut recorder = Recorder::new(args, minor, kinds.iter().map(Kind::name).collect(), clock)?;
        let ended = async {
            match span {
                Some(span) => {
                    let _ = tokio::time::timeout(span, signal.received()).await;
                }
                None => drop(signal.received().await),
            }
        };
        follow(&mut recorder, watch(&client, kinds), ended).await?;
        recorder.end()
    })?
}

/// Returns the 29 of `29+`.
fn minor(text: &str) -> Option<u32> {
    text.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().ok()
}

/// Returns the kinds to record, or all that can be listed and watched, each in the version that the cluster prefers.
pub(super) async fn kinds(client: &Client, all: bool) -> Result<Vec<Kind>, kube::Error> {
    let mut found = Vec::new();
    for discovery in discovered(client).await? {
        for (resource, capabilities) in discovery.groups().flat_map(ApiGroup::recommended_resources) {
            if is_recorded(&resource, &capabilities, all) {
                let namespaced = capabilities.scope == Scope::Namespaced;
                found.push(Kind { resource, namespaced });
            }
        }
    }
    found.sort_by_key(Kind::name);
    Ok(found)
}

/// Discovers the kinds of the cluster. Reports and leaves out a group whose API server is unavailable, since
/// records are often made of broken clusters.
async fn discovered(client: &Client) -> Result<Vec<Discovery>, kube::Error> {
    if let Ok(all) = Discovery::new(client.clone()).run().await {
        return Ok(vec![all]);
    }
    let groups = client.list_api_groups().await?.groups.into_iter().map(|group| group.name);
    let mut found = Vec::new();
    for group in [ApiGroup::CORE_GROUP.to_owned()].into_iter().chain(groups) {
        match Discovery::new(client.clone()).filter(&[&group]).run().await {
            Ok(discovery) => found.push(discovery),
            Err(error) => {
                print_notice(&format!("not recorded: kinds of {group}: {}", error_chain(&error)));
            }
        }
    }
    Ok(found)
}

fn is_recorded(resource: &ApiResource, capabilities: &ApiCapabilities, all: bool) -> bool {
    let is_kind = |(group, plural): &(&str, &str)| resource.group == *group && resource.plural == *plural;
    let known = || resources::ALL.iter().any(|known| is_kind(&(&known.group, &known.plural)));
    capabilities.supports_operation(verbs::LIST)
        && capabilities.supports_operation(verbs::WATCH)
        && !EXCLUDED.iter().any(is_kind)
        && (all || known())
}

/// Passes observations to the recorder until the end.
async fn follow(
    recorder: &mut Recorder<'_>,
    mut updates: Receiver<WatchUpdate>,
    ended: impl Future<Output = ()>,
) -> Result<(), String> {
    let mut ended = std::pin::pin!(ended);
    loop {
        match select(ended.as_mut(), std::pin::pin!(updates.recv())).await {
            Either::Left(_) | Either::Right((None, _)) => return Ok(()),
            Either::Right((Some(update), _)) => recorder.take(update)?,
        }
    }
}
