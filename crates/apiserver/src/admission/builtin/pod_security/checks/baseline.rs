//! The checks of the baseline level, which prevent known privilege escalations.

use serde_json::Value;
use windtunnel_core::text_of;

use super::{Versions, Violation};
use crate::admission::builtin::pod_security::pod::{Pod, Texts, containers, plural, quoted};
use crate::gotext::quote;
use crate::profile::since;

/// The annotations with AppArmor profiles of containers.
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// The capabilities that containers have by default.
const CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// The allowed kernel parameters, with the first version of the standard that allows them.
const SYSCTLS: [(&str, u32); 12] = [
    ("kernel.shm_rmid_forced", 0),
    ("net.ipv4.ip_local_port_range", 0),
    ("net.ipv4.tcp_syncookies", 0),
    ("net.ipv4.ping_group_range", 0),
    ("net.ipv4.ip_unprivileged_port_start", 0),
    ("net.ipv4.ip_local_reserved_ports", 27),
    ("net.ipv4.tcp_keepalive_time", 29),
    ("net.ipv4.tcp_fin_timeout", 29),
    ("net.ipv4.tcp_keepalive_intvl", 29),
    ("net.ipv4.tcp_keepalive_probes", 29),
    ("net.ipv4.tcp_rmem", 32),
    ("net.ipv4.tcp_wmem", 32),
];

/// The allowed SELinux types, with the first version of the standard that allows them.
const SE_LINUX_TYPES: [(&str, u32); 5] = [
    ("", 0),
    ("container_t", 0),
    ("container_init_t", 0),
    ("container_kvm_t", 0),
    ("container_engine_t", 31),
];

fn is_allowed(table: &[(&str, u32)], name: &str, versions: Versions) -> bool {
    table.iter().any(|(allowed, since)| *allowed == name && *since <= versions.standard)
}

/// AppArmor profiles other than the default and local ones.
pub(super) fn app_armor(pod: Pod<'_>, versions: Versions) -> Option<Violation> {
    let mut values = Texts::new();
    let mut setters = Vec::new();
    if versions.server >= since::APP_ARMOR_FIELDS {
        setters = pod.setters(|context| {
            let profile = &context["appArmorProfile"];
            let kind = text_of(profile, "type");
            let is_bad = profile.is_object() && !["RuntimeDefault", "Localhost"].contains(&kind);
            if is_bad {
                values.insert(kind.to_owned());
            }
            is_bad
        });
    }
    let annotations = app_armor_annotations(pod);
    let count = values.len() + annotations.len();
    if count == 0 {
        return None;
    }
    let reason = plural(count, "forbidden AppArmor profile", "forbidden AppArmor profiles");
    if versions.server < since::APP_ARMOR_FIELDS {
        return Some(Violation::new(reason, annotations.join(", ")));
    }
    if !annotations.is_empty() {
        setters.push(plural(annotations.len(), "annotation", "annotations").to_owned());
    }
    let values = quoted(values.iter().chain(&annotations));
    Some(Violation::new(
        reason,
        format!("{} must not set AppArmor profile type to {values}", setters.join(" and ")),
    ))
}

/// The annotations with bad AppArmor profiles: `NAME="PROFILE"`.
fn app_armor_annotations(pod: Pod<'_>) -> Vec<String> {
    let annotations = pod.annotations.as_object().into_iter().flatten();
    let bad = annotations.filter_map(|(name, profile)| {
        let profile = profile.as_str().unwrap_or_default();
        let is_allowed =
            profile.is_empty() || profile == "runtime/default" || profile.starts_with("localhost/");
        (name.starts_with(APP_ARMOR) && !is_allowed).then(|| format!("{name}={}", quote(profile)))
    });
    let mut bad: Vec<String> = bad.collect();
    bad.sort_unstable();
    bad
}

