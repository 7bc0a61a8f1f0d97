//! The pods on nodes, and the resources that they request.

use std::collections::BTreeMap;

use serde_json::Value;
use windtunnel_core::quantity::Quantity;
use windtunnel_core::resources::PODS;
use windtunnel_core::{Object, View, pod};

/// Amounts of resources by name: CPUs in thousandths, others in whole units.
pub(super) type Amounts = BTreeMap<String, i64>;

/// The pods of all nodes.
pub(super) struct Load<'v> {
    running: BTreeMap<&'v str, Vec<&'v Object>>,
    ended: BTreeMap<&'v str, Vec<&'v Object>>,
}

impl<'v> Load<'v> {
    /// Groups the pods by their nodes.
    pub(super) fn of(view: &'v View) -> Self {
        let (mut running, mut ended) = (BTreeMap::new(), BTreeMap::new());
        for pod in view.list(&PODS).filter(|pod| !pod::node_name(pod).is_empty()) {
            let pods: &mut BTreeMap<_, Vec<_>> = if pod::has_ended(pod) { &mut ended } else { &mut running };
            pods.entry(pod::node_name(pod)).or_default().push(pod);
        }
        Self { running, ended }
    }

    /// The pods on a node that have not ended.
    pub(super) fn pods_on(&self, node: &str) -> &[&'v Object] {
        self.running.get(node).map_or(&[], Vec::as_slice)
    }

    /// Whether a pod on a node has pulled an image. The image stays when the pod has ended.
    pub(super) fn has_image(&self, node: &str, image: &str) -> bool {
        let ended = self.ended.get(node).map_or(&[][..], Vec::as_slice);
        let mut containers = self
            .pods_on(node)
            .iter()
            .chain(ended)
            .flat_map(|pod| pod.list("/spec/initContainers").iter().chain(pod.list("/spec/containers")));
        containers.any(|container| container["image"] == image)
    }
}

/// The resources that a node lacks for a pod beside other pods.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Lack {
    /// The reasons, as the scheduler reports them.
    pub(super) reasons: Vec<String>,
    /// Whether the node lacks them even without other pods.
    pub(super) is_lasting: bool,
}

/// What a node lacks for a pod that requests `wanted`, beside `others`. A node that reports no resources has room for no
/// pod.
pub(super) fn lack(wanted: &Amounts, node: &Object, others: &[&Object]) -> Lack {
    let allocatable = amounts(&node["status"]["allocatable"]);
    let has = |name: &str| allocatable.get(name).copied().unwrap_or(0);
    let mut lack = Lack::default();
    let count = i64::try_from(others.len()).unwrap_or(i64::MAX);
    if count.saturating_add(1) > has("pods") {
        lack.reasons.push("Too many pods".to_owned());
    }
    if wanted.is_empty() {
        return lack;
    }
    let mut taken = Amounts::new();
    for pod in others {
        add(&mut taken, &requests(pod));
    }
    for (name, amount) in in_order(wanted) {
        let free = has(name).saturating_sub(taken.get(name).copied().unwrap_or(0));
        if amount > free {
            lack.reasons.push(format!("Insufficient {name}"));
            lack.is_lasting |= amount > has(name);
        }
    }
    lack
}

/// Resources in the order in which the scheduler looks at them.
fn in_order(amounts: &Amounts) -> impl Iterator<Item = (&str, i64)> {
    let first = ["cpu", "memory", "ephemeral-storage"];
    let others = amounts.keys().map(String::as_str).filter(move |name| !first.contains(name));
    let names = first.into_iter().chain(others);
    names.filter_map(|name| Some((name, *amounts.get(name)?)))
}

/// The resources that a pod requests: those of its containers and sidecars together, or more for an init container.
pub(super) fn requests(pod: &Object) -> Amounts {
    let of = |container: &Value| amounts(&container["resources"]["requests"]);
    let mut sum = Amounts::new();
    for container in pod.list("/spec/containers") {
        add(&mut sum, &of(container));
    }
    let (mut sidecars, mut most) = (Amounts::new(), Amounts::new());
    for container in pod.list("/spec/initContainers") {
        let own = of(container);
        if container["restartPolicy"] == "Always" {
            add(&mut sidecars, &own);
            raise(&mut most, &sidecars);
        } else {
            let mut beside = sidecars.clone();
            add(&mut beside, &own);
            raise(&mut most, &beside);
        }
    }
    add(&mut sum, &sidecars);
    raise(&mut sum, &most);
    add(&mut sum, &amounts(&pod["spec"]["overhead"]));
    sum.retain(|_, amount| *amount > 0);
    sum
}

fn amounts(list: &Value) -> Amounts {
    let entries = list.as_object().into_iter().flatten();
    let amount = |name: &str, value: &Value| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let quantity = Quantity::parse(&text).ok().flatten()?;
        let amount = if name == "cpu" { quantity.milli_value() } else { quantity.value() };
        Some((name.to_owned(), amount))
    };
    entries.filter_map(|(name, value)| amount(name, value)).collect()
}

fn add(sum: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        let entry = sum.entry(name.clone()).or_default();
        *entry = entry.saturating_add(*amount);
    }
}

fn raise(most: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        let entry = most.entry(name.clone()).or_default();
        *entry = (*entry).max(*amount);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "the callers build it in place")]
    fn pod(spec: Value) -> Object {
        Object::new(json!({ "spec": spec }))
    }

    fn requesting(cpu: &str) -> Value {
        json!({ "resources": { "requests": { "cpu": cpu } } })
    }

    #[test]
    fn init_containers_run_before_and_sidecars_beside_the_others() {
        let of = |spec: Value| requests(&pod(spec)).get("cpu").copied().unwrap_or(0);
        assert_eq!(of(json!({ "containers": [requesting("100m"), requesting("1")] })), 1100);
        let mut sidecar = requesting("300m");
        sidecar["restartPolicy"] = json!("Always");
        let init = json!([sidecar, requesting("500m")]);
        assert_eq!(of(json!({ "initContainers": init, "containers": [requesting("100m")] })), 800);
        assert_eq!(of(json!({ "initContainers": init, "containers": [requesting("1")] })), 1300);
    }

    #[test]
    fn a_node_lacks_what_other_pods_take() {
        let allocatable = json!({ "cpu": "2", "memory": "1Gi", "pods": "2" });
        let node = Object::new(json!({ "status": { "allocatable": allocatable } }));
        let wanted = requests(&pod(json!({ "containers": [requesting("1500m")] })));
        let other = pod(json!({ "containers": [requesting("1")] }));
        assert_eq!(lack(&wanted, &node, &[]), Lack::default());
        let reasons = |lack: Lack| (lack.reasons.join(", "), lack.is_lasting);
        assert_eq!(reasons(lack(&wanted, &node, &[&other])), ("Insufficient cpu".to_owned(), false));
        assert_eq!(
            reasons(lack(&Amounts::new(), &node, &[&other, &other])),
            ("Too many pods".to_owned(), false)
        );
        let bare = Object::new(json!({}));
        assert_eq!(reasons(lack(&wanted, &bare, &[])), ("Too many pods, Insufficient cpu".to_owned(), true));
    }
}
