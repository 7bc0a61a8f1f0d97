//! Which MachineConfigs the controller renders, and which changes of a running machine are possible.

use serde_json::Value;
use windtunnel_core::name_of;

use super::ignition::{self, Config, Dialect};
use crate::manifests::MajorMinor;

/// From this minor on the controller refuses what no running machine can change to, and so no node gets it.
pub(super) const RENDERS_RECONCILABLE: MajorMinor = (4, 16);
/// From this minor on the controller knows the extensions. Before, the daemon refuses unknown ones.
pub(super) const CHECKS_EXTENSIONS: MajorMinor = (4, 16);
/// From this minor on pages of 64 KiB are a kernel type.
const LARGE_PAGES: MajorMinor = (4, 15);
/// From this minor on the user `core` may be left out, and the section `kernelArguments` is known.
const KNOWS_ARGUMENTS: MajorMinor = (4, 14);
/// From this minor on the password of `core` can be changed.
const CHANGES_PASSWORD: MajorMinor = (4, 13);
/// The file that makes the daemon skip its checks.
const FORCE_FILE: &str = "/run/machine-config-daemon-force";

/// The extensions of the operating system, with the minors from which and up to which they exist.
const EXTENSIONS: [(&str, MajorMinor, MajorMinor); 8] = [
    ("ipsec", (4, 14), (u64::MAX, 0)),
    ("kerberos", (4, 0), (u64::MAX, 0)),
    ("kernel-devel", (4, 0), (u64::MAX, 0)),
    ("sandboxed-containers", (4, 0), (u64::MAX, 0)),
    ("sysstat", (4, 18), (u64::MAX, 0)),
    ("two-node-ha", (4, 19), (u64::MAX, 0)),
    ("usbguard", (4, 0), (u64::MAX, 0)),
    ("wasm", (4, 14), (4, 21)),
];

/// Checks the spec of a MachineConfig before it is merged.
///
/// # Errors
/// The message of the controller of this minor.
pub(super) fn validate(spec: &Value, line: MajorMinor) -> Result<(), String> {
    let kernel = spec["kernelType"].as_str().unwrap_or_default();
    let is_known =
        matches!(kernel, "" | "default" | "realtime") || kernel == "64k-pages" && line >= LARGE_PAGES;
    if !is_known {
        return Err(format!("kernelType={kernel} is invalid"));
    }
    if spec["config"].is_null() {
        return Ok(());
    }
    let dialect = Dialect::new(line);
    Config::parse(&spec["config"], dialect)?.validate(dialect)?;
    if line >= CHECKS_EXTENSIONS { check_extensions(spec, line) } else { Ok(()) }
}

