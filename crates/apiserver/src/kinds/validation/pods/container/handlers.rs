//! Validation of probes and lifecycle hooks.

use serde_json::Value;

use crate::kinds::validation::pods::context::Pod;
use crate::kinds::validation::pods::names::given_port;
use crate::kinds::validation::{Errors, Path, items, non_negative, text};
use crate::profile::since;

const SCHEMES: [&str; 2] = ["HTTP", "HTTPS"];
const HEADER: &str = "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex \
    used for validation is '[-A-Za-z0-9]+')";
const WINDOWS_SIGNALS: [&str; 2] = ["SIGKILL", "SIGTERM"];
/// Signals of Linux, in the order of the alphabet.
const LINUX_SIGNALS: [&str; 65] = [
    "SIGABRT",
    "SIGALRM",
    "SIGBUS",
    "SIGCHLD",
    "SIGCLD",
    "SIGCONT",
    "SIGFPE",
    "SIGHUP",
    "SIGILL",
    "SIGINT",
    "SIGIO",
    "SIGIOT",
    "SIGKILL",
    "SIGPIPE",
    "SIGPOLL",
    "SIGPROF",
    "SIGPWR",
    "SIGQUIT",
    "SIGRTMAX",
    "SIGRTMAX-1",
    "SIGRTMAX-10",
    "SIGRTMAX-11",
    "SIGRTMAX-12",
    "SIGRTMAX-13",
    "SIGRTMAX-14",
    "SIGRTMAX-2",
    "SIGRTMAX-3",
    "SIGRTMAX-4",
    "SIGRTMAX-5",
    "SIGRTMAX-6",
    "SIGRTMAX-7",
    "SIGRTMAX-8",
    "SIGRTMAX-9",
    "SIGRTMIN",
    "SIGRTMIN+1",
    "SIGRTMIN+10",
    "SIGRTMIN+11",
    "SIGRTMIN+12",
    "SIGRTMIN+13",
    "SIGRTMIN+14",
    "SIGRTMIN+15",
    "SIGRTMIN+2",
    "SIGRTMIN+3",
    "SIGRTMIN+4",
    "SIGRTMIN+5",
    "SIGRTMIN+6",
    "SIGRTMIN+7",
    "SIGRTMIN+8",
    "SIGRTMIN+9",
    "SIGSEGV",
    "SIGSTKFLT",
    "SIGSTOP",
    "SIGSYS",
    "SIGTERM",
    "SIGTRAP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGUSR1",
    "SIGUSR2",
    "SIGVTALRM",
    "SIGWINCH",
    "SIGXCPU",
    "SIGXFSZ",
];

/// Validates a probe, given the name of its field (`validateProbe` and the rules of each probe).
pub(super) fn probe(probe: &Value, name: &str, pod: &Pod<'_>, at: Path<'_>, errors: &mut Errors<'_>) {
    handler(probe, &["exec", "httpGet", "tcpSocket", "grpc"], pod, at, errors);
    for field in
        ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]
    {
        non_negative(&probe[field], at.child(field), errors);
    }
    let grace = probe["terminationGracePeriodSeconds"].as_i64();
    let grace_at = at.child("terminationGracePeriodSeconds");
    if let Some(seconds) = grace.filter(|seconds| *seconds <= 0) {
        errors.invalid(grace_at, seconds, "must be greater than 0");
    }
    let threshold = probe["successThreshold"].as_i64().unwrap_or(0);
    if name != "readinessProbe" && threshold != 1 {
        errors.invalid(at.child("successThreshold"), threshold, "must be 1");
    }
    if let Some(seconds) = grace.filter(|_| name == "readinessProbe") {
        errors.invalid(grace_at, seconds, "must not be set for readinessProbes");
    }
}

/// Validates the hooks of a container, and its stop signal (`validateLifecycle`).
pub(super) fn lifecycle(lifecycle: &Value, pod: &Pod<'_>, at: Path<'_>, errors: &mut Errors<'_>) {
    for hook in ["postStart", "preStop"].into_iter().filter(|hook| lifecycle[*hook].is_object()) {
        handler(&lifecycle[hook], &["exec", "httpGet", "tcpSocket", "sleep"], pod, at.child(hook), errors);
    }
    if let Some(signal) = lifecycle["stopSignal"].as_str() {
        stop_signal(signal, pod.os(), at.child("stopSignal"), errors);
    }
}

/// Requires exactly one of the `known` handlers (`validateHandler`).
fn handler(handler: &Value, known: &[&str], pod: &Pod<'_>, at: Path<'_>, errors: &mut Errors<'_>) {
    let mut given = known.iter().filter(|name| handler[**name].is_object());
    let Some(first) = given.next() else {
        errors.required(at, "must specify a handler type");
        return;
    };
    let place = at.child(first);
    match *first {
        "exec" if items(&handler["exec"]["command"]).is_empty() => {
            errors.required(place.child("command"), "");
        }
        "httpGet" => http_get(&handler["httpGet"], place, errors),
        "tcpSocket" | "grpc" => given_port(&handler[*first]["port"], place.child("port"), errors),
        "sleep" => sleep(&handler["sleep"], pod, place, errors),
        _ => {}
    }
    for name in given {
        errors.forbidden(at.child(name), "may not specify more than 1 handler type");
    }
}

/// Validates an HTTP request (`validateHTTPGetAction`).
fn http_get(get: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if text(&get["path"]).is_empty() {
        errors.required(at.child("path"), "");
    }
    given_port(&get["port"], at.child("port"), errors);
    let scheme = text(&get["scheme"]);
    if !SCHEMES.contains(&scheme) {
        errors.unsupported(at.child("scheme"), scheme, &SCHEMES);
    }
    for name in items(&get["httpHeaders"]).iter().map(|header| text(&header["name"])) {
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            errors.invalid(at.child("httpHeaders"), name, HEADER);
        }
    }
}

/// Requires a pause that ends before the pod is killed (`validateSleepAction`).
fn sleep(sleep: &Value, pod: &Pod<'_>, at: Path<'_>, errors: &mut Errors<'_>) {
    let seconds = sleep["seconds"].as_i64().unwrap_or(0);
    let Some(grace) = pod.grace_seconds() else { return };
    let zero_allowed = errors.profile.minor >= since::ZERO_SLEEP;
    let least = i64::from(!zero_allowed);
    if (least..=grace).contains(&seconds) {
        return;
    }
    let why = if zero_allowed {
        format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})")
    } else {
        format!(
            "must be greater than 0 and less than terminationGracePeriodSeconds ({grace}). Enable \
             AllowPodLifecycleSleepActionZeroValue feature gate for zero sleep."
        )
    };
    errors.invalid(at, seconds, why);
}

/// Requires a signal of the operating system (`validateStopSignal`).
fn stop_signal(signal: &str, os: Option<&str>, at: Path<'_>, errors: &mut Errors<'_>) {
    match os {
        None => errors.forbidden(at, "may not be set for containers with empty `spec.os.name`"),
        Some("windows") if !WINDOWS_SIGNALS.contains(&signal) => {
            errors.unsupported(at, signal, &WINDOWS_SIGNALS);
        }
        Some("linux") if !LINUX_SIGNALS.contains(&signal) => errors.unsupported(at, signal, &LINUX_SIGNALS),
        Some(_) => {}
    }
}
