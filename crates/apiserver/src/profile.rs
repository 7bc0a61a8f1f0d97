//! The differences between Kubernetes minors, in one table.
//!
//! Each entry ends with its source. `Recorded`: recordings of real servers 1.32 and 1.36 show both behaviours
//! (`tests/conformance`), and the sources of the minors between show which one changed it. `Read`: from sources, and for
//! feature gates from the table of their stages.

/// The behaviour of one Kubernetes 1.x minor towards custom resources and watches.
#[expect(clippy::struct_excessive_bools, reason = "each is one difference between minors")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// The x of Kubernetes 1.x.
    pub minor: u32,
    /// Whether an update of the object tolerates schema errors of unchanged values (`CRDValidationRatcheting`). Read.
    pub ratchets_objects: bool,
    /// Whether a write to the status subresource tolerates schema errors of unchanged values.
    /// Recorded (1.32 with the backport).
    pub ratchets_status: bool,
    /// The part of the object that a write to the status subresource validates. Read.
    pub status_scope: StatusScope,
    /// Whether field paths of schema errors of a status write begin with `status`. Read.
    pub status_in_field: bool,
    /// Whether an enum violation stops the evaluation of rules, which adds an error that says so. Read.
    pub enum_blocks_rules: bool,
    /// Whether validation skips the properties of an object that has too few or too many (kubernetes/kube-openapi#412).
    /// Read.
    pub counts_end_objects: bool,
    /// Whether rules of schemas are evaluated (`CustomResourceValidationExpressions`). Read.
    pub rules: bool,
    /// Whether rules may compute their messages with expressions (`messageExpression`). Read.
    pub rules_have_expressions: bool,
    /// Whether rules may have a `reason` and a `fieldPath`. Read.
    pub rules_have_reasons: bool,
    /// Whether transition rules may run without an old value (`optionalOldSelf`). Read.
    pub rules_may_lack_old: bool,
    /// Whether the error of a failed rule shows scalar values and omits composite ones. Earlier minors show the type.
    /// Recorded.
    pub rules_show_values: bool,
    /// The message for a string that is too long. Read.
    pub too_long: TooLong,
    /// Whether errors print composite values as JSON. Earlier minors print them in Go syntax. Recorded.
    pub json_values: bool,
    /// Whether watches support `sendInitialEvents` (`WatchList`). Read.
    pub watch_list: bool,
    /// Whether definitions may declare fields for field selectors (`CustomResourceFieldSelectors`). Read.
    pub selectable_fields: bool,
    /// The versions of `apidiscovery.k8s.io` for aggregated discovery (`AggregatedDiscoveryEndpoint`). Read.
    pub discovery: &'static [&'static str],
    /// Whether lists and watches get an error while the storage of a kind is reinitialised
    /// (`ResilientWatchCacheInitialization`). In earlier minors they wait. Read.
    pub refuses_while_initialising: bool,
    /// Whether a service may have a name that begins with a digit (`RelaxedServiceNameValidation`). Recorded.
    pub relaxed_service_names: bool,
    /// Whether impersonation first checks the constrained permissions (`ConstrainedImpersonation`). Read.
    pub constrained_impersonation: bool,
}

/// The part of the object that a status write validates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusScope {
    /// The whole object: an invalid spec blocks status writes.
    WholeObject,
    /// Only the status.
    StatusOnly,
}

/// The messages for a string that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TooLong {
    /// `may not be longer than N`.
    LongerThan,
    /// `may not be more than N bytes`.
    Bytes,
    /// `may not be more than N bytes`, or `1 byte`.
    BytesOrByte,
}

