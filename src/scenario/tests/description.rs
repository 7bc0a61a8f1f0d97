//! Checks that the language's documentation and schema are complete, and that damaged text never panics.

use super::*;
use crate::scenario;

const DOCUMENT: &str = include_str!("../../../docs/scenario-language.md");

/// A scenario around the documented steps.
const AROUND: &str = "name: n\ncluster: {version: 4.14.1}\nreleases: {4.14.8: , 4.15.0: }\ntimeline:\n";

/// Returns the `yaml` blocks of the documentation, with the line of each.
fn blocks(document: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut block: Option<(usize, String)> = None;
    for (index, line) in document.lines().enumerate() {
        match (&mut block, line) {
            (None, "```yaml") => block = Some((index + 2, String::new())),
            (Some(_), "```") => found.extend(block.take()),
            (Some((_, text)), line) => {
                text.push_str(line);
                text.push('\n');
            }
            _ => (),
        }
    }
    found
}

/// Collects every map key of a tree.
fn keys(node: &Node, into: &mut std::collections::BTreeSet<String>) {
    match &node.kind {
        Kind::List(items) => items.iter().for_each(|item| keys(item, into)),
        Kind::Map(entries) => entries.iter().for_each(|(key, value)| {
            into.extend(key.scalar().map(str::to_owned));
            keys(value, into);
        }),
        Kind::Text(text) => into.extend([text.clone()]),
        _ => (),
    }
}

#[test]
fn parses_every_example_of_the_documentation() {
    let blocks = blocks(DOCUMENT);
    assert!(blocks.len() > 10, "{blocks:?}");
    for (line, block) in blocks {
        let text = if block.starts_with("name:") { block } else { format!("{AROUND}{block}") };
        if let Err(errors) = plan(&text) {
            panic!("docs/scenario-language.md:{line}:\n{errors}\n{text}");
        }
    }
}

#[test]
fn the_documentation_has_an_example_of_every_key() {
    let mut used = std::collections::BTreeSet::new();
    for (_, block) in blocks(DOCUMENT) {
        keys(&parse_tree(&block).unwrap().0, &mut used);
    }
    for known in [
        scenario::KEYS,
        scenario::cluster::KEYS,
        scenario::update_service::KEYS,
        scenario::timeline::ACTIONS,
        scenario::expectations::expectation::KEYS,
    ] {
        for key in known {
            assert!(used.contains(*key), "no example of `{key}`");
        }
    }
}

#[test]
fn the_schema_accepts_every_example_and_lists_every_key() {
    let schema = scenario::schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for (line, block) in blocks(DOCUMENT) {
        let text = if block.starts_with("name:") { block } else { format!("{AROUND}{block}") };
        let value = parse_tree(&text).unwrap().0.to_json();
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "docs/scenario-language.md:{line}:\n{}\n{text}", errors.join("\n"));
    }
    let keys = |at: &str| -> Vec<String> {
        let properties = schema.pointer(at).and_then(serde_json::Value::as_object).unwrap();
        properties.keys().cloned().collect()
    };
    for (at, known) in [
        ("/properties", scenario::KEYS),
        ("/$defs/cluster/properties", scenario::cluster::KEYS),
        ("/$defs/updateService/properties", scenario::update_service::KEYS),
        ("/$defs/step/anyOf/1/properties", scenario::timeline::ACTIONS),
        ("/$defs/expectation/properties", scenario::expectations::expectation::KEYS),
    ] {
        let mut known: Vec<&str> = known.to_vec();
        known.sort_unstable();
        assert_eq!(keys(at), known, "{at}");
    }
}

/// The objects of a schema with named properties, by their paths.
fn objects_of<'s>(schema: &'s serde_json::Value, at: &str, found: &mut Vec<(String, &'s serde_json::Value)>) {
    match schema {
        serde_json::Value::Object(fields) => {
            if fields.get("properties").is_some_and(serde_json::Value::is_object)
                && fields.contains_key("type")
            {
                found.push((at.to_owned(), schema));
            }
            fields.iter().for_each(|(name, inner)| objects_of(inner, &format!("{at}/{name}"), found));
        }
        serde_json::Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, inner)| objects_of(inner, &format!("{at}/{index}"), found));
        }
        _ => (),
    }
}

#[test]
fn the_schema_describes_every_step_and_rejects_unknown_keys_everywhere() {
    let schema = scenario::schema();
    let mut found = Vec::new();
    objects_of(&schema["$defs"], "", &mut found);
    assert!(found.len() > 25, "{}", found.len());
    for (at, object) in found.iter().filter(|(at, _)| at != "/kubernetesObject") {
        assert_eq!(object["additionalProperties"], false, "{at} accepts unknown keys");
        for (name, property) in object["properties"].as_object().unwrap() {
            let of_reference =
                property["$ref"].as_str().and_then(|at| schema.pointer(at.trim_start_matches('#')));
            let is_described = |value: &serde_json::Value| value["description"].is_string();
            assert!(
                is_described(property) || of_reference.is_some_and(is_described),
                "{at}: `{name}` has no description"
            );
        }
    }
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors = |step: serde_json::Value| {
        let value =
            serde_json::json!({ "name": "n", "cluster": { "version": "4.18.3" }, "timeline": [step] });
        validator.iter_errors(&value).map(|error| error.to_string()).collect::<Vec<_>>().join("\n")
    };
    let fault = serde_json::json!({ "operator": "dns", "is": "degraded" });
    assert_eq!(errors(serde_json::json!({ "fault": fault })), "");
    assert!(errors(serde_json::json!({ "fualt": fault })).contains("fualt"));
    assert!(!errors(serde_json::json!({ "fault": { "operator": "dns", "iss": "degraded" } })).is_empty());
}

#[test]
fn damaged_text_never_panics() {
    let mut stream = windtunnel_core::rng::Streams::new(1).stream("damage");
    let mut errors = 0;
    for (_, block) in blocks(DOCUMENT) {
        let text = if block.starts_with("name:") { block } else { format!("{AROUND}{block}") };
        for _ in 0..200 {
            let mut letters: Vec<char> = text.chars().collect();
            for _ in 0..=stream.between(0, 3) {
                let at = usize::try_from(stream.between(0, letters.len() as u64 - 1)).unwrap();
                let strange = [':', '{', ']', '-', '*', '&', '\n', ' ', '"', '\u{1F980}', '0', '/', '~', '!'];
                letters[at] = strange[usize::try_from(stream.between(0, strange.len() as u64 - 1)).unwrap()];
            }
            let damaged: String = letters.into_iter().collect();
            errors += usize::from(plan(&damaged).is_err());
        }
    }
    assert!(errors > 1000, "{errors}");
}
