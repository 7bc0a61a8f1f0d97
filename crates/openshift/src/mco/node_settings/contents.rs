//! Which settings are valid, and the files that they become.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use windtunnel_core::Object;
use windtunnel_core::quantity::Quantity;

use super::Settings;

const LOG_LEVELS: [&str; 7] = ["error", "fatal", "panic", "warn", "info", "debug", "trace"];
const PIDS_MIN: i64 = 20;
const LOG_SIZE_MIN: i64 = 8192;

/// Checks the settings of an object.
///
/// # Errors
/// The message of the controller.
pub(super) fn validate(settings: Settings, object: &Object) -> Result<(), String> {
    match settings {
        Settings::Kubelet => validate_kubelet(&object["spec"]),
        Settings::ContainerRuntime => validate_runtime(&object["spec"]["containerRuntimeConfig"]),
    }
}

/// Fields of the kubelet's configuration that the operator sets.
fn validate_kubelet(spec: &Value) -> Result<(), String> {
    if let Some(level) = spec["logLevel"].as_i64().filter(|level| !(1..=10).contains(level)) {
        return Err(format!("KubeletConfig's LogLevel is not valid [1,10]: {level}"));
    }
    let config = &spec["kubeletConfig"];
    for field in ["cgroupDriver", "clusterDNS", "clusterDomain", "featureGates", "staticPodPath"] {
        let found = match &config[field] {
            Value::String(text) if !text.is_empty() => text.clone(),
            Value::Array(list) if !list.is_empty() => {
                let texts: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
                format!("[{}]", texts.join(" "))
            }
            Value::Object(gates) if !gates.is_empty() => {
                let gates: Vec<String> = gates.iter().map(|(gate, on)| format!("{gate}:{on}")).collect();
                format!("map[{}]", gates.join(" "))
            }
            _ => continue,
        };
        return Err(format!("KubeletConfiguration: {field} is not allowed to be set, but contains: {found}"));
    }
    let reserves = config["systemReserved"].as_object().is_some_and(|reserved| !reserved.is_empty());
    if reserves && spec["autoSizingReserved"] == true {
        let why = "KubeletConfiguration: autoSizingReserved and systemdReserved cannot be set together";
        return Err(why.to_owned());
    }
    Ok(())
}

/// A quantity with its text.
fn quantity(value: &Value) -> Option<(Quantity, String)> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    Some((Quantity::parse(&text).ok().flatten()?, text))
}

fn validate_runtime(config: &Value) -> Result<(), String> {
    if let Some(limit) = config["pidsLimit"].as_i64().filter(|limit| *limit != 0 && *limit < PIDS_MIN) {
        return Err(format!("invalid PidsLimit {limit}"));
    }
    let is_tiny = |size: Quantity| {
        !size.is_zero() && !size.is_negative() && !size.is_more(Quantity::whole(LOG_SIZE_MIN))
    };
    if let Some((_, text)) = quantity(&config["logSizeMax"]).filter(|(size, _)| is_tiny(*size)) {
        return Err(format!("invalid LogSizeMax {text:?}, cannot be less than 8kB"));
    }
    if let Some((_, text)) = quantity(&config["overlaySize"]).filter(|(size, _)| size.is_negative()) {
        return Err(format!("invalid overlaySize {text:?}, cannot be less than 0"));
    }
    let level = config["logLevel"].as_str().unwrap_or_default();
    if !level.is_empty() && !LOG_LEVELS.contains(&level) {
        return Err(format!(
            "invalid LogLevel {level:?}, must be one of error, fatal, panic, warn, info, debug, or trace"
        ));
    }
    match config["defaultRuntime"].as_str().unwrap_or_default() {
        "" | "crun" | "runc" => Ok(()),
        other => Err(format!("invalid DefaultRuntime {other:?}, must be one of crun, runc")),
    }
}

/// The files of the MachineConfig.
pub(super) fn files(settings: Settings, object: &Object) -> Vec<Value> {
    match settings {
        Settings::Kubelet => kubelet_files(&object["spec"]),
        Settings::ContainerRuntime => runtime_files(&object["spec"]["containerRuntimeConfig"]),
    }
}

/// A file of a MachineConfig that a controller makes.
pub(in crate::mco) fn file(path: &str, text: &str) -> Value {
    let source = format!("data:text/plain;charset=utf-8;base64,{}", STANDARD.encode(text));
    let contents = json!({ "compression": "", "source": source });
    json!({ "path": path, "mode": 420, "overwrite": true, "contents": contents })
}

fn kubelet_files(spec: &Value) -> Vec<Value> {
    let mut files = Vec::new();
    if let Some(sizes_itself) = spec["autoSizingReserved"].as_bool() {
        files.push(file("/etc/node-sizing-enabled.env", &format!("NODE_SIZING_ENABLED={sizes_itself}\n")));
    }
    if let Some(level) = spec["logLevel"].as_i64() {
        let text = format!("[Service]\nEnvironment=\"KUBELET_LOG_LEVEL={level}\"\n");
        files.push(file("/etc/systemd/system/kubelet.service.d/20-logging.conf", &text));
    }
    if spec["kubeletConfig"].is_object() || spec["tlsSecurityProfile"].is_object() {
        let mut config =
            json!({ "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration" });
        for (field, value) in spec["kubeletConfig"].as_object().into_iter().flatten() {
            config[field] = value.clone();
        }
        if let Some(profile) = spec["tlsSecurityProfile"]["type"].as_str() {
            config["tlsSecurityProfile"] = json!(profile);
        }
        files.push(file("/etc/kubernetes/kubelet.conf", &format!("{config}\n")));
    }
    files
}

fn runtime_files(config: &Value) -> Vec<Value> {
    let mut files = Vec::new();
    if let Some((_, size)) = quantity(&config["overlaySize"]).filter(|(size, _)| !size.is_zero()) {
        let text = format!("[storage]\n  [storage.options]\n    size = \"{size}\"\n");
        files.push(file("/etc/containers/storage.conf", &text));
    }
    let mut drop_in = |name: &str, key: &str, value: String| {
        let text = format!("[crio]\n  [crio.runtime]\n    {key} = {value}\n");
        files.push(file(&format!("/etc/crio/crio.conf.d/01-ctrcfg-{name}"), &text));
    };
    let text = |field: &str| config[field].as_str().filter(|text| !text.is_empty());
    if let Some(level) = text("logLevel") {
        drop_in("logLevel", "log_level", format!("{level:?}"));
    }
    if let Some(limit) = config["pidsLimit"].as_i64() {
        drop_in("pidsLimit", "pids_limit", limit.to_string());
    }
    if let Some((_, size)) = quantity(&config["logSizeMax"]).filter(|(size, _)| !size.is_zero()) {
        drop_in("logSizeMax", "log_size_max", format!("{size:?}"));
    }
    if let Some(runtime) = text("defaultRuntime") {
        drop_in("defaultRuntime", "default_runtime", format!("{runtime:?}"));
    }
    files
}
