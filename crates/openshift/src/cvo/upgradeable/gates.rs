//! Administrator acknowledgements before an update to another minor: ConfigMap `admin-gates` has the gates
//! and `admin-acks` the answers.

use windtunnel_core::resources::CONFIG_MAPS;
use windtunnel_core::{Object, View};

use crate::cvo::behaviour::UpgradeableStyle;

/// Namespace and name of the ConfigMap with the gates.
pub(super) const GATES: (&str, &str) = ("openshift-config-managed", "admin-gates");
/// Namespace and name of the ConfigMap with the answers.
pub(super) const ACKS: (&str, &str) = ("openshift-config", "admin-acks");
/// The form of a gate's name in messages: up to 4.22, and from 4.23 on.
const NAME_FORM: &str = "^ack-[4-5][.]([0-9]{1,})-[^-]";
const NAME_FORM_OF_RISKS: &str = "^ack-([4-5][.][0-9]{1,})-[^-]";

/// A gate without an acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AdminGate {
    pub(super) name: String,
    pub(super) reason: &'static str,
    /// The text of the gate, or the error in it.
    pub(super) message: String,
}

/// The closed gates of a version, by name. The error is namespace and name of the missing ConfigMap.
pub(super) fn closed(
    style: UpgradeableStyle,
    version: &str,
    view: &View,
) -> Result<Vec<AdminGate>, (&'static str, &'static str)> {
    if version.is_empty() {
        return Ok(Vec::new());
    }
    let find = |(namespace, name): (&'static str, &'static str)| {
        view.get(&CONFIG_MAPS, namespace, name).ok_or((namespace, name))
    };
    let (gates, acks) = (find(GATES)?, find(ACKS)?);
    let data = gates["data"].as_object();
    let named = data.into_iter().flatten().map(|(name, text)| (name, text.as_str().unwrap_or_default()));
    Ok(named.filter_map(|(name, text)| judge(style, name, text, version, acks)).collect())
}

fn judge(style: UpgradeableStyle, name: &str, text: &str, version: &str, acks: &Object) -> Option<AdminGate> {
    let closed = |reason, message| Some(AdminGate { name: name.to_owned(), reason, message });
    let Some((major, minor)) = release_of_gate(name) else {
        let invalid = |form| {
            format!("admin-gates configmap gate name {name} has invalid format; must comply with \"{form}\"")
        };
        let message = match style {
            UpgradeableStyle::Checks { .. } => format!("{}.", invalid(NAME_FORM)),
            UpgradeableStyle::Risks => {
                let invalid = invalid(NAME_FORM_OF_RISKS);
                format!("admin-gates configmap gate \"{name}\" is invalid: {invalid}")
            }
        };
        return closed("AdminAckConfigMapGateNameError", message);
    };
    let mut parts = version.split('.');
    let of_major = parts.next() == Some(major) || style != UpgradeableStyle::Risks;
    if !of_major || parts.next() != Some(minor) {
        return None;
    }
    if text.is_empty() {
        let message = format!("admin-gates configmap gate {name} must contain a non-empty value.");
        return closed("AdminAckConfigMapGateValueError", message);
    }
    if acks["data"][name] == "true" { None } else { closed("AdminAckRequired", text.to_owned()) }
}

/// Major and minor in a gate's name, as `4` and `12` for `ack-4.12-something`. Up to 4.22 the major is
/// ignored.
fn release_of_gate(name: &str) -> Option<(&str, &str)> {
    let (version, what) = name.strip_prefix("ack-")?.split_once('-')?;
    let (major, minor) = version.split_once('.')?;
    let digits = !minor.is_empty() && minor.bytes().all(|byte| byte.is_ascii_digit());
    (["4", "5"].contains(&major) && digits && !what.is_empty() && !what.starts_with('-'))
        .then_some((major, minor))
}