/// A row for each minor that changes something; it applies until the minor of the next row.
const TABLE: &[Profile] = {
    use StatusScope::{StatusOnly, WholeObject};
    const OLDEST: Profile = Profile {
        minor: 0,
        ratchets_objects: false,
        ratchets_status: false,
        status_scope: WholeObject,
        status_in_field: true,
        enum_blocks_rules: false,
        counts_end_objects: true,
        rules: false,
        rules_have_expressions: false,
        rules_have_reasons: false,
        rules_may_lack_old: false,
        rules_show_values: false,
        too_long: TooLong::LongerThan,
        json_values: false,
        watch_list: false,
        selectable_fields: false,
        discovery: &[],
        refuses_while_initialising: false,
        relaxed_service_names: false,
        constrained_impersonation: false,
    };
    const V25: Profile = Profile { minor: 25, rules: true, ..OLDEST };
    const V27: Profile = Profile { minor: 27, rules_have_expressions: true, discovery: &["v2beta1"], ..V25 };
    const V28: Profile = Profile {
        minor: 28,
        counts_end_objects: false,
        rules_have_reasons: true,
        status_scope: StatusOnly,
        status_in_field: false,
        ..V27
    };
    const V29: Profile = Profile { minor: 29, enum_blocks_rules: true, ..V28 };
    const V30: Profile = Profile {
        minor: 30,
        ratchets_objects: true,
        rules_may_lack_old: true,
        discovery: &["v2", "v2beta1"],
        ..V29
    };
    const V31: Profile = Profile {
        minor: 31,
        status_in_field: true,
        selectable_fields: true,
        refuses_while_initialising: true,
        ..V30
    };
    const V32: Profile = Profile { minor: 32, too_long: TooLong::Bytes, watch_list: true, ..V31 };
    const V33: Profile =
        Profile { minor: 33, ratchets_status: true, watch_list: false, discovery: &["v2"], ..V32 };
    const V34: Profile =
        Profile { minor: 34, too_long: TooLong::BytesOrByte, json_values: true, watch_list: true, ..V33 };
    const V35: Profile = Profile { minor: 35, rules_show_values: true, ..V34 };
    const V36: Profile =
        Profile { minor: 36, relaxed_service_names: true, constrained_impersonation: true, ..V35 };
    &[OLDEST, V25, V27, V28, V29, V30, V31, V32, V33, V34, V35, V36]
};

/// The minors to which some distributions backported the ratcheting of status writes (kubernetes/kubernetes#129503), which
/// upstream has since 1.33.
const STATUS_RATCHETING_BACKPORTS: std::ops::RangeInclusive<u32> = 31..=32;

/// The changes of a server's profile while it runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rollout {
    backports: bool,
    /// The revision of the last change of the profile.
    since: u64,
}

impl Rollout {
    /// A server that has not changed its profile yet; `backports` as in [`Profile::of`].
    pub(crate) fn new(backports: bool) -> Self {
        Self { backports, since: 0 }
    }

    /// Changes to the profile of another minor at `revision`.
    pub(crate) fn change(&mut self, minor: u32, revision: u64) -> Profile {
        self.since = revision;
        Profile::of(minor, self.backports)
    }

    /// The revision of the last change.
    pub(crate) fn since(&self) -> u64 {
        self.since
    }
}

impl Profile {
    /// The behaviour of upstream Kubernetes 1.`minor`. With `backports`, 1.31 and 1.32 ratchet status writes, as
    /// distributions with a backport of the fix do.
    pub fn of(minor: u32, backports: bool) -> Self {
        let row = TABLE.iter().rev().find(|row| row.minor <= minor).copied().unwrap_or(TABLE[0]);
        let has_backport = backports && STATUS_RATCHETING_BACKPORTS.contains(&minor);
        Self { minor, ratchets_status: row.ratchets_status || has_backport, ..row }
    }

    /// The newer of two texts from minor `since` on, the earlier one before.
    pub(crate) fn since(&self, since: u32, earlier: &'static str, newer: &'static str) -> &'static str {
        if self.minor < since { earlier } else { newer }
    }

    /// The detail of a `Too long` error of a built-in field of at most `max` bytes (`field.TooLong`). Early minors word it
    /// differently than for schemas.
    pub(crate) fn too_many_bytes_text(&self, max: u64) -> String {
        match self.too_long {
            TooLong::LongerThan => format!("must have at most {max} bytes"),
            _ => self.too_long_text(max),
        }
    }

    /// The detail of a `Too long` error of a schema with at most `max` characters.
    pub(crate) fn too_long_text(&self, max: u64) -> String {
        match self.too_long {
            TooLong::LongerThan => format!("may not be longer than {max}"),
            TooLong::BytesOrByte if max == 1 => "may not be more than 1 byte".to_owned(),
            TooLong::Bytes | TooLong::BytesOrByte => format!("may not be more than {max} bytes"),
        }
    }
}

