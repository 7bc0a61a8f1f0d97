//! `windtunnel envtest`: the programs of its folder, started as test suites with controller-runtime start
//! them.

#[cfg(unix)]
mod command;
mod openshift_api;
mod random_faults;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use serde_json::json;
use windtunnel_apiserver::https::{Authority, ClientCertificate};

use super::environment::TestEnvironment;
use super::serve::components::run_pods;
use super::serve::controllers::collect_garbage;
use super::serve::{client, run};

/// The pause between two attempts to reach a program, in milliseconds, and the most attempts.
const ATTEMPTS: (u64, u32) = (20, 1_000);

/// A started program, killed if a test fails.
struct Started(Child);

impl Started {
    fn new(environment: &TestEnvironment, program: &str, flags: &[String]) -> Self {
        let mut command = Command::new(environment.work().join(program));
        command.args(flags).env_clear().current_dir(environment.work());
        Self(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Ends the program as envtest does. Returns its exit code and its stderr.
    fn end(mut self) -> (Option<i32>, String) {
        let id = self.0.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        let mut stderr = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (self.0.wait().unwrap().code(), stderr)
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port that was free a moment ago, found in the same way as envtest does.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The response over plain HTTP, once there is one.
fn get(port: u16, path: &str) -> String {
    for _ in 0..ATTEMPTS.1 {
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
            write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            return answer;
        }
        crate::cli::environment::pause(ATTEMPTS.0);
    }
    panic!("no program listens on {port}");
}

/// A control plane as envtest starts it: certificates first, then etcd, then the API server.
struct ControlPlane {
    etcd: Started,
    apiserver: Started,
    url: String,
    server_authority: Authority,
    client_authority: Authority,
}

impl ControlPlane {
    fn start(environment: &TestEnvironment, folder: &str) -> Self {
        let (etcd_port, port) = (free_port(), free_port());
        let etcd = Started::new(
            environment,
            "assets/etcd",
            &[
                "--listen-peer-urls=http://localhost:0".to_owned(),
                format!("--data-dir={folder}/etcd"),
                format!("--advertise-client-urls=http://127.0.0.1:{etcd_port}"),
                format!("--listen-client-urls=http://127.0.0.1:{etcd_port}"),
                "--unsafe-no-fsync=true".to_owned(),
            ],
        );
        assert!(get(etcd_port, "/health").contains("200 OK"));
        let (server_authority, client_authority) =
            (Authority::generate().unwrap(), Authority::generate().unwrap());
        let names = ["127.0.0.1", "localhost"].map(str::to_owned);
        let certificate = server_authority.server_certificate(&names).unwrap();
        environment.write(&format!("{folder}/apiserver.crt"), certificate.chain_pem);
        environment.write(&format!("{folder}/apiserver.key"), certificate.key_pem);
        environment.write(&format!("{folder}/client-cert-auth-ca.crt"), client_authority.certificate_pem());
        let flags = [
            "--advertise-address=127.0.0.1",
            "--allow-privileged=true",
            "--authorization-mode=RBAC",
            "--bind-address=127.0.0.1",
            &format!("--cert-dir={folder}"),
            &format!("--client-ca-file={folder}/client-cert-auth-ca.crt"),
            "--disable-admission-plugins=ServiceAccount",
            &format!("--etcd-servers=http://127.0.0.1:{etcd_port}"),
            &format!("--secure-port={port}"),
            &format!("--service-account-issuer=https://127.0.0.1:{port}/"),
            &format!("--service-account-key-file={folder}/sa-signer.crt"),
            &format!("--service-account-signing-key-file={folder}/sa-signer.key"),
            "--service-cluster-ip-range=10.0.0.0/24",
        ];
        let apiserver = Started::new(environment, "assets/kube-apiserver", &flags.map(str::to_owned));
        Self { etcd, apiserver, url: format!("https://127.0.0.1:{port}"), server_authority, client_authority }
    }

    /// A client with a client certificate.
    async fn client(&self, certificate: &ClientCertificate) -> kube::Client {
        let data = |pem: &str| STANDARD.encode(pem);
        let authority = data(&self.server_authority.certificate_pem());
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{ "name": "c", "cluster": { "server": self.url, "certificate-authority-data": authority } }],
            "users": [{ "name": "c", "user": {
                "client-certificate-data": data(&certificate.certificate_pem),
                "client-key-data": data(&certificate.key_pem) } }],
            "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "c" } }],
        });
        client(&config.to_string()).await
    }

