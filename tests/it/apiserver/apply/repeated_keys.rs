//! Repeated keys in applied objects.

use super::*;

const YAML: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  labels:
    x: one
    x: two
data:
  k: \"1\"
  k: \"2\"
data:
  k: \"3\"
";

fn applied(minor: u32, how: &str, body: &'static str) -> (u16, Vec<String>, Value) {
    let mut server = server(minor);
    let admin = Identity::admin();
    let path = format!("{CONFIG_MAP}?fieldManager=me{how}");
    let mut request = Request::new(Method::Patch, &path, &admin).with_content_type(APPLY);
    request.body = Body::Bytes(body.to_owned().into());
    let reply = server.handle(&request, now());
    (reply.code, reply.warnings.clone(), reply.json().unwrap_or_default())
}

const WARNINGS: [&str; 3] = [
    "line 7: key \"x\" already set in map",
    "line 10: key \"k\" already set in map",
    "line 12: key \"data\" already set in map",
];

#[test]
fn the_last_repeated_key_counts_and_each_one_causes_a_warning_with_its_line() {
    for how in ["", "&fieldValidation=Warn"] {
        let (code, warnings, object) = applied(36, how, YAML);
        assert_eq!((code, warnings), (201, WARNINGS.map(str::to_owned).to_vec()));
        assert_eq!(object["data"], json!({ "k": "3" }));
        assert_eq!(object["metadata"]["labels"], json!({ "x": "two" }));
    }
    assert_eq!(applied(36, "&fieldValidation=Ignore", YAML).1, Vec::<String>::new());
}

#[test]
fn strict_validation_rejects_all_repeated_keys_at_once() {
    let (code, _, body) = applied(36, "&fieldValidation=Strict", YAML);
    let why = "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  ";
    assert_eq!((code, &body["reason"]), (400, &json!("BadRequest")));
    assert_eq!(body["message"], format!("{why}{}", WARNINGS.join("\n  ")));
    let text = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"1","k":"2"}}"#;
    let (code, _, body) = applied(36, "&fieldValidation=Strict", text);
    assert_eq!(
        (code, body["message"].as_str()),
        (400, Some(&*format!("{why}line 1: key \"k\" already set in map")))
    );
}

#[test]
fn other_errors_are_reported_before_repeated_keys() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nextra: 1\nextra: 2\n";
    let (code, _, body) = applied(36, "&fieldValidation=Strict", text);
    assert_eq!(code, 500);
    assert!(body["message"].as_str().unwrap().ends_with(".extra: field not declared in schema"), "{body}");
}

#[test]
fn repeated_keys_are_not_reported_before_1_25() {
    let (code, warnings, _) = applied(24, "&fieldValidation=Strict", YAML);
    assert_eq!((code, warnings), (201, Vec::new()));
}
