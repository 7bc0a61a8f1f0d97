//! Users and projects of a served cluster, with the requests of `oc`.

use std::process::Command;

use futures::StreamExt as _;
use kube::api::{Api, ApiResource, DynamicObject, WatchEvent, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

use super::{Served, TestEnvironment, run};

/// The output of kubectl, with the errors of a failed command; `None` if there is no kubectl.
pub(super) fn kubectl(environment: &TestEnvironment, arguments: &[&str]) -> Option<String> {
    let [program] = crate::real::programs(["kubectl"])?;
    let mut command = Command::new(program);
    command.args(arguments).env("KUBECONFIG", environment.work().join("config"));
    let output = command.env("HOME", environment.work()).output().ok()?;
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    Some(String::from_utf8(output.stdout).unwrap() + if output.status.success() { "" } else { &error })
}

/// A client as a user of the cluster's identity provider; without a name, as the administrator.
async fn user(environment: &TestEnvironment, name: &str) -> Client {
    let config = Kubeconfig::from_yaml(&environment.read("config")).unwrap();
    let mut config =
        kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.unwrap();
    if !name.is_empty() {
        config.auth_info.impersonate = Some(name.to_owned());
        config.auth_info.impersonate_groups = Some(vec!["system:authenticated:oauth".to_owned()]);
    }
    Client::try_from(config).unwrap()
}

async fn send(client: &Client, method: &str, path: &str, body: &Value) -> Result<Value, (u16, String)> {
    let text = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = http::Request::builder().method(method).uri(path);
    let request = request.header("Content-Type", "application/json").body(text).unwrap();
    match client.request(request).await {
        Ok(answer) => Ok(answer),
        Err(kube::Error::Api(status)) => Err((status.code, status.message.clone())),
        Err(error) => panic!("{path}: {error}"),
    }
}

async fn get(client: &Client, path: &str) -> Result<Value, (u16, String)> {
    send(client, "GET", path, &Value::Null).await
}

const PROJECT: &str = "/apis/project.openshift.io/v1";

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

fn wanted(name: &str) -> Value {
    json!({ "kind": "ProjectRequest", "apiVersion": "project.openshift.io/v1", "metadata": { "name": name },
            "displayName": "Mine", "description": "for tests" })
}

/// Checks that a client sees its own user, and that `alice` may not list the others.
async fn check_own_user(alice: &Client, admin: &Client) {
    let me = get(alice, "/apis/user.openshift.io/v1/users/~").await.unwrap();
    assert_eq!((&me["kind"], &me["metadata"]["name"]), (&json!("User"), &json!("alice")));
    assert_eq!(me["groups"], json!(["system:authenticated", "system:authenticated:oauth"]));
    let me = get(admin, "/apis/user.openshift.io/v1/users/~").await.unwrap();
    assert_ne!(me["metadata"]["name"], "~");
    assert_eq!(get(alice, "/apis/user.openshift.io/v1/users").await.unwrap_err().0, 403);
}

#[test]
fn a_user_requests_sees_and_deletes_a_project() {
    let environment = TestEnvironment::new();
    let _served = Served::start(&environment, &["--version", "4.18.3", "--kubeconfig", "config"]);
    run(async {
        let (admin, alice, bob) = (
            user(&environment, "").await,
            user(&environment, "alice").await,
            user(&environment, "bob").await,
        );
        check_own_user(&alice, &admin).await;
        assert_eq!(names(&get(&alice, &format!("{PROJECT}/projects")).await.unwrap()), Vec::<&str>::new());
        let all = get(&admin, &format!("{PROJECT}/projects")).await.unwrap();
        assert!(names(&all).contains(&"openshift-etcd") && all["kind"] == "ProjectList", "{all}");

        // A watch from now on, as the console has one.
        let from = all["metadata"]["resourceVersion"].as_str().unwrap();
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("project.openshift.io", "v1", "Project"));
        let projects: Api<DynamicObject> = Api::all_with(alice.clone(), &kind);
        let mut events = std::pin::pin!(projects.watch(&WatchParams::default(), from).await.unwrap());

        let may = get(&alice, &format!("{PROJECT}/projectrequests")).await.unwrap();
        assert_eq!((&may["kind"], &may["status"]), (&json!("Status"), &json!("Success")));
        let requests = format!("{PROJECT}/projectrequests");
        let made = send(&alice, "POST", &requests, &wanted("mine")).await.unwrap();
        assert_eq!(
            (&made["kind"], &made["apiVersion"]),
            (&json!("Project"), &json!("project.openshift.io/v1"))
        );
        let Some(Ok(WatchEvent::Added(seen))) = events.next().await else { panic!("no event") };
        assert_eq!(
            (seen.types.as_ref().unwrap().kind.as_str(), seen.name_any().as_str()),
            ("Project", "mine")
        );

        let namespace = get(&alice, "/api/v1/namespaces/mine").await.unwrap();
        let annotations = &namespace["metadata"]["annotations"];
        assert_eq!(annotations["openshift.io/requester"], "alice");
        assert_eq!(annotations["openshift.io/display-name"], "Mine");
        assert_eq!(annotations["openshift.io/description"], "for tests");
        send(&alice, "POST", "/api/v1/namespaces/mine/configmaps", &json!({ "metadata": { "name": "a" } }))
            .await
            .unwrap();
        assert_eq!(names(&get(&alice, &format!("{PROJECT}/projects")).await.unwrap()), ["mine"]);
        assert_eq!(names(&get(&bob, &format!("{PROJECT}/projects")).await.unwrap()), Vec::<&str>::new());
        get(&alice, &format!("{PROJECT}/projects/mine")).await.unwrap();
        assert_eq!(get(&bob, &format!("{PROJECT}/projects/mine")).await.unwrap_err().0, 403);
        assert_eq!(get(&admin, &format!("{PROJECT}/projects/none")).await.unwrap_err().0, 404);

        let again = send(&bob, "POST", &requests, &wanted("mine")).await.unwrap_err();
        assert_eq!(again, (409, "project.project.openshift.io \"mine\" already exists".to_owned()));
        let reserved = send(&admin, "POST", &requests, &wanted("openshift-mine")).await.unwrap_err();
        assert!(
            reserved.1.ends_with("cannot request a project starting with \"openshift-\""),
            "{reserved:?}"
        );
        let invalid = send(&alice, "POST", &requests, &wanted("No_Name")).await.unwrap_err();
        assert_eq!(invalid.0, 422, "{invalid:?}");

        let path = format!("{PROJECT}/projects/mine");
        assert_eq!(send(&bob, "DELETE", &path, &Value::Null).await.unwrap_err().0, 403);
        send(&alice, "DELETE", &path, &Value::Null).await.unwrap();
        let project = json!({ "kind": "Project", "apiVersion": "project.openshift.io/v1",
                              "metadata": { "name": "openshift-own" } });
        assert_eq!(send(&alice, "POST", &format!("{PROJECT}/projects"), &project).await.unwrap_err().0, 403);
        let made = send(&admin, "POST", &format!("{PROJECT}/projects"), &project).await.unwrap();
        assert_eq!(made["kind"], "Project", "oc adm new-project: {made}");
    });
    let Some(projects) = kubectl(&environment, &["get", "projects", "openshift-own"]) else { return };
    let cells: Vec<&str> = projects.split_whitespace().collect();
    assert_eq!(cells, ["NAME", "DISPLAY", "NAME", "STATUS", "openshift-own", "Active"]);
    let forbidden = kubectl(&environment, &["--as", "eve", "create", "ns", "x"]).unwrap();
    assert!(
        forbidden.contains("namespaces is forbidden: User \"eve\" cannot create resource"),
        "{forbidden}"
    );
}
