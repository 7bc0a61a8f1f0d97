//! The real kubectl, 1.20 or newer, against a served API server.

mod ages;
mod apply;
mod operate;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::cli::environment::TestEnvironment;
use crate::cli::serve::Served;

/// A server with a kubectl.
struct Kubectl {
    program: PathBuf,
    environment: TestEnvironment,
    served: Served,
    minor: u32,
}

/// The result of a kubectl command.
struct Answer {
    ok: bool,
    out: String,
    err: String,
}

/// Runs a test with a server and kubectl; skips it without kubectl.
fn with_kubectl(arguments: &[&str], test: impl FnOnce(&Kubectl)) {
    let Some([program]) = crate::real::programs(["kubectl"]) else { return };
    let version = Command::new(&program).args(["version", "--client", "-o", "json"]).output().unwrap();
    let version: Value = serde_json::from_slice(&version.stdout).unwrap();
    let minor = version["clientVersion"]["minor"].as_str().unwrap().trim_end_matches('+').parse().unwrap();
    let environment = TestEnvironment::new();
    let served = Served::start(&environment, &[arguments, &["--kubeconfig", "config"]].concat());
    test(&Kubectl { program, environment, served, minor });
}

impl Kubectl {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .current_dir(self.environment.work())
            .env("HOME", self.environment.work())
            .env("KUBECONFIG", self.environment.work().join("config"))
            .stdin(Stdio::null());
        command
    }

    fn answer(&self, arguments: &[&str]) -> Answer {
        let output = self.command(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Answer { ok: output.status.success(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// The output of a command that must succeed. Arguments are split at spaces.
    #[track_caller]
    fn run(&self, arguments: &str) -> String {
        self.run_with(arguments, &[])
    }

    /// As `run`, with more arguments that may contain spaces.
    #[track_caller]
    fn run_with(&self, arguments: &str, more: &[&str]) -> String {
        let arguments: Vec<&str> = arguments.split(' ').chain(more.iter().copied()).collect();
        let answer = self.answer(&arguments);
        assert!(answer.ok, "kubectl {arguments:?}\n{}{}", answer.out, answer.err);
        answer.out
    }

    /// The error output of a command that must fail.
    #[track_caller]
    fn fails(&self, arguments: &str) -> String {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let answer = self.answer(&arguments);
        assert!(!answer.ok, "kubectl {arguments:?}\n{}", answer.out);
        answer.err
    }

    #[track_caller]
    fn json(&self, arguments: &str) -> Value {
        serde_json::from_str(&self.run(&format!("{arguments} -o json"))).unwrap()
    }
}

#[test]
fn objects_are_created_read_in_every_output_format_and_deleted() {
    with_kubectl(&["--bare"], |kubectl| {
        assert_eq!(kubectl.run("create namespace n"), "namespace/n created\n");
        assert_eq!(kubectl.run("-n n create configmap a --from-literal=k=v"), "configmap/a created\n");
        assert_eq!(kubectl.run("-n n create secret generic s --from-literal=k=v"), "secret/s created\n");
        assert_eq!(kubectl.run("-n n create deployment d --image=i:1"), "deployment.apps/d created\n");
        assert!(kubectl.run("-n n get configmaps").starts_with("NAME"));
        assert!(kubectl.run("get configmaps -A -o wide").contains("n "));
        assert_eq!(kubectl.run("-n n get configmap a -o name"), "configmap/a\n");
        assert_eq!(kubectl.json("-n n get configmap a")["data"], json!({ "k": "v" }));
        assert!(kubectl.run("-n n get configmap a -o yaml").contains("\ndata:\n  k: v\n"));
        assert_eq!(kubectl.run("-n n get configmap a -o jsonpath={.data.k}"), "v");
        let columns = kubectl.run(
            "-n n get configmaps -o custom-columns=WHAT:.metadata.name,DATA:.data.k --sort-by=.metadata.name",
        );
        assert!(
            columns.starts_with("WHAT") && columns.contains("a ") && columns.contains("v\n"),
            "{columns}"
        );
        assert_eq!(kubectl.json("-n n get secret s")["data"], json!({ "k": "dg==" }));
        let deployment = kubectl.json("-n n get deployment d");
        assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["image"], "i:1");
        assert_eq!(deployment["spec"]["replicas"], 1);
        assert!(kubectl.run("-n n describe configmap a").contains("\nk:\n----\nv\n"));
        assert_eq!(kubectl.run("-n n get configmaps,secrets -o name"), "configmap/a\nsecret/s\n");
        assert_eq!(
            kubectl.run("-n n delete configmap a"),
            "configmap \"a\" deleted\n".replace('\n', &deleted_from(kubectl))
        );
        assert!(
            kubectl
                .fails("-n n get configmap a")
                .contains("Error from server (NotFound): configmaps \"a\" not found")
        );
        kubectl.run("-n n delete deployments --all --wait=true");
        assert_eq!(kubectl.run("-n n get deployments -o name"), "");
    });
}

/// The end of kubectl's line about a deletion: since 1.34 it names the namespace.
fn deleted_from(kubectl: &Kubectl) -> String {
    if kubectl.minor >= 34 { " from n namespace\n".to_owned() } else { "\n".to_owned() }
}

#[test]
fn objects_are_changed_by_patches_labels_scale_and_an_editor() {
    with_kubectl(&["--bare"], |kubectl| {
        kubectl.run("create configmap a --from-literal=k=v");
        kubectl.run("create deployment d --image=i:1");
        kubectl.run_with("patch configmap a --type merge -p", &[r#"{"data":{"merge":"1"}}"#]);
        kubectl.run_with(
            "patch configmap a --type json -p",
            &[r#"[{"op":"add","path":"/data/json","value":"2"}]"#],
        );
        kubectl.run_with("patch configmap a -p", &[r#"{"data":{"strategic":"3","k":null}}"#]);
        assert_eq!(
            kubectl.json("get configmap a")["data"],
            json!({ "merge": "1", "json": "2", "strategic": "3" })
        );
        let container = r#"{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"s:1"}]}}}}"#;
        kubectl.run_with("patch deployment d -p", &[container]);
        let containers = &kubectl.json("get deployment d")["spec"]["template"]["spec"]["containers"];
        assert_eq!(containers.as_array().map(Vec::len), Some(2), "{containers}");
        kubectl.run("set image deployment/d i=i:2");
        kubectl.run("label configmap a tier=one");
        kubectl.run("annotate configmap a note=two");
        assert_eq!(kubectl.run("get configmaps -l tier=one -o name"), "configmap/a\n");
        assert_eq!(kubectl.run("get configmaps --field-selector metadata.name=a -o name"), "configmap/a\n");
        let edited = kubectl
            .command(&["edit", "configmap", "a"])
            .env("KUBE_EDITOR", "sed -i s/strategic:/edited:/")
            .output();
        assert!(edited.unwrap().status.success());
        assert_eq!(kubectl.json("get configmap a")["data"]["edited"], "3");
        kubectl
            .environment
            .write("a.yaml", kubectl.run("get configmap a -o yaml").replace("edited:", "replaced:"));
        kubectl.run("replace -f a.yaml");
        assert_eq!(kubectl.json("get configmap a")["data"]["replaced"], "3");
    });
}

#[test]
fn watch_and_wait_see_changes() {
    with_kubectl(&["--bare"], |kubectl| {
        let mut watch = kubectl
            .command(&["get", "configmaps", "-w", "-o", "name"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = std::io::BufRead::lines(std::io::BufReader::new(watch.stdout.take().unwrap()));
        kubectl.run("create configmap a");
        let seen = lines.by_ref().map(Result::unwrap).find(|line| line == "configmap/a");
        watch.kill().unwrap();
        watch.wait().unwrap();
        assert!(seen.is_some());
        let mut wait =
            kubectl.command(&["wait", "--for=delete", "configmap/a", "--timeout=20s"]).spawn().unwrap();
        kubectl.run("delete configmap a --wait=false");
        let waited = wait.wait().unwrap();
        // Older versions of kubectl fail if the object is deleted before their first read.
        assert!(waited.success() || kubectl.minor < 24);
        kubectl.environment.write("n.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: worker}\n");
        kubectl.run("create -f n.yaml");
        kubectl.run("cordon worker");
        assert_eq!(kubectl.json("get node worker")["spec"]["unschedulable"], true);
        kubectl.run("uncordon worker");
        let spec = kubectl.json("get node worker")["spec"].clone();
        assert!(spec["unschedulable"].is_null(), "{spec}");
    });
}

#[test]
fn errors_have_the_messages_of_the_server() {
    with_kubectl(&["--bare"], |kubectl| {
        kubectl.run("create configmap a");
        let check = |arguments: &str, expected: &str| {
            let err = kubectl.fails(arguments);
            assert!(err.contains(expected), "kubectl {arguments}: {err}");
        };
        check("create configmap a", "configmaps \"a\" already exists");
        check("get pod p", "Error from server (NotFound): pods \"p\" not found");
        check("get nothing", "error: the server doesn't have a resource type \"nothing\"");
        check(
            "create configmap Not_A_Name",
            "ConfigMap \"Not_A_Name\" is invalid: metadata.name: Invalid value",
        );
        check("-n none create configmap a", "namespaces \"none\" not found");
        check("--token=wrong get pods", "error: You must be logged in to the server");
        let unknown = kubectl.served.url.replace("127.0.0.1", "127.0.0.2");
        check(&format!("--server={unknown} get pods"), "127.0.0.2");
    });
}

#[test]
fn kubectl_can_use_discovery_and_explain() {
    with_kubectl(&["--bare", "--kubernetes", "1.31"], |kubectl| {
        assert_eq!(kubectl.json("version")["serverVersion"]["minor"], "31");
        let resources = kubectl.run("api-resources");
        for expected in ["deployments ", "customresourcedefinitions ", "clusterroles "] {
            assert!(resources.contains(expected), "{resources}");
        }
        assert!(kubectl.run("api-versions").contains("apps/v1\n"));
        assert_eq!(kubectl.run("get --raw /readyz"), "ok");
        let explained = kubectl.run("explain deployments.spec.replicas");
        assert!(explained.contains("replicas") && explained.contains("<integer>"), "{explained}");
        assert!(explained.contains("The desired number of pods."), "{explained}");
        let explained = kubectl.run("explain cronjob.spec");
        assert!(explained.contains("The desired state of this CronJob."), "{explained}");
        assert!(explained.contains("The schedule of a CronJob and the template for its Jobs"), "{explained}");
        let labels = kubectl.run("explain pod.metadata.labels");
        assert!(labels.contains("Keys and values that selectors can match."), "{labels}");
        assert!(kubectl.run("explain pods --recursive").contains("containerPort"));
        // kubectl caches discovery, revalidates it, and finds a kind that was added later.
        kubectl.environment.write("crd.yaml", WIDGETS);
        kubectl.run("create -f crd.yaml");
        kubectl.environment.write(
            "w.yaml",
            "apiVersion: example.io/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 3}\n",
        );
        kubectl.run("apply -f w.yaml");
        assert_eq!(
            kubectl.run("get all -o name"),
            "service/kubernetes\n".repeat(usize::from(has_service(kubectl))) + "widget.example.io/w\n"
        );
        let table = kubectl.run("get wd");
        let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows, [["NAME", "SIZE"], ["w", "3"]]);
        assert!(kubectl.run("explain widget.spec.size").contains("How much of it there is."));
        assert!(kubectl.run("explain widget.kind").contains("The kind of this object."));
    });
}

/// Whether the server creates the Service `kubernetes`.
fn has_service(kubectl: &Kubectl) -> bool {
    kubectl.answer(&["get", "service", "kubernetes"]).ok
}

/// A custom resource in the category `all`, with its own printer column.
const WIDGETS: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.io}
spec:
  group: example.io
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wd], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, description: How much of it there is.}
";
