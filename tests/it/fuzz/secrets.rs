//! Random values of Secrets, in random forms at random places: no record, timeline or failure has them.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use windtunnel::cli::Releases;
use windtunnel::report::story::{self, Insights};

use super::campaign::campaign;
use super::dice::Dice;

/// Letters with which the parts of a value begin and end, and the texts between them.
const LETTERS: &[&str] = &["q", "X", "7", "k2", "Zw", "pp9"];
const BETWEEN: &[&str] = &["", " ", "\"", "\\", "%", "/", "+", "-", "_", "\n", "\t", "é", "$", "=", ":", "&"];
const BESIDE: &[&str] = &["", "user:", "is ", "\n", "--password=", "\"", "%25", "\\"];

/// A text of letters, which no other text contains, and a value that has it.
fn value(dice: &mut Dice) -> (String, String) {
    let letters = |dice: &mut Dice| (0..8).map(|_| dice.pick(LETTERS)).collect::<String>();
    let core = letters(dice);
    let value =
        format!("{}{}{core}{}{}", dice.pick(LETTERS), dice.pick(BETWEEN), dice.pick(BETWEEN), letters(dice));
    (core, value)
}

/// A value in one of the forms in which other objects have it.
fn written(dice: &mut Dice, value: &str) -> String {
    let (before, behind) = (dice.pick(BESIDE), dice.pick(BESIDE));
    let whole = format!("{before}{value}{behind}");
    match dice.index(7) {
        0 => STANDARD.encode(&whole),
        1 => URL_SAFE_NO_PAD.encode(&whole),
        2 => json!({ "a": whole }).to_string(),
        3 => json!({ "a": json!({ "b": value }).to_string() }).to_string(),
        4 => value.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat(),
        5 => STANDARD
            .encode(&whole)
            .as_bytes()
            .chunks(20)
            .map(String::from_utf8_lossy)
            .collect::<Vec<_>>()
            .join("\n"),
        _ => whole,
    }
}

fn scenario(dice: &mut Dice, value: &str) -> String {
    let metadata = |name: &str, note: String| json!({ "namespace": "default", "name": name, "annotations": { "note": note } });
    let secret = match dice.index(2) {
        0 => json!({ "stringData": { "a": value } }),
        _ => json!({ "data": { "a": STANDARD.encode(value) } }),
    };
    let mut secret = secret;
    (secret["apiVersion"], secret["kind"]) = (json!("v1"), json!("Secret"));
    secret["metadata"] = metadata("s", written(dice, value));
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata("c", written(dice, value)),
        "data": { "a": written(dice, value), "b": written(dice, value) } });
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata("p", String::new()), "spec": { "containers": [{
        "name": "c", "image": "quay.io/a/b:1", "args": [written(dice, value)], "env": [{ "name": "A", "value": written(dice, value) }] }] } });
    let expected = json!({ "object": "ConfigMap/default/c", "fields": { "data.a": format!("not {value}") } });
    let mut steps: Vec<Value> =
        [secret, map, pod].into_iter().map(|object| json!({ "apply": object })).collect();
    if dice.one_in(2) {
        // The run learns the value later.
        steps.swap(0, 1);
    }
    let objects = ["secret s", "configmap c", "pod p"].map(|name| format!("oc get {name} -n default -o "));
    steps.extend(objects.map(|command| json!({ "run": command + dice.pick(&["yaml", "json"]) })));
    steps.push(json!({ "expect": expected }));
    let cluster = json!({ "version": "4.14.1", "nodes": { "control-plane": 1, "workers": 0 } });
    json!({ "name": "s", "cluster": cluster, "timeline": steps }).to_string()
}

#[test]
fn a_value_of_a_secret_is_in_no_output() {
    campaign("secrets::a_value_of_a_secret_is_in_no_output", 8, |seed| {
        let mut dice = Dice::new("secrets", seed);
        let (core, value) = value(&mut dice);
        let text = scenario(&mut dice, &value);
        let plan = windtunnel::scenario::parse("s.yaml", &text, &Releases::default())
            .map_err(|error| error.to_string())?;
        let outcome = windtunnel::engine::run_plan(&plan, 1).map_err(|error| error.to_string())?;
        let failure = outcome.failure.ok_or("expected a failed step")?;
        let outputs = [
            outcome.record.to_lines(),
            story::render(&outcome.record, 0, Insights::AtTheEnd),
            format!("{}: {}", failure.step, failure.error),
        ];
        let encoded = (0..3).map(|shift| {
            let text = STANDARD.encode("  "[..shift].to_owned() + &core);
            text[4..text.len() - 4].to_owned()
        });
        let forms: Vec<String> = encoded.chain([core.clone()]).collect();
        let found = outputs.iter().flat_map(|text| forms.iter().filter(|form| text.contains(*form)));
        match found.collect::<Vec<_>>().first() {
            Some(form) => Err(format!("{form} of {value:?} is in the output of\n{text}")),
            None => Ok(()),
        }
    });
}
