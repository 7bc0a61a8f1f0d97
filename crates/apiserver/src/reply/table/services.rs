//! Cells of services, endpoints, ingresses and other network kinds.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::row::{Cells, NONE, Row, joined, or, or_owned, plain, shortened};

/// How many entries of a list are shown.
const SHOWN: usize = 3;

pub(super) fn service(row: &Row<'_>) -> Cells {
    let cluster = row.list("/spec/clusterIPs").first().and_then(Value::as_str);
    vec![
        row.name(),
        json!(row.text("/spec/type")),
        json!(cluster.unwrap_or_else(|| row.text_or("/spec/clusterIP", NONE))),
        json!(external(row)),
        json!(ports(row)),
        row.age(),
        json!(row.labels("/spec/selector")),
    ]
}

fn external(row: &Row<'_>) -> String {
    let given = joined(row.list("/spec/externalIPs").iter().filter_map(Value::as_str));
    match row.text("/spec/type") {
        "LoadBalancer" => {
            let both = joined([balancer(row), given].into_iter().filter(|text| !text.is_empty()));
            if both.is_empty() { "<pending>".to_owned() } else { both }
        }
        "ExternalName" => row.text("/spec/externalName").to_owned(),
        "ClusterIP" | "NodePort" => or_owned(given),
        _ => "<unknown>".to_owned(),
    }
}

/// The addresses of a load balancer.
fn balancer(row: &Row<'_>) -> String {
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap_or_default().to_owned();
    let entries = row.list("/status/loadBalancer/ingress").iter();
    let places: BTreeSet<String> = entries
        .map(|entry| or(&text(entry, "ip"), &text(entry, "hostname")).to_owned())
        .filter(|place| !place.is_empty())
        .collect();
    joined(places)
}

fn ports(row: &Row<'_>) -> String {
    let pieces = row.list("/spec/ports").iter().map(|port| {
        let protocol = port["protocol"].as_str().unwrap_or("TCP");
        let number = port["port"].as_i64().unwrap_or_default();
        match port["nodePort"].as_i64().filter(|node| *node > 0) {
            Some(node) => format!("{number}:{node}/{protocol}"),
            None => format!("{number}/{protocol}"),
        }
    });
    or_owned(joined(pieces))
}

pub(super) fn endpoints(row: &Row<'_>) -> Cells {
    let mut places = Vec::new();
    for subset in row.list("/subsets") {
        for port in subset["ports"].as_array().into_iter().flatten() {
            for address in subset["addresses"].as_array().into_iter().flatten() {
                let ip = address["ip"].as_str().unwrap_or_default();
                let ip = if ip.contains(':') { format!("[{ip}]") } else { ip.to_owned() };
                places.push(format!("{ip}:{}", port["port"].as_i64().unwrap_or_default()));
            }
        }
    }
    let missing = if row.list("/subsets").is_empty() { NONE } else { "" };
    vec![row.name(), json!(shortened(&places, SHOWN, missing)), row.age()]
}

pub(super) fn endpoint_slice(row: &Row<'_>) -> Cells {
    let ports: Vec<String> = row
        .list("/ports")
        .iter()
        .map(|port| match (&port["port"], port["name"].as_str()) {
            (Value::Number(number), _) => number.to_string(),
            (_, Some(name)) => name.to_owned(),
            _ => "*".to_owned(),
        })
        .collect();
    let addresses: Vec<String> = row
        .list("/endpoints")
        .iter()
        .flat_map(|endpoint| endpoint["addresses"].as_array().into_iter().flatten().map(plain))
        .collect();
    vec![
        row.name(),
        json!(row.text("/addressType")),
        json!(shortened(&ports, SHOWN, super::row::UNSET)),
        json!(shortened(&addresses, SHOWN, super::row::UNSET)),
        row.age(),
    ]
}

pub(super) fn ingress(row: &Row<'_>) -> Cells {
    let hosts = row.list("/spec/rules").iter().filter_map(|rule| rule["host"].as_str());
    let hosts: Vec<String> = hosts.filter(|host| !host.is_empty()).map(str::to_owned).collect();
    let tls = !row.list("/spec/tls").is_empty();
    vec![
        row.name(),
        json!(row.text_or("/spec/ingressClassName", NONE)),
        json!(shortened(&hosts, SHOWN, "*")),
        json!(balancer(row)),
        json!(if tls { "80, 443" } else { "80" }),
        row.age(),
    ]
}

/// The first minor version that marks the default IngressClass.
const MARKS_INGRESS_CLASS: u32 = 36;

pub(super) fn ingress_class(row: &Row<'_>) -> Cells {
    let parameters = row.get("/spec/parameters").map_or_else(
        || NONE.to_owned(),
        |to| {
            let text = |field: &str| to[field].as_str().unwrap_or_default();
            let kind = match text("apiGroup") {
                "" => text("kind").to_owned(),
                group => format!("{}.{group}", text("kind")),
            };
            format!("{kind}/{}", text("name"))
        },
    );
    let annotation = "/metadata/annotations/ingressclass.kubernetes.io~1is-default-class";
    let name = if row.minor >= MARKS_INGRESS_CLASS { row.class_name(&[annotation]) } else { row.name() };
    vec![name, json!(row.text("/spec/controller")), json!(parameters), row.age()]
}

pub(super) fn network_policy(row: &Row<'_>) -> Cells {
    vec![row.name(), json!(row.selector("/spec/podSelector")), row.age()]
}

pub(super) fn ip_address(row: &Row<'_>) -> Cells {
    let part = |field: &str| row.text(&format!("/spec/parentRef/{field}"));
    let parts = ["resource", "group", "namespace", "name"].map(part);
    let resource =
        if parts[1].is_empty() { parts[0].to_owned() } else { format!("{}.{}", parts[0], parts[1]) };
    let parent = [&resource, parts[2], parts[3]].into_iter().filter(|part| !part.is_empty());
    vec![row.name(), json!(parent.collect::<Vec<_>>().join("/")), row.age()]
}

pub(super) fn service_cidr(row: &Row<'_>) -> Cells {
    let ranges = joined(row.list("/spec/cidrs").iter().filter_map(Value::as_str));
    vec![row.name(), json!(ranges), row.age()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_shows_its_external_addresses_and_ports() {
        let now = "2024-01-01T00:10:00Z".parse().unwrap();
        for (spec, status, external, ports) in [
            (
                json!({ "type": "ClusterIP", "ports": [{ "port": 80, "protocol": "TCP" }] }),
                json!({}),
                "<none>",
                "80/TCP",
            ),
            (
                json!({ "type": "NodePort", "ports": [{ "port": 80, "nodePort": 30080, "protocol": "UDP" }] }),
                json!({}),
                "<none>",
                "80:30080/UDP",
            ),
            (json!({ "type": "LoadBalancer" }), json!({}), "<pending>", "<none>"),
            (
                json!({ "type": "LoadBalancer", "externalIPs": ["9.9.9.9"] }),
                json!({ "loadBalancer": { "ingress": [{ "hostname": "b" }, { "ip": "a" }] } }),
                "a,b,9.9.9.9",
                "<none>",
            ),
            (json!({ "type": "ExternalName", "externalName": "x.io" }), json!({}), "x.io", "<none>"),
        ] {
            let object = json!({ "spec": spec, "status": status });
            let cells = service(&Row { object: &object, now, minor: 36 });
            assert_eq!(cells[3..5], [json!(external), json!(ports)], "{object}");
        }
    }
}