/// Capabilities that containers do not have by default.
pub(super) fn capabilities(pod: Pod<'_>, _versions: Versions) -> Option<Violation> {
    let mut added = Texts::new();
    let bad = pod.containers_where(|container| add_forbidden(container, &CAPABILITIES, &mut added));
    let detail = || {
        let (containers, added) = (containers(&bad), quoted(&added));
        format!("{containers} must not include {added} in securityContext.capabilities.add")
    };
    (!bad.is_empty()).then(|| Violation::new("non-default capabilities", detail()))
}

/// Whether a container adds capabilities that are not `allowed`. Collects them.
pub(super) fn add_forbidden(container: &Value, allowed: &[&str], added: &mut Texts) -> bool {
    let add = container["securityContext"]["capabilities"]["add"].as_array().into_iter().flatten();
    let names = add.filter_map(Value::as_str).filter(|name| !allowed.contains(name));
    let mut is_bad = false;
    for name in names {
        added.insert(name.to_owned());
        is_bad = true;
    }
    is_bad
}

/// Namespaces of the node.
pub(super) fn host_namespaces(pod: Pod<'_>, _versions: Versions) -> Option<Violation> {
    let fields = ["hostNetwork", "hostPID", "hostIPC"].into_iter().filter(|field| pod.spec[field] == true);
    let fields: Vec<String> = fields.map(|field| format!("{field}=true")).collect();
    (!fields.is_empty()).then(|| Violation::new("host namespaces", fields.join(", ")))
}

/// Folders of the node as volumes.
pub(super) fn host_paths(pod: Pod<'_>, _versions: Versions) -> Option<Violation> {
    let volumes = pod.spec["volumes"].as_array().into_iter().flatten();
    let volumes = volumes.filter(|volume| !volume["hostPath"].is_null());
    let names: Vec<&str> = volumes.map(|volume| text_of(volume, "name")).collect();
    let detail = || format!("{} {}", plural(names.len(), "volume", "volumes"), quoted(&names));
    (!names.is_empty()).then(|| Violation::new("hostPath volumes", detail()))
}

/// Ports of the node.
pub(super) fn host_ports(pod: Pod<'_>, _versions: Versions) -> Option<Violation> {
    let mut found = Texts::new();
    let bad = pod.containers_where(|container| {
        let ports = container["ports"].as_array().into_iter().flatten();
        let ports = ports.filter_map(|port| port["hostPort"].as_i64()).filter(|port| *port != 0);
        ports.map(|port| found.insert(port.to_string())).count() > 0
    });
    let detail = || {
        let ports: Vec<&str> = found.iter().map(String::as_str).collect();
        let (verb, noun) = (plural(bad.len(), "uses", "use"), plural(ports.len(), "hostPort", "hostPorts"));
        format!("{} {verb} {noun} {}", containers(&bad), ports.join(", "))
    };
    (!bad.is_empty()).then(|| Violation::new("hostPort", detail()))
}

/// Hosts other than the pod in probes and lifecycle handlers.
pub(super) fn hosts_of_probes(pod: Pod<'_>, _versions: Versions) -> Option<Violation> {
    const HANDLERS: [&str; 5] =
        ["/livenessProbe", "/readinessProbe", "/startupProbe", "/lifecycle/postStart", "/lifecycle/preStop"];
    let mut hosts = Texts::new();
    let mut bad = pod.containers_where(|container| {
        let handlers = HANDLERS.iter().filter_map(|pointer| container.pointer(pointer));
        let found = handlers.flat_map(|handler| [&handler["httpGet"]["host"], &handler["tcpSocket"]["host"]]);
        let found = found.filter_map(Value::as_str).filter(|host| !host.is_empty());
        found.map(|host| hosts.insert(host.to_owned())).count() > 0
    });
    bad.sort_unstable();
    bad.dedup();
    let detail = || {
        let verb = plural(bad.len(), "uses", "use");
        let noun = plural(hosts.len(), "probe or lifecycle host", "probe or lifecycle hosts");
        format!("{} {verb} {noun} {}", containers(&bad), quoted(&hosts))
    };
    (!bad.is_empty()).then(|| Violation::new("probe or lifecycle host", detail()))
}

