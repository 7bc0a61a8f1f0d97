//! Validation of the options of Windows containers.

use serde_json::Value;

use crate::kinds::validation::pods::context::{Pod, all_containers};
use crate::kinds::validation::{Errors, Path};
use crate::names;

const CREDENTIAL_KIB_MAX: usize = 64;
const DOMAIN_MAX: usize = 256;
const USER_MAX: usize = 104;

/// Validates the options of a pod or container (`validateWindowsSecurityContextOptions`).
pub(super) fn options(options: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if let Some(name) = options["gmsaCredentialSpecName"].as_str() {
        errors.each(at.child("gmsaCredentialSpecName"), name, names::subdomain(name));
    }
    if let Some(credential) = options["gmsaCredentialSpec"].as_str() {
        let at = at.child("gmsaCredentialSpec");
        if credential.is_empty() {
            errors.invalid(at, credential, "gmsaCredentialSpec cannot be an empty string");
        } else if credential.len() > CREDENTIAL_KIB_MAX * 1024 {
            let why = format!("gmsaCredentialSpec size must be under {CREDENTIAL_KIB_MAX} KiB");
            errors.invalid(at, credential, why);
        }
    }
    if let Some(user) = options["runAsUserName"].as_str() {
        for why in user_problems(user) {
            errors.invalid(at.child("runAsUserName"), user, format!("runAsUserName{why}"));
        }
    }
}

/// The problems of a user name, which may have a domain: `DOMAIN\USER`.
fn user_problems(name: &str) -> Vec<String> {
    if name.is_empty() {
        return vec![" cannot be an empty string".to_owned()];
    }
    if name.bytes().any(|b| b.is_ascii_control()) {
        return vec![" cannot contain control characters".to_owned()];
    }
    let (domain, user) = match name.split('\\').collect::<Vec<_>>().as_slice() {
        [user] => (None, *user),
        [domain, user] => (Some(*domain), *user),
        _ => return vec![" cannot contain more than one backslash".to_owned()],
    };
    let mut problems = Vec::new();
    if let Some(domain) = domain {
        if domain.len() >= DOMAIN_MAX {
            problems.push(format!("'s Domain length must be under {DOMAIN_MAX} characters"));
        }
        if !is_net_bios(domain) && !domain.split('.').all(is_dns_label) {
            problems.push("'s Domain doesn't match the NetBios nor the DNS format".to_owned());
        }
    }
    if user.is_empty() {
        problems.push("'s User cannot be empty".to_owned());
    } else if user.len() > USER_MAX {
        problems.push(format!("'s User length must not be longer than {USER_MAX} characters"));
    }
    if !user.is_empty() && user.bytes().all(|b| matches!(b, b'.' | b' ')) {
        problems.push("'s User cannot contain only periods or spaces".to_owned());
    }
    if user.contains(|c: char| "\"/\\:;|=,+*?<>@[]".contains(c)) {
        problems.push("'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]".to_owned());
    }
    problems
}

fn is_net_bios(domain: &str) -> bool {
    let count = domain.chars().count();
    (1..=15).contains(&count)
        && !domain.starts_with('.')
        && !domain.contains(|c: char| "\\/:*?\"<>|".contains(c))
}

fn is_dns_label(label: &str) -> bool {
    let label = label.as_bytes();
    label.len() <= 63
        && label.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-')
        && label.first().is_some_and(u8::is_ascii_alphanumeric)
        && label.last().is_some_and(u8::is_ascii_alphanumeric)
}

/// Requires that all containers of a pod are processes of the host, or none (`validateWindowsHostProcessPod`).
pub(in crate::kinds::validation::pods) fn host_processes(
    pod: &Pod<'_>,
    at: Path<'_>,
    errors: &mut Errors<'_>,
) {
    let spec = pod.spec();
    let of_pod = spec["securityContext"]["windowsOptions"]["hostProcess"].as_bool();
    let (mut count, mut of_host) = (0, 0);
    for (list, index, container) in all_containers(spec) {
        let own = container["securityContext"]["windowsOptions"]["hostProcess"].as_bool();
        count += 1;
        of_host += usize::from(own.or(of_pod).unwrap_or(false));
        if let (Some(of_pod), Some(own)) = (of_pod, own)
            && of_pod != own
        {
            let list = at.child(list);
            let container = list.index(index);
            let context = container.child("securityContext");
            let options = context.child("windowsOptions");
            let why = format!("pod hostProcess value must be identical if both are specified, was {of_pod}");
            errors.invalid(options.child("hostProcess"), own, why);
        }
    }
    if of_host == 0 {
        return;
    }
    if of_host != count {
        let why =
            "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        errors.invalid(at, "", why);
    }
    if !pod.is_on_host_network() {
        let why = "hostNetwork must be true if pod contains any hostProcess containers";
        errors.invalid(at.child("hostNetwork"), false, why);
    }
}
