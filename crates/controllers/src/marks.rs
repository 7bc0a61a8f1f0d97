//! The marks of the controllers of Kubernetes and of the kubelet.

windtunnel_core::marks! {
    CONFLICT_RETRIED = "a controller repeats its work after a conflict";
    REJECTION_RETRIED = "a controller repeats its work after a rejected write";
    UPDATE_WITHOUT_EFFECT = "a controller leaves out an update that changed nothing before";
    NODE_SILENT = "a node that posts nothing is marked as unknown";
    POD_OF_SILENT_NODE = "a pod of a silent node is marked as not ready";
    EVICTED_BY_TAINT = "a pod is deleted because it does not tolerate a taint";
    TAINTS_REMOVED = "a node loses a taint of the node lifecycle";
    DEPENDENTS_ORPHANED = "dependents are kept when their owner goes";
    OWNER_GONE = "a dependent is deleted after its owner";
    OWNERS_IN_A_CYCLE = "owners wait for each other's deletion";
    NO_NODE_FITS = "no node fits a pod";
    POD_OF_GONE_NODE = "a pod of a deleted node is removed";
    JOB_BACK_OFF = "a Job reaches its back-off limit";
    JOB_DEADLINE = "a Job passes its deadline";
    ROLLOUT_DEADLINE = "a Deployment passes its progress deadline";
    PULL_BACK_OFF = "a kubelet waits before it pulls an image again";
    POD_DEADLINE = "a kubelet ends a pod that passed its deadline";
}
