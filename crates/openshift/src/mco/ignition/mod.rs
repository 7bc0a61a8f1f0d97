//! Ignition configs in MachineConfigs: read, validated, translated and merged as the machine-config controller of a
//! release does.
//!
//! * `schema.rs` has the fields of spec 3, `version.rs` the specs that releases know.
//! * `decode.rs` reads a config, `validate` checks it, `report.rs` has what was found.
//! * `spec_2.rs` translates configs of spec 2.
//! * `merge.rs` merges configs.

mod decode;
mod merge;
mod report;
mod schema;
mod spec_2;
mod texts;
mod validate;
mod version;

use serde_json::{Value, json};

use self::report::{Path, Report};
use self::schema::CONFIG;
pub(super) use self::version::Dialect;
use self::version::SpecVersion;

/// Why the library did not accept a config.
enum Refusal {
    /// The version cannot be read.
    NoVersion,
    /// The library does not know the version.
    UnknownVersion,
    /// The config is not valid.
    Invalid(Report),
}

/// A config that was read.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Config {
    /// Of spec 2.
    Two(Value),
    /// Of spec 3, translated to the minor that the controller writes.
    Three(Value),
}

impl Config {
    /// Reads the config of a MachineConfig.
    ///
    /// # Errors
    /// The message of the controller.
    pub(super) fn parse(raw: &Value, dialect: Dialect) -> Result<Self, String> {
        if raw.is_null() {
            let spec = if dialect.tries_each() { format!("v3.{}", dialect.reads()) } else { "v3".to_owned() };
            let why = "not a config (empty)\nReport: ";
            return Err(format!("parsing Ignition config spec {spec} failed with error: {why}"));
        }
        if dialect.tries_each() {
            return parse_one_by_one(raw, dialect);
        }
        let supported = dialect.supported();
        match parse_3(raw, dialect) {
            Ok(config) => Ok(Self::Three(translate(config, dialect))),
            Err(Refusal::NoVersion) => Err(format!(
                "parsing Ignition config failed: invalid version. Supported spec versions: {supported}"
            )),
            Err(Refusal::UnknownVersion) => parse_2(raw, &supported),
            Err(Refusal::Invalid(report)) => Err(format!(
                "parsing Ignition config spec v3 failed with error: config is not valid\nReport: {report}"
            )),
        }
    }

    /// Validates the config once more, as translated.
    ///
    /// # Errors
    /// The message of the controller.
    pub(super) fn validate(&self, dialect: Dialect) -> Result<(), String> {
        let config = match self {
            Self::Three(config) => config,
            Self::Two(config) => return check_modes(config),
        };
        if validate::is_empty(config) {
            return Ok(());
        }
        let report = validate::validate(config, &CONFIG, dialect.rules(dialect.writes()));
        if report.is_fatal() {
            return Err(format!("invalid ignition V3 config found: {report}"));
        }
        check_modes(config)
    }

    /// The config in the spec that the controller writes.
    ///
    /// # Errors
    /// The message of the controller.
    pub(super) fn into_newest(self, dialect: Dialect) -> Result<Value, String> {
        match self {
            Self::Three(config) => Ok(config),
            Self::Two(config) => spec_2::translate(&config, dialect).map(|config| translate(config, dialect)),
        }
    }
}

/// Reads the config of a MachineConfig and translates it to the spec that the controller writes.
///
/// # Errors
/// The message of the controller.
pub(super) fn parse_and_convert(raw: &Value, dialect: Dialect) -> Result<Value, String> {
    let config =
        Config::parse(raw, dialect).map_err(|why| format!("failed to parse Ignition config: {why}"))?;
    config.into_newest(dialect)
}

/// A config without contents.
pub(super) fn empty(dialect: Dialect) -> Value {
    json!({ "ignition": { "version": format!("3.{}.0", dialect.writes()) } })
}

/// Merges configs of the spec that the controller writes: `child` changes `parent`.
pub(super) fn merge(parent: &Value, child: &Value) -> Value {
    merge::merge(parent, child, &CONFIG)
}

/// The contents of a file from a config. `None` if they cannot be read.
pub(super) fn contents(file: &Value) -> Option<Vec<u8>> {
    match file["contents"]["source"].as_str() {
        None => Some(Vec::new()),
        Some(source) => texts::decode_data_url(source).ok(),
    }
}

