//! Begins and ends faults: what each of them changes in the cluster.
//!
//! `objects.rs` has the faults that are objects, such as webhooks without a server and definitions that cannot change.
//! The kinds of faults: `src/plan/faults.rs`.

mod annotations;
mod objects;
mod pinned_api_server;
mod render_flips;
mod scheduled;

use jiff::SignedDuration;
use semver::Version;
use serde_json::json;
use windtunnel_controllers::faults::{Fault, FaultKind};
use windtunnel_controllers::schedule::ActorId;
use windtunnel_core::clock::rfc3339_micro;
use windtunnel_core::requests::faults::ProgramFault;
use windtunnel_core::resources::{
    CLUSTER_OPERATORS, LEASES, MACHINE_CONFIG_POOLS, MACHINE_CONFIGS, NODES, POD_DISRUPTION_BUDGETS, PODS,
};
use windtunnel_core::text::did_you_mean;
use windtunnel_core::{Identity, Object, Resource, Write};
use windtunnel_openshift::release::Release;

use super::error::SessionError;
use super::expectations::matching::name_fits;
use super::runtime::Simulation;
use super::runtime::crashes::{Crash, CrashMoment};
use crate::plan::{FaultTarget, InjectedFault};
use crate::record::ADMINISTRATOR;

/// The new holder of a Lease that a process loses.
const OTHER_HOLDER: &str = "another-candidate";

impl Simulation {
    /// Checks that the target of a fault exists and can fail.
    pub(in crate::engine) fn check_faulty(&self, faulty: &FaultTarget) -> Result<(), SessionError> {
        match faulty {
            FaultTarget::Operator(name) => self.check_object(&CLUSTER_OPERATORS, name),
            FaultTarget::Node(name) => self.check_object(&NODES, name),
            FaultTarget::Pool(name) => self.check_object(&MACHINE_CONFIG_POOLS, name),
            FaultTarget::Pods { namespace, name } => self.pods(namespace, name).map(|_| ()),
            FaultTarget::Api(_) if self.connection.capabilities().request_faults => Ok(()),
            FaultTarget::Api(_) => {
                let why = "the API server of this cluster cannot fail requests on demand";
                Err(SessionError::Unsupported(why.to_owned()))
            }
            FaultTarget::Process(name) => self.check_process(name),
            FaultTarget::Release(version) => self.find_release(version).map(|_| ()),
            FaultTarget::Registry(_) | FaultTarget::Webhook(_) | FaultTarget::Crd(_) => Ok(()),
        }
    }

    /// Finds the release of this version.
    fn find_release(&self, version: &Version) -> Result<&Release, SessionError> {
        self.environment.payload_of(version).ok_or_else(|| {
            let known: Vec<String> = self.environment.releases.keys().map(ToString::to_string).collect();
            SessionError::NoRelease { version: version.to_string(), known: known.join(", ") }
        })
    }

    pub(in crate::engine) fn check_object(
        &self,
        resource: &Resource,
        name: &str,
    ) -> Result<(), SessionError> {
        let known: Vec<&str> = self.view.list(resource).map(Object::name).collect();
        is_known(&resource.kind, name, &known)
    }

    /// Finds the actor that runs as the component of this name.
    fn program(&self, name: &str) -> Result<ActorId, SessionError> {
        self.check_process(name)?;
        let found = self.schedule.names().find(|(_, actor)| *actor == name);
        found.map(|(id, _)| id).ok_or(SessionError::Ended)
    }

    /// The pods of a name; an error if there are none.
    fn pods(&self, namespace: &str, name: &str) -> Result<Vec<String>, SessionError> {
        let known = || self.view.list_in(&PODS, namespace).map(Object::name);
        let found: Vec<String> = known().filter(|pod| name_fits(pod, name)).map(str::to_owned).collect();
        if found.is_empty() {
            is_known(&PODS.kind, name, &known().collect::<Vec<_>>())?;
        }
        Ok(found)
    }

    fn annotate_pods(
        &mut self,
        namespace: &str,
        name: &str,
        fault: Option<&Fault>,
    ) -> Result<(), SessionError> {
        for pod in self.pods(namespace, name)? {
            self.administer(&Write::merge_patch(&PODS, namespace, &pod, Fault::annotation_patch(fault)))?;
        }
        Ok(())
    }

