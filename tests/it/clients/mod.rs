//! Everyday uses of the clients that people have: official releases of kubectl and Helm, and packages of Python. Each use runs
//! twice, because the second time often takes another way. The uses are in `tests/clients`.

mod uses;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::cli::environment::{TestEnvironment, pause};
use crate::cli::serve::Served;

/// The folder with the uses.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients");
/// The editor of `kubectl edit`. It changes nothing at the second time.
const EDITOR: &str = "sed -i -e s/note:.d$/note:\\ e/ -e s/beak:.short$/beak:\\ shut/";
/// The Python that has the packages of all clients.
const PYTHON: &str = "python-with-clients";

/// A server with controllers and kubelets, and a folder with the files of the uses.
struct Cluster {
    environment: TestEnvironment,
    _served: Served,
}

impl Cluster {
    fn start() -> Self {
        let environment = TestEnvironment::new();
        for folder in ["files", "chart", "chart/templates", "chart/crds", "python"] {
            copy_files(&environment, folder);
        }
        let arguments = ["--bare", "--controllers", "all,kubelet", "--kubeconfig", "config"];
        let served = Served::start(&environment, &arguments);
        Self { environment, _served: served }
    }

    /// A command that runs `program` with the kubeconfig of the cluster, in a folder beside the files.
    fn command(&self, program: &Path, folder: &str) -> Command {
        let work = self.environment.work();
        let mut command = Command::new(program);
        command
            .current_dir(work.join(folder))
            .env("HOME", &work)
            .env("KUBECONFIG", work.join("config"))
            .env("KUBE_EDITOR", EDITOR)
            .stdin(Stdio::null());
        command
    }

    /// The output of a command that must succeed.
    #[track_caller]
    fn output(&self, program: &Path, folder: &str, arguments: &[&str]) -> String {
        let output = self.command(program, folder).args(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{} {arguments:?}\n{text}{error}", program.display());
        text
    }
}

/// Copies the files of a folder of uses to the work of a test.
fn copy_files(environment: &TestEnvironment, folder: &str) {
    for entry in fs::read_dir(Path::new(FOLDER).join(folder)).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let name = path.file_name().unwrap().to_str().unwrap();
            environment.write(&format!("{folder}/{name}"), fs::read(&path).unwrap());
        }
    }
}

fn list(name: &str) -> String {
    fs::read_to_string(Path::new(FOLDER).join(name)).unwrap()
}

/// Runs the uses of kubectl with the official release of a minor.
fn use_kubectl(minor: u32) {
    let Some([kubectl]) = crate::real::programs([&*format!("kubectl-1.{minor}")]) else { return };
    let cluster = Cluster::start();
    uses::run(&list("kubectl.txt"), minor, || cluster.command(&kubectl, "files"));
}

#[test]
fn kubectl_1_23_works_twice() {
    use_kubectl(23);
}

#[test]
fn kubectl_1_30_works_twice() {
    use_kubectl(30);
}

#[test]
fn kubectl_1_33_works_twice() {
    use_kubectl(33);
}

#[test]
fn kubectl_1_36_works_twice() {
    use_kubectl(36);
}

#[test]
fn kubectl_1_37_works_twice() {
    use_kubectl(37);
}

/// Runs the uses of Helm with a major release.
fn use_helm(major: u32) {
    let helm = format!("helm-{major}");
    let Some([helm, kubectl]) = crate::real::programs([&*helm, "kubectl-1.36"]) else { return };
    let cluster = Cluster::start();
    cluster.output(&kubectl, "files", &["apply", "-f", "node.yaml"]);
    uses::run(&list("helm.txt"), major, || cluster.command(&helm, ""));
}

#[test]
fn helm_3_installs_upgrades_and_rolls_back_a_chart_twice() {
    use_helm(3);
}

#[test]
fn helm_4_installs_upgrades_and_rolls_back_a_chart_twice() {
    use_helm(4);
}

/// Runs a script with a client in Python. The kind Pelican exists.
fn use_python(script: &str) {
    let Some([python, kubectl]) = crate::real::programs([PYTHON, "kubectl-1.36"]) else { return };
    let cluster = Cluster::start();
    cluster.output(&kubectl, "files", &["apply", "-f", "definition.yaml"]);
    cluster.output(&python, "python", &[script]);
}

#[test]
fn the_python_client_kubernetes_changes_objects_twice() {
    use_python("client_kubernetes.py");
}

#[test]
fn the_python_client_kr8s_changes_objects_twice() {
    use_python("client_kr8s.py");
}

#[test]
fn the_python_client_lightkube_changes_objects_twice() {
    use_python("client_lightkube.py");
}

/// A running program, killed at the end of a test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn an_operator_of_kopf_handles_two_changes() {
    let Some([python, kubectl]) = crate::real::programs([PYTHON, "kubectl-1.36"]) else { return };
    let cluster = Cluster::start();
    cluster.output(&kubectl, "files", &["apply", "-f", "definition.yaml"]);
    let mut operator = cluster.command(&python, "python");
    operator.args(["-m", "kopf", "run", "--standalone", "--all-namespaces", "--quiet", "operator_kopf.py"]);
    let _operator = Running(operator.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    cluster.output(&kubectl, "files", &["apply", "-f", "pelican.yaml"]);
    let replicas = |kubectl: &Path| {
        cluster.output(kubectl, "files", &["get", "pelican/pete", "-o", "jsonpath={.status.replicas}"])
    };
    for wanted in ["1", "2", "3"] {
        cluster.output(&kubectl, "files", &["scale", "pelican/pete", "--replicas", wanted]);
        let is_handled = |_: &u32| {
            pause(100);
            replicas(kubectl.as_path()) == wanted
        };
        assert!((0..300).find(is_handled).is_some(), "kopf did not handle the change to {wanted}");
    }
}
