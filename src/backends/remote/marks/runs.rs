//! Ensures that one run at a time uses a cluster. The run holds a Lease and renews it as long as it lives.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use http::Method;
use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::clock::{Clock as _, Time, WallClock, after, parse_rfc3339, rfc3339_micro};
use windtunnel_core::resources::LEASES;

use super::stamp::RUN;
use crate::backends::BackendError;
use crate::backends::remote::wire::{Wire, request};

/// The Lease's name and namespace, which every cluster has.
pub(crate) const LEASE: &str = "windtunnel";
const NAMESPACE: &str = "kube-system";
/// The duration of the Lease, and the interval of its renewals.
const GOOD_FOR: SignedDuration = SignedDuration::from_secs(30);
const RENEWED_EVERY: Duration = Duration::from_secs(10);
/// The annotation of a Lease without renewals, whose run leaves its objects in place.
const KEPT: &str = "windtunnel.dev/kept";

/// A current or former run in a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) lease: RunLease,
    /// Machine and process, as `HOST/PID@BOOT:PROCESSES`. Host and PID are not enough: machines can share a
    /// name, and containers can have their host's name with a PID namespace of their own.
    pub(crate) holder: String,
    /// Whether it renews its Lease.
    pub(crate) is_alive: bool,
    /// Whether its objects stay (`--keep`).
    pub(crate) is_kept: bool,
}

/// The Lease that a run took, as opposed to another one of the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunLease {
    /// The id of the run, which is the label value of its objects.
    pub(crate) run: String,
    uid: String,
}

/// Returns the identity of this process on this machine.
pub(crate) fn holder() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let processes = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{}/{}@{}:{}", host.trim(), std::process::id(), boot.trim(), processes.display())
}

/// The uids of the Leases that this process took. The holder's identity is not enough: a restarted container
/// has the same one.
static TAKEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

pub(crate) fn new_id() -> String {
    format!("{:x}-{:x}", WallClock.now().as_millisecond(), std::process::id())
}

/// Returns the run that holds the Lease of a cluster, if there is one.
///
/// # Errors
/// The Lease cannot be read.
pub(crate) fn current_run(wire: &Arc<Wire>) -> Result<Option<Run>, BackendError> {
    match wire.get(&lease()).checked() {
        Ok(lease) => Ok(Some(parse_lease(&lease, WallClock.now(), &holder()))),
        Err(rejection) if rejection.code == 404 => Ok(None),
        Err(rejection) => Err(BackendError::Failed(rejection.message)),
    }
}

/// Takes the Lease for a run, and renews it until the connection ends. If another run has taken it meanwhile,
/// because this process was paused for too long, the connection sends no more requests: they would interfere
/// with that run.
///
/// # Errors
/// Another run was faster, or the Lease cannot be created.
pub(crate) fn take_lease(wire: &Arc<Wire>, id: &str) -> Result<RunLease, BackendError> {
    let now = rfc3339_micro(WallClock.now());
    let object = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": { "name": LEASE, "namespace": NAMESPACE, "labels": { RUN: id } },
        "spec": {
            "holderIdentity": holder(),
            "leaseDurationSeconds": GOOD_FOR.as_secs(),
            "acquireTime": now,
            "renewTime": now,
        },
    });
    let reply = wire.change(Method::POST, &LEASES.path(NAMESPACE, ""), &object);
    let taken = reply.checked().map_err(|rejection| match rejection.code {
        409 => BackendError::Refused(
            "another windtunnel run has just taken the Lease of this cluster".to_owned(),
        ),
        _ => BackendError::Failed(format!("cannot take the Lease: {}", rejection.message)),
    })?;
    let lease = RunLease { run: id.to_owned(), uid: text(&taken, "/metadata/uid") };
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner).insert(lease.uid.clone());
    wire.handle().spawn(renew(Arc::downgrade(wire), lease.uid.clone()));
    Ok(lease)
}