/// The first minors of changes in the behaviour of built-in kinds.
pub(crate) mod since {
    /// Checks of the restricted level of pod security replace those of the baseline level that they include. Read.
    pub(crate) const POD_SECURITY_REPLACEMENTS: u32 = 24;
    /// Pod security ignores changes of the annotation with the seccomp profile of a pod. Read.
    pub(crate) const NO_SECCOMP_OF_PODS: u32 = 25;
    /// Pod security warns about the level that it enforces, if that is stricter. Read.
    pub(crate) const POD_SECURITY_WARNS_AS_IT_ENFORCES: u32 = 26;
    /// Messages about SELinux options name users and roles without a type. Read.
    pub(crate) const SE_LINUX_DETAILS: u32 = 26;
    /// Pod security ignores changes of annotations with seccomp profiles of containers. Read.
    pub(crate) const NO_SECCOMP_OF_CONTAINERS: u32 = 27;
    /// Pod security checks the fields with AppArmor profiles. Read.
    pub(crate) const APP_ARMOR_FIELDS: u32 = 30;
    /// The restricted level of pod security allows image volumes. Read.
    pub(crate) const RESTRICTED_IMAGE_VOLUMES: u32 = 33;
    /// Of several default ingress classes, the newest one counts. Earlier, they are an error. Read.
    pub(crate) const NEWEST_INGRESS_CLASS: u32 = 25;
    /// Of several default storage classes, the newest one counts. Earlier, they are an error. Read.
    pub(crate) const NEWEST_STORAGE_CLASS: u32 = 26;
    /// The server checks the certificates that kubelets request (`AllowInsecureKubeletCertificateSigningRequests`, off).
    /// Read.
    pub(crate) const KUBELET_CERTIFICATES_CHECKED: u32 = 31;
    /// Kubelets cannot change the owners of their node. Read.
    pub(crate) const OWNERS_OF_NODES_CHECKED: u32 = 31;
    /// Kubelets get tokens for the audiences that pods mount (`ServiceAccountNodeAudienceRestriction`, beta). Read.
    pub(crate) const TOKEN_AUDIENCES_CHECKED: u32 = 33;
    /// The server compares the new resources of a pod with its node (`PodResizeValidator`). Recorded.
    pub(crate) const RESIZE_CHECKED_BY_NODE: u32 = 36;
    /// Pods get the zone and the region of their node as labels (`PodTopologyLabelsAdmission`, beta). Recorded.
    pub(crate) const TOPOLOGY_LABELS: u32 = 35;
    /// Pods have a generation, whatever the gate `PodObservedGenerationTracking` is. Recorded.
    pub(crate) const POD_GENERATION: u32 = 33;
    /// Names of StatefulSets are DNS labels. Read.
    pub(crate) const LABELS_OF_STATEFUL_SETS: u32 = 27;
    /// OpenAPI has the fields by which custom resources can be selected (`CustomResourceFieldSelectors`, beta). Read.
    pub(crate) const SELECTABLE_FIELDS: u32 = 31;
    /// The version of the server names the version that it emulates and the oldest compatible one. Read.
    pub(crate) const EMULATED_VERSION: u32 = 33;
    /// The error about a continue token shows its version without quotes. Recorded.
    pub(crate) const PLAIN_TOKEN_VERSION: u32 = 36;
    /// A body of a deletion that is no delete options is a bad request. Recorded.
    pub(crate) const OPTIONS_ARE_BAD_REQUESTS: u32 = 36;
    /// Servers have an effective version (KEP 4330), which OpenAPI names. Read.
    pub(crate) const EFFECTIVE_VERSION: u32 = 31;
    /// The labels of a job's pods have the prefix of the group. Read.
    pub(crate) const JOB_LABEL_PREFIX: u32 = 27;
    /// Volumes have the time of their last phase change (`PersistentVolumeLastPhaseTransitionTime`, beta). Read.
    pub(crate) const VOLUME_PHASE_TIME: u32 = 29;
    /// Jobs have a `podReplacementPolicy` (`JobPodReplacementPolicy`, beta). Read.
    pub(crate) const JOB_REPLACEMENT_POLICY: u32 = 29;
    /// Jobs have an explicit `manualSelector`. Read.
    pub(crate) const JOB_MANUAL_SELECTOR: u32 = 30;
    /// StatefulSets have a retention policy for their claims (`StatefulSetAutoDeletePVC`, beta). Read.
    pub(crate) const CLAIM_RETENTION: u32 = 27;
    /// Environment variables may have nearly any name (`RelaxedEnvironmentVariableValidation`, beta). Read.
    pub(crate) const RELAXED_ENVIRONMENT: u32 = 32;
    /// Pods can sleep for no time before they stop (`PodLifecycleSleepActionAllowZero`, beta). Recorded.
    pub(crate) const ZERO_SLEEP: u32 = 33;
    /// Search paths of DNS may be `.` and have underscores (`RelaxedDNSSearchValidation`, beta). Recorded.
    pub(crate) const RELAXED_SEARCHES: u32 = 33;
    /// Pods as a whole have resources (`PodLevelResources`, beta). Read.
    pub(crate) const POD_RESOURCES: u32 = 34;
    /// The server adds `matchLabelKeys` of spread constraints to their selectors
    /// (`MatchLabelKeysInPodTopologySpreadSelectorMerge`, beta). Recorded.
    pub(crate) const MERGED_SPREAD_KEYS: u32 = 34;
    /// The server adds `matchLabelKeys` and `mismatchLabelKeys` of affinity to selectors
    /// (`MatchLabelKeysInPodAffinity`, beta). Read.
    pub(crate) const MERGED_AFFINITY_KEYS: u32 = 31;
    /// All containers have restart policies, with rules for exit codes (`ContainerRestartRules`, beta). Read.
    pub(crate) const CONTAINER_RESTART_RULES: u32 = 35;
    /// Rules can restart all containers of a pod (`RestartAllContainersOnContainerExits`, beta). Read.
    pub(crate) const RESTART_OF_ALL_CONTAINERS: u32 = 36;
    /// Variables can be in files of volumes (`EnvFiles`, beta). Recorded.
    pub(crate) const ENVIRONMENT_FILES: u32 = 35;
    /// Tolerations know the operators `Lt` and `Gt` (`TaintTolerationComparisonOperators`, alpha and off). Recorded.
    pub(crate) const COMPARING_TOLERATIONS: u32 = 35;
    /// Bound pods cannot be nominated for a node (`ClearingNominatedNodeNameAfterBinding`, beta). Read.
    pub(crate) const CLEARED_NOMINATIONS: u32 = 35;
    /// The resources of containers can change, by the subresource `resize` (`InPlacePodVerticalScaling`, beta).
    /// Recorded.
    pub(crate) const POD_RESIZE_PART: u32 = 33;
    /// The resources of pods as a whole can change (`InPlacePodLevelResourcesVerticalScaling`, beta). Read.
    pub(crate) const POD_RESIZE: u32 = 36;
    /// The resources of init containers can change (`InPlacePodVerticalScalingInitContainers`, beta). Read.
    pub(crate) const INIT_RESIZE: u32 = 36;
    /// Evicted pods have a condition that says so (`PodDisruptionConditions`, beta). Read.
    pub(crate) const EVICTION_CONDITION: u32 = 26;
    /// Claims may request less after a failed expansion (`RecoverVolumeExpansionFailure`, beta). Read.
    pub(crate) const EXPANSION_RECOVERY: u32 = 32;
    /// The server warns about unknown and repeated fields, or rejects them (`ServerSideFieldValidation`, beta). Read.
    pub(crate) const FIELD_VALIDATION: u32 = 25;
    /// The server generates another name if the first one is taken (`RetryGenerateName`, beta). Read.
    pub(crate) const GENERATED_NAMES_RETRIED: u32 = 31;
    /// Policies may change objects (`MutatingAdmissionPolicy`, with version v1). Read.
    pub(crate) const MUTATING_POLICIES: u32 = 36;
    /// Addresses and ranges have no leading zeros, no mapped addresses and no stray bits (`StrictIPCIDRValidation`, beta).
    /// Read.
    pub(crate) const STRICT_ADDRESSES: u32 = 36;
    /// The server warns about addresses that are not in the usual form. Read.
    pub(crate) const ADDRESS_WARNINGS: u32 = 33;
    /// The server warns about external addresses of services. Read.
    pub(crate) const EXTERNAL_ADDRESS_WARNING: u32 = 36;
    /// Services may prefer endpoints of their node (`PreferSameTrafficDistribution`, beta). Read.
    pub(crate) const NODE_DISTRIBUTION: u32 = 34;
    /// The server warns about the older name of the preference for the zone. Read.
    pub(crate) const PREFER_CLOSE_WARNING: u32 = 35;
    /// The annotation for the topology of a service has a new name. Read.
    pub(crate) const TOPOLOGY_MODE: u32 = 27;
    /// Only load balancers have addresses in their status (`AllowServiceLBStatusOnNonLB`, off). Read.
    pub(crate) const BALANCER_STATUS: u32 = 29;
    /// The addresses of load balancers have a mode (`LoadBalancerIPMode`, beta). Read.
    pub(crate) const BALANCER_MODE: u32 = 30;
    /// Errors about immutable fields show the change as a diff of JSON. Recorded.
    pub(crate) const JSON_DIFFERENCES: u32 = 34;
    /// A change of a storage class is invalid because its fields are immutable, not forbidden. Read.
    pub(crate) const STORAGE_CLASS_IMMUTABLE: u32 = 36;
    /// The limits of a CSI driver on a node may change (`MutableCSINodeAllocatableCount`, on). Read.
    pub(crate) const MUTABLE_LIMITS: u32 = 35;
    /// CSI drivers may get tokens in secrets (`CSIServiceAccountTokenSecrets`, beta). Read.
    pub(crate) const TOKENS_IN_SECRETS: u32 = 35;
    /// The server warns about the `externalID` of nodes. Read.
    pub(crate) const EXTERNAL_ID_WARNING: u32 = 24;
    /// The server warns about the annotation that limits the secrets of a service account. Read.
    pub(crate) const MOUNTABLE_WARNING: u32 = 32;
    /// The data of a new ControllerRevision must be an object (kubernetes/kubernetes#125549). Read.
    pub(crate) const REVISION_DATA: u32 = 31;
    /// The service of a new StatefulSet must have a valid name (kubernetes/kubernetes#130233). Read.
    pub(crate) const STATEFUL_SET_SERVICE: u32 = 33;
    /// The templates of a StatefulSet, for pods and for claims, are validated (kubernetes/kubernetes#131790,
    /// kubernetes/kubernetes#132212). Recorded.
    pub(crate) const STATEFUL_SET_TEMPLATES: u32 = 34;
    /// Other controllers may manage jobs, so the server checks the transitions of their status (`JobManagedBy`, beta).
    /// Read.
    pub(crate) const JOB_MANAGED_BY: u32 = 32;
    /// A suspended job may change its template even after it ran (`MutablePodResourcesForSuspendedJobs` and
    /// `MutableSchedulingDirectivesForSuspendedJobs`, beta). Read.
    pub(crate) const MUTABLE_SUSPENDED_JOBS: u32 = 36;
    /// Autoscalers have a tolerance (`HPAConfigurableTolerance`, beta). Read.
    pub(crate) const AUTOSCALER_TOLERANCE: u32 = 35;
    /// Declarative rules validate autoscalers, with messages of their own (`DeclarativeValidation`). Recorded.
    pub(crate) const DECLARATIVE_AUTOSCALER: u32 = 36;
    /// The target of an autoscaler must name an API group. Recorded.
    pub(crate) const AUTOSCALER_TARGET_GROUP: u32 = 34;
    /// Details of field errors no longer repeat the name of the field, and count one item in the singular. Recorded.
    pub(crate) const SHORTER_DETAILS: u32 = 34;
    /// A resource version that is no number is a bad request for a list, instead of an internal error. Recorded.
    pub(crate) const LIST_VERSION_CHECKED: u32 = 33;
    /// Nobody may create objects of a definition that is being deleted, instead of there being no such method.
    /// Recorded.
    pub(crate) const TERMINATING_FORBIDS: u32 = 34;
    /// The error for a removed storage version explains how to migrate the objects. Recorded.
    pub(crate) const STORED_VERSIONS_EXPLAINED: u32 = 33;
    /// Addresses of services come from ServiceCIDR objects (`MultiCIDRServiceAllocator`, on). Recorded.
    pub(crate) const SERVICE_RANGES: u32 = 33;
    /// Metadata without a creation time is encoded without it, instead of with null (`omitzero`). Recorded.
    pub(crate) const ABSENT_TIMES_OMITTED: u32 = 34;
    /// The response to a token request has the uid of the service account. Recorded.
    pub(crate) const TOKEN_REQUEST_UID: u32 = 34;
    /// The error for the scale of a missing Deployment names the Deployment, not its scale. Recorded.
    pub(crate) const SCALE_OF_MISSING: u32 = 33;
    /// The server warns about negative history limits of StatefulSets. Recorded.
    pub(crate) const HISTORY_LIMIT_WARNING: u32 = 33;
    /// A start time that a running job loses is an immutable field, instead of a required one. Recorded.
    pub(crate) const START_TIME_IMMUTABLE: u32 = 36;
    /// Updates of DaemonSets and ReplicaSets are validated once, instead of twice. Recorded.
    pub(crate) const UPDATES_VALIDATED_ONCE: u32 = 34;
    /// A missing name of a CSI driver has one error, instead of that of an invalid name as well. Recorded.
    pub(crate) const DRIVER_NAMES_CHECKED_ONCE: u32 = 35;
    /// The handler of a RuntimeClass and the attacher of a VolumeAttachment are required by declarative rules.
    /// Recorded.
    pub(crate) const NAMES_REQUIRED: u32 = 36;
    /// EndpointSlices accept only addresses in the usual form, and unchanged endpoints are not validated again.
    /// Recorded.
    pub(crate) const SLICE_ADDRESSES: u32 = 33;
    /// Numbers in custom resources must be in the range of their type and format (kube-openapi). Recorded.
    pub(crate) const NUMBER_RANGES: u32 = 36;
    /// Devices have taints, partitions, conditions for binding and names of extended resources (`DRADeviceTaints` and
    /// others, beta). Read.
    pub(crate) const DEVICE_FEATURES: u32 = 36;
    /// Claims share a device (`DRAConsumableCapacity`, beta). Read.
    pub(crate) const CONSUMABLE_CAPACITY: u32 = 36;
    /// Writes of a claim's status need permissions for its parts (`DRAResourceClaimGranularStatusAuthorization`, beta). Read.
    pub(crate) const CLAIM_STATUS_PERMISSIONS: u32 = 36;
    /// Disruption budgets have an `unhealthyPodEvictionPolicy` (`PDBUnhealthyPodEvictionPolicy`, beta). Read.
    pub(crate) const EVICTION_POLICY: u32 = 27;
    /// Tables of nodes show the architecture. Recorded for 1.36, the first minor read.
    pub(crate) const NODE_ARCHITECTURE_SHOWN: u32 = 36;
    /// Tables of pods show why a container failed, beside others that completed. Recorded for 1.36, the first minor read.
    pub(crate) const FAILED_CONTAINER_SHOWN: u32 = 36;
    /// The error for an update that may not create the missing object names the user. Recorded for 1.36, the first minor read.
    pub(crate) const CREATION_BY_UPDATE_EXPLAINED: u32 = 36;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_writes_ratchet_from_1_33_and_with_backports_from_1_31() {
        let ratchets = |minor, backports| Profile::of(minor, backports).ratchets_status;
        let upstream: Vec<u32> = (24..=36).filter(|minor| ratchets(*minor, false)).collect();
        assert_eq!(upstream, [33, 34, 35, 36]);
        let backported: Vec<u32> = (24..=36).filter(|minor| ratchets(*minor, true)).collect();
        assert_eq!(backported, [31, 32, 33, 34, 35, 36]);
    }