/// Privileged containers.
pub(super) fn privileged(pod: Pod<'_>, _versions: Versions) -> Option<Violation> {
    let bad = pod.containers_where(|container| container["securityContext"]["privileged"] == true);
    let detail = || format!("{} must not set securityContext.privileged=true", containers(&bad));
    (!bad.is_empty()).then(|| Violation::new("privileged", detail()))
}

/// An unmasked `/proc`, except in user namespaces.
pub(super) fn proc_mount(pod: Pod<'_>, versions: Versions) -> Option<Violation> {
    let is_relaxed = versions.standard >= 35 && pod.has_own_users();
    if is_relaxed { None } else { unmasked_proc(pod) }
}

/// An unmasked `/proc`.
pub(super) fn unmasked_proc(pod: Pod<'_>) -> Option<Violation> {
    let mut mounts = Texts::new();
    let bad = pod.containers_where(|container| {
        let mount = container["securityContext"]["procMount"].as_str().filter(|mount| *mount != "Default");
        mount.map(|mount| mounts.insert(mount.to_owned())).is_some()
    });
    let detail =
        || format!("{} must not set securityContext.procMount to {}", containers(&bad), quoted(&mounts));
    (!bad.is_empty()).then(|| Violation::new("procMount", detail()))
}

/// SELinux types other than those of containers, users and roles.
pub(super) fn se_linux(pod: Pod<'_>, versions: Versions) -> Option<Violation> {
    let (mut types, mut sets_user, mut sets_role) = (Texts::new(), false, false);
    let setters = pod.setters(|context| {
        let options = &context["seLinuxOptions"];
        let kind = text_of(options, "type");
        let has_bad_type = !is_allowed(&SE_LINUX_TYPES, kind, versions);
        if has_bad_type {
            types.insert(kind.to_owned());
        }
        let (user, role) = (!text_of(options, "user").is_empty(), !text_of(options, "role").is_empty());
        sets_user |= user;
        sets_role |= role;
        has_bad_type || user || role
    });
    if setters.is_empty() {
        return None;
    }
    let mut problems = Vec::new();
    if !types.is_empty() {
        problems.push(format!("{} {}", plural(types.len(), "type", "types"), quoted(&types)));
    }
    if !types.is_empty() || versions.server >= since::SE_LINUX_DETAILS {
        problems.extend(sets_user.then(|| "user may not be set".to_owned()));
        problems.extend(sets_role.then(|| "role may not be set".to_owned()));
    }
    let (setters, problems) = (setters.join(" and "), problems.join("; "));
    Some(Violation::new(
        "seLinuxOptions",
        format!("{setters} set forbidden securityContext.seLinuxOptions: {problems}"),
    ))
}

/// Kernel parameters that affect other pods.
pub(super) fn sysctls(pod: Pod<'_>, versions: Versions) -> Option<Violation> {
    let sysctls = pod.spec["securityContext"]["sysctls"].as_array().into_iter().flatten();
    let names = sysctls.map(|sysctl| text_of(sysctl, "name"));
    let bad: Vec<&str> = names.filter(|name| !is_allowed(&SYSCTLS, name, versions)).collect();
    (!bad.is_empty()).then(|| Violation::new("forbidden sysctls", bad.join(", ")))
}

/// Processes of the node on Windows.
pub(super) fn host_process(pod: Pod<'_>, _versions: Versions) -> Option<Violation> {
    let setters = pod.setters(|context| context["windowsOptions"]["hostProcess"] == true);
    let detail =
        || format!("{} must not set securityContext.windowsOptions.hostProcess=true", setters.join(" and "));
    (!setters.is_empty()).then(|| Violation::new("hostProcess", detail()))
}
