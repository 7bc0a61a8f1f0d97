//! The rules that a config of spec 3 must keep.

mod storage;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::report::{Path, Report};
use super::schema::{Kind, Lists, NODES, Type, key_of};
use super::texts;
pub(super) use storage::clean;

/// The spec and the library that decide the rules.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// The minor of spec 3.
    pub(super) minor: u64,
    /// Whether the library is that of releases up to 4.12, which finds less.
    pub(super) are_old: bool,
}

/// Validates a config that was read, without places.
pub(super) fn validate(config: &Value, of: &'static Type, rules: Rules) -> Report {
    let mut report = Report::default();
    check(config, of, rules, &Path::default(), &mut report);
    find_duplicates(config, of, rules, &Path::default(), &mut report);
    report
}

/// Adds a warning about each field of `raw` that the spec does not have.
pub(super) fn find_unused(raw: &Value, of: &'static Type, rules: Rules, path: &Path, report: &mut Report) {
    let Some(fields) = raw.as_object() else { return };
    for name in fields.keys() {
        if !of.fields(rules.minor).any(|field| field.name == name) {
            report.warning(path.key(name), Some(format!("Unused key {name}")));
        }
    }
    for_each_object(raw, of, rules, path, &mut |value, of, path| find_unused(value, of, rules, path, report));
}