    #[test]
    fn status_paths_have_no_prefix_from_1_28_to_1_30() {
        let without: Vec<u32> =
            (24..=36).filter(|minor| !Profile::of(*minor, false).status_in_field).collect();
        assert_eq!(without, [28, 29, 30]);
    }

    #[test]
    fn aggregated_discovery_is_served_from_1_27_and_without_beta_from_1_33() {
        let served = |minor| Profile::of(minor, false).discovery;
        assert_eq!(served(26), [""; 0]);
        assert_eq!(served(27), ["v2beta1"]);
        assert_eq!(served(30), ["v2", "v2beta1"]);
        assert_eq!(served(33), ["v2"]);
    }

    #[test]
    fn service_names_may_begin_with_a_digit_from_1_36() {
        let relaxed: Vec<u32> =
            (24..=36).filter(|minor| Profile::of(*minor, false).relaxed_service_names).collect();
        assert_eq!(relaxed, [36]);
    }

    #[test]
    fn too_long_message_depends_on_the_minor() {
        let text = |minor, max| Profile::of(minor, false).too_long_text(max);
        assert_eq!(text(31, 3), "may not be longer than 3");
        assert_eq!(text(33, 1), "may not be more than 1 bytes");
        assert_eq!(text(36, 1), "may not be more than 1 byte");
        let bytes = |minor| Profile::of(minor, false).too_many_bytes_text(3);
        assert_eq!(
            (bytes(31), bytes(32)),
            ("must have at most 3 bytes".into(), "may not be more than 3 bytes".into())
        );
    }
}
