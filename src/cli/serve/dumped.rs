//! Serves a cluster from files: it answers as the real one would have at that moment, and nothing changes in
//! it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_apiserver::https::{Serving, Webhooks};
use windtunnel_apiserver::service::Shared;
use windtunnel_apiserver::{ApiServer, Builder};
use windtunnel_apiserver::{ImportFinding, LogRequest, PodRequest, PodResponse, Upstream};
use windtunnel_core::clock::{Clock, ManualClock, Time, WallClock, rfc3339};
use windtunnel_core::log::LogLine;
use windtunnel_core::resources::CUSTOM_RESOURCE_DEFINITIONS;
use windtunnel_core::{Identity, Write};
use windtunnel_openshift::SERVICE_NETWORK;
use windtunnel_openshift::manifests::{self, MajorMinor};
use windtunnel_openshift::release::Release;

use super::import::{self, AllImported};
use super::{kinds, route};
use crate::cli::args::ServeArgs;
use crate::cli::dump_files::cluster::Dumped;
use crate::cli::output::Shown as _;
use crate::cli::print_notice;
use crate::dump::{Facts, Inventory, made_at};
use crate::plan::KUBERNETES_MINORS;
use crate::record::{ContainerLog, log_at};

/// The maximum number of objects to name in a message.
const NAMED: usize = 3;

/// The path at which Prometheus' clients read alerts.
pub(super) const ALERTS: &str = "/api/v1/alerts";

/// The cluster to serve.
pub(super) struct Files(pub(super) Dumped);

impl Files {
    /// Returns a server with all objects that it accepts; reports the others.
    ///
    /// # Errors
    /// It accepts none.
    pub(super) fn server(
        &self,
        path: &Path,
        kubernetes: Option<u32>,
        seed: u64,
        now: Time,
    ) -> Result<ApiServer, String> {
        let facts = Facts::of(self.0.objects.iter().map(|(_, object)| object));
        let mut server = self.builder(minor(kubernetes, &facts)).seed(seed).build(now);
        let admin = Identity::admin();
        for definition in self.definitions(&facts) {
            // The server accepts windtunnel's own definitions; a test checks this for every release.
            let _ = server.write(&Write::create(&CUSTOM_RESOURCE_DEFINITIONS, definition), &admin, now);
        }
        let imported = import::import(&mut server, &self.0.objects, now);
        self.report(path, &imported);
        if imported.stored == 0 && !self.0.objects.is_empty() {
            return Err(self.nothing_stored(path));
        }
        if !self.0.logs.is_empty() {
            server.set_upstream(Arc::new(RecordedLogs { logs: self.0.logs.clone(), at: now }));
        }
        Ok(server)
    }

    fn nothing_stored(&self, path: &Path) -> String {
        let count = self.0.objects.len();
        let summary = self.0.inventory.as_ref().map(Inventory::summary).unwrap_or_default();
        format!(
            "{}: expected objects that an API server stores, found {count}, and can store none; the lines above have \
             the reasons ({summary})",
            path.shown()
        )
    }

    fn builder(&self, minor: u32) -> Builder {
        // Events of a dump must not expire.
        let ttl = SignedDuration::MAX;
        let network = SERVICE_NETWORK.parse().unwrap_or_default();
        let builder =
            ApiServer::builder().kubernetes(minor).hooks(Webhooks).event_ttl(ttl).service_network(network);
        match &self.0.alerts {
            Some(body) => builder.document(ALERTS, body.clone()),
            None => builder,
        }
    }

