//! Replays what real machine-config controllers and daemons answered for random MachineConfigs.
//!
//! Each line of the file is one answer: the release, the MachineConfigs, and the rendered spec or the error. In errors,
//! `X` represents the digest of the controller in names of rendered MachineConfigs.

use regex::Regex;
use serde_json::Value;

use super::rendered::{self, Images};
use super::validity;

const RECORDINGS: &str = include_str!("../../tests/machine-configs.jsonl");

/// The recorded and our own answer.
fn answers(recording: &Value, digests: &Regex) -> [Result<Value, String>; 2] {
    let text = |field: &str| recording[field].as_str().unwrap();
    let (major, minor) = text("line").split_once('.').unwrap();
    let line = (major.parse().unwrap(), minor.parse().unwrap());
    let ours = if text("op") == "render" {
        let sources: Vec<&Value> = recording["configs"].as_array().unwrap().iter().collect();
        let images = Images { os: "os", extensions: "ext" };
        let old = Some(&recording["old"]).filter(|old| !old.is_null());
        rendered::render(old, text("pool"), &sources, images, line).map(|rendered| rendered.spec)
    } else {
        validity::reconcilable(&recording["old"], &recording["new"], line).map(|()| Value::Null)
    };
    let ours = ours.map_err(|why| digests.replace_all(&why, "${1}X").into_owned());
    let recorded =
        recording["error"].as_str().map_or_else(|| Ok(recording["spec"].clone()), |why| Err(why.to_owned()));
    [recorded, ours]
}

#[test]
fn renders_and_refuses_as_the_real_controller_does() {
    let digests = Regex::new("(rendered-[a-z]+-)[0-9a-f]{32}").unwrap();
    let mut count = 0;
    for line in RECORDINGS.lines() {
        let recording: Value = serde_json::from_str(line).unwrap();
        let [recorded, ours] = answers(&recording, &digests);
        assert_eq!(recorded, ours, "{recording}");
        count += 1;
    }
    assert!(count >= 300, "{count}");
}
