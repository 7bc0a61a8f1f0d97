//! The cluster, the node and the time of one check by the kubelet.

use windtunnel_core::View;
use windtunnel_core::clock::Time;
use windtunnel_core::rng::Streams;

use crate::environment::NodeEnvironment;
use crate::registries_conf::RegistriesConf;

/// The environment of a check.
pub(in crate::kubelet) struct SyncContext<'a> {
    /// The cluster.
    pub(in crate::kubelet) view: &'a View,
    /// The environment outside the cluster.
    pub(in crate::kubelet) environment: &'a dyn NodeEnvironment,
    /// The registries and mirrors of the node.
    pub(in crate::kubelet) registries: &'a RegistriesConf,
    /// The random streams of the run.
    pub(in crate::kubelet) streams: Streams,
    /// The minor version of the kubelet.
    pub(in crate::kubelet) minor: u32,
    /// The address of the node.
    pub(in crate::kubelet) host: Option<&'a str>,
    /// The current time.
    pub(in crate::kubelet) now: Time,
}