async fn renew(own: Weak<Wire>, uid: String) {
    loop {
        tokio::time::sleep(RENEWED_EVERY).await;
        let Some(wire) = own.upgrade() else { return };
        let patch =
            json!({ "metadata": { "uid": uid }, "spec": { "renewTime": rfc3339_micro(WallClock.now()) } });
        let media = "application/merge-patch+json";
        let Ok(request) = request(Method::PATCH, &lease(), Some((media, &patch)), None) else { return };
        // Renewal continues during the cleanup of a stopped run.
        match wire.unstopped().ask(request).await.code {
            404 | 409 | 422 => {
                return wire.give_up("the run lost its Lease: another run took it, or it was deleted");
            }
            // The next renewal makes up for a failed one.
            _ => {}
        }
    }
}

impl RunLease {
    /// Returns whether a run of this process took it. Runs of one process do not overlap.
    pub(crate) fn is_of_this_process(&self) -> bool {
        TAKEN.lock().unwrap_or_else(PoisonError::into_inner).contains(&self.uid)
    }

    /// Releases the Lease.
    pub(crate) fn give_back(&self, wire: &Arc<Wire>) {
        let options =
            json!({ "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": { "uid": self.uid } });
        // A Lease that cannot be deleted expires.
        let _ = wire.change(Method::DELETE, &lease(), &options);
    }

    /// Marks the Lease: the objects of its run stay.
    pub(crate) fn keep(&self, wire: &Arc<Wire>) {
        let patch = json!({ "metadata": { "uid": self.uid, "annotations": { KEPT: "true" } } });
        let _ = wire.change(Method::PATCH, &lease(), &patch);
    }
}

fn lease() -> String {
    LEASES.path(NAMESPACE, LEASE)
}

/// Parses a Lease, from the viewpoint of the process `own`.
fn parse_lease(lease: &Value, now: Time, own: &str) -> Run {
    let holder = text(lease, "/spec/holderIdentity");
    let renewed = parse_rfc3339(&text(lease, "/spec/renewTime")).unwrap_or(Time::UNIX_EPOCH);
    let is_good = after(renewed, GOOD_FOR) > now;
    Run {
        lease: RunLease {
            run: lease["metadata"]["labels"][RUN].as_str().unwrap_or_default().to_owned(),
            uid: text(lease, "/metadata/uid"),
        },
        is_alive: is_good && !has_ended(&holder, own),
        is_kept: lease["metadata"]["annotations"][KEPT] == "true",
        holder,
    }
}

fn text(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Returns whether a process is known to have ended. This is possible only for the same machine and PID
/// namespace.
pub(crate) fn has_ended(holder: &str, own: &str) -> bool {
    let parts = |holder: &str| {
        let (host, process) = holder.rsplit_once('/')?;
        let (pid, processes) = process.split_once('@')?;
        Some((host.to_owned(), pid.to_owned(), processes.to_owned()))
    };
    let (Some((host, pid, seen)), Some((here, _, processes))) = (parts(holder), parts(own)) else {
        return false;
    };
    (host, seen) == (here, processes)
        && Path::new("/proc/self").exists()
        && !Path::new("/proc").join(pid).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(holder: &str, seconds_ago: i64) -> Run {
        let now = Time::from_second(1_000_000).unwrap();
        let renewed = after(now, SignedDuration::from_secs(-seconds_ago));
        let lease = json!({
            "metadata": { "labels": { RUN: "r1" } },
            "spec": { "holderIdentity": holder, "renewTime": rfc3339_micro(renewed) },
        });
        parse_lease(&lease, now, "here/1@boot:pid:[1]")
    }

    #[test]
    fn a_run_is_alive_while_it_renews_its_lease() {
        assert!(run("there/7", 29).is_alive);
        assert!(!run("there/7", 31).is_alive);
        assert_eq!(run("there/7", 31).lease.run, "r1");
    }

    #[test]
    fn detects_at_once_that_a_process_of_this_machine_has_ended() {
        // No process has this number: it is above the maximum PID.
        assert!(!run("here/4194305@boot:pid:[1]", 1).is_alive);
        assert!(run(&format!("here/{}@boot:pid:[1]", std::process::id()), 1).is_alive);
        assert!(run("there/4194305@boot:pid:[1]", 1).is_alive);
        // A process in a container with its host's name, and one on another machine of the same name.
        assert!(run("here/4194305@boot:pid:[2]", 1).is_alive);
        assert!(run("here/4194305@other:pid:[1]", 1).is_alive);
    }
}
