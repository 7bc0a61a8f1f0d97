//! The annotations and labels by which the machine-config controller and the daemons communicate.

/// The MachineConfig that the node has, written after an update is complete.
pub const CURRENT_CONFIG: &str = "machineconfiguration.openshift.io/currentConfig";
/// The MachineConfig that the node must have.
pub const DESIRED_CONFIG: &str = "machineconfiguration.openshift.io/desiredConfig";
/// The custom OS image that the node has. Absent without one.
pub const CURRENT_IMAGE: &str = "machineconfiguration.openshift.io/currentImage";
/// The custom OS image that the node must have. Absent for the release's own image.
pub const DESIRED_IMAGE: &str = "machineconfiguration.openshift.io/desiredImage";
/// The MachineConfig of the machine's first boot.
pub const FIRST_PIVOT_CONFIG: &str = "machineconfiguration.openshift.io/firstPivotConfig";
/// The daemon's state: `Done`, `Working`, `Degraded` or `Unreconcilable`.
pub const STATE: &str = "machineconfiguration.openshift.io/state";
/// Why the daemon is degraded.
pub const REASON: &str = "machineconfiguration.openshift.io/reason";
/// `Rebooting` from just before a reboot until the daemon runs again (from 4.15).
pub const POST_CONFIG_ACTION: &str = "machineconfiguration.openshift.io/post-config-action";
/// The daemon's request to the drain controller: `drain-<config>` or `uncordon-<config>`.
pub const DESIRED_DRAIN: &str = "machineconfiguration.openshift.io/desiredDrain";
/// The last drain request that was completed.
pub const LAST_APPLIED_DRAIN: &str = "machineconfiguration.openshift.io/lastAppliedDrain";
/// The control plane's topology, set by the controller for the daemon.
pub const CONTROL_PLANE_TOPOLOGY: &str = "machineconfiguration.openshift.io/controlPlaneTopology";
/// The resource version of the ControllerConfig whose certificates the daemon last wrote to the disk (from
/// 4.14). It changes with each write of that object, even if the certificates stay the same.
pub const LAST_SYNCED_CONTROLLER_CONFIG: &str =
    "machineconfiguration.openshift.io/lastSyncedControllerConfigResourceVersion";
/// Whether the daemon last saw that the controller rotates the certificates of API servers (from 4.16).
pub const LAST_OBSERVED_SERVER_CA: &str = "machineconfiguration.openshift.io/lastObservedServerCAAnnotation";

/// On MachineConfigs and ControllerConfigs: the commit of the controller that created them.
pub const GENERATED_BY: &str = "machineconfiguration.openshift.io/generated-by-controller-version";
/// On ControllerConfigs: the build of the operator. A real controller of another build renders nothing
/// (`generateRenderedMachineConfig`).
pub const GENERATED_BY_VERSION: &str = "machineconfiguration.openshift.io/generated-by-version";
/// On rendered MachineConfigs and ControllerConfigs: their OpenShift version.
pub const RELEASE_VERSION: &str = "machineconfiguration.openshift.io/release-image-version";

/// On rendered MachineConfigs: `true` if the OS image is not that of the release.
pub const OS_IMAGE_OVERRIDDEN: &str = "machineconfiguration.openshift.io/os-image-url-overridden";

/// The label of MachineConfigs with their role.
pub const ROLE: &str = "machineconfiguration.openshift.io/role";
/// The label of pools that must be updated before the operator reports a completed update.
pub const REQUIRED: &str = "operator.machineconfiguration.openshift.io/required-for-upgrade";

/// The taint of nodes that wait for their update.
pub const UPDATE_IN_PROGRESS: &str = "UpdateInProgress";

/// On FeatureGate `cluster`, with `true`: windtunnel's machine-config controller does not change the kubelets'
/// feature gates until the next release, so that a switch of the feature set takes no reboots.
pub const QUICK_SWITCH: &str = "windtunnel.dev/quick-switch";
