//! Who is at work in a cluster: one run at a time, which renews a Lease as long as it lives.

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
use super::wire::{Wire, request};
use crate::backends::BackendError;

/// The name of the Lease, and its namespace, which every cluster has.
pub(crate) const LEASE: &str = "windtunnel";
const NAMESPACE: &str = "kube-system";
/// How long it is good, and how often it is renewed.
const GOOD_FOR: SignedDuration = SignedDuration::from_secs(30);
const RENEWED_EVERY: Duration = Duration::from_secs(10);
/// The annotation of one that nobody renews because its cluster is to stay as it is.
const KEPT: &str = "windtunnel.dev/kept";

/// A run that is, or was, at work in a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    /// What it holds the cluster by.
    pub(crate) lease: Held,
    /// Machine and process, as `HOST/PID@BOOT:PROCESSES`: machines may have the same name, and containers their host's, with
    /// processes of their own.
    pub(crate) holder: String,
    /// Whether it renews its Lease.
    pub(crate) alive: bool,
    /// Whether its objects are to stay.
    pub(crate) kept: bool,
}

/// The Lease of a run: the one that it took, and no other of that name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Held {
    /// The id of the run: the value of the label of its objects.
    pub(crate) run: String,
    uid: String,
}

/// This process on this machine.
pub(crate) fn holder() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let processes = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{}/{}@{}:{}", host.trim(), std::process::id(), boot.trim(), processes.display())
}

/// The Leases that this process has taken, by uid. Who holds one does not tell: a container that is started again is the same
/// process by all that it says of itself.
static TAKEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// An id for a run that begins now.
pub(crate) fn new_id() -> String {
    format!("{:x}-{:x}", WallClock.now().as_millisecond(), std::process::id())
}

/// The run that holds the Lease of a cluster, if there is one.
///
/// # Errors
/// The cluster does not tell.
pub(crate) fn holding(wire: &Arc<Wire>) -> Result<Option<Run>, BackendError> {
    match wire.get(&lease()).checked() {
        Ok(lease) => Ok(Some(read(&lease, WallClock.now(), &holder()))),
        Err(refusal) if refusal.code == 404 => Ok(None),
        Err(refusal) => Err(BackendError::Failed(refusal.message)),
    }
}

/// Takes the Lease for a run, and renews it until the wire's end. Where it is another's meanwhile, because this process
/// stood still for too long, the wire is given up: what it would write now is not its own any more.
///
/// # Errors
/// Somebody else was faster, or it cannot be taken.
pub(crate) fn take(wire: &Arc<Wire>, id: &str) -> Result<Held, BackendError> {
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
    let taken = reply.checked().map_err(|refusal| match refusal.code {
        409 => BackendError::Refused("another run of windtunnel began here at this moment".to_owned()),
        _ => BackendError::Failed(format!("no Lease can be taken: {}", refusal.message)),
    })?;
    let held = Held { run: id.to_owned(), uid: text(&taken, "/metadata/uid") };
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner).insert(held.uid.clone());
    wire.handle().spawn(renew(Arc::downgrade(wire), held.uid.clone()));
    Ok(held)
}

async fn renew(own: Weak<Wire>, uid: String) {
    loop {
        tokio::time::sleep(RENEWED_EVERY).await;
        let Some(wire) = own.upgrade() else { return };
        let patch =
            json!({ "metadata": { "uid": uid }, "spec": { "renewTime": rfc3339_micro(WallClock.now()) } });
        let media = "application/merge-patch+json";
        let Ok(request) = request(Method::PATCH, &lease(), Some((media, &patch)), None) else { return };
        // Also while that is removed which a run made that was told to stop.
        match wire.unstopped().ask(request).await.code {
            404 | 409 | 422 => return wire.give_up("the Lease of the run is another's now, or gone"),
            // A renewal that fails is made up for by the next.
            _ => {}
        }
    }
}

impl Held {
    /// Whether a run of this process took it. Runs of one process come one after the other.
    pub(crate) fn is_of_this_process(&self) -> bool {
        TAKEN.lock().unwrap_or_else(PoisonError::into_inner).contains(&self.uid)
    }

    /// Gives the Lease back.
    pub(crate) fn give_back(&self, wire: &Arc<Wire>) {
        let options =
            json!({ "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": { "uid": self.uid } });
        // What is left of it expires.
        let _ = wire.change(Method::DELETE, &lease(), &options);
    }

    /// Notes in the Lease that the objects of its run are to stay.
    pub(crate) fn keep(&self, wire: &Arc<Wire>) {
        let patch = json!({ "metadata": { "uid": self.uid, "annotations": { KEPT: "true" } } });
        let _ = wire.change(Method::PATCH, &lease(), &patch);
    }
}

fn lease() -> String {
    LEASES.path(NAMESPACE, LEASE)
}

/// What a Lease tells to the process `own`.
fn read(lease: &Value, now: Time, own: &str) -> Run {
    let holder = text(lease, "/spec/holderIdentity");
    let renewed = parse_rfc3339(&text(lease, "/spec/renewTime")).unwrap_or(Time::UNIX_EPOCH);
    let is_good = after(renewed, GOOD_FOR) > now;
    Run {
        lease: Held {
            run: lease["metadata"]["labels"][RUN].as_str().unwrap_or_default().to_owned(),
            uid: text(lease, "/metadata/uid"),
        },
        alive: is_good && !has_ended(&holder, own),
        kept: lease["metadata"]["annotations"][KEPT] == "true",
        holder,
    }
}

fn text(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Whether a process is known to have ended: one of this machine, whose processes are those that are seen here.
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
        read(&lease, now, "here/1@boot:pid:[1]")
    }

    #[test]
    fn a_run_lives_as_long_as_it_renews_its_lease() {
        assert!(run("there/7", 29).alive);
        assert!(!run("there/7", 31).alive);
        assert_eq!(run("there/7", 31).lease.run, "r1");
    }

    #[test]
    fn a_process_of_this_machine_is_known_to_have_ended_at_once() {
        // No process has this number: it is above the greatest that there can be.
        assert!(!run("here/4194305@boot:pid:[1]", 1).alive);
        assert!(run(&format!("here/{}@boot:pid:[1]", std::process::id()), 1).alive);
        assert!(run("there/4194305@boot:pid:[1]", 1).alive);
        // One of a container that has its host's name, and one of another machine of the same name.
        assert!(run("here/4194305@boot:pid:[2]", 1).alive);
        assert!(run("here/4194305@other:pid:[1]", 1).alive);
    }
}
