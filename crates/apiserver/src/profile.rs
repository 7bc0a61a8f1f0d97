//! What differs between Kubernetes minors: one table, and nothing about versions anywhere else.

/// The behaviour of one Kubernetes 1.x minor towards custom resources and watches.
#[expect(clippy::struct_excessive_bools, reason = "each stands for one difference between minors")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// The x of Kubernetes 1.x.
    pub minor: u32,
    /// Whether an update of the object tolerates schema errors of values that did not change
    /// (`CRDValidationRatcheting`).
    pub ratchets_objects: bool,
    /// The same for writes to the status subresource.
    pub ratchets_status: bool,
    /// What a write to the status subresource validates against the schema.
    pub status_scope: StatusScope,
    /// Whether field paths of schema errors of a status write begin with `status`.
    pub status_in_field: bool,
    /// Whether an enum violation stops the evaluation of rules (and so adds the remark about it).
    pub enum_blocks_rules: bool,
    /// Whether an object with too few or too many properties is not looked into (kubernetes/kube-openapi#412).
    pub counts_end_objects: bool,
    /// Whether rules of schemas are evaluated (`CustomResourceValidationExpressions`).
    pub rules: bool,
    /// Whether rules may give their messages by expressions (`messageExpression`).
    pub rules_have_expressions: bool,
    /// Whether rules may have a `reason` and a `fieldPath`.
    pub rules_have_reasons: bool,
    /// Whether rules about changes may be evaluated without an old value (`optionalOldSelf`).
    pub rules_may_lack_old: bool,
    /// Whether the error of a broken rule shows the value if it is a scalar, and else nothing; before, the type.
    pub rules_show_values: bool,
    /// How a string that is too long is worded.
    pub too_long: TooLong,
    /// Whether values that are no scalars stand in errors as JSON; else in Go syntax.
    pub json_values: bool,
    /// Whether `sendInitialEvents` is served (`WatchList`).
    pub watch_list: bool,
    /// Whether definitions may name fields that objects are selected by (`CustomResourceFieldSelectors`).
    pub selectable_fields: bool,
    /// The versions of `apidiscovery.k8s.io` in which discovery is served at once (`AggregatedDiscoveryEndpoint`).
    pub discovery: &'static [&'static str],
    /// Whether lists and watches are refused while the storage of a kind is being made anew; before, they wait
    /// (`ResilientWatchCacheInitialization`).
    pub refuses_while_initialising: bool,
    /// Whether a service may have a name that begins with a digit (`RelaxedServiceNameValidation`).
    pub relaxed_service_names: bool,
    /// Whether acting as another user is first looked for among the narrow permissions (`ConstrainedImpersonation`).
    pub constrained_impersonation: bool,
}

/// What a status write validates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusScope {
    /// The whole object: an invalid spec blocks status writes.
    WholeObject,
    /// The status alone.
    StatusOnly,
}

/// Wordings of a string that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TooLong {
    /// `may not be longer than N`.
    LongerThan,
    /// `may not be more than N bytes`.
    Bytes,
    /// The same, with `1 byte`.
    BytesOrByte,
}

/// First minor of each row; a row holds until the next one begins.
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

/// The minors before upstream ratchets status writes in which a distribution may carry that fix
/// (kubernetes/kubernetes#129503, backported by some to 1.31 and 1.32).
const STATUS_RATCHETING_BACKPORTS: std::ops::RangeInclusive<u32> = 31..=32;

/// How a server came to its profile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rollout {
    backports: bool,
    /// The revision of the last change of the profile.
    since: u64,
}

impl Rollout {
    /// `backports` as in [`Profile::of`].
    pub(crate) fn new(backports: bool) -> Self {
        Self { backports, since: 0 }
    }

    /// The profile of another minor, from `revision` on.
    pub(crate) fn change(&mut self, minor: u32, revision: u64) -> Profile {
        self.since = revision;
        Profile::of(minor, self.backports)
    }

    pub(crate) fn since(&self) -> u64 {
        self.since
    }
}

impl Profile {
    /// The behaviour of upstream Kubernetes 1.`minor`. With `backports`, 1.31 and 1.32 ratchet status writes, as in
    /// distributions that carry the fix.
    pub fn of(minor: u32, backports: bool) -> Self {
        let row = TABLE.iter().rev().find(|row| row.minor <= minor).copied().unwrap_or(TABLE[0]);
        let carried = backports && STATUS_RATCHETING_BACKPORTS.contains(&minor);
        Self { minor, ratchets_status: row.ratchets_status || carried, ..row }
    }

