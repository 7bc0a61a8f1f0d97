//! The writer of a value: a user or an operator.

use crate::schema::Path;

/// The programs that write the status of OpenShift's own kinds, by definition. A kind that is missing has a controller of
/// its own, or no field in its status.
///
/// Compared with openshift/api at 2a3d7391. The comments of its types name the writers of the status of Image, Ingress,
/// Authentication, OSImageStream and ClusterAPI, and its types show which statuses have no fields. Its markers
/// `openshift:file-pattern` name the operator that installs a definition, such as that of etcd for PacemakerCluster. Nothing
/// there names the other writers, which are what is generally known of OpenShift. No source of an operator was compared.
const STATUS_WRITERS: &[(&str, &str)] = &[
    ("alertingrules.monitoring.openshift.io", "cluster-monitoring-operator"),
    ("alertrelabelconfigs.monitoring.openshift.io", "cluster-monitoring-operator"),
    ("apirequestcounts.apiserver.openshift.io", "kube-apiserver"),
    ("authentications.config.openshift.io", "authentication-operator and the operators of OIDC clients"),
    ("authentications.operator.openshift.io", "authentication-operator"),
    ("cloudcredentials.operator.openshift.io", "cloud-credential-operator"),
    ("cloudprivateipconfigs.cloud.network.openshift.io", "cloud-network-config-controller"),
    (
        "clusterapis.operator.openshift.io",
        "the installer and revision controllers of the Cluster API operator",
    ),
    ("clustercsidrivers.operator.openshift.io", "the CSI driver operators"),
    ("clusterimagepolicies.config.openshift.io", "machine-config-controller"),
    ("clusteroperators.config.openshift.io", "every operator"),
    ("clusterresourcequotas.quota.openshift.io", "cluster-policy-controller"),
    ("clusterversions.config.openshift.io", "cluster-version-operator"),
    ("compatibilityrequirements.apiextensions.openshift.io", "crd-compatibility-checker"),
    ("configs.imageregistry.operator.openshift.io", "image-registry-operator"),
    ("configs.operator.openshift.io", "config-operator"),
    ("configs.samples.operator.openshift.io", "samples-operator"),
    ("consoles.config.openshift.io", "console-operator"),
    ("consoles.operator.openshift.io", "console-operator"),
    ("containerruntimeconfigs.machineconfiguration.openshift.io", "machine-config-controller"),
    ("controllerconfigs.machineconfiguration.openshift.io", "machine-config-operator"),
    ("controlplanemachinesets.machine.openshift.io", "control-plane-machine-set-operator"),
    ("criocredentialproviderconfigs.config.openshift.io", "machine-config-controller"),
    ("csisnapshotcontrollers.operator.openshift.io", "csi-snapshot-controller-operator"),
    ("datagathers.insights.openshift.io", "insights-operator"),
    ("dnses.operator.openshift.io", "dns-operator"),
    ("dnsrecords.ingress.operator.openshift.io", "ingress-operator"),
    ("egressrouters.network.operator.openshift.io", "network-operator"),
    ("etcds.operator.openshift.io", "etcd-operator"),
    ("featuregates.config.openshift.io", "config-operator"),
    ("imagepolicies.config.openshift.io", "machine-config-controller"),
    ("imagepruners.imageregistry.operator.openshift.io", "image-registry-operator"),
    ("images.config.openshift.io", "image-registry-operator"),
    ("infrastructures.config.openshift.io", "the installer and config-operator"),
    ("ingresscontrollers.operator.openshift.io", "ingress-operator"),
    ("ingresses.config.openshift.io", "the installer and the operators of the routes"),
    ("insightsoperators.operator.openshift.io", "insights-operator"),
    ("internalreleaseimages.machineconfiguration.openshift.io", "machine-config-operator"),
    ("kubeapiservers.operator.openshift.io", "kube-apiserver-operator"),
    ("kubecontrollermanagers.operator.openshift.io", "kube-controller-manager-operator"),
    ("kubeletconfigs.machineconfiguration.openshift.io", "machine-config-controller"),
    ("kubeschedulers.operator.openshift.io", "kube-scheduler-operator"),
    ("kubestorageversionmigrators.operator.openshift.io", "kube-storage-version-migrator-operator"),
    ("machineconfignodes.machineconfiguration.openshift.io", "machine-config-daemon"),
    ("machineconfigpools.machineconfiguration.openshift.io", "machine-config-controller"),
    ("machineconfigurations.operator.openshift.io", "machine-config-operator"),
    ("machinehealthchecks.machine.openshift.io", "machine-api-operator"),
    ("machineosbuilds.machineconfiguration.openshift.io", "machine-os-builder"),
    ("machineosconfigs.machineconfiguration.openshift.io", "machine-os-builder"),
    ("machines.machine.openshift.io", "machine-api-operator"),
    ("machinesets.machine.openshift.io", "machine-api-operator"),
    ("networks.config.openshift.io", "network-operator"),
    ("networks.operator.openshift.io", "network-operator"),
    ("olms.operator.openshift.io", "cluster-olm-operator"),
    ("openshiftapiservers.operator.openshift.io", "openshift-apiserver-operator"),
    ("openshiftcontrollermanagers.operator.openshift.io", "openshift-controller-manager-operator"),
    ("operatorhubs.config.openshift.io", "marketplace-operator"),
    ("osimagestreams.machineconfiguration.openshift.io", "machine-config-operator"),
    ("pacemakerclusters.etcd.openshift.io", "etcd-operator"),
    ("podnetworkconnectivitychecks.controlplane.operator.openshift.io", "the connectivity check controllers"),
    ("proxies.config.openshift.io", "network-operator"),
    ("routes.route.openshift.io", "the routers"),
    ("servicecas.operator.openshift.io", "service-ca-operator"),
    ("storages.operator.openshift.io", "storage-operator"),
];

/// Kinds whose objects operators write as a whole, by definition.
const OBJECT_WRITERS: &[(&str, &str)] = &[
    ("controllerconfigs.machineconfiguration.openshift.io", "machine-config-operator"),
    ("machineconfignodes.machineconfiguration.openshift.io", "machine-config-operator"),
    ("machineosbuilds.machineconfiguration.openshift.io", "machine-os-builder"),
];

/// The writer of a value at a path of a definition's objects.
pub(crate) fn writer(definition: &str, path: &Path) -> String {
    let find = |table: &[(&str, &'static str)]| {
        table.iter().find(|(name, _)| *name == definition).map(|(_, writer)| *writer)
    };
    match path.section() {
        "status" => find(STATUS_WRITERS).unwrap_or("its controller").to_owned(),
        _ => find(OBJECT_WRITERS).unwrap_or("users").to_owned(),
    }
}
