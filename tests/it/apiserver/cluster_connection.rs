//! The connection to a cluster in this process.

use std::sync::Arc;

use serde_json::json;
use windtunnel::backends::ClusterConnection;
use windtunnel::backends::in_process::InProcess;
use windtunnel::cli::Releases;
use windtunnel::engine::{self, EPOCH, Session};
use windtunnel::scenario;
use windtunnel_apiserver::ApiServer;
use windtunnel_core::clock::{Clock, Time, VirtualClock};
use windtunnel_core::{Change, ChangeKind, Identity, Object, Resource, View, Write, resources};

use super::requests::{definition, now};

struct StoppedClock;

impl Clock for StoppedClock {
    fn now(&self) -> Time {
        now()
    }
}

fn connection(minor: u32) -> InProcess {
    let mut connection = InProcess::new(minor, 1, Arc::new(StoppedClock));
    let changes = connection.changes(&View::default());
    let namespaces = changes.iter().filter(|change| change.key.is_kind(&resources::NAMESPACES)).count();
    assert_eq!(namespaces, 4, "the namespaces that every cluster has");
    connection
}

fn summaries(changes: &[Change]) -> Vec<(ChangeKind, String, bool)> {
    changes.iter().map(|change| (change.kind, change.key.to_string(), change.old.is_some())).collect()
}

#[test]
fn changes_come_once_in_order_with_their_old_objects() {
    let (mut connection, admin) = (connection(36), Identity::admin());
    let map = json!({ "metadata": { "name": "a", "namespace": "default" } });
    connection.write("test", &admin, &Write::create(&resources::CONFIG_MAPS, map), now()).unwrap();
    let patch = Write::merge_patch(&resources::CONFIG_MAPS, "default", "a", json!({ "data": { "k": "v" } }));
    connection.write("test", &admin, &patch, now()).unwrap();
    connection.write("test", &admin, &Write::delete(&resources::CONFIG_MAPS, "default", "a"), now()).unwrap();
    let key = "configmaps/default/a".to_owned();
    assert_eq!(
        summaries(&connection.changes(&View::default())),
        [
            (ChangeKind::Added, key.clone(), false),
            (ChangeKind::Modified, key.clone(), true),
            (ChangeKind::Deleted, key, true),
        ]
    );
    assert!(connection.changes(&View::default()).is_empty());
}

#[test]
fn a_view_stays_correct_when_history_is_compacted_between_two_calls() {
    let (mut connection, mut view) = (connection(36), View::default());
    let map = |name: &str, data: &str| json!({ "metadata": { "name": name, "namespace": "default" }, "data": { "key": data } });
    let create = |name| Write::create(&resources::CONFIG_MAPS, map(name, "1"));
    let mut check = |writes: Vec<Write>, compacts: bool, expected: &[(ChangeKind, &str, bool)]| {
        for write in writes {
            connection.write("test", &Identity::admin(), &write, now()).unwrap();
        }
        if compacts {
            connection.shared().with(ApiServer::compact);
        }
        let changes = connection.changes(&view);
        for change in &changes {
            view.apply(change);
        }
        let is_own = |change: &&Change| change.key.namespace == "kube-system";
        let of_maps = changes
            .iter()
            .filter(|change| change.key.is_kind(&resources::CONFIG_MAPS))
            .filter(|change| !is_own(change));
        let found: Vec<_> =
            of_maps.map(|change| (change.kind, change.key.name.as_str(), change.old.is_some())).collect();
        assert_eq!(found, expected);
    };
    check(
        vec![create("a"), create("b")],
        false,
        &[(ChangeKind::Added, "a", false), (ChangeKind::Added, "b", false)],
    );
    let writes = vec![
        Write::delete(&resources::CONFIG_MAPS, "default", "b"),
        Write::update(&resources::CONFIG_MAPS, map("a", "2")),
        create("c"),
    ];
    // The changes also contain the namespaces, which are new to this view.
    check(
        writes,
        true,
        &[
            (ChangeKind::Deleted, "b", true),
            (ChangeKind::Modified, "a", true),
            (ChangeKind::Added, "c", false),
        ],
    );
    check(Vec::new(), true, &[]);
    let names: Vec<&str> = view.list_in(&resources::CONFIG_MAPS, "default").map(Object::name).collect();
    assert_eq!(names, ["a", "c"]);
}

