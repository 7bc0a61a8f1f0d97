//! The marks of the cluster-version operator and of the machine-config operator.

windtunnel_core::marks! {
    STATUS_CONFLICT = "the status of ClusterVersion is written again after a conflict";
    STATUS_GIVEN_UP = "a status of ClusterVersion is given up after too many failures";
    VERSION_RECREATED = "ClusterVersion is created again during a status write";
    STOPPED_IN_RETRIEVAL = "the cluster-version operator is terminated while it retrieves a payload";
    STOPPED_IN_UPDATE = "the cluster-version operator is terminated during an update";
    RETARGETED_IN_RETRIEVAL = "an update is retargeted while a payload is retrieved";
    BACK_TO_OWN_RELEASE = "a request for the operator's own release ends an update";
    BACK_TO_OLDER_MINOR = "a release of an older minor is retrieved";
    REFUSED_IN_UPDATE = "a release is refused during an update to another one";
    FORCED_UNVERIFIED = "a release without a valid signature is forced";
    RETRIEVAL_TIMED_OUT = "the retrieval of a payload times out";
    PRUNING_FAILED = "an earlier retrieval cannot be deleted";
    EVICTION_REFUSED = "an eviction is repeated after a disruption budget refused it";
    EVICTION_FAILED = "an attempt to drain a node ends with an error";
    DRAIN_TOO_LONG = "a drain takes longer than an hour";
    CORDONED_AGAIN = "a node is cordoned again during a drain";
    DRAIN_ABANDONED = "the request of a drain is gone before the drain is complete";
    OPERATOR_NODE_DEFERRED = "the node of the machine-config operator is updated later";
    PAUSED_POOL_BEHIND = "a paused pool has nodes with an old configuration";
    NODE_IN_SEVERAL_POOLS = "several custom pools select a node";
    RETARGETED_AT_WORK = "the desired configuration of a node changes during its update";
    DAEMON_STARTS_OVER = "a machine-config daemon starts over after a rejected write";
    DAEMON_FINISHES_FIRST = "a machine-config daemon ignores a termination during an update";
    DAEMON_TRIES_AGAIN = "a machine-config daemon waits before it tries an update again";
    DAEMON_WAITS_FOR_DRAIN = "a machine-config daemon waits for a drain that takes too long";
    MACHINE_DRIFTED = "the disk of a machine differs from its configuration";
}
