//! Runs a sequence beside an operator.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use windtunnel_apiserver::https::{self, Settings};
use windtunnel_apiserver::service::Shared;
use windtunnel_controllers::registry::digest_of;
use windtunnel_core::clock::{Time, VirtualClock, WallClock};
use windtunnel_core::{Write, resources};
use windtunnel_openshift::signature;

use crate::recordings::ours;

use super::cluster::{self, Behaviour, Deliver};
use super::payload::{self, FIRST, Published};
use super::process::{Operator, Real, Simulated};
use super::sequence::{Event, Sequence};
use super::trace::{self, Phase, Trace};

/// How long an installation takes at most.
const INSTALLATION: Duration = Duration::from_secs(60);

/// The phases of a sequence with the simulated operator, in virtual time.
pub(super) fn simulated(sequence: &Sequence) -> Vec<Phase> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let epoch: Time = "2024-01-01T00:00:00Z".parse().unwrap();
        let shared = cluster::start(VirtualClock::starting_at(epoch), &sequence.spec);
        let payloads = payload::of(sequence);
        for payload in signed(sequence, &payloads) {
            let image = &payload.release.image;
            let document = signature::document(digest_of(image).unwrap(), signature::KEYRING);
            cluster::sign(&shared, image, document.as_bytes());
        }
        let operator = Operator::Simulated(Simulated::new(shared.clone(), &payloads));
        run(sequence, shared, payloads, operator, Arc::new(|_, _| ())).await
    })
}

/// The phases of a sequence with the real operator, whose files are in `folder`.
pub(super) async fn real(sequence: &Sequence, program: &Path, folder: &Path) -> Vec<Phase> {
    let shared = cluster::start(Arc::new(WallClock), &sequence.spec);
    let serving = https::serve(shared.clone(), Settings::default()).await.unwrap();
    let payloads = payload::of(sequence);
    for (version, payload) in &payloads {
        payload::write(&payload.files, &folder.join("payloads").join(version));
    }
    for payload in signed(sequence, &payloads) {
        let text = fs::read_to_string(ours(&format!("operator/signatures/{}.txt", payload.release.version)))
            .unwrap();
        let signature = STANDARD.decode(text.split_whitespace().collect::<String>()).unwrap();
        cluster::sign(&shared, &payload.release.image, &signature);
    }
    let operator = Operator::Real(Real::new(program, folder, &serving.kubeconfig()));
    let phases = run(sequence, shared, payloads, operator, delivery(sequence, folder)).await;
    drop(serving);
    phases
}

/// The releases whose images are signed.
fn signed<'p>(
    sequence: &'p Sequence,
    payloads: &'p BTreeMap<String, Published>,
) -> impl Iterator<Item = &'p Published> {
    let signed = payloads.iter().filter(|(version, _)| !sequence.unsigned.contains(version));
    signed.map(|(_, payload)| payload)
}

/// Writes payloads where the version pods of the real operator put them.
fn delivery(sequence: &Sequence, folder: &Path) -> Deliver {
    let payloads = payload::of(sequence);
    let mounted = folder.join("cvo");
    Arc::new(move |image: &str, path: &str| {
        let wanted = payloads.values().find(|payload| payload.release.image == image);
        if let Some(payload) = wanted {
            payload::write(&payload.files, &mounted.join(path.strip_prefix("/etc/cvo/").unwrap()));
        }
    })
}

async fn run(
    sequence: &Sequence,
    shared: Shared,
    payloads: BTreeMap<String, Published>,
    operator: Operator,
    deliver: Deliver,
) -> Vec<Phase> {
    let behaviour = Behaviour { version: FIRST.to_owned(), ..Behaviour::default() };
    let trace = Trace::default();
    trace.lock().unwrap().push(Phase { after: json!("installation"), statuses: Vec::new() });
    let mut script = Script { shared, payloads, operator, behaviour: Arc::new(Mutex::new(behaviour)), trace };
    let around = cluster::imitate(script.shared.clone(), Arc::clone(&script.behaviour), deliver);
    let followed = trace::follow(script.shared.clone(), Arc::clone(&script.trace));
    let tasks = [tokio::spawn(around), tokio::spawn(followed)];
    script.start(FIRST);
    tokio::time::sleep(INSTALLATION).await;
    for event in &sequence.steps {
        script.event(event).await;
    }
    script.operator.kill().await;
    for task in tasks {
        task.abort();
    }
    std::mem::take(&mut *script.trace.lock().unwrap())
}

struct Script {
    shared: Shared,
    payloads: BTreeMap<String, Published>,
    operator: Operator,
    behaviour: Arc<Mutex<Behaviour>>,
    trace: Trace,
}

impl Script {
    fn start(&mut self, version: &str) {
        self.operator.start(&self.payloads[version].release);
    }

    async fn event(&mut self, event: &Event) {
        if let Event::Wait(seconds) = event {
            return tokio::time::sleep(Duration::from_secs(*seconds)).await;
        }
        self.trace
            .lock()
            .unwrap()
            .push(Phase { after: serde_json::to_value(event).unwrap(), statuses: Vec::new() });
        match event {
            Event::Wait(_) => {}
            Event::ClusterVersion(patch) => self.patch(patch),
            Event::Operators { version, except } => cluster::report(&self.shared, version, except),
            Event::Operator { name, condition, version } => {
                if let Some(condition) = condition {
                    cluster::set_condition(&self.shared, name, condition);
                }
                if let Some(version) = version {
                    cluster::report_of(&self.shared, name, version);
                }
            }
            Event::Apply(object) => cluster::apply(&self.shared, object),
            Event::Delete(object) => self.delete(object),
            Event::Retrieval(retrieval) => self.behaviour.lock().unwrap().retrieval = retrieval.clone(),
            Event::Restart(version) => {
                self.operator.terminate().await;
                self.start(version);
            }
            Event::Kill(version) => {
                self.operator.kill().await;
                self.start(version);
            }
        }
    }

    /// Patches the ClusterVersion; an image may be named by the version of its release.
    fn patch(&self, patch: &Value) {
        let mut patch = patch.clone();
        if let Some(image) = patch.pointer_mut("/spec/desiredUpdate/image")
            && let Some(payload) = image.as_str().and_then(|version| self.payloads.get(version))
        {
            *image = json!(payload.release.image);
        }
        cluster::write(&self.shared, &Write::merge_patch(&resources::CLUSTER_VERSIONS, "", "version", patch));
    }

    fn delete(&self, object: &Value) {
        let resource = resources::find_with_preview(object).unwrap();
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        cluster::write(&self.shared, &Write::delete(&resource, text("namespace"), text("name")));
    }
}
