//! The rules for disks, filesystems, files and links.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::report::{Path, Report};
use super::{Rules, wrong_path, wrong_url};

fn list(value: &Value) -> impl DoubleEndedIterator<Item = &Value> {
    value.as_array().map_or(&[][..], Vec::as_slice).iter()
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// Checks an object of this type.
pub(super) fn check(value: &Value, of: &str, rules: Rules, path: &Path, report: &mut Report) {
    match of {
        "file" => check_file(value, rules, path, report),
        "directory" => check_directory(value, rules, path, report),
        "link" => report.error(path.at("path"), wrong_path(text(value, "path"))),
        "storage" => check_storage(value, rules, path, report),
        "disk" => check_disk(value, path, report),
        "partition" => check_partition(value, path, report),
        "filesystem" => check_filesystem(value, rules, path, report),
        "raid" => check_raid(value, rules, path, report),
        "luks" => check_luks(value, rules, path, report),
        "custom" => check_custom(value, rules, path, report),
        "tang" => check_tang(value, path, report),
        _ => {}
    }
}

fn check_mode(value: &Value, rules: Rules, path: &Path, report: &mut Report) {
    let mode = value["mode"].as_i64();
    let is_illegal = mode.is_some_and(|mode| !(0..=0o7777).contains(&mode));
    report.error(path.at("mode"), is_illegal.then_some("illegal file mode"));
    let is_special = mode.is_some_and(|mode| mode & 0o7000 != 0);
    if rules.minor < 4 && !rules.are_old {
        let why = "setuid/setgid/sticky bits are not supported in spec versions older than 3.4.0";
        report.warning(path.at("mode"), is_special.then_some(why));
    }
}

fn check_file(value: &Value, rules: Rules, path: &Path, report: &mut Report) {
    report.error(path.at("path"), wrong_path(text(value, "path")));
    check_mode(value, rules, path, report);
    let lacks_source = value["overwrite"] == true && value["contents"]["source"].is_null();
    let why = "overwrite must be false if source is unspecified";
    report.error(path.at("overwrite"), lacks_source.then_some(why));
}

fn check_directory(value: &Value, rules: Rules, path: &Path, report: &mut Report) {
    report.error(path.at("path"), wrong_path(text(value, "path")));
    check_mode(value, rules, path, report);
}

fn check_storage(value: &Value, rules: Rules, path: &Path, report: &mut Report) {
    let links: Vec<String> = list(&value["links"]).map(|link| format!("{}/", text(link, "path"))).collect();
    let uses_link = |node: &Value| links.iter().filter(|link| text(node, "path").starts_with(*link)).count();
    for (kind, why) in [
        ("directories", "directory path includes link in config"),
        ("files", "file path includes link in config"),
    ] {
        for (index, node) in list(&value[kind]).enumerate() {
            for _ in 0..uses_link(node) {
                report.error(path.at(kind).at(index), Some(why));
            }
        }
    }
    for (index, link) in list(&value["links"]).enumerate() {
        let at = path.at("links").at(index);
        for _ in 0..uses_link(link) {
            report.error(at.clone(), Some("link path includes link in config"));
        }
        check_link_target(link, value, rules, &at, report);
    }
    if !rules.are_old {
        warn_about_filesystems(value, path, report);
    }
}

fn check_link_target(link: &Value, storage: &Value, rules: Rules, at: &Path, report: &mut Report) {
    let target = text(link, "target");
    if target.is_empty() && rules.minor >= 3 {
        return report.error(at.at("target"), Some("link target is required"));
    }
    if link["hard"] != true {
        return;
    }
    let absolute =
        if target.starts_with('/') { target.to_owned() } else { format!("{}/{target}", text(link, "path")) };
    let absolute = clean(&absolute);
    for _ in list(&storage["directories"]).filter(|directory| text(directory, "path") == absolute) {
        report.error(at.clone(), Some("hard link target is a directory"));
    }
    if !rules.are_old {
        for (of, field) in [("user", "id"), ("user", "name"), ("group", "id"), ("group", "name")] {
            let is_set = !link[of][field].is_null();
            report.warning(at.at(of).at(field), is_set.then_some("user/group ignored for hard link"));
        }
    }
}

/// An absolute path without `.`, `..` and empty parts.
pub(in super::super) fn clean(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

fn warn_about_filesystems(value: &Value, path: &Path, report: &mut Report) {
    for (index, filesystem) in list(&value["filesystems"]).enumerate() {
        let Some(disk) = list(&value["disks"]).rfind(|disk| disk["device"] == filesystem["device"]) else {
            continue;
        };
        let why = if disk["partitions"].is_array() {
            Some("filesystem overwrites partitioned device")
        } else if filesystem["wipeFilesystem"] != true && disk["wipeTable"] == true {
            Some("device matches disk with wipeTable enabled; filesystem will be wiped")
        } else {
            None
        };
        report.warning(path.at("filesystems").at(index).at("device"), why);
    }
}

fn check_disk(value: &Value, path: &Path, report: &mut Report) {
    let device = text(value, "device");
    if device.is_empty() {
        return report.error(path.at("device"), Some("disk device is required"));
    }
    report.error(path.at("device"), wrong_path(device));
    let partitions: Vec<&Value> = list(&value["partitions"]).collect();
    let at = |index: usize| path.at("partitions").at(index);
    if let Some(index) =
        repeated(&partitions, |partition| partition["number"].as_i64().map(|number| number.to_string()))
    {
        report.error(at(index), Some("partition numbers collide"));
    }
    if let Some(index) = overlapping(&partitions) {
        report.error(at(index), Some("partitions overlap"));
    }
    let mixes = partitions.iter().any(|partition| partition["number"].is_null())
        && partitions.iter().any(|partition| partition["shouldExist"] == false);
    let why = "shouldExist is false for a partition and other partition(s) has start or size 0";
    report.error(path.at("partitions"), mixes.then_some(why));
    if let Some(index) = repeated(&partitions, |partition| partition["label"].as_str().map(str::to_owned)) {
        report.error(at(index), Some("cannot use the same partition label twice"));
    }
}

/// The first entry whose key another one before it has.
fn repeated(entries: &[&Value], key: impl Fn(&Value) -> Option<String>) -> Option<usize> {
    let mut seen = BTreeSet::new();
    entries.iter().position(|entry| key(entry).is_some_and(|key| !seen.insert(key)))
}

fn overlapping(partitions: &[&Value]) -> Option<usize> {
    let span = |partition: &Value| {
        let start = partition["startMiB"].as_i64().filter(|start| *start != 0)?;
        let size = partition["sizeMiB"].as_i64()?;
        Some((start, if size == 0 { start } else { start.saturating_add(size) - 1 }))
    };
    for (index, partition) in partitions.iter().enumerate() {
        let Some((start, end)) = span(partition) else { continue };
        let overlaps = |(other, partition): &(usize, &&Value)| {
            *other != index && span(partition).is_some_and(|(from, to)| start <= to && from <= end)
        };
        if let Some((other, _)) = partitions.iter().enumerate().find(overlaps) {
            return Some(other);
        }
    }
    None
}

fn check_partition(value: &Value, path: &Path, report: &mut Report) {
    let is_set = |field: &str| !text(value, field).is_empty();
    let has_others = !value["label"].is_null()
        || is_set("typeGuid")
        || is_set("guid")
        || !value["startMiB"].is_null()
        || !value["sizeMiB"].is_null();
    let why = "shouldExist specified false with other options also specified";
    report.error(path.clone(), (value["shouldExist"] == false && has_others).then_some(why));
    let is_unnamed = value["number"].is_null() && value["label"].is_null();
    report.error(path.clone(), is_unnamed.then_some("a partition number >= 1 or a label must be specified"));
    let label = text(value, "label");
    let why = if label.len() > 36 {
        Some("partition labels may not exceed 36 characters")
    } else {
        label.contains(':').then_some("partition label will be truncated to text before the colon")
    };
    report.error(path.at("label"), why);
    for field in ["guid", "typeGuid"] {
        let why = "doesn't match the form \"01234567-89AB-CDEF-EDCB-A98765432101\"";
        report.error(path.at(field), (is_set(field) && !is_guid(text(value, field))).then_some(why));
    }
}

fn is_guid(guid: &str) -> bool {
    let is_part = |(part, length): (&str, usize)| {
        part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    guid.split('-').count() == 5 && guid.split('-').zip([8, 4, 4, 4, 12]).all(is_part)
}

fn check_filesystem(value: &Value, rules: Rules, path: &Path, report: &mut Report) {
    let mount = text(value, "path");
    report.error(path.at("path"), if mount.is_empty() { None } else { wrong_path(mount) });
    report.error(path.at("device"), wrong_path(text(value, "device")));
    report.error(path.at("format"), wrong_format(value, rules));
    report.error(path.at("label"), wrong_label(value));
}

fn wrong_format(value: &Value, rules: Rules) -> Option<&'static str> {
    let is_set = |field: &str| !text(value, field).is_empty();
    match text(value, "format") {
        "" => {
            let has_others = is_set("path")
                || is_set("label")
                || is_set("uuid")
                || value["wipeFilesystem"] == true
                || value["mountOptions"].is_array()
                || value["options"].is_array();
            let why = "format cannot be empty when path, label, uuid, wipeFilesystem, options, or mountOptions is specified";
            has_others.then_some(why)
        }
        "ext4" | "btrfs" | "xfs" | "swap" | "vfat" => None,
        "none" if rules.minor >= 3 => None,
        _ => Some("invalid filesystem format"),
    }
}

fn wrong_label(value: &Value) -> Option<String> {
    let label = text(value, "label");
    if label.is_empty() {
        return None;
    }
    let format = text(value, "format");
    let most = match format {
        "" => return Some("filesystem must specify format if label is specified".to_owned()),
        "ext4" => 16,
        "btrfs" => 256,
        "xfs" => 12,
        "swap" => 15,
        "vfat" => 11,
        _ => return None,
    };
    let why = || format!("filesystem labels cannot be longer than {most} characters when using {format}");
    (label.len() > most).then(why)
}

fn check_raid(value: &Value, rules: Rules, path: &Path, report: &mut Report) {
    let why = match text(value, "level") {
        "" if rules.minor >= 3 => Some("raid level is required"),
        "linear" | "raid0" | "0" | "stripe" => {
            let has_spares = value["spares"].as_i64().is_some_and(|spares| spares != 0);
            has_spares.then_some("spares unsupported for linear and raid0 arrays")
        }
        "raid1" | "1" | "mirror" | "raid4" | "4" | "raid5" | "5" | "raid6" | "6" | "raid10" | "10" => None,
        _ => Some("unrecognized raid level"),
    };
    report.error(path.at("level"), why);
    report.error(path.at("devices"), value["devices"].is_null().then_some("raid devices required"));
}

fn check_luks(value: &Value, rules: Rules, path: &Path, report: &mut Report) {
    let has_slash = text(value, "name").contains('/');
    report.error(path.at("name"), has_slash.then_some("device names cannot contain slashes"));
    let is_long = text(value, "label").len() > 47;
    report
        .error(path.at("label"), is_long.then_some("luks device labels cannot be longer than 47 characters"));
    let device = text(value, "device");
    let why = if device.is_empty() { Some("disk device is required") } else { wrong_path(device) };
    report.error(path.at("device"), why);
    let clevis = &value["clevis"];
    let others = clevis["tang"].is_array()
        || clevis["tpm2"] == true
        || clevis["threshold"].as_i64().is_some_and(|number| number != 0);
    let is_custom = if rules.minor >= 3 {
        !text(&clevis["custom"], "pin").is_empty()
    } else {
        clevis["custom"].is_object()
    };
    let why = "cannot use custom clevis config with tpm2, tang, or threshold";
    report.error(path.at("clevis"), (is_custom && others).then_some(why));
    let key = text(&value["keyFile"], "source");
    if value["cex"]["enabled"] == true {
        let is_present = !text(&clevis["custom"], "pin").is_empty() || others;
        report.error(path.at("cex"), is_present.then_some("cannot use cex with clevis"));
        report.error(path.at("cex"), (!key.is_empty()).then_some("cannot use key file with cex"));
    }
    let is_wrong = !key.is_empty() && wrong_url(key, rules.minor).is_some();
    report.error(path.at("keys"), is_wrong.then_some("invalid key-file source"));
}

fn check_custom(value: &Value, rules: Rules, path: &Path, report: &mut Report) {
    let (pin, config) = (text(value, "pin"), text(value, "config"));
    if rules.minor >= 3 && pin.is_empty() && config.is_empty() && value["needsNetwork"] != true {
        return;
    }
    let why = match pin {
        "tpm2" | "tang" | "sss" => None,
        "" => Some("missing required custom clevis pin"),
        _ => Some("unsupported clevis pin"),
    };
    report.error(path.at("pin"), why);
    report.error(path.at("config"), config.is_empty().then_some("missing required custom clevis config"));
}

fn check_tang(value: &Value, path: &Path, report: &mut Report) {
    let why = match super::texts::scheme(text(value, "url")).as_deref() {
        None => Some("unable to parse url"),
        Some("http" | "https") => None,
        Some(_) => Some("invalid url scheme"),
    };
    report.error(path.at("url"), why);
    let lacks_print = text(value, "thumbprint").is_empty();
    report.error(path.at("thumbprint"), lacks_print.then_some("thumbprint is required"));
    let advertisement = text(value, "advertisement");
    let is_wrong = !advertisement.is_empty() && serde_json::from_str::<Value>(advertisement).is_err();
    report.error(path.at("advertisement"), is_wrong.then_some("advertisement is not valid JSON"));
}
