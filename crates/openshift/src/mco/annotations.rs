//! The annotations by which the machine-config controller and the daemons speak with one another.

/// The MachineConfig that the node has; written when everything about it is done.
pub const CURRENT_CONFIG: &str = "machineconfiguration.openshift.io/currentConfig";
/// The MachineConfig that the node shall have.
pub const DESIRED_CONFIG: &str = "machineconfiguration.openshift.io/desiredConfig";
/// The MachineConfig that its machine had when it started for the first time.
pub const FIRST_PIVOT_CONFIG: &str = "machineconfiguration.openshift.io/firstPivotConfig";
/// What the daemon does: `Done`, `Working`, `Degraded` or `Unreconcilable`.
pub const STATE: &str = "machineconfiguration.openshift.io/state";
/// Why it is degraded.
pub const REASON: &str = "machineconfiguration.openshift.io/reason";
/// `Rebooting` from right before a reboot until the daemon is back (from 4.15).
pub const POST_CONFIG_ACTION: &str = "machineconfiguration.openshift.io/post-config-action";
/// What the daemon wants of the drain controller: `drain-<config>` or `uncordon-<config>`.
pub const DESIRED_DRAIN: &str = "machineconfiguration.openshift.io/desiredDrain";
/// The last such wish that came true.
pub const LAST_APPLIED_DRAIN: &str = "machineconfiguration.openshift.io/lastAppliedDrain";
/// The topology that the daemon learns from the controller.
pub const CONTROL_PLANE_TOPOLOGY: &str = "machineconfiguration.openshift.io/controlPlaneTopology";
/// The resource version of the ControllerConfig whose certificates the daemon last wrote to the disk (from 4.14). It becomes another
/// one with each write of that object, whatever is in it.
pub const LAST_SYNCED_CONTROLLER_CONFIG: &str =
    "machineconfiguration.openshift.io/lastSyncedControllerConfigResourceVersion";
/// Whether the daemon last saw the controller rotate the certificates of API servers (from 4.16).
pub const LAST_OBSERVED_SERVER_CA: &str = "machineconfiguration.openshift.io/lastObservedServerCAAnnotation";

/// Of MachineConfigs and ControllerConfigs: the commit of the controller that made them.
pub const GENERATED_BY: &str = "machineconfiguration.openshift.io/generated-by-controller-version";
/// Of rendered MachineConfigs and ControllerConfigs: the OpenShift version that they are of.
pub const RELEASE_VERSION: &str = "machineconfiguration.openshift.io/release-image-version";

/// Of rendered MachineConfigs: `true` where somebody chose another operating system than that of the release.
pub const OS_IMAGE_OVERRIDDEN: &str = "machineconfiguration.openshift.io/os-image-url-overridden";

/// The label that tells which role a MachineConfig is for.
pub const ROLE: &str = "machineconfiguration.openshift.io/role";
/// The label of pools that must be updated before the operator says that the cluster is.
pub const REQUIRED: &str = "operator.machineconfiguration.openshift.io/required-for-upgrade";

/// The taint of nodes that wait for their turn.
pub const UPDATE_IN_PROGRESS: &str = "UpdateInProgress";
