//! The check of kubelet versions in kube-apiserver's operator.
//!
//! With an even minor kubelets may be two minors behind the kube-apiserver, with an odd minor one. Kubelets
//! that the next minor would not support set Upgradeable to False. Updates within a minor are not affected.

use std::collections::{BTreeMap, BTreeSet};

use windtunnel_core::condition::Condition;
use windtunnel_core::resources::NODES;
use windtunnel_core::{Change, ChangeKind, Object, View};

use crate::release::Release;

/// The prefix of reasons about kubelets.
pub(super) const ABOUT: &str = "KubeletMinorVersion_";

/// The maximum of nodes to list by name. Otherwise the message has only their number.
const NAMED_MAX: usize = 3;

/// The versions of all kubelets, as the nodes report them.
#[derive(Debug, Clone, Default)]
pub(super) struct Kubelets {
    of_node: BTreeMap<String, String>,
    by_version: BTreeMap<String, BTreeSet<String>>,
}

/// Problems of kubelets, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Skew {
    TooFarBehind,
    Ahead,
    Unknown,
    NotInNext,
}

impl Kubelets {
    /// The kubelets of all nodes.
    pub(super) fn of(view: &View) -> Self {
        let mut kubelets = Self::default();
        for node in view.list(&NODES) {
            kubelets.put(node);
        }
        kubelets
    }

    /// Applies changes of nodes. Returns whether a kubelet version changed, appeared or disappeared.
    pub(super) fn notice(&mut self, changes: &[Change]) -> bool {
        let mut moved = false;
        for change in changes.iter().filter(|change| change.key.is_kind(&NODES)) {
            moved |= match change.kind {
                ChangeKind::Deleted => self.remove(&change.key.name),
                _ => self.put(&change.object),
            };
        }
        moved
    }

    fn put(&mut self, node: &Object) -> bool {
        let (name, version) = (node.name(), node.text("/status/nodeInfo/kubeletVersion"));
        if self.of_node.get(name).is_some_and(|known| known == version) {
            return false;
        }
        self.remove(name);
        self.of_node.insert(name.to_owned(), version.to_owned());
        self.by_version.entry(version.to_owned()).or_default().insert(name.to_owned())
    }

    fn remove(&mut self, name: &str) -> bool {
        let Some(version) = self.of_node.remove(name) else { return false };
        if let Some(names) = self.by_version.get_mut(&version) {
            names.remove(name);
            if names.is_empty() {
                self.by_version.remove(&version);
            }
        }
        true
    }

    /// The condition of the operator of `release` about kubelets, if it is not True.
    pub(super) fn rejection(&self, release: &Release) -> Option<Condition> {
        let versions = self.by_version.iter();
        let skews =
            versions.filter_map(|(version, names)| Some((skew_of(version, release)?, version, names)));
        let skews: Vec<_> = skews.collect();
        let worst = skews.iter().map(|(skew, ..)| *skew).min()?;
        let bad = || skews.iter().filter(|(skew, ..)| *skew == worst);
        let count = bad().map(|(.., names)| names.len()).sum();
        let mut nodes: Vec<(&String, &String)> = Vec::new();
        if count <= NAMED_MAX {
            nodes
                .extend(bad().flat_map(|(_, version, names)| names.iter().map(move |name| (name, *version))));
            nodes.sort();
        }
        let (status, reason) = match worst {
            Skew::TooFarBehind => ("False", "KubeletMinorVersionUnsupported"),
            Skew::Ahead => ("Unknown", "KubeletMinorVersionAhead"),
            Skew::Unknown => ("Unknown", "KubeletVersionUnknown"),
            Skew::NotInNext => ("False", "KubeletMinorVersionUnsupportedNextUpgrade"),
        };
        let message = format!("KubeletMinorVersionUpgradeable: {}", skew_text(worst, count, &nodes, release));
        Some(Condition::new("Upgradeable", status, &format!("{ABOUT}{reason}"), message))
    }
}

/// The problem of kubelets with this version, if there is one.
fn skew_of(version: &str, release: &Release) -> Option<Skew> {
    let Some(minor) = version.split('.').nth(1).and_then(|minor| minor.parse::<i64>().ok()) else {
        return Some(Skew::Unknown);
    };
    let skew = minor - i64::from(release.kubernetes_minor);
    let (_, line) = release.line();
    if skew < lowest_skew(line) {
        Some(Skew::TooFarBehind)
    } else if skew > 0 {
        Some(Skew::Ahead)
    } else {
        (skew < 0 && skew - 1 < lowest_skew(line + 1)).then_some(Skew::NotInNext)
    }
}

/// The lowest allowed difference between kubelets and the kube-apiserver in a minor of OpenShift.
fn lowest_skew(minor: u64) -> i64 {
    if minor.is_multiple_of(2) { -2 } else { -1 }
}