    /// Returns windtunnel's definitions that are missing from the dump: all of the dumped release, or, without a
    /// ClusterVersion, those that its objects need.
    fn definitions(&self, facts: &Facts) -> Vec<Value> {
        let is_dumped = |definition: &Value| {
            self.0.objects.iter().any(|(_, object)| {
                CUSTOM_RESOURCE_DEFINITIONS.is_kind_of(object)
                    && object.name() == definition["metadata"]["name"]
            })
        };
        let is_needed = |definition: &Value| {
            let (group, kind) = (&definition["spec"]["group"], &definition["spec"]["names"]["kind"]);
            facts.desired.is_some()
                || self.0.objects.iter().any(|(_, object)| {
                    let object_group =
                        object.text("/apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
                    object.text("/kind") == kind && object_group == group
                })
        };
        let line: MajorMinor = facts.line().unwrap_or((u64::MAX, 0));
        let names = manifests::crds((u64::MAX, 0)).filter_map(|newest| newest["metadata"]["name"].as_str());
        let ours = names.filter_map(|name| manifests::crd_with(name, line, &facts.feature_set));
        let ours = ours.map(|definition| Value::clone(&definition));
        let ours = ours.chain(kinds::definitions());
        ours.filter(|definition| !is_dumped(definition) && is_needed(definition)).collect()
    }

    /// Reports what is served, and each object that is not served or was changed.
    fn report(&self, path: &Path, imported: &AllImported) {
        let secrets = self.0.secrets();
        for problem in &self.0.problems {
            print_notice(&secrets.hide(&format!("not read: {problem}")));
        }
        let mut groups: BTreeMap<(String, &str), Vec<String>> = BTreeMap::new();
        for (number, verdict) in &imported.findings {
            let (file, object) = &self.0.objects[*number];
            let (outcome, why) = match verdict {
                ImportFinding::Rejected(why) => ("not stored", why.clone()),
                ImportFinding::Pruned(fields) => {
                    ("stored without fields unknown to its schema", fields.join(", "))
                }
                ImportFinding::Invalid(why) => ("stored, but rejected if written today", why.clone()),
            };
            let kind = format!("{outcome}: {} {}", object.text("/apiVersion"), object.text("/kind"));
            // Most messages start with the name of their object.
            let why = why.replace(&format!("\"{}\"", object.name()), "NAME");
            groups.entry((format!("{kind}: {why}"), outcome)).or_default().push(located(
                object.name(),
                file,
                path,
            ));
        }
        for ((text, _), names) in groups {
            let more = names.len().saturating_sub(NAMED);
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            let text = secrets.hide(&text);
            print_notice(&format!("{text} ({}{more})", names[..names.len().min(NAMED)].join(", ")));
        }
        for line in imported.lines() {
            print_notice(&line);
        }
        if !imported.namespaces.is_empty() {
            print_notice(&format!("created missing namespaces: {}", imported.namespaces.join(", ")));
        }
        for line in self.0.summary(path) {
            print_notice(&secrets.hide(&line));
        }
        if imported.stored == 0 && !self.0.objects.is_empty() {
            return;
        }
        print_notice(&format!(
            "serving {} of {} objects of {}",
            imported.stored,
            self.0.objects.len(),
            path.shown()
        ));
    }

    /// Points the Route of Prometheus to this server, which serves the alerts of the dump.
    pub(super) fn route_alerts(&self, shared: &Shared, serving: &Serving) {
        if self.0.alerts.is_none() {
            return;
        }
        route::create(shared, serving);
    }
}

/// Returns the minor of Kubernetes to serve: the requested one, the one of the dump, or that of its release. If windtunnel has no
/// such API server, the nearest one, with a notice.
fn minor(requested: Option<u32>, facts: &Facts) -> u32 {
    let (oldest, newest) = (*KUBERNETES_MINORS.start(), *KUBERNETES_MINORS.end());
    let of_release = || facts.desired.as_ref().map(|version| Release::nearest(version).kubernetes_minor);
    let wanted = requested.or(facts.kubernetes_minor).or_else(of_release).unwrap_or(newest);
    let minor = wanted.clamp(oldest, newest);
    if minor != wanted {
        print_notice(&format!(
            "the dump is of Kubernetes 1.{wanted}, which windtunnel cannot serve: it serves the nearest minor, 1.{minor}"
        ));
    }
    minor
}

/// Names an object with its file in a folder or an archive.
fn located(name: &str, file: &str, dump: &Path) -> String {
    let file = Path::new(file);
    if file == dump {
        return name.to_owned();
    }
    format!("{name} in {}", file.strip_prefix(dump).unwrap_or(file).shown())
}

/// The logs of a record up to a moment.
struct RecordedLogs {
    logs: Vec<ContainerLog>,
    at: Time,
}

impl Upstream for RecordedLogs {
    fn answer(&self, _: &PodRequest<'_>) -> Option<PodResponse> {
        None
    }

    fn log(&self, request: &LogRequest<'_>) -> Option<Vec<LogLine>> {
        let name = [request.pod.namespace(), request.pod.name(), request.container];
        log_at(&self.logs, name, request.previous, self.at).map(<[LogLine]>::to_vec)
    }
}

/// Reads the files and creates the server. Its clock stands still at the moment of a record, and at the time at which a dump
/// was made; it is the wall clock if no object of the dump has a time.
///
/// # Errors
/// Nothing can be read.
pub(super) fn read(path: &Path, args: &ServeArgs) -> Result<(Files, Shared), String> {
    let files = Files(Dumped::read(path, args.at.as_deref())?);
    let made = || made_at(files.0.objects.iter().map(|(_, object)| object));
    // A time in the future shows that a clock was wrong.
    let moment = files.0.moment.or_else(|| made().map(|made| made.min(WallClock.now())));
    let clock: Arc<dyn Clock> = match moment {
        Some(moment) => ManualClock::at(moment),
        None => Arc::new(WallClock),
    };
    let server = files.server(path, args.kubernetes, args.seed, clock.now())?;
    if let (Some(moment), None) = (moment, files.0.moment) {
        print_notice(&format!(
            "the clock stands still at {}, when the dump was made; clients that use their own clock, such as `oc adm upgrade \
             status`, show durations up to now: use `windtunnel adm upgrade status`",
            rfc3339(moment)
        ));
    }
    Ok((files, Shared::new(server, clock)))
}
