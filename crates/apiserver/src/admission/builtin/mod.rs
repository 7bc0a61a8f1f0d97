//! Kubernetes' own admission plug-ins, a file each.

mod default_tolerations;
mod limit_ranger;
mod namespace_lifecycle;
mod node_taints;
mod priority;
mod quota;
mod runtime_class;
mod service_account;
mod storage_protection;

use windtunnel_core::requests::admission::AdmissionPlugin;

use super::chain::Stage;
pub(crate) use priority::PRIORITY_CLASSES;

/// The list of a server: Kubernetes' plug-ins in Kubernetes' order (`AllOrderedPlugins`), then those of the distribution, then
/// policies, webhooks and quotas. `is_on` decides by name which of Kubernetes' own it has.
pub(crate) fn stages(
    distribution: Vec<Box<dyn AdmissionPlugin>>,
    is_on: impl Fn(&str) -> bool,
) -> Vec<Stage> {
    let own: [Box<dyn AdmissionPlugin>; 8] = [
        Box::new(namespace_lifecycle::NamespaceLifecycle),
        Box::new(limit_ranger::LimitRanger),
        Box::new(service_account::ServiceAccount),
        Box::new(node_taints::TaintNodesByCondition),
        Box::new(priority::Priority::default()),
        Box::new(default_tolerations::DefaultTolerationSeconds),
        Box::new(storage_protection::StorageObjectInUseProtection),
        Box::new(runtime_class::RuntimeClass),
    ];
    let own = own.into_iter().filter(|plugin| is_on(plugin.name())).map(Stage::Plugin);
    let engines = Stage::ENGINES.into_iter().filter(|engine| is_on(engine.name()));
    own.chain(distribution.into_iter().map(Stage::Plugin)).chain(engines).collect()
}
