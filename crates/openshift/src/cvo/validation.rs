//! Validation of a ClusterVersion's spec, with the messages of Kubernetes field errors.

use semver::Version;
use windtunnel_core::Object;

/// The errors of the spec in the order of its fields. Empty if it is valid.
pub(super) fn errors(cluster_version: &Object, can_accept_risks: bool) -> Vec<String> {
    let spec = &cluster_version["spec"];
    let upstream = spec["upstream"].as_str().unwrap_or_default();
    let mut errors = Vec::new();
    if !is_url(upstream) {
        errors.push(invalid("spec.upstream", upstream, "must be a valid URL or empty"));
    }
    let id = spec["clusterID"].as_str().unwrap_or_default();
    errors.extend(wrong_id(id).map(|detail| invalid("spec.clusterID", id, detail)));
    if spec["desiredUpdate"].is_object() {
        errors.extend(wrong_update(cluster_version, can_accept_risks));
    }
    errors
}

fn invalid(path: &str, value: &str, detail: &str) -> String {
    format!("{path}: Invalid value: {value:?}: {detail}")
}

/// The error of `spec.desiredUpdate`. A version without an image must be an available update or a version in
/// the history.
fn wrong_update(cluster_version: &Object, can_accept_risks: bool) -> Option<String> {
    let text = |field: &str| cluster_version.text(&format!("/spec/desiredUpdate/{field}"));
    let (version, image) = (text("version"), text("image"));
    let risks = !cluster_version.list("/spec/desiredUpdate/acceptRisks").is_empty();
    if risks && !can_accept_risks {
        return Some(
            "spec.desiredUpdate.acceptRisks: Forbidden: acceptRisks must not be specified".to_owned(),
        );
    }
    if version.is_empty() {
        let nothing = image.is_empty() && text("architecture").is_empty() && !risks;
        let one_of = if can_accept_risks { "version, image, or acceptRisks" } else { "version, or image" };
        return nothing
            .then(|| format!("spec.desiredUpdate: Required value: must specify architecture, {one_of}"));
    }
    let detail = if version.parse::<Version>().is_err() {
        "must be a semantic version (1.2.3[-...])"
    } else if !image.is_empty() {
        return None;
    } else {
        match payloads(cluster_version, version) {
            0 => "when image is empty the update must be an available update",
            1 => return None,
            _ => "there are multiple possible payloads for this version, specify the exact image",
        }
    };
    Some(invalid("spec.desiredUpdate.version", version, detail))
}

/// The number of payloads that a version can refer to.
fn payloads(cluster_version: &Object, version: &str) -> usize {
    let among = |list: &str| {
        let named = |entry: &&serde_json::Value| {
            entry["version"] == version && entry["image"].as_str().is_some_and(|image| !image.is_empty())
        };
        cluster_version.list(list).iter().filter(named).count()
    };
    match among("/status/availableUpdates") {
        0 => among("/status/history").min(1),
        offered => offered,
    }
}

/// The error of a cluster ID, which must be a random UUID. Text that is no UUID has the error of a wrong
/// variant.
fn wrong_id(id: &str) -> Option<&'static str> {
    if id.is_empty() {
        return None;
    }
    let digits = uuid_digits(id);
    let digit = |index: usize| digits.as_ref().map_or(0, |digits| digits[index]);
    if !(8..12).contains(&digit(16)) {
        return Some("must be an RFC4122-variant UUID");
    }
    (digit(12) != 4).then_some("must be a version-4 UUID")
}

/// The 32 digits of a UUID in any of its forms: plain, with hyphens, in braces, or as a URN.
pub(super) fn uuid_digits(id: &str) -> Option<Vec<u32>> {
    let plain = match id.len() {
        45 => id.get(..9).filter(|start| start.eq_ignore_ascii_case("urn:uuid:")).and(id.get(9..)),
        38 => id.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')),
        _ => Some(id),
    }?;
    let hyphens = [8, 13, 18, 23];
    let hyphenated = plain.len() == 36 && hyphens.iter().all(|at| plain.as_bytes()[*at] == b'-');
    let characters = plain.chars().enumerate().filter(|(at, _)| !(hyphenated && hyphens.contains(at)));
    let digits: Vec<u32> = characters.map(|(_, digit)| digit.to_digit(16)).collect::<Option<_>>()?;
    (digits.len() == 32).then_some(digits)
}

/// Returns whether Go's `net/url` parses it, which accepts nearly everything.
pub(super) fn is_url(text: &str) -> bool {
    if text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
        return false;
    }
    let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
    let Some(rest) = after_scheme(before) else { return false };
    let path = rest.split('?').next().unwrap_or_default();
    let (authority, path) = match path.strip_prefix("//") {
        Some(authority) => authority.find('/').map_or((authority, ""), |at| authority.split_at(at)),
        None => ("", path),
    };
    let relative = rest.len() == before.len() && authority.is_empty();
    let first = path.split('/').next().unwrap_or_default();
    !(relative && first.contains(':'))
        && is_authority(authority)
        && [path, fragment].iter().all(|t| is_escaped(t))
}