/// Reads a config of any known minor of spec 3.
fn parse_3(raw: &Value, dialect: Dialect) -> Result<Value, Refusal> {
    let version = version_text(raw)?;
    let version = SpecVersion::parse(version).ok_or(Refusal::NoVersion)?;
    match version.minor_of_3().filter(|minor| *minor <= dialect.reads()) {
        Some(minor) => parse_minor(raw, minor, dialect),
        None => Err(Refusal::UnknownVersion),
    }
}

/// The version of a config; empty if it has none.
fn version_text(raw: &Value) -> Result<&str, Refusal> {
    let found = match &raw["ignition"]["version"] {
        Value::Null => return Ok(""),
        Value::String(version) => return Ok(version),
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let message =
        format!("json: cannot unmarshal {found} into Go struct field .Ignition.Version of type string");
    let path = Path::default().at("ignition").at("version");
    Err(Refusal::Invalid(Report::of_parser(raw, &path, message)))
}

/// Reads a config of this minor of spec 3 and validates it.
fn parse_minor(raw: &Value, minor: u64, dialect: Dialect) -> Result<Value, Refusal> {
    let config =
        decode::read(raw, &CONFIG, minor).map_err(|mismatch| Refusal::Invalid(mismatch.report(raw)))?;
    let rules = dialect.rules(minor);
    let mut report = validate::validate(&config, &CONFIG, rules);
    validate::find_unused(raw, &CONFIG, rules, &Path::default(), &mut report);
    if report.is_fatal() {
        report.locate(raw, dialect.is_in_memory().then_some(&CONFIG));
        return Err(Refusal::Invalid(report));
    }
    Ok(config)
}

/// Reads a config as releases up to 4.12 do.
fn parse_one_by_one(raw: &Value, dialect: Dialect) -> Result<Config, String> {
    for minor in (0..=dialect.reads()).rev() {
        let version = raw["ignition"]["version"].as_str().and_then(SpecVersion::parse);
        let is_this = version.and_then(|version| version.minor_of_3()) == Some(minor);
        let parsed = match decode::read(raw, &CONFIG, minor) {
            Ok(_) if !is_this => continue,
            _ => parse_minor(raw, minor, dialect),
        };
        return match parsed {
            Ok(config) => Ok(Config::Three(translate(config, dialect))),
            Err(Refusal::Invalid(report)) => Err(format!(
                "parsing Ignition config spec v3.{minor} failed with error: config is not valid\nReport: {report}"
            )),
            Err(Refusal::NoVersion | Refusal::UnknownVersion) => continue,
        };
    }
    parse_2(raw, &dialect.supported())
}

fn parse_2(raw: &Value, supported: &str) -> Result<Config, String> {
    match spec_2::parse(raw) {
        Ok(config) => Ok(Config::Two(config)),
        Err(None) => Err(format!(
            "parsing Ignition config failed: unknown version. Supported spec versions: {supported}"
        )),
        Err(Some(why)) => Err(format!("parsing Ignition spec v2 failed with error: {why}")),
    }
}

/// Translates a config of spec 3 to the minor that the controller writes.
fn translate(mut config: Value, dialect: Dialect) -> Value {
    let from = config["ignition"]["version"].as_str().and_then(SpecVersion::parse);
    let from = from.and_then(|version| version.minor_of_3()).unwrap_or_default();
    let to = dialect.writes();
    if from < 4 && to >= 4 {
        // Special bits of modes have a meaning only from 3.4 on.
        for kind in ["files", "directories"] {
            let list = config.pointer_mut(&format!("/storage/{kind}")).and_then(Value::as_array_mut);
            for node in list.into_iter().flatten() {
                if let Some(mode) = node["mode"].as_i64() {
                    node["mode"] = json!(mode & 0o777);
                }
            }
        }
    }
    if from > to {
        config = decode::read(&config, &CONFIG, to).unwrap_or(config);
    }
    config["ignition"]["version"] = json!(format!("3.{to}.0"));
    config
}

/// Modes of files must not have special bits.
fn check_modes(config: &Value) -> Result<(), String> {
    for file in config["storage"]["files"].as_array().into_iter().flatten() {
        if let Some(mode) = file["mode"].as_i64().filter(|mode| *mode > 0o777) {
            let path = file["path"].as_str().unwrap_or_default();
            return Err(format!("invalid mode {} for {path}, cannot exceed 0777", format_args!("0{mode:o}")));
        }
    }
    Ok(())
}