/// Checks that the operating system has these extensions.
///
/// # Errors
/// The message of the controller or the daemon.
pub(super) fn check_extensions(spec: &Value, line: MajorMinor) -> Result<(), String> {
    let exists = |name: &str| {
        EXTENSIONS.iter().any(|(known, from, to)| *known == name && (*from..=*to).contains(&line))
    };
    let wanted = spec["extensions"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let unknown: Vec<&str> = wanted.filter(|name| !exists(name)).collect();
    if unknown.is_empty() {
        Ok(())
    } else {
        Err(format!("invalid extensions found: [{}]", unknown.join(" ")))
    }
}

/// Checks that a running machine can change from one rendered MachineConfig to another.
///
/// # Errors
/// The message of the daemon of this minor.
pub(super) fn reconcilable(old: &Value, new: &Value, line: MajorMinor) -> Result<(), String> {
    if old["spec"]["config"].is_null() || new["spec"]["config"].is_null() {
        // Rendered MachineConfigs have a config, but those of a dump may be without.
        return check_fips(old, new);
    }
    if line >= RENDERS_RECONCILABLE {
        let (from, to) = (name_of(old), name_of(new));
        return can_replace(old, new, line)
            .map_err(|why| format!("configs {from}, {to} are not reconcilable: {why}"));
    }
    let dialect = Dialect::new(line);
    let parse = |config: &Value, which: &str| {
        ignition::parse_and_convert(&config["spec"]["config"], dialect)
            .map_err(|why| format!("parsing {which} Ignition config failed with error: {why}"))
    };
    let (from, to) = (parse(old, "old")?, parse(new, "new")?);
    Config::Three(to.clone()).validate(dialect)?;
    check_change(&from, &to, line)?;
    check_fips(old, new)
}

/// Checks for the controller that a rendered MachineConfig, or one of those it is merged from, can replace another.
///
/// # Errors
/// The message of the controller.
pub(super) fn can_replace(old: &Value, new: &Value, line: MajorMinor) -> Result<(), String> {
    check_both(old, new, Dialect::new(line), line)
}

/// The same for a rendered MachineConfig that the controller has just merged.
///
/// # Errors
/// The message of the controller.
pub(super) fn can_follow(old: &Value, new: &Value, line: MajorMinor) -> Result<(), String> {
    check_both(old, new, Dialect::new(line).in_memory(), line)
}

fn check_both(old: &Value, new: &Value, dialect: Dialect, line: MajorMinor) -> Result<(), String> {
    let (from, to) = (name_of(old), name_of(new));
    let old_config = ignition::parse_and_convert(&old["spec"]["config"], Dialect::new(line))
        .map_err(|why| format!("parsing old Ignition config from machineconfig {from:?} failed: {why}"))?;
    let new_config = ignition::parse_and_convert(&new["spec"]["config"], dialect)
        .map_err(|why| format!("parsing new Ignition config from machineconfig {to:?} failed: {why}"))?;
    Config::Three(new_config.clone())
        .validate(dialect)
        .map_err(|why| format!("validating new Ignition config from machineconfig {to:?} failed: {why}"))?;
    check_change(&old_config, &new_config, line)
        .and_then(|()| check_fips(old, new))
        .map_err(|why| format!("new machineconfig {from:?} is not reconcilable against {to:?}: {why}"))
}

/// Finds the MachineConfig that makes a rendered one impossible, for the message of the controller. `sources` are in
/// the order of the merge.
pub(super) fn blame(old: &Value, sources: &[&Value], full: &str, line: MajorMinor) -> String {
    let mut first = None;
    for source in sources {
        let Err(why) = can_replace(old, source, line) else { continue };
        if let Some((_, reason)) = why.split_once(": ").filter(|(_, reason)| full.contains(reason)) {
            let (from, to) = (name_of(old), name_of(source));
            return format!(
                "reconciliation failed between current config {from:?} and base config {to:?}: {reason}"
            );
        }
        first.get_or_insert(why);
    }
    format!("render reconciliation error: {full}; component errors: {}", first.as_deref().unwrap_or("<nil>"))
}

/// Checks the sections of a config that only an installation can set.
fn check_change(old: &Value, new: &Value, line: MajorMinor) -> Result<(), String> {
    let differs = |pointer: &str| old.pointer(pointer) != new.pointer(pointer);
    let changed = |section: &str| Err(format!("ignition {section} section contains changes"));
    check_users(old, new, line).map_err(|why| {
        if line >= RENDERS_RECONCILABLE { format!("invalid passwd change(s): {why}") } else { why }
    })?;
    if line >= KNOWS_ARGUMENTS && differs("/kernelArguments") {
        return changed("kargs");
    }
    for section in ["disks", "filesystems", "raid", "directories"] {
        if differs(&format!("/storage/{section}")) {
            return changed(section);
        }
    }
    // Links may be removed.
    if differs("/storage/links") && new["storage"]["links"].is_array() {
        return changed("links");
    }
    for file in new["storage"]["files"].as_array().into_iter().flatten() {
        let path = file["path"].as_str().unwrap_or_default();
        if file["append"].is_array() {
            return Err(format!("ignition file {path} includes append"));
        }
        if path == FORCE_FILE {
            return Err(format!("cannot create {path} via Ignition"));
        }
    }
    Ok(())
}

/// Of users and groups only the keys of `core` can change, and its password from 4.13 on.
fn check_users(old: &Value, new: &Value, line: MajorMinor) -> Result<(), String> {
    if old.pointer("/passwd/groups") != new.pointer("/passwd/groups") {
        return Err("ignition Passwd Groups section contains changes".to_owned());
    }
    if old.pointer("/passwd/users") == new.pointer("/passwd/users") {
        return Ok(());
    }
    let unsupported =
        |what: &str| Err(format!("ignition passwd user section contains unsupported changes: {what}"));
    let users = |config: &Value| config["passwd"]["users"].as_array().cloned().unwrap_or_default();
    let users_now = users(new);
    if line < KNOWS_ARGUMENTS && users_now.is_empty() && !users(old).is_empty() {
        return unsupported("user core may not be deleted");
    }
    if users_now.iter().any(|user| user["name"] != "core") {
        return unsupported("non-core user");
    }
    let Some(fields) = users_now.last().and_then(Value::as_object) else { return Ok(()) };
    let changes_password = line >= CHANGES_PASSWORD;
    let has_secret =
        fields.contains_key("sshAuthorizedKeys") || changes_password && fields.contains_key("passwordHash");
    if !has_secret {
        return unsupported("user must be core and have 1 or more sshKeys");
    }
    let is_free = |field: &str| {
        matches!(field, "name" | "sshAuthorizedKeys") || changes_password && field == "passwordHash"
    };
    if fields.keys().all(|field| is_free(field)) {
        Ok(())
    } else if changes_password {
        Err("SSH keys and password hash are not reconcilable".to_owned())
    } else {
        unsupported("non-sshKey changes")
    }
}

/// The mode of FIPS is chosen at the installation.
fn check_fips(old: &Value, new: &Value) -> Result<(), String> {
    if (old["spec"]["fips"] == true) == (new["spec"]["fips"] == true) {
        Ok(())
    } else {
        Err("detected change to FIPS flag; refusing to modify FIPS on a running cluster".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config(name: &str, spec: Value) -> Value {
        let mut spec = spec;
        spec["config"]["ignition"]["version"] = json!("3.2.0");
        json!({ "metadata": { "name": name }, "spec": spec })
    }

    #[test]
    fn only_an_installation_sets_disks_and_fips() {
        let old = config("old", json!({}));
        for (spec, why) in [
            (
                json!({ "fips": true }),
                "detected change to FIPS flag; refusing to modify FIPS on a running cluster",
            ),
            (
                json!({ "config": { "storage": { "disks": [{ "device": "/dev/sdb" }] } } }),
                "ignition disks section contains changes",
            ),
            (
                json!({ "config": { "storage": { "files": [{ "path": "/a", "append": [{ "source": "data:,a" }] }] } } }),
                "ignition file /a includes append",
            ),
        ] {
            let new = config("new", spec);
            assert_eq!(reconcilable(&old, &new, (4, 15)), Err(why.to_owned()));
            let late = format!(
                "configs old, new are not reconcilable: new machineconfig \"old\" is not reconcilable against \"new\": {why}"
            );
            assert_eq!(reconcilable(&old, &new, (4, 18)), Err(late));
        }
        assert_eq!(reconcilable(&old, &config("new", json!({ "kernelArguments": ["a"] })), (4, 18)), Ok(()));
    }

    #[test]
    fn the_controller_blames_the_source() {
        let old = config("rendered-a", json!({}));
        let (good, bad) = (
            config("50-good", json!({})),
            config(
                "99-bad",
                json!({ "config": { "storage": { "raid": [{ "name": "a", "level": "1", "devices": ["/a"] }] } } }),
            ),
        );
        let full = can_replace(&old, &bad, (4, 18)).unwrap_err();
        let expected = "reconciliation failed between current config \"rendered-a\" and base config \"99-bad\": ignition raid section contains changes";
        assert_eq!(blame(&old, &[&good, &bad], &full, (4, 18)), expected);
    }

    #[test]
    fn extensions_and_kernel_types_depend_on_the_minor() {
        let check = |spec: &Value, line| validate(&config("a", spec.clone())["spec"], line);
        let sysstat = json!({ "extensions": ["sysstat", "usbguard"] });
        assert_eq!(check(&sysstat, (4, 18)), Ok(()));
        assert_eq!(check(&sysstat, (4, 17)), Err("invalid extensions found: [sysstat]".to_owned()));
        assert_eq!(check(&sysstat, (4, 15)), Ok(()), "the daemon checks");
        let large = json!({ "kernelType": "64k-pages" });
        assert_eq!(check(&large, (4, 15)), Ok(()));
        assert_eq!(check(&large, (4, 14)), Err("kernelType=64k-pages is invalid".to_owned()));
    }
}
