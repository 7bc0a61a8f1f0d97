//! The programs of a control plane, and their shared files.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::Api;
use tempfile::TempDir;

use super::openshift_build;
use crate::cli::environment::pause;
use crate::cli::serve::{client, run};

/// The token of the administrator.
const TOKEN: &str = "administrator";
/// The maximum number of polls of a condition, and their interval: a minute and a half in total.
const POLLS: u32 = 900;
const PAUSE_MILLIS: u64 = 100;

/// Running programs. They are killed in the reverse order of their start.
pub(super) struct Programs {
    running: Vec<(&'static str, Child)>,
    kubeconfig: String,
    folder: TempDir,
}

impl Programs {
    /// Starts all programs and waits until they work; `None` if one is missing on this machine.
    pub(super) fn start(context: &str) -> Option<Self> {
        let names = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];
        let [etcd, api_server, controllers, scheduler] = crate::real::programs(names)?;
        let mut folder = tempfile::Builder::new();
        folder.prefix("windtunnel-");
        // etcd waits for the disk at every write, so its data is in memory.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { folder.tempdir_in(memory) } else { folder.tempdir() }.unwrap();
        let mut programs = Self { running: Vec::new(), kubeconfig: String::new(), folder };
        let store = programs.start_etcd(&etcd);
        programs.start_api_server(&api_server, &store, context, &[]);
        if run(openshift_build::protects_namespaces(&programs.kubeconfig)) {
            programs.stop_last();
            let without = ["--disable-admission-plugins", "NamespaceLifecycle"];
            programs.start_api_server(&api_server, &store, context, &without);
            run(openshift_build::install_policy(&programs.kubeconfig));
        }
        programs.start_controllers(&controllers, &scheduler);
        programs.wait_until(|own| run(openshift_build::is_namespace_gone(&own.kubeconfig)));
        Some(programs)
    }

    /// The kubeconfig of the administrator.
    pub(super) fn kubeconfig(&self) -> &str {
        &self.kubeconfig
    }

    /// Starts etcd. Returns its URL.
    fn start_etcd(&mut self, program: &Path) -> String {
        let [own, peers] = free_ports().map(|port| format!("http://127.0.0.1:{port}"));
        let mut command = Command::new(program);
        command.arg("--data-dir").arg(self.file("etcd"));
        command.args(["--listen-client-urls", &own, "--advertise-client-urls", &own]);
        command.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
        command.args(["--initial-cluster", &format!("default={peers}")]);
        self.spawn("etcd", command);
        own
    }

    /// Starts kube-apiserver with its own certificate, as kind does; the node authorizer gives nodes their
    /// rights.
    fn start_api_server(&mut self, program: &Path, store: &str, context: &str, more: &[&str]) {
        let key = rcgen::KeyPair::generate().unwrap();
        let public = self.write("accounts.pub", &key.public_key_pem());
        let private = self.write("accounts.key", &key.serialize_pem());
        let tokens = self.write("tokens.csv", ADMINISTRATOR);
        let [port] = free_ports();
        let mut command = Command::new(program);
        command.arg("--cert-dir").arg(self.file("certificates"));
        command.arg("--token-auth-file").arg(tokens);
        command.arg("--service-account-key-file").arg(public);
        command.arg("--service-account-signing-key-file").arg(private);
        command.args(["--etcd-servers", store, "--secure-port", &port.to_string()]);
        command.args(["--bind-address", "127.0.0.1", "--advertise-address", "192.0.2.1"]);
        command.args(["--service-account-issuer", "https://kubernetes.default.svc"]);
        command.args(["--service-cluster-ip-range", "10.96.0.0/16", "--endpoint-reconciler-type", "none"]);
        command.args(["--authorization-mode", "Node,RBAC", "--allow-privileged=true"]);
        command.args(["--enable-admission-plugins", "NodeRestriction"]);
        command.args(more);
        self.spawn("kube-apiserver", command);
        let certificate = self.file("certificates").join("apiserver.crt");
        self.wait_until(|_| certificate.is_file());
        self.kubeconfig = kubeconfig(port, &fs::read(&certificate).unwrap(), context);
        self.wait_until(|own| run(is_ready(&own.kubeconfig)));
    }