    /// Begins a fault. What clients see of the cluster stops at the resource version `since`, if there is one.
    pub(in crate::engine) fn begin_fault_now(
        &mut self,
        fault: &InjectedFault,
        since: Option<u64>,
    ) -> Result<(), SessionError> {
        self.check_faulty(&fault.target())?;
        match (fault, since) {
            (InjectedFault::Requests(fault), Some(since)) => self.connection.fail_since(fault.clone(), since),
            _ => self.make_faulty(fault)?,
        }
        self.faults_in_effect.begin(fault, self.now());
        Ok(())
    }

    fn make_faulty(&mut self, fault: &InjectedFault) -> Result<(), SessionError> {
        match fault {
            InjectedFault::Operator(name, fault) => self.administer(&Write::merge_patch(
                &CLUSTER_OPERATORS,
                "",
                name,
                Fault::annotation_patch(Some(fault)),
            )),
            InjectedFault::Node(name, fault) if fault.kind == FaultKind::PoweredOff => {
                self.power_off(name);
                Ok(())
            }
            InjectedFault::Node(name, fault) => {
                if fault.kind == FaultKind::DrainBlocked {
                    self.block_drain(name)?;
                }
                self.administer(&Write::merge_patch(&NODES, "", name, Fault::annotation_patch(Some(fault))))
            }
            InjectedFault::Pods(namespace, name, fault) => self.annotate_pods(namespace, name, Some(fault)),
            InjectedFault::Requests(fault) => {
                self.connection.fail(fault.clone());
                Ok(())
            }
            InjectedFault::Process(name, fault) => self.begin_process_fault(name, fault),
            InjectedFault::Pool(name, fault) => self.administer(&Write::merge_patch(
                &MACHINE_CONFIG_POOLS,
                "",
                name,
                Fault::annotation_patch(Some(fault)),
            )),
            InjectedFault::RenderFlips(pool, times) => {
                self.observers.agenda.flip(self.now(), pool, *times);
                Ok(())
            }
            InjectedFault::Release(version, fault) => {
                self.environment.release_faults.begin(self.find_release(version)?, *fault);
                Ok(())
            }
            InjectedFault::Registry(name, pull) => {
                self.environment.release_faults.begin_at(name, *pull);
                Ok(())
            }
            InjectedFault::Webhook(writes) => self.put_webhook(writes),
            InjectedFault::Crd(name, fault) => self.begin_crd_fault(name, *fault),
        }
    }

    /// Ends a fault. Other faults of the same process or release continue.
    pub(in crate::engine) fn end_fault(&mut self, fault: &InjectedFault) -> Result<(), SessionError> {
        self.faults_in_effect.end(fault);
        match fault {
            InjectedFault::Process(name, fault) if self.has_program(name) => {
                self.end_program_fault(name, Some(fault));
            }
            InjectedFault::Process(name, ProgramFault::Crash { writes, .. }) => {
                self.crashes.forget_at(name, writes);
            }
            InjectedFault::Process(name, ProgramFault::LastInTurn) => self.schedule.end_last(name),
            InjectedFault::Process(name, ProgramFault::Slow(_)) => self.schedule.end_delay(name),
            InjectedFault::Process(name, _) => self.schedule.end_silence(name, &self.view),
            InjectedFault::Release(version, fault) => {
                self.environment.release_faults.end(self.find_release(version)?, *fault);
            }
            other => return self.end_faults_of(&other.target()),
        }
        Ok(())
    }

    /// Ends all faults of a target, and drops its scheduled ones.
    pub(in crate::engine) fn heal(&mut self, faulty: &FaultTarget) -> Result<(), SessionError> {
        self.observers.agenda.forget(faulty);
        self.end_faults_of(faulty)
    }

    /// Checks that a target has a fault, or will have one.
    pub(in crate::engine) fn check_has_fault(&self, faulty: &FaultTarget) -> Result<(), SessionError> {
        if self.faults_in_effect.has(faulty) || self.observers.agenda.has(faulty) || self.is_annotated(faulty)
        {
            return Ok(());
        }
        self.check_faulty(faulty)?;
        let others: Vec<String> = self.faults_in_effect.iter().map(|(fault, _)| fault.to_string()).collect();
        let others = if others.is_empty() {
            "no fault is in effect".to_owned()
        } else {
            format!("in effect are: {}", others.join("; "))
        };
        Err(SessionError::NoEffect(format!(
            "{faulty} has no fault that this step could end ({others}): begin one before, or remove the step"
        )))
    }

