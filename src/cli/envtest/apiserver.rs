//! windtunnel's API server with the flags of `kube-apiserver`.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use tokio::runtime::Handle;
use windtunnel_apiserver::https::{self, Authority, ServerCertificate, Settings, Webhooks};
use windtunnel_apiserver::service::Shared;
use windtunnel_apiserver::{AdmissionPlugins, ApiServer, AuthorizationMode};
use windtunnel_core::Identity;
use windtunnel_core::clock::{Clock as _, WallClock};

use super::assets::{CONTROLLERS, KUBERNETES};
use super::flags::{self, Flags};
use super::{random_faults, until_signal};
use crate::cli::args::controllers::Selected;
use crate::cli::args::kubernetes_minor;
use crate::cli::serve::controllers::{self, ServerProperties};
use crate::cli::serve::{admission, beside};
use crate::cli::{files, print_notice, print_output};
use crate::plan::KUBERNETES_MINORS;

/// Flags with an effect.
const SUPPORTED: [&str; 13] = [
    "admission-control-config-file",
    "authorization-mode",
    "bind-address",
    "cert-dir",
    "client-ca-file",
    "disable-admission-plugins",
    "enable-admission-plugins",
    "event-ttl",
    "secure-port",
    "service-cluster-ip-range",
    "tls-cert-file",
    "tls-private-key-file",
    "token-auth-file",
];

/// Flags without an effect: there is no database, and other keys sign nothing.
const IGNORED: [&str; 15] = [
    "advertise-address",
    "allow-privileged",
    "etcd-cafile",
    "etcd-certfile",
    "etcd-keyfile",
    "etcd-prefix",
    "etcd-servers",
    "insecure-bind-address",
    "insecure-port",
    "service-account-issuer",
    "service-account-key-file",
    "service-account-signing-key-file",
    "service-node-port-range",
    "storage-backend",
    "v",
];

/// The names in a generated certificate.
const NAMES: [&str; 6] =
    ["127.0.0.1", "::1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];

/// Serves until SIGTERM or SIGINT. `called` is the path by which this program was started.
///
/// # Errors
/// A flag or a file is invalid, or the server cannot listen on the address.
pub(super) fn main(called: &Path, words: &[String]) -> Result<(), String> {
    let flags = Flags::read(words);
    let minor = minor(called);
    if flags.has("version") {
        print_output(&format!("Kubernetes v1.{minor}.0\n"));
        return Ok(());
    }
    if flags.requests_help() {
        print_output(&help(minor));
        return Ok(());
    }
    let known = [&SUPPORTED[..], &IGNORED].concat();
    let ignored: Vec<&str> = flags.others(&known).collect();
    if !ignored.is_empty() {
        print_notice(&format!(
            "windtunnel's kube-apiserver ignores unknown flags: --{}",
            ignored.join(", --")
        ));
    }
    let controllers = selected_controllers(called)?;
    let has_kubelets = controllers.iter().any(|selected| matches!(selected, Selected::Component(_)));
    let shared = Shared::new(server(&flags, minor, has_kubelets)?, Arc::new(WallClock));
    let faults = random_faults::begin(called, &shared)?;
    let certificate = certificate(&flags)?;
    // Suites give the authority of their users without its key, so certificates of this one authenticate nobody.
    let signer = Arc::new(Authority::generate().map_err(|error| error.to_string())?);
    let properties = ServerProperties { minor, authority: certificate.chain_pem.clone(), signer };
    let mut kubernetes = controllers::of_kubernetes(&controllers);
    let settings = settings(&flags, certificate)?;
    let start = async {
        let options = beside::Options { seed: 1, stays_at_version: true, runtime: Handle::current() };
        let beside = beside::start(&shared, &controllers, &properties, options)?;
        let (beside, shared) = match beside {
            Some((beside, shared)) => {
                kubernetes.clear();
                (Some(beside), shared)
            }
            None => (None, shared),
        };
        let serving = https::serve(shared.clone(), settings).await.map_err(|error| error.to_string())?;
        let now = shared.now();
        shared.with(|server| server.advertise(serving.endpoint(), now));
        let background = tokio::spawn(controllers::run(shared, kubernetes, properties));
        let faults = tokio::spawn(async {
            if let Some(log) = faults {
                log.follow().await;
            }
        });
        Ok((serving, background, faults, beside))
    };
    until_signal(called, start, async |(serving, background, faults, beside)| {
        background.abort();
        faults.abort();
        // The log writes its last lines when the task is dropped.
        let _ = faults.await;
        serving.stop().await;
        if let Some(beside) = beside {
            let _ = tokio::task::spawn_blocking(|| beside.stop()).await;
        }
    })
}

/// Returns the controllers in the file next to the program.
fn selected_controllers(called: &Path) -> Result<Vec<Selected>, String> {
    let place = called.with_file_name(CONTROLLERS);
    if place.exists() { controllers::read(&place) } else { Ok(Vec::new()) }
}

/// Returns the Kubernetes minor in the file next to the program, or else the newest one.
fn minor(called: &Path) -> u32 {
    let text = std::fs::read_to_string(called.with_file_name(KUBERNETES));
    let minor = text.ok().and_then(|text| kubernetes_minor(text.trim()).ok());
    minor.unwrap_or(*KUBERNETES_MINORS.end())
}

fn help(minor: u32) -> String {
    // Test suites take a server with a flag for an insecure port for an old one.
    let ignored: Vec<&str> = IGNORED.into_iter().filter(|name| !name.starts_with("insecure")).collect();
    let about = format!("windtunnel's kube-apiserver v1.{minor}.0 keeps its objects in memory.");
    flags::help(&about, "kube-apiserver", &SUPPORTED, &ignored)
}

fn server(flags: &Flags, minor: u32, has_kubelets: bool) -> Result<ApiServer, String> {
    let plugins = admission_plugins(flags, minor)?;
    let mode = match flags.get("authorization-mode") {
        Some(modes) if modes.split(',').any(|mode| mode == "AlwaysAllow") => AuthorizationMode::AlwaysAllow,
        // The default of kube-apiserver.
        None => AuthorizationMode::AlwaysAllow,
        // With RBAC alone, simulated kubelets may do nothing.
        Some(modes) if has_kubelets || modes.split(',').any(|mode| mode == "Node") => {
            AuthorizationMode::NodeRbac
        }
        Some(_) => AuthorizationMode::Rbac,
    };
    let mut builder = ApiServer::builder();
    if let Some(text) = flags.get("event-ttl") {
        let ttl = text
            .parse()
            .map_err(|_| format!("--event-ttl: expected a duration such as 1h0m0s, found `{text}`"))?;
        builder = builder.event_ttl(ttl);
    }
    if let Some(text) = flags.get("service-cluster-ip-range") {
        // Of two families the first one counts: there is one family here.
        let first = text.split(',').next().unwrap_or_default();
        builder = builder
            .service_network(first.parse().map_err(|why| format!("--service-cluster-ip-range: {why}"))?);
    }
    let server = builder
        .kubernetes(minor)
        .hooks(Webhooks)
        .own_admission_plugins(plugins)
        .service_account_admission(true)
        .authorization_mode(mode);
    let mut server = server.build(WallClock.now());
    if let Some(path) = flags.get("token-auth-file") {
        let text = files::read(Path::new(path))?;
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let (token, who) = token(line).ok_or_else(|| {
                format!("{path}:{}: expected a line such as `token,user,uid,\"group1,group2\"`", index + 1)
            })?;
            server.accept_token(token, who);
        }
    }
    Ok(server)
}