/// The text after the scheme, or the whole text without a scheme. `None` if it starts with a colon.
fn after_scheme(text: &str) -> Option<&str> {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    };
    match text.split_once(':') {
        Some(("", _)) => None,
        Some((scheme, rest)) if is_scheme(scheme) => Some(rest),
        _ => Some(text),
    }
}

fn is_authority(authority: &str) -> bool {
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (name, port) = match host.strip_prefix('[') {
        Some(inner) => match inner.split_once(']') {
            Some(parts) => parts,
            None => return false,
        },
        None => host.find(':').map_or((host, ""), |at| host.split_at(at)),
    };
    let port = port.strip_prefix(':').or_else(|| port.is_empty().then_some(""));
    let forbidden = |byte: u8| matches!(byte, b' ' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' | b'%');
    port.is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit())) && !name.bytes().any(forbidden)
}

/// Returns whether each percent sign starts an escape sequence.
fn is_escaped(text: &str) -> bool {
    let escapes = text.split('%').skip(1);
    escapes.into_iter().all(|rest| {
        let bytes = rest.as_bytes();
        bytes.len() >= 2 && bytes[..2].iter().all(u8::is_ascii_hexdigit)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const ID: &str = "7e0b4f5c-3d2a-4c1b-9a6e-5f8d7c6b5a40";

    fn check(spec: &Value, expected: &[&str]) {
        let object = Object::new(json!({
            "spec": spec,
            "status": {
                "availableUpdates": [
                    { "version": "4.14.8", "image": "a" },
                    { "version": "4.14.9", "image": "b" },
                    { "version": "4.14.9", "image": "c" },
                ],
                "history": [{ "version": "4.14.1", "image": "d" }, { "version": "4.14.1", "image": "e" }],
            },
        }));
        assert_eq!(errors(&object, false), expected, "{spec}");
    }

    fn check_update(update: &Value, expected: &[&str]) {
        check(&json!({ "clusterID": ID, "desiredUpdate": update }), expected);
    }

    #[test]
    fn desired_update_must_name_exactly_one_payload() {
        check_update(&json!({ "version": "4.14.8" }), &[]);
        check_update(&json!({ "version": "4.14.1" }), &[]);
        check_update(&json!({ "image": "x" }), &[]);
        check_update(&json!({ "architecture": "Multi", "version": "" }), &[]);
        let version = "spec.desiredUpdate.version: Invalid value: ";
        let nothing = "spec.desiredUpdate: Required value: must specify architecture, version, or image";
        check_update(&json!({ "force": true }), &[nothing]);
        check_update(
            &json!({ "version": "4.14", "image": "x" }),
            &[&format!("{version}\"4.14\": must be a semantic version (1.2.3[-...])")],
        );
        check_update(
            &json!({ "version": "4.14.7" }),
            &[&format!("{version}\"4.14.7\": when image is empty the update must be an available update")],
        );
        check_update(
            &json!({ "version": "4.14.9" }),
            &[&format!(
                "{version}\"4.14.9\": there are multiple possible payloads for this version, specify the exact image"
            )],
        );
    }

    #[test]
    fn accept_risks_is_valid_only_where_it_is_supported() {
        let check = |update: Value, can_accept: bool, expected: &[&str]| {
            let object = Object::new(json!({ "spec": { "clusterID": ID, "desiredUpdate": update } }));
            assert_eq!(errors(&object, can_accept), expected);
        };
        check(json!({ "acceptRisks": [{ "name": "A" }] }), true, &[]);
        check(
            json!({ "acceptRisks": [{ "name": "A" }] }),
            false,
            &["spec.desiredUpdate.acceptRisks: Forbidden: acceptRisks must not be specified"],
        );
        check(
            json!({ "force": true }),
            true,
            &[
                "spec.desiredUpdate: Required value: must specify architecture, version, image, or acceptRisks",
            ],
        );
    }

    #[test]
    fn cluster_id_must_be_a_random_uuid() {
        for good in [ID.to_owned(), ID.to_uppercase(), format!("{{{ID}}}"), ID.replace('-', "")] {
            check(&json!({ "clusterID": good }), &[]);
        }
        for (id, detail) in [
            ("not-an-id", "must be an RFC4122-variant UUID"),
            ("7e0b4f5c-3d2a-4c1b-ca6e-5f8d7c6b5a40", "must be an RFC4122-variant UUID"),
            ("7e0b4f5c-3d2a-1c1b-9a6e-5f8d7c6b5a40", "must be a version-4 UUID"),
        ] {
            check(
                &json!({ "clusterID": id }),
                &[&format!("spec.clusterID: Invalid value: \"{id}\": {detail}")],
            );
        }
    }

    #[test]
    fn upstream_must_be_a_url_for_go() {
        for good in
            ["", "https://a.example/graph?x=%GG", "a/b:c", "http://[::1]:8080/", "mailto:x", "http://a:/"]
        {
            check(&json!({ "upstream": good }), &[]);
        }
        for bad in ["#%GG", ":foo", "1a:b", "http://[::1", "http://a:b/", "http://a b/", "http://a/%2"] {
            let error = format!("spec.upstream: Invalid value: \"{bad}\": must be a valid URL or empty");
            check(&json!({ "upstream": bad }), &[&error]);
        }
    }
}
