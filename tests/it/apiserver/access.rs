//! Authentication, authorization and impersonation, as clients of a real server see them.

use http::header::{AUTHORIZATION, HeaderMap};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::ListParams;
use serde_json::{Value, json};
use windtunnel_apiserver::service::Shared;
use windtunnel_apiserver::{ApiServer, AuthorizationMode, Impersonate, Method, Request};
use windtunnel_core::clock::VirtualClock;
use windtunnel_core::{Identity, Resource, Write, resources};
use windtunnel_openshift::admission::ClusterConfiguration;

use super::requests::now;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

fn server() -> ApiServer {
    ApiServer::builder().build(now())
}

fn ask(
    server: &mut ApiServer,
    who: &Identity,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> (u16, Value) {
    let mut request = Request::new(method, path, who);
    if let Some(body) = body {
        request = request.with_body(body);
    }
    let reply = server.handle(&request, now());
    (reply.code, reply.json().unwrap_or_default())
}

fn create(server: &mut ApiServer, path: &str, body: &Value) {
    let (code, answer) = ask(server, &Identity::admin(), Method::Post, path, Some(body));
    assert_eq!(code, 201, "{answer}");
}

/// Creates a role in the namespace `default`, and binds it to a user.
fn grant(server: &mut ApiServer, user: &str, rule: &Value) {
    let role = json!({ "metadata": { "name": user }, "rules": [rule] });
    create(server, &format!("{RBAC}/namespaces/default/roles"), &role);
    let binding = json!({
        "metadata": { "name": user }, "roleRef": { "kind": "Role", "name": user },
        "subjects": [{ "kind": "User", "name": user }],
    });
    create(server, &format!("{RBAC}/namespaces/default/rolebindings"), &binding);
}

#[test]
fn a_client_with_too_few_rights_gets_the_errors_of_a_real_server() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let mut server = server();
        let rule = json!({ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"] });
        grant(&mut server, "system:serviceaccount:default:robot", &rule);
        let shared = Shared::new(server, VirtualClock::starting_at(now()));
        let robot = Identity::service_account("default", "robot");
        let maps: Api<ConfigMap> = Api::default_namespaced(shared.client(&robot));
        assert!(maps.get_opt("none").await.unwrap().is_none());
        let Err(kube::Error::Api(rejected)) = maps.list(&ListParams::default()).await else { panic!() };
        assert_eq!(
            rejected.message,
            "configmaps is forbidden: User \"system:serviceaccount:default:robot\" cannot list resource \
             \"configmaps\" in API group \"\" in the namespace \"default\""
        );
        // New rules apply at once.
        let patch = json!({ "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"] }] });
        let name = "system:serviceaccount:default:robot";
        let write = Write::merge_patch(&resources::ROLES, "default", name, patch);
        shared.write(&write, &Identity::admin(), now()).unwrap();
        assert!(maps.list(&ListParams::default()).await.unwrap().items.is_empty());
    });
}

#[test]
fn impersonation_errors_depend_on_the_minor() {
    let wanted = Impersonate { user: "bob".to_owned(), ..Impersonate::default() };
    for (minor, text) in [
        (
            35,
            "users \"bob\" is forbidden: User \"alice\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope",
        ),
        (
            36,
            "pods is forbidden: User \"alice\" cannot impersonate-on:user-info:list resource \"pods\" in API group \"\" at the cluster scope",
        ),
    ] {
        let mut server = ApiServer::builder().kubernetes(minor).build(now());
        let alice = Identity::new("alice", &[]);
        let request = Request::new(Method::Get, "/api/v1/pods", &alice).with_impersonation(wanted.clone());
        let reply = server.handle(&request, now());
        assert_eq!((reply.code, reply.json().unwrap()["message"].as_str()), (403, Some(text)));
    }
}

#[test]
fn impersonating_a_group_requires_a_user() {
    let mut headers = HeaderMap::new();
    headers.insert("impersonate-group", "devs".parse().unwrap());
    let (mut server, admin) = (server(), Identity::admin());
    let mut request = Request::new(Method::Get, "/api/v1/pods", &admin);
    request.impersonate = Impersonate::read(&headers).map(Box::new);
    let reply = server.handle(&request, now());
    let text = "requested &user.DefaultInfo{Name:\"\", UID:\"\", Groups:[]string{\"devs\"}, \
                Extra:map[string][]string(nil)} without impersonating a user name";
    assert_eq!((reply.code, reply.json().unwrap()["message"].as_str()), (400, Some(text)));
}

