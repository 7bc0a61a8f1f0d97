//! Kubernetes' own admission plug-ins, a file each.

mod always;
mod anti_affinity;
mod certificates;
mod claim_resize;
mod default_class;
mod default_tolerations;
mod extended_resources;
mod external_addresses;
mod limit_ranger;
mod namespace_exists;
mod namespace_lifecycle;
mod node_restriction;
mod node_selector;
mod node_taints;
mod owner_permissions;
mod pod_resize;
mod pod_security;
mod priority;
mod pull_images;
mod quota;
mod runtime_class;
mod service_account;
pub(super) mod settings;
mod storage_protection;
#[cfg(test)]
mod testing;
mod toleration_restriction;
mod topology_labels;

use windtunnel_core::requests::admission::AdmissionPlugin;

use self::settings::Settings;
use super::chain::Stage;
pub(crate) use priority::PRIORITY_CLASSES;

/// The list of a server: Kubernetes' plug-ins in Kubernetes' order (`AllOrderedPlugins`), then those of the distribution, then
/// policies, webhooks, quotas and `AlwaysDeny`. `is_on` decides by name which of Kubernetes' own it has; `settings` are theirs.
pub(crate) fn stages(
    distribution: Vec<Box<dyn AdmissionPlugin>>,
    settings: Settings,
    is_on: impl Fn(&str) -> bool,
) -> Vec<Stage> {
    let own: [Box<dyn AdmissionPlugin>; 27] = [
        Box::new(always::AlwaysAdmit),
        Box::new(namespace_lifecycle::NamespaceLifecycle),
        Box::new(namespace_exists::NamespaceExists),
        Box::new(anti_affinity::LimitPodHardAntiAffinityTopology),
        Box::new(limit_ranger::LimitRanger),
        Box::new(service_account::ServiceAccount),
        Box::new(node_restriction::NodeRestriction),
        Box::new(node_taints::TaintNodesByCondition),
        Box::new(pull_images::AlwaysPullImages),
        Box::new(pod_security::PodSecurity(settings.pod_security)),
        Box::new(node_selector::PodNodeSelector(settings.node_selectors)),
        Box::new(priority::Priority::default()),
        Box::new(default_tolerations::DefaultTolerationSeconds),
        Box::new(toleration_restriction::PodTolerationRestriction(settings.tolerations)),
        Box::new(extended_resources::ExtendedResourceToleration),
        Box::new(default_class::DefaultStorageClass),
        Box::new(storage_protection::StorageObjectInUseProtection),
        Box::new(owner_permissions::OwnerReferencesPermissionEnforcement),
        Box::new(claim_resize::PersistentVolumeClaimResize),
        Box::new(runtime_class::RuntimeClass),
        Box::new(certificates::CertificateApproval),
        Box::new(certificates::CertificateSigning),
        Box::new(certificates::CertificateSubjectRestriction),
        Box::new(default_class::DefaultIngressClass),
        Box::new(external_addresses::DenyServiceExternalIps),
        Box::new(topology_labels::PodTopologyLabels),
        Box::new(pod_resize::PodResizeValidator),
    ];
    let own = own.into_iter().filter(|plugin| is_on(plugin.name())).map(Stage::Plugin);
    let engines = Stage::ENGINES.into_iter().filter(|engine| is_on(engine.name()));
    let deny: Box<dyn AdmissionPlugin> = Box::new(always::AlwaysDeny);
    let last = is_on(deny.name()).then_some(Stage::Plugin(deny));
    own.chain(distribution.into_iter().map(Stage::Plugin)).chain(engines).chain(last).collect()
}
