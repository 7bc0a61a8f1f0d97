//! The site of a process of the user's machine.

use windtunnel_core::Key;
use windtunnel_core::resources::PODS;

/// The place of a process of the user's machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine) enum ProgramSite {
    /// In a container of a pod.
    Container(Key, String),
    /// Beside the cluster, by its name.
    Beside(String),
    /// Beside the cluster, while a step runs it.
    Step,
}

impl ProgramSite {
    /// The name by which the backend knows the process. The name of a program contains no slash.
    pub(in crate::engine) fn id(&self) -> String {
        match self {
            Self::Container(pod, container) => format!("{}/{}/{container}", pod.namespace, pod.name),
            Self::Beside(name) => name.clone(),
            // No program has such a name.
            Self::Step => "/step".to_owned(),
        }
    }

    /// The pod and the container of its log. Programs beside the cluster have a log of their own name.
    pub(in crate::engine) fn log(&self) -> (Key, &str) {
        match self {
            Self::Container(pod, container) => (pod.clone(), container),
            Self::Beside(name) => (PODS.key("", name), name),
            Self::Step => (PODS.key("", "step"), "step"),
        }
    }
}
