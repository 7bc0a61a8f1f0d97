//! The size of the machine beneath a node: schedulers bind no pod to a node that reports none.

use serde_json::{Value, json};

/// Puts into the status of a node what its kubelet reports of the machine: 4 CPUs and 16 GiB, less what OpenShift keeps for the
/// system (`systemReserved` of 500m and 1Gi) and what is never given away (`evictionHard`).
pub fn measure(node: &mut Value) {
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
