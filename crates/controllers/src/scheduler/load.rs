//! The pods on nodes, and the resources that they request.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use windtunnel_core::quantity::Quantity;
use windtunnel_core::resources::NODES;
use windtunnel_core::{Object, View, pod};

/// Amounts of resources by name: CPUs in thousandths, others in whole units.
pub(super) type Amounts = BTreeMap<String, i64>;

/// A cache of the load of each node. The scheduler compares all nodes for each pod, and few nodes change in between.
#[derive(Debug, Clone, Default)]
pub(super) struct Loads {
    by_node: BTreeMap<String, Load>,
}

impl Loads {
    /// Looks at the nodes that are not known.
    pub(super) fn complete(&mut self, view: &View) {
        for node in view.list(&NODES) {
            if !self.by_node.contains_key(node.name()) {
                self.by_node.insert(node.name().to_owned(), Load::of(view.pods_on(node.name())));
            }
        }
    }

    /// Forgets a node whose pods have changed.
    pub(super) fn forget(&mut self, node: &str) {
        self.by_node.remove(node);
    }

    pub(super) fn on(&self, node: &str) -> &Load {
        static EMPTY: Load = Load { pods: 0, taken: Amounts::new(), images: BTreeSet::new() };
        self.by_node.get(node).unwrap_or(&EMPTY)
    }
}

/// The resources and images of the pods on a node.
#[derive(Debug, Clone, Default)]
pub(super) struct Load {
    /// The number of pods that have not ended.
    pub(super) pods: usize,
    /// The resources that they request.
    taken: Amounts,
    /// The images of all pods. They stay when a pod has ended.
    images: BTreeSet<String>,
}

impl Load {
    /// Adds up the pods of a node.
    pub(super) fn of<'p>(pods: impl Iterator<Item = &'p Object>) -> Self {
        let mut load = Self::default();
        for pod in pods {
            if !pod::has_ended(pod) {
                load.pods += 1;
                add(&mut load.taken, &requests(pod));
            }
            let lists = ["/spec/initContainers", "/spec/containers"];
            let images =
                lists.into_iter().flat_map(|list| pod.list(list)).filter_map(|own| own["image"].as_str());
            load.images.extend(images.map(str::to_owned));
        }
        load
    }

    /// Whether a pod on the node has pulled an image.
    pub(super) fn has_image(&self, image: &str) -> bool {
        self.images.contains(image)
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

/// What a node lacks for a pod that requests `wanted`, beside what others take. A node that reports no resources has room for no
/// pod.
pub(super) fn lack(wanted: &Amounts, node: &Object, load: &Load) -> Lack {
    let allocatable = amounts(&node["status"]["allocatable"]);
    let has = |name: &str| allocatable.get(name).copied().unwrap_or(0);
    let mut lack = Lack::default();
    let count = i64::try_from(load.pods).unwrap_or(i64::MAX);
    if count.saturating_add(1) > has("pods") {
        lack.reasons.push("Too many pods".to_owned());
    }
    if wanted.is_empty() {
        return lack;
    }
    for (name, amount) in in_order(wanted) {
        let free = has(name).saturating_sub(load.taken.get(name).copied().unwrap_or(0));
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
        let lack = |wanted: &Amounts, node: &Object, pods: &[&Object]| {
            lack(wanted, node, &Load::of(pods.iter().copied()))
        };
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
