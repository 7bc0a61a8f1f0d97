//! Compares the rule costs of this server with those of a real kube-apiserver.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use serde_json::{Value, json};
use windtunnel_apiserver::https::Authority;

use super::{answer, definition, most_values, rules};
use crate::apiserver::requests::server as our_server;

/// A real etcd and kube-apiserver, stopped at the end of the test.
struct RealServer {
    folder: PathBuf,
    programs: Vec<Child>,
    port: u16,
}

impl RealServer {
    fn start([etcd, apiserver]: [PathBuf; 2]) -> Self {
        let folder = tempfile::tempdir().unwrap().keep();
        let path = |name: &str| folder.join(name).display().to_string();
        let [client, peer, port] = free_ports();
        let authority = Authority::generate().unwrap();
        let certificate = authority.server_certificate(&["127.0.0.1".to_owned()]).unwrap();
        fs::write(path("sa.key"), certificate.key_pem).unwrap();
        fs::write(path("sa.crt"), certificate.chain_pem).unwrap();
        fs::write(path("tokens"), "secret,admin,1,\"system:masters\"\n").unwrap();
        let url = format!("http://127.0.0.1:{client}");
        let programs = vec![
            run(
                &etcd,
                &[
                    ("data-dir", path("etcd")),
                    ("listen-client-urls", url.clone()),
                    ("advertise-client-urls", url.clone()),
                    ("listen-peer-urls", format!("http://127.0.0.1:{peer}")),
                ],
            ),
            run(
                &apiserver,
                &[
                    ("etcd-servers", url),
                    ("bind-address", "127.0.0.1".to_owned()),
                    ("secure-port", port.to_string()),
                    ("cert-dir", path("certificates")),
                    ("token-auth-file", path("tokens")),
                    ("service-account-issuer", "https://localhost".to_owned()),
                    ("service-account-key-file", path("sa.crt")),
                    ("service-account-signing-key-file", path("sa.key")),
                    ("service-cluster-ip-range", "10.0.0.0/24".to_owned()),
                ],
            ),
        ];
        Self { folder, programs, port }
    }

    /// A client of an administrator, once the server is ready.
    async fn client(&self) -> kube::Client {
        let mut config = kube::Config::new(format!("https://127.0.0.1:{}", self.port).parse().unwrap());
        config.accept_invalid_certs = true;
        config.auth_info.token = Some("secret".to_owned().into());
        let client = kube::Client::try_from(config).unwrap();
        loop {
            let request = http::Request::get("/readyz").body(Vec::new()).unwrap();
            if client.request_text(request).await.is_ok_and(|text| text == "ok") {
                return client;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

impl Drop for RealServer {
    fn drop(&mut self) {
        for program in &mut self.programs {
            let _ = program.kill();
            let _ = program.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Ports that were free a moment ago.
fn free_ports<const N: usize>() -> [u16; N] {
    let listeners = std::array::from_fn::<_, N, _>(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

fn run(program: &PathBuf, flags: &[(&str, String)]) -> Child {
    let flags = flags.iter().map(|(name, value)| format!("--{name}={value}"));
    Command::new(program).args(flags).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// The errors of a message. Those of several properties have no fixed order.
fn errors(message: &str) -> BTreeSet<String> {
    let message = message.trim_end_matches(']');
    let mut errors = message.split("spec.validation.openAPIV3Schema.properties[spec]");
    errors.next();
    let errors = errors.map(|error| error.trim_end_matches([',', ' ']).to_owned());
    // The server may name any of several rules with the same cost.
    errors.filter(|error| !error.contains("contributed to")).collect()
}

#[test]
fn rules_are_estimated_as_a_real_server_estimates_them() {
    let Some(programs) = crate::real::programs(["etcd", "kube-apiserver"]) else { return };
    let server = RealServer::start(programs);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut differences = Vec::new();
    runtime.block_on(async {
        let client = server.client().await;
        let version = client.apiserver_version().await.unwrap();
        let minor: u32 = version.minor.trim_end_matches('+').parse().unwrap();
        let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let kind = ApiResource::from_gvk(&kind);
        let definitions: Api<DynamicObject> = Api::all_with(client, &kind);
        for (number, (cost, text)) in rules().enumerate() {
            let most = cost.parse().map_or(1, most_values);
            let definition = definition(number, &rule(text), &[1, most / 10, most]);
            let object = serde_json::from_value(definition.clone()).unwrap();
            let dry_run = PostParams { dry_run: true, ..PostParams::default() };
            let real = match definitions.create(&dry_run, &object).await {
                Ok(_) => String::new(),
                Err(kube::Error::Api(status)) => status.message.clone(),
                Err(error) => panic!("{text}: {error}"),
            };
            let ours = answer(&mut our_server(minor), &definition);
            if errors(&ours) != errors(&real) {
                differences.push(format!("{text}\n  ours: {ours}\n  real: {real}"));
            }
        }
    });
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Parses a line: a rule, or the expression of a message after `message: `.
fn rule(line: &str) -> Value {
    match line.strip_prefix("message: ") {
        Some(expression) => json!({ "rule": "self.flag", "messageExpression": expression }),
        None => json!({ "rule": line }),
    }
}
