//! Checks of a pod against the limits of SecurityContextConstraints.

use serde_json::Value;
use windtunnel_core::text::go_quote::quote;

use super::constraint::{Constraint, texts};

/// The range of user IDs for pods of a namespace, inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    first: i64,
    last: i64,
}

impl Range {
    /// Parses `first/size` or `first-last`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if let Some((first, size)) = text.split_once('/') {
            let (first, size): (i64, i64) = (first.parse().ok()?, size.parse().ok()?);
            return Some(Self { first, last: first.checked_add(size)?.checked_sub(1)? });
        }
        let (first, last) = text.split_once('-')?;
        Some(Self { first: first.parse().ok()?, last: last.parse().ok()? })
    }
}

/// The limits of an SCC that a pod violates.
struct Violations<'a> {
    constraint: &'a Constraint,
    errors: Vec<String>,
}

impl Constraint {
    /// The errors of a pod. Empty if the pod meets all limits. `range` is that of its namespace.
    pub(super) fn violations(&self, pod: &Value, range: Option<Range>) -> Vec<String> {
        let mut violations = Violations { constraint: self, errors: Vec::new() };
        let spec = &pod["spec"];
        violations.check_host(spec);
        violations.check_volumes(spec);
        for list in ["initContainers", "containers"] {
            for (index, container) in spec[list].as_array().into_iter().flatten().enumerate() {
                let place = format!(".{list}[{index}]");
                violations.check_user(&place, spec, container, range);
                violations.check_rights(&place, container);
                violations.check_ports(&place, list, container);
            }
        }
        violations.errors
    }

    fn allows(&self, flag: &str) -> bool {
        self.object[flag] == true
    }
}

impl Violations<'_> {
    fn add(&mut self, field: &str, value: &str, why: &str) {
        let name = &self.constraint.name;
        self.errors.push(format!("provider {name}: {field}: Invalid value: {value}: {why}"));
    }

    fn check_host(&mut self, spec: &Value) {
        for (field, flag, what) in [
            ("hostNetwork", "allowHostNetwork", "network"),
            ("hostPID", "allowHostPID", "PID"),
            ("hostIPC", "allowHostIPC", "IPC"),
        ] {
            if spec[field] == true && !self.constraint.allows(flag) {
                let why = format!("Host {what} is not allowed to be used");
                self.add(&format!(".spec.securityContext.{field}"), "true", &why);
            }
        }
    }

    fn check_volumes(&mut self, spec: &Value) {
        let allowed: Vec<&str> = texts(&self.constraint.object["volumes"]).collect();
        if allowed.contains(&"*") {
            return;
        }
        for (index, volume) in spec["volumes"].as_array().into_iter().flatten().enumerate() {
            let source = volume.as_object().into_iter().flatten().find(|(field, _)| *field != "name");
            // A volume without a source is an empty directory.
            let kind = source.map_or("emptyDir", |(field, _)| field.as_str());
            if !allowed.contains(&kind) {
                let message = format!("{kind} volumes are not allowed to be used");
                self.errors.push(format!("spec.volumes[{index}]: Invalid value: {}: {message}", quote(kind)));
            }
        }
    }

    fn check_user(&mut self, place: &str, spec: &Value, container: &Value, range: Option<Range>) {
        let effective = |field: &str| match &container["securityContext"][field] {
            Value::Null => spec["securityContext"][field].clone(),
            own => own.clone(),
        };
        let strategy = &self.constraint.object["runAsUser"];
        let user = effective("runAsUser").as_i64();
        match (strategy["type"].as_str(), user) {
            (Some("MustRunAs"), Some(user)) if strategy["uid"].as_i64() != Some(user) => {
                let why = format!("must be: {}", strategy["uid"]);
                self.add(&format!("{place}.runAsUser"), &user.to_string(), &why);
            }
            (Some("MustRunAsRange"), Some(user)) => {
                let bound = |field: &str| strategy[field].as_i64();
                let own = bound("uidRangeMin").zip(bound("uidRangeMax"));
                let range = own.map(|(first, last)| Range { first, last }).or(range);
                if range.is_none_or(|Range { first, last }| user < first || user > last) {
                    let range = range.map_or_else(String::new, |one| format!("{}, {}", one.first, one.last));
                    let why = format!("must be in the ranges: [{range}]");
                    self.add(&format!("{place}.runAsUser"), &user.to_string(), &why);
                }
            }
            (Some("MustRunAsNonRoot"), _) if effective("runAsNonRoot") == false => {
                self.add(&format!("{place}.runAsNonRoot"), "false", "must be true");
            }
            (Some("MustRunAsNonRoot"), Some(0)) => {
                self.add(&format!("{place}.runAsUser"), "0", "running with the root UID is forbidden");
            }
            _ => {}
        }
    }

    fn check_rights(&mut self, place: &str, container: &Value) {
        let context = &container["securityContext"];
        let constraint = self.constraint;
        if context["privileged"] == true && !constraint.allows("allowPrivilegedContainer") {
            self.add(&format!("{place}.privileged"), "true", "Privileged containers are not allowed");
        }
        let allowed: Vec<&str> = texts(&constraint.object["allowedCapabilities"])
            .chain(texts(&constraint.object["defaultAddCapabilities"]))
            .collect();
        for added in texts(&context["capabilities"]["add"]) {
            if !allowed.contains(&"*") && !allowed.contains(&added) {
                let place = format!("{place}.capabilities.add");
                self.add(&place, &quote(added), "capability may not be added");
            }
        }
        if context["readOnlyRootFilesystem"] == false && constraint.allows("readOnlyRootFilesystem") {
            let why = "ReadOnlyRootFilesystem must be set to true";
            self.add(&format!("{place}.readOnlyRootFilesystem"), "false", why);
        }
        let escalates = context["allowPrivilegeEscalation"] == true;
        if escalates && constraint.object["allowPrivilegeEscalation"] == false {
            let why = "Allowing privilege escalation for containers is not allowed";
            self.add(&format!("{place}.allowPrivilegeEscalation"), "true", why);
        }
    }

    fn check_ports(&mut self, place: &str, list: &str, container: &Value) {
        if self.constraint.allows("allowHostPorts") {
            return;
        }
        for (index, port) in container["ports"].as_array().into_iter().flatten().enumerate() {
            if let Some(number) = port["hostPort"].as_i64().filter(|number| *number > 0) {
                let place = format!("{place}.{list}[{index}].hostPort");
                self.add(&place, &number.to_string(), "Host ports are not allowed to be used");
            }
        }
    }
}
