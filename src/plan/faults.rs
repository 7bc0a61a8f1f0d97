//! Faults of a run and their targets.

use std::fmt;

use semver::Version;
use windtunnel_controllers::faults::{Fault, FaultKind};
use windtunnel_controllers::registry::Pull;
use windtunnel_core::requests::faults::{FaultEffect, ProgramFault, RequestFault, RequestFilter};
use windtunnel_core::text::short_duration;
use windtunnel_openshift::environment::ReleaseFault;

use super::CrdFault;

/// The target of a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultTarget {
    /// The operator of this ClusterOperator.
    Operator(String),
    /// This node.
    Node(String),
    /// The pods with this name in this namespace; a trailing `*` in the name matches any ending.
    Pods {
        /// The namespace.
        namespace: String,
        /// The name.
        name: String,
    },
    /// The API server's handling of these requests; `None` means all requests.
    Api(Option<RequestFilter>),
    /// The component with this name in the timeline.
    Process(String),
    /// This MachineConfigPool.
    Pool(String),
    /// The registry and the signature stores, for this release.
    Release(Version),
    /// This registry, namespace or repository.
    Registry(String),
    /// An admission webhook that covers these writes.
    Webhook(RequestFilter),
    /// The CustomResourceDefinition with this name.
    Crd(String),
}

impl FaultTarget {
    /// Whether the faults of another target are among those of this one: all requests include any requests.
    pub fn includes(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Api(None), Self::Api(_))) || self == other
    }
}

/// A change of an object at which a fault begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultEvent {
    /// The kind of the object.
    pub kind: String,
    /// Its name, or a prefix with `*`; `None` for all objects of the kind.
    pub name: Option<String>,
    /// The number of the change among all that match since the fault's step, from 1.
    pub nth: u32,
}

impl FaultEvent {
    /// The greatest number of a change.
    pub const NTH_MAX: u32 = 1_000_000;

    /// Whether a change of this object counts.
    pub fn concerns(&self, kind: &str, name: &str) -> bool {
        let fits = |wanted: &str| match wanted.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => name == wanted,
        };
        kind == self.kind && self.name.as_deref().is_none_or(fits)
    }
}

impl fmt::Display for FaultEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, nth } = self;
        let name = name.as_ref().map(|name| format!("/{name}")).unwrap_or_default();
        write!(f, "change {nth} of {kind}{name}")
    }
}

/// A fault of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InjectedFault {
    /// A fault of an operator.
    Operator(String, Fault),
    /// A fault of a node.
    Node(String, Fault),
    /// A fault of the pods with this namespace and name, which may end in `*`.
    Pods(String, String, Fault),
    /// The API server fails requests.
    Requests(RequestFault),
    /// A simulated component fails.
    Process(String, ProgramFault),
    /// The rendered MachineConfig of a pool changes this many times, then returns to its first
    /// content.
    RenderFlips(String, u32),
    /// A fault of a pool.
    Pool(String, Fault),
    /// The image or the signatures of a release are broken.
    Release(Version, ReleaseFault),
    /// A registry, namespace or repository answers pulls in this way.
    Registry(String, Pull),
    /// An admission webhook covers these writes and does not answer.
    Webhook(RequestFilter),
    /// The definition with this name conflicts with another one.
    Crd(String, CrdFault),
}

impl InjectedFault {
    /// Returns the target, which a `heal` step names to end the fault.
    pub fn target(&self) -> FaultTarget {
        match self {
            Self::Operator(name, _) => FaultTarget::Operator(name.clone()),
            Self::Node(name, _) => FaultTarget::Node(name.clone()),
            Self::Pods(namespace, name, _) => {
                FaultTarget::Pods { namespace: namespace.clone(), name: name.clone() }
            }
            Self::Requests(fault) => FaultTarget::Api(Some(fault.requests.clone())),
            Self::Process(name, _) => FaultTarget::Process(name.clone()),
            Self::RenderFlips(pool, _) | Self::Pool(pool, _) => FaultTarget::Pool(pool.clone()),
            Self::Release(version, _) => FaultTarget::Release(version.clone()),
            Self::Registry(name, _) => FaultTarget::Registry(name.clone()),
            Self::Webhook(writes) => FaultTarget::Webhook(writes.clone()),
            Self::Crd(name, _) => FaultTarget::Crd(name.clone()),
        }
    }
}

impl std::fmt::Display for InjectedFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Operator(name, fault) => write!(f, "operator {name} is {}", fault.kind.name()),
            Self::Node(name, fault) => write!(f, "node {name} is {}", fault.kind.name()),
            Self::Pods(namespace, name, fault) => {
                write!(f, "pod {namespace}/{name} is {}", fault.kind.name())
            }
            Self::Requests(RequestFault { requests, effect, hits, .. }) => match effect {
                FaultEffect::Error(error) => {
                    write!(f, "the API server answers {} to {requests}{hits}", error.name())
                }
                FaultEffect::Lost(_)
                | FaultEffect::Watch(_)
                | FaultEffect::Kill(_)
                | FaultEffect::SkewedClock(_) => {
                    write!(f, "the API server has {} for {requests}{hits}", effect.name())
                }
            },
            Self::Process(name, fault) => {
                write!(f, "{name} is {}", fault.name())?;
                match fault {
                    ProgramFault::Crash { writes, hits, .. } => write!(f, ": {writes}{hits}"),
                    ProgramFault::SkewedClock(ahead) => write!(f, " by {}", short_duration(ahead.abs())),
                    ProgramFault::Slow(delay) => write!(f, " by {}", short_duration(*delay)),
                    _ => Ok(()),
                }
            }
            Self::RenderFlips(pool, times) => {
                write!(f, "the configuration of pool {pool} flips {times} times")
            }
            Self::Pool(pool, fault) if fault.kind == FaultKind::Degraded => {
                write!(f, "pool {pool} cannot be rendered")
            }
            Self::Pool(pool, fault) => write!(f, "pool {pool} has {}", fault.kind.name()),
            Self::Release(version, fault) => write!(f, "release {version} is {}", fault.name()),
            Self::Registry(name, pull) => write!(f, "registry {name} is {}", pull.name()),
            Self::Webhook(writes) => write!(f, "a webhook for {writes} is unreachable"),
            Self::Crd(name, fault) => write!(f, "definition {name} has {}", fault.name()),
        }
    }
}

impl std::fmt::Display for FaultTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Operator(name) => write!(f, "operator {name}"),
            Self::Node(name) => write!(f, "node {name}"),
            Self::Pods { namespace, name } => write!(f, "pod {namespace}/{name}"),
            Self::Api(None) => f.write_str("the API server"),
            Self::Api(Some(requests)) => write!(f, "the API server's answer to {requests}"),
            Self::Process(name) => f.write_str(name),
            Self::Pool(name) => write!(f, "pool {name}"),
            Self::Release(version) => write!(f, "release {version}"),
            Self::Registry(name) => write!(f, "registry {name}"),
            Self::Webhook(writes) => write!(f, "a webhook for {writes}"),
            Self::Crd(name) => write!(f, "definition {name}"),
        }
    }
}
