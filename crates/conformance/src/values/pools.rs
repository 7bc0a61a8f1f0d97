//! Pools of values by what the name of a field suggests.

use fastrand::Rng;
use serde_json::{Value, json};

use super::pick;

/// Parts of names, and the pool for fields whose names have one of them.
const TEXTS: &[(&[&str], &[&str])] = &[
    (
        &["cidr", "ipblock", "except"],
        &[
            "10.0.0.0/8",
            "10.0.0.1/8",
            "10.0.0.0/33",
            "fd00::/64",
            "FD00::/64",
            "10.0.0.0",
            "0.0.0.0/0",
            "010.0.0.0/8",
            "x",
            "",
        ],
    ),
    (
        &["clusterip", "hostip", "podip", "loadbalancerip", "externalip", "nameserver", "address"],
        &[
            "10.0.0.9",
            "10.0.0.7",
            "None",
            "fd00::1",
            "::ffff:1.2.3.4",
            "FD00::1",
            "127.0.0.1",
            "0.0.0.0",
            "169.254.1.1",
            "224.0.0.1",
            "010.0.0.1",
            "10.0.0.256",
            "1.2.3",
            "x.y",
            "",
        ],
    ),
    (
        &["schedule"],
        &[
            "* * * * *",
            "*/5 * * * *",
            "0 0 31 2 *",
            "@hourly",
            "@every 5m",
            "60 * * * *",
            "* * * *",
            "TZ=UTC * * * * *",
            "CRON_TZ=Europe/Prague 0 1 * * 1-5",
            "? ? * * ?",
            "0 0 * JAN SUN",
            "x",
            "",
        ],
    ),
    (
        &["timezone"],
        &["Europe/Prague", "UTC", "Etc/UTC", "europe/prague", "Local", "Mars/Base", "../x", "", " UTC"],
    ),
    (
        &["url"],
        &[
            "https://example.com/x",
            "https://example.com",
            "http://example.com",
            "https://user@example.com/x",
            "https://example.com/x?y=z",
            "https://example.com/x#y",
            "https://",
            "/x",
            "",
            "https://example.com:0x/",
            "https://[::1]:443/a",
        ],
    ),
    (&["mountpath", "devicepath"], &["/data", "/a:b", "data", "/", "", "/data/../x", "/dev/x"]),
    (
        &["subpath", "hostpath", "localpath", "path"],
        &[
            "/x",
            "x",
            "/",
            "",
            "../x",
            "x/../y",
            "/x/..",
            "/..x",
            "a//b",
            "/x?y=z",
            "//x",
            "/x/./y",
            "/${a*300}",
        ],
    ),
    (
        &["image"],
        &[
            "i:1",
            "i",
            "i:latest",
            " i",
            "i ",
            "i@sha256:0123456789012345678901234567890123456789012345678901234567890123",
            "I:1",
            "",
            "a/b:c",
        ],
    ),
    (&["topologykey"], &["kubernetes.io/hostname", "topology.kubernetes.io/zone", "x", "a b", "", "a/b/c"]),
    (&["effect"], &["NoSchedule", "NoExecute", "PreferNoSchedule", "", "x"]),
    (&["operator"], &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal", "", "in", "x"]),
    (&["sysctl"], &["kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "x", "a/b", "A", ""]),
    (
        &["expression"],
        &[
            "object.spec == object.spec",
            "true",
            "1",
            "object.metadata.name.startsWith('a')",
            "x",
            "object.",
            "",
            "oldObject == null",
            "params.x == 1",
            "request.userInfo.username == 'x'",
            "has(object.spec) && object.spec.replicas > 1",
            "device.driver == 'x.example.com'",
            "device.attributes['x'].y == 1",
            "variables.foo",
            "authorizer.group('').resource('pods').check('get').allowed()",
        ],
    ),
    (&["servicename", "servicenameselector"], &["svc", "SVC", "", "a.b", "svc-", "9svc", "${a*64}"]),
    (
        &["hostname", "host", "subdomain", "nodename", "domain"],
        &[
            "h",
            "example.com",
            "*.example.com",
            "H",
            "a_b",
            "-h",
            "",
            "1.2.3.4",
            "*",
            "*.*.com",
            "${a*64}",
            "h.",
            "foo.*.com",
        ],
    ),
    (
        &["apigroup", "group"],
        &["", "apps", "example.com", "*", "rbac.authorization.k8s.io", "A", "a/b", "system:masters", "batch"],
    ),
    (&["apiversion", "version"], &["v1", "apps/v1", "v1beta1", "V1", "", "a/b/c", "v1alpha1", "x"]),
    (
        &["resource"],
        &[
            "pods",
            "*",
            "pods/status",
            "*/scale",
            "pods/*",
            "cpu",
            "memory",
            "requests.cpu",
            "limits.memory",
            "hugepages-2Mi",
            "example.com/gpu",
            "ephemeral-storage",
            "count/pods",
            "POD",
            "",
            "pods ",
        ],
    ),
    (&["verb"], &["get", "list", "*", "create", "use", "x", ""]),
    (
        &["kind"],
        &[
            "Pod",
            "ConfigMap",
            "Secret",
            "Node",
            "User",
            "Group",
            "ServiceAccount",
            "Role",
            "ClusterRole",
            "PersistentVolumeClaim",
            "Job",
            "pod",
            "",
        ],
    ),
    (&["port"], &["http", "x", "HTTP", "a--b", "-a", "a-very-long-port-name", "80", "1a", ""]),
    (&["protocol"], &["TCP", "UDP", "SCTP", "tcp", "HTTP", "", "kubernetes.io/h2c", "a/b/c"]),
    (&["storageclass"], &["", "fast", "Fast", "a_b"]),
    (&["message"], &["m", "", "${a*33000}", "a\nb"]),
    (&["reason"], &["R", "r", "", "a b", "Reason_1", "1R", "${a*1030}", "R:"]),
    (&["status"], &["True", "False", "Unknown", "true", "", "x"]),
    (
        &["driver", "provisioner", "controller", "signername", "plugin"],
        &[
            "x.example.com",
            "example.com/x",
            "kubernetes.io/no-provisioner",
            "kubernetes.io/kube-apiserver-client",
            "X.example.com",
            "a_b",
            "",
            "x",
            "a/b/c",
            "${a*70}",
            "-x.example.com",
        ],
    ),
    (&["labelselector", "fieldselector"], &["a=b", "a in (b,c)", "a!=b", "!a", "=", "", "metadata.name=x"]),
    (&["finalizer"], &["example.com/x", "kubernetes", "x", "a b/c", "orphan", "foregroundDeletion", ""]),
    (&["value"], &["v", "", "V", "a b", "-v", "5", "a/b", "${a*64}", "é"]),
    (
        &["key"],
        &[
            "k",
            "example.com/k",
            "K",
            "a b",
            "",
            "-k",
            "example.com/",
            "/k",
            "a/b/c",
            "${a*64}",
            "node.kubernetes.io/not-ready",
            "kubernetes.io/hostname",
            "..",
            "a.b",
        ],
    ),
    (&["accessmode"], &["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod", "x", ""]),
    (&["uid", "token"], &["u", "", "a b", "01234567-89ab-cdef-0123-456789abcdef"]),
    (&["duration", "timeout", "seconds"], &["1s", "5m", "1h", "x", "", "-1s"]),
    (&["username", "user"], &["u", "system:serviceaccount:a:b", "", "*", "system:anonymous"]),
    (&["size", "limit"], &["1Gi", "1", "x"]),
    (
        &["type", "policy"],
        &[
            "",
            "x",
            "Default",
            "ClusterIP",
            "NodePort",
            "ExternalName",
            "Opaque",
            "kubernetes.io/tls",
            "Localhost",
            "Utilization",
            "Value",
            "Pods",
            "Percent",
            "Resource",
            "Ready",
            "a b",
        ],
    ),
    (&["mode"], &["x", "", "Filesystem", "Block"]),
    (
        &["name", "ref", "id"],
        &[
            "ok", "a-b", "a.b", "A", "-a", "a-", "a_b", "", "${a*64}", "${a*254}", "é", "a/b", "1a", "..",
            "a b", "x%y", "system:x",
        ],
    ),
];

const OTHER_TEXTS: &[&str] = &[
    "x", "", " ", "X", "a b", "a-b", "a/b", "é", "a\nb", "1", "true", "null", "${a*300}", "$(X)", "a=b", "*",
];

const TIMES: &[&str] = &[
    "2024-01-01T00:00:00Z",
    "2024-01-01T00:00:00.123456Z",
    "2024-01-01T00:00:00+02:00",
    "2024-01-01",
    "0001-01-01T00:00:00Z",
    "2024-13-01T00:00:00Z",
    "",
    "now",
    "2300-01-01T00:00:00Z",
    "2024-01-01T00:00:00.123456789Z",
    "2024-01-01t00:00:00z",
];

const BYTES: &[&str] =
    &["", "YQ==", "YQ", "YWJj", "!", "a", "YQ==\n", "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t", "_-8=", "/+8="];

const QUANTITIES: &[&str] = &[
    "0",
    "1",
    "100m",
    "1Gi",
    "1.5",
    "-1",
    "1e3",
    "1E3",
    "0.0001",
    "1m",
    "abc",
    "",
    "1Zi",
    "9223372036854775808",
    "1 ",
    " 1",
    "+1",
    ".5",
    "5.",
    "1Ki1",
    "1k",
    "1K",
    "500Mi",
    "1.5Gi",
    "1n",
    "0.5m",
    "1e",
    "1000",
    "1024Ki",
    "2",
    "100",
    "--1",
    "1e-3",
    "12e6",
    "-0",
    "1E",
    "0x1",
    "1,5",
    "1_000",
];

const KEYS: &[&str] = &[
    "a",
    "example.com/a",
    "app",
    "a b",
    "",
    "-a",
    "A",
    "a/b/c",
    "${a*64}",
    "example.com/",
    "EXAMPLE.com/a",
    "kubernetes.io/os",
    "..",
    "a.b",
    "é",
    "cpu",
    "memory",
    "pods",
    "example.com/gpu",
    "hugepages-2Mi",
    "x",
    "a_b",
    "requests.cpu",
    "ephemeral-storage",
    "storage",
];

pub(super) fn text(rng: &mut Rng, name: &str, format: &str) -> String {
    match format {
        "date-time" => return (*pick(rng, TIMES)).to_owned(),
        "byte" => return (*pick(rng, BYTES)).to_owned(),
        _ => {}
    }
    let name = name.to_lowercase();
    let pool = TEXTS.iter().find(|(parts, _)| parts.iter().any(|part| name.contains(part)));
    let pool = pool.map_or(OTHER_TEXTS, |(_, pool)| pool);
    let pool = if rng.u8(..12) == 0 { OTHER_TEXTS } else { pool };
    (*pick(rng, pool)).to_owned()
}

/// A key of a map.
pub(super) fn key(rng: &mut Rng, _map: &str) -> String {
    (*pick(rng, KEYS)).to_owned()
}

pub(super) fn integer(rng: &mut Rng, name: &str) -> Value {
    let name = name.to_lowercase();
    if name.contains("port") && rng.u8(..4) > 0 {
        return json!(*pick(rng, &[0, 1, 80, 443, 8080, 30080, 65535, 65536, -1]));
    }
    match rng.u8(..12) {
        0 => json!(2_147_483_647),
        1 => json!(2_147_483_648_i64),
        2 => json!(i64::MAX),
        3 => json!(-2_147_483_648_i64),
        4 => json!(1.5),
        5 => json!(-1),
        6 => json!(0),
        7 => json!(1.0),
        _ => json!(*pick(
            rng,
            &[1, 2, 3, 5, 10, 50, 100, 101, 600, 1000, 3601, 65536, 86400, 100_000, 1_000_000_001]
        )),
    }
}

pub(super) fn quantity(rng: &mut Rng) -> Value {
    match rng.u8(..12) {
        0 => json!(5),
        1 => json!(1.5),
        2 => json!(-1),
        3 => json!(1e20),
        _ => json!(*pick(rng, QUANTITIES)),
    }
}

pub(super) fn int_or_string(rng: &mut Rng, name: &str) -> Value {
    match rng.u8(..3) {
        0 => json!(*pick(rng, &["0%", "50%", "100%", "101%", "-1%", "%", "1.5%", "x%", "1", "", "200%"])),
        1 => json!(*pick(rng, &["http", "x", "HTTP", "a--b", "-a", "a-very-long-port-name", "80", "1a"])),
        _ => integer(rng, name),
    }
}

pub(super) fn empty(old: &Value) -> Value {
    match old {
        Value::String(_) => json!(""),
        Value::Array(_) => json!([]),
        Value::Object(_) => json!({}),
        Value::Number(_) => json!(0),
        _ => Value::Null,
    }
}

pub(super) fn wrong_type(rng: &mut Rng, old: &Value) -> Value {
    let others = [
        json!("x"),
        json!("1"),
        json!(1),
        json!(1.5),
        json!(true),
        json!([]),
        json!({}),
        json!(["x"]),
        json!({"x": 1}),
        json!([null]),
        json!("true"),
    ];
    let others: Vec<Value> = others
        .into_iter()
        .filter(|other| std::mem::discriminant(other) != std::mem::discriminant(old))
        .collect();
    pick(rng, &others).clone()
}

pub(super) fn strange(rng: &mut Rng) -> Value {
    let values = [
        json!(""),
        json!(" "),
        json!([]),
        json!({}),
        json!(-1),
        json!(9_007_199_254_740_993_i64),
        json!(1e30),
        json!("\u{0}"),
        json!("\u{1F600}"),
        json!([[]]),
        json!("${a*5000}"),
        json!(18_446_744_073_709_551_615_u64),
    ];
    pick(rng, &values).clone()
}