fn admission_plugins(flags: &Flags, minor: u32) -> Result<AdmissionPlugins, String> {
    let list = |name| flags.list(name);
    let lists = (&*list("enable-admission-plugins"), &*list("disable-admission-plugins"));
    let file = flags.get("admission-control-config-file").map(Path::new);
    admission::plugins(lists, file, minor, "windtunnel's kube-apiserver")
}

/// Parses a line of `--token-auth-file`.
fn token(line: &str) -> Option<(String, Identity)> {
    let mut fields = line.splitn(4, ',');
    let (token, user, uid) = (fields.next()?, fields.next()?, fields.next()?);
    let groups = fields.next().unwrap_or_default().trim().trim_matches('"').split(',');
    let groups = groups.filter(|group| !group.is_empty()).map(str::to_owned).collect();
    let who = Identity { user: user.to_owned(), uid: uid.to_owned(), groups, ..Identity::default() };
    Some((token.to_owned(), who))
}

fn settings(flags: &Flags, certificate: ServerCertificate) -> Result<Settings, String> {
    let bind = flags.get("bind-address").unwrap_or("127.0.0.1");
    let ip = bind.parse().map_err(|_| format!("--bind-address: expected an IP address, found `{bind}`"))?;
    let port = flags.get("secure-port").unwrap_or("6443");
    let port = port.parse().map_err(|_| format!("--secure-port: expected a port, found `{port}`"))?;
    let client_authorities =
        flags.get("client-ca-file").map(|path| files::read(Path::new(path))).transpose()?;
    Ok(Settings {
        address: SocketAddr::new(ip, port),
        certificate: Some(certificate),
        client_authorities,
        ..Settings::default()
    })
}

/// Returns the server's certificate: from the named files, from `--cert-dir`, or a new one that is stored
/// there.
fn certificate(flags: &Flags) -> Result<ServerCertificate, String> {
    let read = |chain: &Path, key: &Path| {
        Ok::<_, String>(ServerCertificate { chain_pem: files::read(chain)?, key_pem: files::read(key)? })
    };
    if let (Some(chain), Some(key)) = (flags.get("tls-cert-file"), flags.get("tls-private-key-file")) {
        return read(Path::new(chain), Path::new(key));
    }
    let folder = flags.get("cert-dir").map(Path::new);
    let place = folder.map(|folder| (folder, folder.join("apiserver.crt"), folder.join("apiserver.key")));
    if let Some((_, chain, key)) = place.as_ref().filter(|(_, chain, key)| chain.exists() && key.exists()) {
        return read(chain, key);
    }
    let new =
        Authority::generate().and_then(|authority| authority.server_certificate(&NAMES.map(str::to_owned)));
    let new = new.map_err(|error| error.to_string())?;
    if let Some((folder, chain, key)) = &place {
        // kube-apiserver creates it, in `WriteCert` of client-go's util/cert.
        files::create_folders(folder)?;
        files::write(chain, &new.chain_pem)?;
        files::write_private(key, &new.key_pem)?;
    }
    Ok(new)
}