/// Calls `visit` for the objects in the fields of an object.
fn for_each_object(
    value: &Value,
    of: &'static Type,
    rules: Rules,
    path: &Path,
    visit: &mut dyn FnMut(&Value, &'static Type, &Path),
) {
    for field in of.fields(rules.minor) {
        let (value, path) = (&value[field.name], path.at(field.name));
        match field.kind {
            Kind::One(inner) if value.is_object() => visit(value, inner, &path),
            Kind::Many(inner) => {
                for (index, entry) in value.as_array().into_iter().flatten().enumerate() {
                    visit(entry, inner, &path.at(index));
                }
            }
            _ => {}
        }
    }
}

fn check(value: &Value, of: &'static Type, rules: Rules, path: &Path, report: &mut Report) {
    check_object(value, of, rules, path, report);
    for field in of.fields(rules.minor) {
        let (inner, at) = (&value[field.name], path.at(field.name));
        match field.kind {
            Kind::One(of) if inner.is_object() => check(inner, of, rules, &at, report),
            Kind::Many(of) => {
                for (index, entry) in inner.as_array().into_iter().flatten().enumerate() {
                    check(entry, of, rules, &at.at(index), report);
                }
            }
            Kind::Texts if of.name == "raid" && field.name == "devices" => {
                for (index, device) in inner.as_array().into_iter().flatten().enumerate() {
                    report.error(at.at(index), wrong_path(device.as_str().unwrap_or_default()));
                }
            }
            _ => {}
        }
    }
}

fn check_object(value: &Value, of: &Type, rules: Rules, path: &Path, report: &mut Report) {
    let text = |field: &str| value[field].as_str().unwrap_or_default();
    match of.name {
        "config" if !rules.are_old => check_systemd_paths(value, path, report),
        "sources" if rules.minor >= 1 => check_sources(value, "merge", path, report),
        "tls" => check_sources(value, "certificateAuthorities", path, report),
        "proxy" => check_proxy(value, path, report),
        "owner" if !value["id"].is_null() && !text("name").is_empty() => {
            report.error(path.clone(), Some("cannot set both id and name"));
        }
        "resource" => check_resource(value, rules, path, report),
        "header" => {
            report
                .error(path.at("name"), text("name").is_empty().then_some("HTTP header name can't be empty"));
            let is_empty = value["value"].as_str().is_some_and(str::is_empty);
            report.error(path.at("value"), is_empty.then_some("unable to parse HTTP header"));
        }
        "verification" => report.error(path.at("hash"), wrong_hash(value["hash"].as_str(), rules)),
        "unit" => check_unit(value, path, report),
        "dropin" => {
            report.error(path.at("contents"), wrong_unit(value["contents"].as_str()));
            let is_other = extension(text("name")) != ".conf";
            report.error(path.at("name"), is_other.then_some("invalid systemd drop-in extension"));
        }
        "systemd" if !rules.are_old => check_instances(value, path, report),
        _ => storage::check(value, of.name, rules, path, report),
    }
}

/// Files must not be at the paths of units and drop-ins.
fn check_systemd_paths(config: &Value, path: &Path, report: &mut Report) {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let has_contents = |value: &Value| value["contents"].as_str().is_some_and(|text| !text.is_empty());
    let mut paths = BTreeSet::new();
    for unit in list(&config["systemd"]["units"]) {
        let unit_path = format!("/etc/systemd/system/{}", unit["name"].as_str().unwrap_or_default());
        for dropin in list(&unit["dropins"]).iter().filter(|dropin| has_contents(dropin)) {
            paths.insert(format!("{unit_path}.d/{}", dropin["name"].as_str().unwrap_or_default()));
        }
        if has_contents(&unit) {
            paths.insert(unit_path);
        }
    }
    for kind in ["files", "directories", "links"] {
        for (index, node) in list(&config["storage"][kind]).iter().enumerate() {
            let conflicts = paths.contains(node["path"].as_str().unwrap_or_default());
            let at = path.at("storage").at(kind).at(index).at("path");
            report.error(at, conflicts.then_some("path conflicts with systemd unit or dropin"));
        }
    }
}

/// Each entry of the list needs a source.
fn check_sources(value: &Value, list: &str, path: &Path, report: &mut Report) {
    for (index, entry) in value[list].as_array().into_iter().flatten().enumerate() {
        let why = match entry["source"].as_str() {
            None | Some("") => Some("source is required".to_owned()),
            Some(url) => wrong_url(url, u64::MAX),
        };
        report.error(path.at(list).at(index), why);
    }
}

fn check_proxy(value: &Value, path: &Path, report: &mut Report) {
    for (name, http_is_safe) in [("httpProxy", true), ("httpsProxy", false)] {
        let Some(url) = value[name].as_str() else { continue };
        let at = path.at(name);
        match texts::scheme(url).as_deref() {
            None => report.error(at, Some("unable to parse url")),
            Some("https") => {}
            Some("http") => {
                let why = "insecure plaintext HTTP proxy specified for HTTPS resources";
                report.warning(at, (!http_is_safe).then_some(why));
            }
            Some(_) => report.error(at, Some("proxies must be http(s)")),
        }
    }
}

fn check_resource(value: &Value, rules: Rules, path: &Path, report: &mut Report) {
    let (compression, source) = (value["compression"].as_str(), value["source"].as_str());
    let is_known = matches!(compression, None | Some("" | "gzip"));
    report.error(path.at("compression"), (!is_known).then_some("invalid compression method"));
    let lacks_source = source.is_none() && !value["verification"]["hash"].is_null();
    let why = "source must be specified if verification is specified";
    report.error(path.at("verification").at("hash"), lacks_source.then_some(why));
    let url = source.filter(|url| !url.is_empty());
    report.error(path.at("source"), url.and_then(|url| wrong_url(url, rules.minor)));
    if value["httpHeaders"].is_array() {
        let why = match url.and_then(texts::scheme).as_deref() {
            None => Some("unable to parse url"),
            Some("http" | "https") => None,
            Some(_) => Some("cannot use HTTP headers with this source scheme"),
        };
        report.error(path.at("httpHeaders"), why);
    }
}

/// The error in the URL of contents.
pub(super) fn wrong_url(url: &str, minor: u64) -> Option<String> {
    let why = match texts::scheme(url).as_deref() {
        None => "unable to parse url",
        Some("http" | "https" | "tftp") => return None,
        Some("gs") if minor >= 2 => return None,
        Some("s3") => {
            let query = url.split_once('?').map_or("", |(_, query)| query);
            let lacks_version = query.split('&').any(|pair| matches!(pair, "versionId" | "versionId="));
            return lacks_version.then(|| "invalid S3 object VersionId".to_owned());
        }
        Some("data") => return texts::decode_data_url(url).err(),
        Some(_) => "invalid url scheme",
    };
    Some(why.to_owned())
}

fn wrong_hash(hash: Option<&str>, rules: Rules) -> Option<&'static str> {
    let Some((function, sum)) = hash?.split_once('-') else { return Some("malformed hash specifier") };
    let length = match function {
        "sha512" => 128,
        "sha256" if rules.minor >= 1 => 64,
        _ => return Some("unrecognized hash function"),
    };
    (sum.len() != length).then_some("incorrect size for hash sum")
}