    /// A client of envtest's administrator, once the server is ready.
    async fn admin(&self) -> kube::Client {
        let certificate = self.client_authority.client("admin", Some("system:masters")).unwrap();
        let client = self.client(&certificate).await;
        for _ in 0..ATTEMPTS.1 {
            let request = http::Request::get("/readyz").body(Vec::new()).unwrap();
            if client.request_text(request).await.is_ok_and(|text| text == "ok") {
                return client;
            }
            tokio::time::sleep(Duration::from_millis(ATTEMPTS.0)).await;
        }
        panic!("{} is not ready", self.url);
    }
}

fn definition() -> serde_json::Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "crons.batch.example.io" },
        "spec": { "group": "batch.example.io", "scope": "Namespaced",
            "names": { "kind": "Cron", "plural": "crons", "singular": "cron", "listKind": "CronList" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": { "type": "object", "properties": { "size": { "type": "integer", "maximum": 3 } } } } } } }] },
    })
}

fn object(value: serde_json::Value) -> DynamicObject {
    serde_json::from_value(value).unwrap()
}

fn api_resource(group: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural)
}

#[test]
fn a_control_plane_serves_custom_resources_and_stops() {
    let environment = TestEnvironment::new();
    let output = environment.run(&["envtest", "assets", "--kubernetes", "1.33"]);
    insta::assert_snapshot!(output, @"
    exit 0
    KUBEBUILDER_ASSETS=$DIR/assets
    found no kubectl on the PATH: the one in the folder is a placeholder
    ");
    let plane = ControlPlane::start(&environment, "k8s_test");
    run(async {
        let client = plane.admin().await;
        assert_eq!(client.apiserver_version().await.unwrap().minor, "33");
        Api::<Namespace>::all(client.clone()).get("default").await.unwrap();
        let definitions =
            api_resource("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions");
        let definitions: Api<DynamicObject> = Api::all_with(client.clone(), &definitions);
        definitions.create(&PostParams::default(), &object(definition())).await.unwrap();
        let crons = api_resource("batch.example.io", "Cron", "crons");
        let crons: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &crons);
        let cron = |size: u32| {
            object(
                json!({ "apiVersion": "batch.example.io/v1", "kind": "Cron", "metadata": { "generateName": "test-" }, "spec": { "size": size } }),
            )
        };
        let created = crons.create(&PostParams::default(), &cron(2)).await.unwrap();
        assert!(created.metadata.name.unwrap().starts_with("test-"));
        let rejected = crons.create(&PostParams::default(), &cron(9)).await.unwrap_err().to_string();
        assert!(rejected.contains("spec.size in body should be less than or equal to 3"), "{rejected}");
        // A user of the suite without roles, and a certificate of another authority.
        let user = plane.client(&plane.client_authority.client("u", None).unwrap()).await;
        let namespaces: Api<Namespace> = Api::all(user);
        let forbidden = namespaces.get("default").await.unwrap_err().to_string();
        assert!(forbidden.contains("User \"u\" cannot get resource \"namespaces\""), "{forbidden}");
        let stranger = Authority::generate().unwrap().client("admin", Some("system:masters")).unwrap();
        let stranger: Api<Namespace> = Api::all(plane.client(&stranger).await);
        assert!(stranger.get("default").await.unwrap_err().to_string().contains("Unauthorized"));
    });
    assert_eq!(plane.apiserver.end(), (Some(0), String::new()));
    let (code, stderr) = plane.etcd.end();
    assert_eq!((code, stderr.as_str()), (Some(0), "windtunnel simulates etcd and stores nothing\n"));
}

#[test]
fn the_api_server_creates_the_folder_of_its_certificate() {
    let environment = TestEnvironment::new();
    assert_eq!(environment.run(&["envtest", "assets"]).code, Some(0));
    let port = free_port();
    let flags = ["--bind-address=127.0.0.1", &format!("--secure-port={port}"), "--cert-dir=new/certificates"];
    let server = Started::new(&environment, "assets/kube-apiserver", &flags.map(str::to_owned));
    for _ in 0..ATTEMPTS.1 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            break;
        }
        crate::cli::environment::pause(ATTEMPTS.0);
    }
    assert_eq!(server.end(), (Some(0), String::new()));
    let files = environment.files();
    for name in ["new/certificates/apiserver.crt", "new/certificates/apiserver.key"] {
        assert!(files.iter().any(|file| file == name), "{name}: {files:?}");
    }
}