fn skew_text(skew: Skew, count: usize, nodes: &[(&String, &String)], release: &Release) -> String {
    let one = count == 1;
    let names: Vec<&str> = nodes.iter().map(|(name, _)| name.as_str()).collect();
    let who = match *names.as_slice() {
        [only] => format!("node {only}"),
        [first, second] => format!("nodes {first} and {second}"),
        [first, second, third] => format!("nodes {first}, {second}, and {third}"),
        _ => format!("{count} nodes"),
    };
    let version = nodes.first().map_or("", |(_, version)| version.trim_start_matches('v'));
    let what = if one { format!("version ({version})") } else { "versions".to_owned() };
    let verb = if one { "is" } else { "are" };
    let target = release.operand_version("kube-apiserver");
    match skew {
        Skew::TooFarBehind => {
            format!(
                "Unsupported kubelet minor {what} on {who} {verb} too far behind the target API server version ({target})."
            )
        }
        Skew::Ahead => {
            format!(
                "Unsupported kubelet minor {what} on {who} {verb} ahead of the target API server version ({target})."
            )
        }
        Skew::Unknown if one => {
            format!("Unable to determine the kubelet version on {who}: No Major.Minor.Patch elements found")
        }
        Skew::Unknown => format!("Unable to determine the kubelet version on {who}."),
        Skew::NotInNext => {
            format!(
                "Kubelet minor {what} on {who} will not be supported in the next OpenShift minor version upgrade."
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use semver::Version;
    use serde_json::json;

    /// Status, reason without its prefix, and message about kubelets with these differences from the
    /// kube-apiserver.
    fn skew_condition(release: &str, skews: &[i64]) -> Option<(String, String, String)> {
        let release = Release::find(&Version::parse(release).unwrap()).unwrap();
        let mut kubelets = Kubelets::default();
        for (index, skew) in skews.iter().enumerate() {
            let version = format!("v1.{}.{index}", i64::from(release.kubernetes_minor) + skew);
            let node = json!({
                "metadata": { "name": format!("w{index}") },
                "status": { "nodeInfo": { "kubeletVersion": version } },
            });
            kubelets.put(&Object::new(node));
        }
        let condition = kubelets.rejection(&release)?;
        let reason = condition.reason.strip_prefix(ABOUT).unwrap().to_owned();
        let message = condition.message.strip_prefix("KubeletMinorVersionUpgradeable: ").unwrap().to_owned();
        Some((condition.status, reason, message))
    }

    #[test]
    fn even_minors_allow_two_minors_of_skew_and_odd_minors_one() {
        assert_eq!(skew_condition("4.18.3", &[0, 0]), None);
        assert_eq!(skew_condition("4.17.3", &[0, -1]), None, "4.18 allows two");
        let (status, reason, message) = skew_condition("4.18.3", &[0, -1, 0]).unwrap();
        assert_eq!((&*status, &*reason), ("False", "KubeletMinorVersionUnsupportedNextUpgrade"));
        let expected = "Kubelet minor version (1.30.1) on node w1 will not be supported in the next OpenShift minor version upgrade.";
        assert_eq!(message, expected);
        assert_eq!(skew_condition("4.18.3", &[-2]).unwrap().1, "KubeletMinorVersionUnsupportedNextUpgrade");
        let (status, reason, message) = skew_condition("4.17.3", &[0, -2]).unwrap();
        assert_eq!((&*status, &*reason), ("False", "KubeletMinorVersionUnsupported"));
        let expected = "Unsupported kubelet minor version (1.28.1) on node w1 is too far behind the target API server version (1.30.3).";
        assert_eq!(message, expected);
    }

    #[test]
    fn lists_up_to_three_nodes_with_the_worst_problem() {
        let message = |skews: &[i64]| skew_condition("4.18.3", skews).unwrap().2;
        assert!(message(&[-1, -1]).starts_with("Kubelet minor versions on nodes w0 and w1 will"));
        assert!(message(&[-1, -2, -1]).starts_with("Kubelet minor versions on nodes w0, w1, and w2 will"));
        assert!(message(&[-1; 5]).starts_with("Kubelet minor versions on 5 nodes will"));
        let (status, reason, message) = skew_condition("4.18.3", &[-1, 1]).unwrap();
        assert_eq!((&*status, &*reason), ("Unknown", "KubeletMinorVersionAhead"));
        assert!(
            message.starts_with("Unsupported kubelet minor version (1.32.1) on node w1 is ahead of"),
            "{message}"
        );
        assert_eq!(skew_condition("4.18.3", &[-3, 1]).unwrap().1, "KubeletMinorVersionUnsupported");
    }

    #[test]
    fn forgets_the_old_version_of_an_updated_or_deleted_node() {
        let node = |version: &str| {
            Object::new(json!({
                "metadata": { "name": "w" },
                "status": { "nodeInfo": { "kubeletVersion": version } },
            }))
        };
        let change =
            |kind, version| Change { key: NODES.key("", "w"), kind, object: node(version), old: None };
        let release = Release::find(&Version::new(4, 18, 3)).unwrap();
        let mut kubelets = Kubelets::default();
        assert!(kubelets.notice(&[change(ChangeKind::Added, "v1.30.1")]));
        assert!(kubelets.rejection(&release).is_some());
        assert!(!kubelets.notice(&[change(ChangeKind::Modified, "v1.30.1")]));
        assert!(kubelets.notice(&[change(ChangeKind::Modified, "v1.31.1")]));
        assert_eq!(kubelets.rejection(&release), None);
        assert!(kubelets.notice(&[change(ChangeKind::Modified, "what")]));
        assert!(kubelets.rejection(&release).unwrap().message.contains("Unable to determine"));
        assert!(kubelets.notice(&[change(ChangeKind::Deleted, "")]));
        assert_eq!(kubelets.rejection(&release), None);
    }
}