#[test]
fn a_replaced_crd_reports_the_objects_that_it_changes() {
    const VERSIONS: Resource = Resource::cluster("example.io", "v1", "Version", "versions");
    let (mut connection, admin) = (connection(36), Identity::admin());
    let crds = &resources::CUSTOM_RESOURCE_DEFINITIONS;
    connection.write("test", &admin, &Write::create(crds, definition(&["a"], false)), now()).unwrap();
    let object =
        json!({ "apiVersion": "example.io/v1", "kind": "Version", "metadata": { "name": "v" }, "spec": {} });
    let created = connection.write("test", &admin, &Write::create(&VERSIONS, object), now()).unwrap();
    assert_eq!(created.text("/spec/mode"), "Fast");
    connection.changes(&View::default());
    let schema = json!({ "type": "object", "properties": { "spec": { "type": "object" } } });
    let patch =
        json!([{ "op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": schema }]);
    let operation = windtunnel_core::Operation::JsonPatch(patch);
    let write = Write { operation, ..Write::merge_patch(crds, "", "versions.example.io", json!({})) };
    connection.write("test", &admin, &write, now()).unwrap();
    let changes = connection.changes(&View::default());
    let keys = summaries(&changes);
    assert!(keys.contains(&(ChangeKind::Modified, "versions.example.io/v".to_owned(), true)), "{keys:?}");
    let changed = changes.last().unwrap();
    assert_eq!(changed.object.text("/spec/mode"), "");
    assert_eq!(changed.object.resource_version(), created.resource_version());
}

#[test]
fn client_writes_contains_only_the_writes_of_clients() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let mut connection = connection(36);
        let map = json!({ "metadata": { "name": "a", "namespace": "default" } });
        connection
            .write("test", &Identity::admin(), &Write::create(&resources::CONFIG_MAPS, map), now())
            .unwrap();
        let robot = Identity::new("system:serviceaccount:ns:robot", &["system:masters"]);
        let maps: kube::Api<k8s_openapi::api::core::v1::ConfigMap> =
            kube::Api::default_namespaced(connection.client(&robot));
        maps.delete("a", &kube::api::DeleteParams::default()).await.unwrap();
        let writes = connection.client_writes();
        let verbs: Vec<_> =
            writes.iter().map(|(_, write)| (write.by.as_str(), write.verb.as_str())).collect();
        assert_eq!(verbs, [("robot", "delete")]);
        assert!(writes[0].1.before.is_some() && writes[0].1.after.is_none());
    });
}