#[test]
fn the_control_plane_runs_the_selected_controllers() {
    let environment = TestEnvironment::new();
    let chosen = "garbage-collector-controller,namespace-controller";
    assert_eq!(environment.run(&["envtest", "assets", "--controllers", chosen]).code, Some(0));
    let plane = ControlPlane::start(&environment, "k8s_test");
    run(async { collect_garbage(&plane.admin().await).await });
    assert_eq!(plane.apiserver.end(), (Some(0), String::new()));

    environment.write("assets/controllers", "namespace-controller\njob-controler\n");
    let mut command = Command::new(environment.work().join("assets/kube-apiserver"));
    let output = command.env_clear().current_dir(environment.work()).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let expected =
        "assets/controllers:2:1: unknown controller `job-controler`; did you mean `job-controller`?\n";
    assert!(output.status.code() == Some(1) && stderr.ends_with(expected), "{stderr}");

    assert_eq!(environment.run(&["envtest", "assets"]).code, Some(0));
    assert!(!environment.files().iter().any(|file| file.ends_with("controllers")));
}

#[test]
fn the_control_plane_runs_simulated_components() {
    let environment = TestEnvironment::new();
    let chosen = "all,kubelet";
    assert_eq!(environment.run(&["envtest", "assets", "--controllers", chosen]).code, Some(0));
    let plane = ControlPlane::start(&environment, "k8s_test");
    run(async { run_pods(&plane.admin().await).await });
    assert_eq!(plane.apiserver.end(), (Some(0), String::new()));
}

#[test]
fn control_planes_share_no_objects() {
    let environment = TestEnvironment::new();
    assert_eq!(environment.run(&["envtest", "assets", "--copy"]).code, Some(0));
    let planes: Vec<ControlPlane> =
        (0..4).map(|number| ControlPlane::start(&environment, &format!("k8s_{number}"))).collect();
    run(async {
        for (number, plane) in planes.iter().enumerate() {
            let namespaces: Api<Namespace> = Api::all(plane.admin().await);
            let mut own = Namespace::default();
            own.metadata.name = Some(format!("of-{number}"));
            namespaces.create(&PostParams::default(), &own).await.unwrap();
            let found = namespaces.list(&kube::api::ListParams::default()).await.unwrap().items.len();
            assert_eq!(found, 5, "its own and those of every cluster");
        }
    });
}

/// The exit code and all output of a program of the folder that ends on its own.
fn ask(environment: &TestEnvironment, program: &str, flags: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(environment.work().join("assets").join(program));
    let output = command.args(flags).env_clear().current_dir(environment.work()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

/// The flags of a help text, parsed like controller-runtime does: those at the start of a line.
fn flags_of(help: &str) -> Vec<&str> {
    let flags = help.lines().filter_map(|line| line.trim_start().strip_prefix("--"));
    flags.map(|flag| flag.split([' ', ',', '=']).next().unwrap()).collect()
}

#[test]
fn each_program_prints_its_flags_for_help() {
    let environment = TestEnvironment::new();
    environment.run(&["envtest", "assets", "--kubernetes", "1.33"]);
    for (program, version, flags) in [
        ("etcd", "windtunnel's etcd 3.", &["listen-client-urls", "data-dir", "unsafe-no-fsync"][..]),
        ("kube-apiserver", "windtunnel's kube-apiserver v1.33.0 ", &["secure-port", "etcd-servers"]),
        ("kubectl", "This kubectl is a placeholder", &["help"]),
    ] {
        let (code, help) = ask(&environment, program, &["--help"]);
        assert!(code == Some(0) && help.starts_with(version), "{program}: {code:?} {help}");
        let found = flags_of(&help);
        assert!(flags.iter().all(|flag| found.contains(flag)), "{program}: {found:?}");
        assert!(!found.contains(&"insecure-port"), "{program}: {found:?}");
        assert_eq!(ask(&environment, program, &["-h"]), (code, help), "{program}");
    }
}

#[test]
fn the_programs_print_versions_and_reject_invalid_flags() {
    let environment = TestEnvironment::new();
    environment.run(&["envtest", "assets"]);
    let ask = |program: &str, flags: &[&str]| self::ask(&environment, program, flags);
    assert_eq!(ask("kube-apiserver", &["--version"]), (Some(0), "Kubernetes v1.36.0\n".to_owned()));
    assert!(ask("etcd", &["--version"]).1.starts_with("etcd Version: 3."));
    let (code, help) = ask("kube-apiserver", &["--help"]);
    // Suites detect an old server by this flag.
    assert!(code == Some(0) && help.contains("--secure-port") && !help.contains("insecure-port"), "{help}");
    let (code, output) = ask("kubectl", &["get", "pods"]);
    assert!(code == Some(1) && output.starts_with("error: this kubectl is a placeholder"), "{output}");
    let (code, output) = ask("kube-apiserver", &["--secure-port=x", "--audit-log-path=-"]);
    assert_eq!(code, Some(1));
    assert_eq!(
        output,
        "windtunnel's kube-apiserver ignores unknown flags: --audit-log-path\nerror: --secure-port: expected a port, found `x`\n"
    );
}