#[test]
fn a_token_expires_and_ends_with_its_service_account() {
    let mut server = server();
    let account = json!({ "metadata": { "name": "sa" } });
    create(&mut server, "/api/v1/namespaces/default/serviceaccounts", &account);
    let path = "/api/v1/namespaces/default/serviceaccounts/sa/token";
    let body = json!({ "spec": { "expirationSeconds": 600 } });
    let (code, answer) = ask(&mut server, &Identity::admin(), Method::Post, path, Some(&body));
    assert_eq!(code, 201, "{answer}");
    let mut headers = HeaderMap::<http::HeaderValue>::new();
    let token = format!("Bearer {}", answer["status"]["token"].as_str().unwrap());
    headers.insert(AUTHORIZATION, token.parse().unwrap());
    let who = server.authenticate(&headers, None, now()).unwrap();
    assert_eq!(who.user, "system:serviceaccount:default:sa");
    let late = now() + jiff::SignedDuration::from_secs(601);
    assert_eq!(server.authenticate(&headers, None, late).unwrap_err().code, 401);
    let deletion = Write::delete(&resources::SERVICE_ACCOUNTS, "default", "sa");
    server.write(&deletion, &Identity::admin(), now()).unwrap();
    assert_eq!(server.authenticate(&headers, None, now()).unwrap_err().code, 401);
}

#[test]
fn changing_the_role_of_a_binding_is_rejected_with_one_cause() {
    let mut server = server();
    grant(&mut server, "a", &json!({ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }));
    let path = format!("{RBAC}/namespaces/default/rolebindings/a");
    let (_, mut binding) = ask(&mut server, &Identity::admin(), Method::Get, &path, None);
    assert_eq!(binding["subjects"][0]["apiGroup"], "rbac.authorization.k8s.io");
    binding["roleRef"]["name"] = json!("other");
    let (code, answer) = ask(&mut server, &Identity::admin(), Method::Put, &path, Some(&binding));
    assert_eq!((code, answer["details"]["causes"].as_array().unwrap().len()), (422, 1), "{answer}");
    assert!(answer["message"].as_str().unwrap().ends_with("cannot change roleRef"), "{answer}");
}

#[test]
fn aggregated_cluster_roles_include_new_rules() {
    let mut server = server();
    let label = json!({ "rbac.authorization.k8s.io/aggregate-to-view": "true" });
    let rule = json!({ "apiGroups": ["example.io"], "resources": ["things"], "verbs": ["get"] });
    let role = json!({ "metadata": { "name": "things", "labels": label }, "rules": [rule] });
    create(&mut server, &format!("{RBAC}/clusterroles"), &role);
    for name in ["view", "edit", "admin"] {
        let path = format!("{RBAC}/clusterroles/{name}");
        let (_, found) = ask(&mut server, &Identity::admin(), Method::Get, &path, None);
        assert!(found["rules"].as_array().unwrap().contains(&rule), "{name}");
    }
}

#[test]
fn always_allow_permits_everything_to_everybody() {
    let mut server = ApiServer::builder().authorization_mode(AuthorizationMode::AlwaysAllow).build(now());
    let nobody = Identity::anonymous();
    assert_eq!(ask(&mut server, &nobody, Method::Get, "/api/v1/secrets", None).0, 200);
}

/// A CRD that accepts any object.
fn definition(kind: &Resource) -> Value {
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    json!({
        "metadata": { "name": format!("{}.{}", kind.plural, kind.group) },
        "spec": {
            "group": kind.group, "scope": "Cluster", "names": { "plural": kind.plural, "kind": kind.kind },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    })
}

#[test]
fn only_the_openshift_plugin_protects_configuration_from_deletion() {
    let deletion_errors = |openshift: bool| {
        let server = ApiServer::builder();
        let server = if openshift { server.admission_plugin(ClusterConfiguration) } else { server };
        let mut server = server.build(now());
        for kind in [resources::CLUSTER_VERSIONS, resources::CLUSTER_OPERATORS, resources::PROXIES] {
            super::requests::define(&mut server, definition(&kind));
        }
        let objects = [
            (resources::CLUSTER_VERSIONS, "version"),
            (resources::CLUSTER_VERSIONS, "other"),
            (resources::CLUSTER_OPERATORS, "cluster"),
            (resources::PROXIES, "cluster"),
            (resources::NAMESPACES, "openshift-config"),
        ];
        objects.map(|(resource, name)| {
            let admin = Identity::admin();
            let object = json!({
                "apiVersion": resource.api_version(), "kind": resource.kind, "metadata": { "name": name },
            });
            server.write(&Write::create(&resource, object), &admin, now()).unwrap();
            let answer = server.write(&Write::delete(&resource, "", name), &admin, now());
            answer.map_or_else(|rejection| rejection.message, |_| String::new())
        })
    };
    assert_eq!(deletion_errors(false), [""; 5]);
    let forbidden = |plural: &str, name: &str| {
        let resource = format!("{plural}.config.openshift.io");
        format!(
            "{resource} \"{name}\" is forbidden: deleting required {resource} resource, named {name}, is not allowed"
        )
    };
    assert_eq!(
        deletion_errors(true),
        [
            &forbidden("clusterversions", "version"),
            "",
            "",
            &forbidden("proxies", "cluster"),
            "namespaces \"openshift-config\" is forbidden: this namespace may not be deleted",
        ]
    );
}