    fn start_controllers(&mut self, controllers: &Path, scheduler: &Path) {
        let kubeconfig = self.write("kubeconfig", &self.kubeconfig.clone());
        let shared = |program: &Path| {
            let mut command = Command::new(program);
            command.arg("--kubeconfig").arg(&kubeconfig);
            command.args(["--leader-elect=false", "--secure-port=0", "--bind-address=127.0.0.1"]);
            command
        };
        let mut command = shared(controllers);
        command.arg("--service-account-private-key-file").arg(self.file("accounts.key"));
        command.arg("--root-ca-file").arg(self.file("certificates").join("apiserver.crt"));
        command.args([
            "--use-service-account-credentials=true",
            "--kube-api-qps=200",
            "--kube-api-burst=300",
        ]);
        self.spawn("kube-controller-manager", command);
        self.wait_until(|own| run(has_controllers(&own.kubeconfig)));
        self.spawn("kube-scheduler", shared(scheduler));
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.file(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn spawn(&mut self, name: &'static str, mut command: Command) {
        let log = File::create(self.file(&format!("{name}.log"))).unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log);
        self.running.push((name, command.spawn().unwrap()));
    }

    /// Waits until the last program works. Panics with the end of its log if it never does.
    fn wait_until(&mut self, is_met: impl Fn(&Self) -> bool) {
        for _ in 0..POLLS {
            if is_met(self) {
                return;
            }
            if self.running.last_mut().is_some_and(|(_, program)| program.try_wait().unwrap().is_some()) {
                break;
            }
            pause(PAUSE_MILLIS);
        }
        let name = self.running.last().map_or("", |(name, _)| name);
        let log = fs::read_to_string(self.file(&format!("{name}.log"))).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        panic!("{name} is not ready:\n{}", lines[lines.len().saturating_sub(30)..].join("\n"));
    }

    /// Stops the program that was started last. Returns false if none is left.
    fn stop_last(&mut self) -> bool {
        let Some((_, mut program)) = self.running.pop() else { return false };
        // It may have ended already.
        let _ = program.kill();
        let _ = program.wait();
        true
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        while self.stop_last() {}
    }
}

/// The token file: token, user, uid and groups.
const ADMINISTRATOR: &str = "administrator,administrator,1,\"system:masters\"\n";

/// Unused ports of the loopback interface.
fn free_ports<const N: usize>() -> [u16; N] {
    let sockets = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    sockets.map(|socket| socket.local_addr().unwrap().port())
}

fn kubeconfig(port: u16, certificate: &[u8], context: &str) -> String {
    let authority = STANDARD.encode(certificate);
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: {context}\n\
         clusters:\n- name: {context}\n  cluster: {{server: 'https://127.0.0.1:{port}', certificate-authority-data: {authority}}}\n\
         users:\n- name: administrator\n  user: {{token: {TOKEN}}}\n\
         contexts:\n- name: {context}\n  context: {{cluster: {context}, user: administrator}}\n"
    )
}

async fn is_ready(kubeconfig: &str) -> bool {
    let request = http::Request::get("/readyz").body(Vec::new()).unwrap();
    client(kubeconfig).await.request_text(request).await.is_ok()
}

/// Whether the controller manager has published its certificate into every namespace.
async fn has_controllers(kubeconfig: &str) -> bool {
    let namespaces = ["default", "kube-node-lease", "kube-public", "kube-system"];
    for namespace in namespaces {
        let published: Api<ConfigMap> = Api::namespaced(client(kubeconfig).await, namespace);
        if !published.get_opt("kube-root-ca.crt").await.is_ok_and(|found| found.is_some()) {
            return false;
        }
    }
    true
}