    /// Whether the object of a target has a fault in its annotations.
    fn is_annotated(&self, faulty: &FaultTarget) -> bool {
        let has_fault = |object: &Object| Fault::from_annotations(object).flatten().is_some();
        let is_faulty =
            |resource: &Resource, name: &str| self.view.get(resource, "", name).is_some_and(&has_fault);
        match faulty {
            FaultTarget::Operator(name) => is_faulty(&CLUSTER_OPERATORS, name),
            FaultTarget::Node(name) => is_faulty(&NODES, name),
            FaultTarget::Pool(name) => is_faulty(&MACHINE_CONFIG_POOLS, name),
            FaultTarget::Pods { namespace, name } => {
                let pods = self.view.list_in(&PODS, namespace);
                pods.filter(|pod| name_fits(pod.name(), name)).any(has_fault)
            }
            _ => false,
        }
    }

    fn end_faults_of(&mut self, faulty: &FaultTarget) -> Result<(), SessionError> {
        self.faults_in_effect.end_all(faulty);
        match faulty {
            FaultTarget::Operator(name) => {
                self.check_faulty(faulty)?;
                self.administer(&Write::merge_patch(
                    &CLUSTER_OPERATORS,
                    "",
                    name,
                    Fault::annotation_patch(None),
                ))
            }
            FaultTarget::Node(name) => {
                self.check_faulty(faulty)?;
                self.power_on(name);
                if !self.is_annotated(faulty) {
                    return Ok(());
                }
                self.delete_if_there(&POD_DISRUPTION_BUDGETS, BLOCKER_NAMESPACE, &blocker(name))?;
                self.delete_if_there(&PODS, BLOCKER_NAMESPACE, &blocker(name))?;
                self.administer(&Write::merge_patch(&NODES, "", name, Fault::annotation_patch(None)))
            }
            FaultTarget::Pods { namespace, name } => self.annotate_pods(namespace, name, None),
            FaultTarget::Api(requests) => {
                self.check_faulty(faulty)?;
                self.connection.heal(requests.as_ref());
                Ok(())
            }
            FaultTarget::Process(name) => {
                self.end_program_fault(name, None);
                self.crashes.forget(name);
                self.schedule.end_silence(name, &self.view);
                self.schedule.end_last(name);
                self.schedule.end_delay(name);
                Ok(())
            }
            FaultTarget::Pool(pool) => {
                self.check_faulty(faulty)?;
                self.delete_if_there(&MACHINE_CONFIGS, "", &render_flips::config_name(pool))?;
                self.end_annotated_fault_of_pool(pool)
            }
            FaultTarget::Release(version) => {
                self.environment.release_faults.heal(self.find_release(version)?);
                Ok(())
            }
            FaultTarget::Registry(name) => {
                self.environment.release_faults.heal_at(name);
                Ok(())
            }
            FaultTarget::Webhook(writes) => self.remove_webhook(writes),
            FaultTarget::Crd(name) => self.end_crd_fault(name),
        }
    }

    fn end_annotated_fault_of_pool(&mut self, pool: &str) -> Result<(), SessionError> {
        let found = self.view.get(&MACHINE_CONFIG_POOLS, "", pool);
        if found.and_then(|pool| Fault::from_annotations(pool).flatten()).is_none() {
            return Ok(());
        }
        let patch = Fault::annotation_patch(None);
        self.administer(&Write::merge_patch(&MACHINE_CONFIG_POOLS, "", pool, patch))
    }

