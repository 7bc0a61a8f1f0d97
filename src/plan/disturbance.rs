//! What goes wrong in a run, and who fails.

use semver::Version;
use windtunnel_controllers::faults::Fault;
use windtunnel_core::requests::faults::{ProgramFault, RequestFault, Requests};
use windtunnel_openshift::world::ReleaseFault;

use super::CrdFault;

/// Who fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Faulty {
    /// The operator of this ClusterOperator.
    Operator(String),
    /// This node.
    Node(String),
    /// The pods of this name in this namespace; a name that ends in `*` means all that begin so.
    Pods {
        /// The namespace.
        namespace: String,
        /// The name.
        name: String,
    },
    /// The API server, for these requests; `None`: for any.
    Api(Option<Requests>),
    /// This component, as the timeline calls it.
    Process(String),
    /// This MachineConfigPool.
    Pool(String),
    /// The registry and the signature stores, for this release.
    Release(Version),
    /// An admission webhook for these writes.
    Webhook(Requests),
    /// The CustomResourceDefinition of this name.
    Crd(String),
}

/// Something that goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disturbance {
    /// An operator is told a fault.
    Operator(String, Fault),
    /// A node is told a fault.
    Node(String, Fault),
    /// The pods of this namespace and name, which may end in `*`, are told a fault.
    Pods(String, String, Fault),
    /// The API server answers with trouble.
    Requests(RequestFault),
    /// A program fails.
    Process(String, ProgramFault),
    /// The configuration that a pool is rendered to is another one so many times, and then what it was.
    RenderFlips(String, u32),
    /// The image of this release, or its signatures, are like this.
    Release(Version, ReleaseFault),
    /// There is an admission webhook that must be asked about these writes, and nobody answers.
    Webhook(Requests),
    /// The definition of this name clashes with another.
    Crd(String, CrdFault),
}

impl Disturbance {
    /// Who fails, and who is healed to end it.
    pub fn faulty(&self) -> Faulty {
        match self {
            Self::Operator(name, _) => Faulty::Operator(name.clone()),
            Self::Node(name, _) => Faulty::Node(name.clone()),
            Self::Pods(namespace, name, _) => {
                Faulty::Pods { namespace: namespace.clone(), name: name.clone() }
            }
            Self::Requests(fault) => Faulty::Api(Some(fault.requests.clone())),
            Self::Process(name, _) => Faulty::Process(name.clone()),
            Self::RenderFlips(pool, _) => Faulty::Pool(pool.clone()),
            Self::Release(version, _) => Faulty::Release(version.clone()),
            Self::Webhook(writes) => Faulty::Webhook(writes.clone()),
            Self::Crd(name, _) => Faulty::Crd(name.clone()),
        }
    }
}

impl std::fmt::Display for Disturbance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Operator(name, fault) => write!(f, "operator {name} is {}", fault.kind.name()),
            Self::Node(name, fault) => write!(f, "node {name} is {}", fault.kind.name()),
            Self::Pods(namespace, name, fault) => {
                write!(f, "pod {namespace}/{name} is {}", fault.kind.name())
            }
            Self::Requests(RequestFault { requests, trouble, hits, .. }) => {
                write!(f, "the API server answers {} to {requests}{hits}", trouble.name())
            }
            Self::Process(name, fault) => {
                write!(f, "{name} is {}", fault.name())?;
                match fault {
                    ProgramFault::Crash { writes, hits, .. } => write!(f, ": {writes}{hits}"),
                    _ => Ok(()),
                }
            }
            Self::RenderFlips(pool, times) => {
                write!(f, "the configuration of pool {pool} flips {times} times")
            }
            Self::Release(version, fault) => write!(f, "release {version} is {}", fault.name()),
            Self::Webhook(writes) => write!(f, "a webhook for {writes} is unreachable"),
            Self::Crd(name, fault) => write!(f, "definition {name} has {}", fault.name()),
        }
    }
}

impl std::fmt::Display for Faulty {
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
            Self::Webhook(writes) => write!(f, "a webhook for {writes}"),
            Self::Crd(name) => write!(f, "definition {name}"),
        }
    }
}
