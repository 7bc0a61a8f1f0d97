//! The capacity of the machine of a node. Schedulers bind no pods to a node that reports none.

use serde_json::{Value, json};

/// Sets the capacity that a kubelet reports in the status of its node: 4 CPUs and 16 GiB. Allocatable is less
/// by OpenShift's `systemReserved` (500m and 1Gi) and by the `evictionHard` thresholds.
pub fn set_capacity(node: &mut Value) {
    let status = &mut node["status"];
    status["capacity"] = amounts("4", "125293548Ki", "15944104Ki");
    status["allocatable"] = amounts("3500m", "114396791822", "14793128Ki");
}

fn amounts(cpu: &str, storage: &str, memory: &str) -> Value {
    json!({
        "cpu": cpu,
        "ephemeral-storage": storage,
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "memory": memory,
        "pods": "250",
    })
}