    fn begin_process_fault(&mut self, name: &str, fault: &ProgramFault) -> Result<(), SessionError> {
        if self.has_program(name) {
            return self.begin_program_fault(name, fault);
        }
        let id = self.program(name)?;
        match fault {
            ProgramFault::Killed => self.crash(id),
            ProgramFault::Paused => {
                let why = "only programs of your machine can be paused, not simulated components";
                return Err(SessionError::Unsupported(why.to_owned()));
            }
            ProgramFault::SkewedClock(_) => {
                let why = "only programs of your machine can have a wrong clock; for the components of a node, use the \
                           fault of the node";
                return Err(SessionError::Unsupported(why.to_owned()));
            }
            ProgramFault::Crash { writes, after, hits } => {
                let moment = if *after { CrashMoment::After } else { CrashMoment::Before };
                let (process, writes, hits) = (name.to_owned(), writes.clone(), hits.clone());
                self.crashes.add(Crash { process, writes, moment, hits });
            }
            ProgramFault::StaleWatch => self.schedule.silence_watches(id, &self.view),
            ProgramFault::DroppedWatch => self.schedule.relist(id, &self.view),
            ProgramFault::LastInTurn => self.schedule.put_last(id),
            ProgramFault::Slow(delay) => self.schedule.slow_down(id, *delay),
            ProgramFault::LosesLease(span) => {
                let pod = self.processes.of_actor(id);
                let namespaces: Vec<String> = pod.map(|(pod, _)| pod.namespace.clone()).into_iter().collect();
                let write = self.other_holder(name, &namespaces, *span)?;
                return self.administer(&write);
            }
        }
        Ok(())
    }

    /// The write that gives the first Lease in the namespaces of a process to another candidate. The candidate
    /// does not renew the Lease, which lasts for `span`.
    pub(in crate::engine) fn other_holder(
        &self,
        name: &str,
        namespaces: &[String],
        span: SignedDuration,
    ) -> Result<Write, SessionError> {
        let lease = namespaces.iter().find_map(|namespace| self.view.list_in(&LEASES, namespace).next());
        let Some(lease) = lease else {
            let kind = "Lease held by".to_owned();
            return Err(SessionError::NotThere { kind, name: name.to_owned(), hint: String::new() });
        };
        let now = rfc3339_micro(self.now());
        let spec = json!({
            "holderIdentity": OTHER_HOLDER,
            "leaseDurationSeconds": span.as_secs(),
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": lease.number("/spec/leaseTransitions").unwrap_or(0) + 1,
        });
        Ok(Write::merge_patch(&LEASES, lease.namespace(), lease.name(), json!({ "spec": spec })))
    }

    /// Creates a pod on the node that may not be evicted, and the PodDisruptionBudget that prevents it.
    fn block_drain(&mut self, node: &str) -> Result<(), SessionError> {
        let name = blocker(node);
        let metadata = json!({ "name": name, "namespace": BLOCKER_NAMESPACE, "labels": { "app": name } });
        // Any image that can be pulled.
        let image = self.environment.releases.values().next().map(|release| release.image.clone());
        let container = json!({ "name": "web", "image": image });
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": metadata,
            "spec": { "nodeName": node, "containers": [container] },
        });
        let budget = json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata,
            "spec": { "minAvailable": 1, "selector": { "matchLabels": { "app": name } } },
        });
        for (resource, object) in [(&PODS, pod), (&POD_DISRUPTION_BUDGETS, budget)] {
            if self.view.get(resource, BLOCKER_NAMESPACE, &name).is_none() {
                self.administer(&Write::create(resource, object))?;
            }
        }
        Ok(())
    }

    pub(in crate::engine) fn delete_if_there(
        &mut self,
        resource: &Resource,
        namespace: &str,
        name: &str,
    ) -> Result<(), SessionError> {
        if self.view.get(resource, namespace, name).is_none() {
            return Ok(());
        }
        self.administer(&Write::delete(resource, namespace, name))
    }

    pub(in crate::engine) fn administer(&mut self, write: &Write) -> Result<(), SessionError> {
        let answer = self.write(ADMINISTRATOR, &Identity::admin(), write);
        answer.map(drop).map_err(|rejection| SessionError::refused(write, rejection))
    }
}

/// The namespace of the pod that keeps a node from being drained.
const BLOCKER_NAMESPACE: &str = "default";

fn blocker(node: &str) -> String {
    format!("drain-blocker-{node}")
}

fn is_known(kind: &str, name: &str, known: &[&str]) -> Result<(), SessionError> {
    if known.contains(&name) {
        return Ok(());
    }
    let hint = did_you_mean(name, known.iter().copied());
    Err(SessionError::NotThere { kind: kind.to_owned(), name: name.to_owned(), hint })
}