/// Checks the roles and bindings of components' ServiceAccounts and of a node.
#[test]
fn components_can_only_do_what_their_roles_allow() {
    let (mut connection, admin) = (connection(36), Identity::admin());
    let job = json!({ "metadata": { "name": "j", "namespace": "default" }, "spec": { "template": {
        "spec": { "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] } } } });
    let job =
        connection.write("test", &admin, &Write::create(&resources::JOBS, job), now()).unwrap().to_value();
    let pod = |name: &str, node: &str| {
        json!({ "metadata": { "name": name, "namespace": "default" },
        "spec": { "nodeName": node, "containers": [{ "name": "c", "image": "i" }],
            "volumes": [{ "name": "v", "configMap": { "name": "mounted" } }] } })
    };
    let controller = |name: &str| Identity::service_account("kube-system", name);
    let node = Identity::new("system:node:n", &["system:nodes"]);
    let lease = |name: &str| {
        let object = json!({ "metadata": { "name": name, "namespace": "kube-node-lease" } });
        Write::create(&resources::LEASES, object)
    };
    let running = json!({ "status": { "phase": "Running" } });
    for (who, write, rejection) in [
        (controller("job-controller"), Write::update_status(&resources::JOBS, job.clone()), ""),
        (
            controller("job-controller"),
            Write::merge_patch_status(&resources::JOBS, "default", "j", json!({ "status": {} })),
            "jobs.batch \"j\" is forbidden: User \"system:serviceaccount:kube-system:job-controller\" cannot patch resource \
             \"jobs/status\" in API group \"batch\" in the namespace \"default\"",
        ),
        (controller("replicaset-controller"), Write::create(&resources::PODS, pod("p", "n")), ""),
        (
            controller("deployment-controller"),
            Write::create(&resources::PODS, pod("q", "n")),
            "pods is forbidden: User \"system:serviceaccount:kube-system:deployment-controller\" cannot create resource \
             \"pods\" in API group \"\" in the namespace \"default\"",
        ),
        (node.clone(), Write::merge_patch_status(&resources::PODS, "default", "p", running), ""),
        (node.clone(), lease("n"), ""),
        (
            node.clone(),
            Write::delete(&resources::LEASES, "kube-node-lease", "m"),
            "leases.coordination.k8s.io \"m\" is forbidden: User \"system:node:n\" cannot delete resource \"leases\" in API \
             group \"coordination.k8s.io\" in the namespace \"kube-node-lease\": can only access node lease with the same name \
             as the requesting node",
        ),
        (
            Identity::new("system:node:n", &[]),
            lease("n"),
            "leases.coordination.k8s.io is forbidden: User \"system:node:n\" cannot create resource \"leases\" in API group \
             \"coordination.k8s.io\" in the namespace \"kube-node-lease\"",
        ),
        (
            Identity::service_account("openshift-cluster-version", "default"),
            Write::delete(&resources::JOBS, "default", "j"),
            "jobs.batch \"j\" is forbidden: User \"system:serviceaccount:openshift-cluster-version:default\" cannot delete \
             resource \"jobs\" in API group \"batch\" in the namespace \"default\"",
        ),
    ] {
        let message = connection.write("test", &who, &write, now()).err().map(|rejection| rejection.message);
        assert_eq!(message.unwrap_or_default(), rejection, "{who:?} {write:?}");
    }
}

#[test]
fn a_node_can_read_only_what_its_pods_reference() {
    let (mut connection, admin) = (connection(36), Identity::admin());
    let pod = json!({ "metadata": { "name": "p", "namespace": "default" }, "spec": { "nodeName": "n",
        "imagePullSecrets": [{ "name": "pull" }], "containers": [{ "name": "c", "image": "i",
            "env": [{ "name": "A", "valueFrom": { "secretKeyRef": { "name": "key", "key": "k" } } }],
            "envFrom": [{ "configMapRef": { "name": "from" } }] }],
        "volumes": [{ "name": "v", "configMap": { "name": "mounted" } }, { "name": "w", "secret": { "secretName": "volume" } },
            { "name": "x", "projected": { "sources": [{ "secret": { "name": "projected" } }] } }] } });
    connection.write("test", &admin, &Write::create(&resources::PODS, pod), now()).unwrap();
    let code = |node: &str, path: &str| {
        let who = Identity::new(format!("system:node:{node}"), &["system:nodes"]);
        let path = format!("/api/v1/namespaces/default/{path}");
        let request = windtunnel_apiserver::Request::new(windtunnel_apiserver::Method::Get, &path, &who);
        connection.shared().with(|server| server.handle(&request, now()).code)
    };
    for path in [
        "secrets/pull",
        "secrets/key",
        "secrets/volume",
        "secrets/projected",
        "configmaps/from",
        "configmaps/mounted",
    ] {
        // An object that a node may read need not exist.
        assert_eq!((code("n", path), code("m", path)), (404, 403), "{path}");
    }
    assert_eq!([code("n", "secrets/mounted"), code("n", "configmaps/pull"), code("n", "secrets")], [403; 3]);
    assert_eq!(code("n", "pods/p"), 200);
}

/// Runs an update through a connection. Returns the hash of its record.
fn update_hash(open: fn(u32, u64, Arc<dyn Clock>) -> InProcess) -> String {
    let text = "name: n\ncluster: {version: 4.18.3, insights: true}\nreleases: {4.18.4: {}}\n\
                timeline: [{update: {to: 4.18.4}}, {advance: 40m}]\n";
    let plan = scenario::parse("s.yaml", text, &Releases::default()).unwrap();
    let connect =
        |minor, clock: Arc<VirtualClock>| Ok(Box::new(open(minor, 1, clock)) as Box<dyn ClusterConnection>);
    let mut session = Session::start_with_connection(&plan.cluster, 1, EPOCH, connect).unwrap();
    assert!(engine::run_in_session(&mut session, &plan).is_none());
    session.into_record().hash()
}

#[test]
fn managed_fields_do_not_change_a_run() {
    assert_eq!(update_hash(InProcess::served), update_hash(InProcess::new));
}
