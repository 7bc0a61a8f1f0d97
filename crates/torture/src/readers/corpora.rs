//! Recorded exchanges with API servers.

use serde_json::{Value, json};
use windtunnel_conformance::compare::{Volatile, compare, differences, shape, sort};
use windtunnel_conformance::corpus::{Env, difference, edit, expected, fill, find};

use super::{Reader, examples};

/// A file with recorded cases.
pub(super) const CORPUS: Reader = Reader { name: "corpus", read, examples: corpus_examples };

fn read(bytes: &[u8]) {
    let Ok(file) = serde_json::from_slice::<Value>(bytes) else { return };
    let mut env = Env::from([("ns".to_owned(), json!("ns-x")), ("case".to_owned(), json!("cx"))]);
    let volatile = Volatile::new("x");
    for (name, value) in file["defs"].as_object().into_iter().flatten() {
        let value = fill(value, &env);
        env.insert(name.clone(), value);
    }
    let cases = file["cases"].as_array().into_iter().flatten();
    for step in cases.flat_map(|case| case["steps"].as_array().into_iter().flatten()) {
        read_step(step, &mut env, &volatile);
    }
}

/// Fills in the request of a step, and compares its recorded answer with one that differs.
fn read_step(step: &Value, env: &mut Env, volatile: &Volatile) {
    let mut body = fill(&step["request"]["body"], env);
    edit(&mut body, &step["request"]);
    let mut answer = expected(&step["response"], env);
    for (name, pointer) in step["capture"].as_object().into_iter().flatten() {
        let value = find(&answer, pointer.as_str().unwrap_or_default());
        env.insert(name.clone(), value);
    }
    for pointer in step["sort"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        sort(&mut answer, pointer);
    }
    let shaped = shape(step, &answer, volatile);
    let mut found = Vec::new();
    compare(&shaped, &body, "", &mut found);
    let _ = differences("", &shaped, &body);
    let change = Value::Object(difference(&body, &answer));
    edit(&mut body, &change);
}

fn corpus_examples() -> Vec<Vec<u8>> {
    const FEW: usize = 3;
    let files = ["patch", "crd-cel", "varied-http", "list-and-watch", "subresources-and-meta"];
    let shortened = |name: &&str| {
        let mut file: Value =
            serde_json::from_str(&examples::text(&format!("tests/conformance/corpus/{name}.json"))).ok()?;
        file["cases"].as_array_mut()?.truncate(FEW);
        Some(file.to_string().into_bytes())
    };
    files.iter().filter_map(shortened).collect()
}