    /// The detail of a `Too long` error of a built-in field of at most `max` bytes (`field.TooLong`), which schemas had
    /// other words for until both got the same.
    pub(crate) fn too_many_bytes_text(&self, max: u64) -> String {
        match self.too_long {
            TooLong::LongerThan => format!("must have at most {max} bytes"),
            _ => self.too_long_text(max),
        }
    }

    /// The detail of a `Too long` error for at most `max` characters.
    pub(crate) fn too_long_text(&self, max: u64) -> String {
        match self.too_long {
            TooLong::LongerThan => format!("may not be longer than {max}"),
            TooLong::BytesOrByte if max == 1 => "may not be more than 1 byte".to_owned(),
            TooLong::Bytes | TooLong::BytesOrByte => format!("may not be more than {max} bytes"),
        }
    }
}

/// What built-in kinds begin to do, each with the first minor that does it.
pub(crate) mod since {
    /// From here on, pods count their generation (`PodObservedGenerationTracking`, beta).
    pub(crate) const POD_GENERATION: u32 = 33;
    /// From here on, the labels of a job's pods have the prefix of the group.
    pub(crate) const JOB_LABEL_PREFIX: u32 = 27;
    /// From here on, a volume says since when it has its phase (`PersistentVolumeLastPhaseTransitionTime`, beta).
    pub(crate) const VOLUME_PHASE_TIME: u32 = 29;
    /// From here on, jobs have a `podReplacementPolicy` (`JobPodReplacementPolicy`, beta).
    pub(crate) const JOB_REPLACEMENT_POLICY: u32 = 29;
    /// From here on, jobs write `manualSelector` out.
    pub(crate) const JOB_MANUAL_SELECTOR: u32 = 30;
    /// From here on, StatefulSets have a policy for their claims (`StatefulSetAutoDeletePVC`, beta).
    pub(crate) const CLAIM_RETENTION: u32 = 27;
    /// From here on, nearly any name of an environment variable goes (`RelaxedEnvironmentVariableValidation`, beta).
    pub(crate) const RELAXED_ENVIRONMENT: u32 = 32;
    /// From here on, an evicted pod says so in its status (`PodDisruptionConditions`, beta).
    pub(crate) const EVICTION_CONDITION: u32 = 26;
    /// From here on, a claim that could not grow may ask for less again (`RecoverVolumeExpansionFailure`, beta).
    pub(crate) const EXPANSION_RECOVERY: u32 = 32;
    /// From here on, unknown and repeated fields are warned of or refused (`ServerSideFieldValidation`, beta).
    pub(crate) const FIELD_VALIDATION: u32 = 25;
    /// From here on, another name is made where a generated one is taken (`RetryGenerateName`, beta).
    pub(crate) const GENERATED_NAMES_RETRIED: u32 = 31;
    /// From here on, policies may change objects (`MutatingAdmissionPolicy`, with version v1).
    pub(crate) const MUTATING_POLICIES: u32 = 36;
    /// From here on, budgets have an `unhealthyPodEvictionPolicy` (`PDBUnhealthyPodEvictionPolicy`, beta).
    pub(crate) const EVICTION_POLICY: u32 = 27;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_writes_are_ratcheted_from_1_33_and_where_the_fix_is_carried() {
        let ratchets = |minor, backports| Profile::of(minor, backports).ratchets_status;
        let upstream: Vec<u32> = (24..=36).filter(|minor| ratchets(*minor, false)).collect();
        assert_eq!(upstream, [33, 34, 35, 36]);
        let carried: Vec<u32> = (24..=36).filter(|minor| ratchets(*minor, true)).collect();
        assert_eq!(carried, [31, 32, 33, 34, 35, 36]);
    }

    #[test]
    fn the_prefix_of_status_paths_was_lost_from_1_28_to_1_30() {
        let lost: Vec<u32> = (24..=36).filter(|minor| !Profile::of(*minor, false).status_in_field).collect();
        assert_eq!(lost, [28, 29, 30]);
    }

    #[test]
    fn discovery_at_once_came_with_1_27_and_lost_its_beta_with_1_33() {
        let served = |minor| Profile::of(minor, false).discovery;
        assert_eq!(served(26), [""; 0]);
        assert_eq!(served(27), ["v2beta1"]);
        assert_eq!(served(30), ["v2", "v2beta1"]);
        assert_eq!(served(33), ["v2"]);
    }

    #[test]
    fn services_may_begin_with_a_digit_from_1_36() {
        let relaxed: Vec<u32> =
            (24..=36).filter(|minor| Profile::of(*minor, false).relaxed_service_names).collect();
        assert_eq!(relaxed, [36]);
    }

    #[test]
    fn too_long_is_worded_by_minor() {
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