/// The error in an absolute path.
pub(super) fn wrong_path(path: &str) -> Option<&'static str> {
    let is_clean = path == "/" || path.split('/').skip(1).all(|part| !matches!(part, "" | "." | ".."));
    if path.is_empty() {
        Some("path not specified")
    } else if !path.starts_with('/') {
        Some("path not absolute")
    } else {
        (!is_clean).then_some("path is not fully simplified")
    }
}

fn wrong_unit(contents: Option<&str>) -> Option<String> {
    texts::unit_sections(contents?).err().map(|why| format!("invalid unit content: {why}"))
}

/// The last part of a file name, from its point on.
fn extension(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or_default();
    file.rfind('.').map_or("", |at| &file[at..])
}

fn check_unit(value: &Value, path: &Path, report: &mut Report) {
    const KINDS: [&str; 12] = [
        ".service",
        ".socket",
        ".device",
        ".mount",
        ".automount",
        ".swap",
        ".target",
        ".path",
        ".timer",
        ".snapshot",
        ".slice",
        ".scope",
    ];
    let name = value["name"].as_str().unwrap_or_default();
    let is_known = KINDS.contains(&extension(name));
    report.error(path.at("name"), (!is_known).then_some("invalid systemd unit extension"));
    let contents = value["contents"].as_str();
    let at = path.at("contents");
    report.error(at.clone(), wrong_unit(contents));
    let sections = texts::unit_sections(contents.unwrap_or_default()).ok();
    let lacks_install = sections.is_some_and(|sections| !sections.iter().any(|section| section == "Install"));
    if value["enabled"] == true && contents.is_some_and(|text| !text.is_empty()) && lacks_install {
        let why = format!("unit \"{name}\" is enabled, but has no install section so enable does nothing");
        report.warning(at, Some(why));
    }
}

/// Warns about enabled instances whose template cannot be enabled.
fn check_instances(value: &Value, path: &Path, report: &mut Report) {
    let units = || value["units"].as_array().into_iter().flatten();
    for (index, unit) in units().enumerate() {
        let name = unit["name"].as_str().unwrap_or_default();
        let Some((template, instance)) = name.split_once('@') else { continue };
        let is_instance =
            !template.is_empty() && instance.len() > ".service".len() && instance.ends_with(".service");
        if unit["enabled"] != true || !is_instance {
            continue;
        }
        let template = format!("{template}@.service");
        let contents =
            units().rfind(|unit| unit["name"] == *template).and_then(|unit| unit["contents"].as_str());
        let Some(contents) = contents.filter(|contents| !contents.is_empty()) else { continue };
        let lacks_install = texts::unit_sections(contents)
            .is_ok_and(|sections| !sections.iter().any(|section| section == "Install"));
        if lacks_install {
            let why = format!("template unit \"{template}\" for \"{name}\" doesn't have Install section");
            report.warning(path.at("units").at(index).at("contents"), Some(why));
        }
    }
}

/// Entries of lists must differ in their keys.
fn find_duplicates(value: &Value, of: &'static Type, rules: Rules, path: &Path, report: &mut Report) {
    let mut seen: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for field in of.fields(rules.minor).filter(|field| !of.repeats(field.name)) {
        let inner = match field.kind {
            Kind::Many(inner) => Some(inner),
            Kind::Texts => None,
            _ => continue,
        };
        let is_shared = of.lists == Lists::Shared || of.name == "storage" && NODES.contains(&field.name);
        let keys = seen.entry(if is_shared { "shared" } else { field.name }).or_default();
        for (index, entry) in value[field.name].as_array().into_iter().flatten().enumerate() {
            if !keys.insert(key_of(inner, entry)) {
                report.error(path.at(field.name).at(index), Some("duplicate entry defined"));
            }
        }
    }
    for_each_object(value, of, rules, path, &mut |value, of, path| {
        find_duplicates(value, of, rules, path, report);
    });
}

/// Returns whether a config has nothing at all.
pub(super) fn is_empty(config: &Value) -> bool {
    let is_empty = |fields: &Map<String, Value>| {
        fields.iter().all(|(name, value)| {
            name == "ignition"
                && value["version"] == ""
                && value.as_object().is_some_and(|all| all.len() == 1)
        })
    };
    config.as_object().is_none_or(is_empty)
}
