//! The changes that an informer makes to the ConfigMap.

use windtunnel_core::clock::Time;

use super::*;
use crate::assessment::cluster_version::upstream;
use crate::insight::Detail;

const NOW: &str = "2024-01-01T01:00:00Z";

fn insight(name: &str) -> Insight {
    let now: Time = NOW.parse().unwrap();
    let object = json!({"metadata": {"name": name}});
    let detail = Detail::ClusterVersion(upstream(&object, now));
    Insight { uid: format!("cv-{name}"), acquired_at: now, detail }
}

/// The informer's changes, with each text replaced by the insight's name.
fn changes(informer: &mut Informer, data: &[(&str, &str)]) -> Value {
    let data = data.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect();
    let mut changes = Map::new();
    informer.changes(&data, usize::MAX, &mut changes);
    for text in changes.values_mut().filter(|text| text.is_string()) {
        let insight: Value = yaml::from_str(text.as_str().unwrap()).unwrap();
        *text = insight["clusterVersion"]["resource"]["name"].clone();
    }
    Value::Object(changes)
}

#[test]
fn a_patch_has_only_changed_keys_of_the_informer() {
    let mut informer = Informer::new("cpi");
    assert_eq!(changes(&mut informer, &[("usc.cpi.old", "x")]), json!({}), "before the first assessment");
    informer.replace([insight("a"), insight("b")], NOW.parse().unwrap()).unwrap();
    let both = json!({"usc.cpi.cv-a": "a", "usc.cpi.cv-b": "b"});
    assert_eq!(changes(&mut informer, &[]), both);
    let foreign = [("a", "1"), ("usc.cpi", "2"), ("usc.ni.node", "3"), ("zz", "4")];
    assert_eq!(changes(&mut informer, &foreign), both);
    let [a, b] = ["a", "b"].map(|name| yaml::to_string(&insight(name)).unwrap());
    let edited = [("usc.cpi.cv-a", "x"), ("usc.cpi.cv-b", &*b), ("usc.cpi.old", "y"), ("usc.cpi.", "")];
    let restored = json!({"usc.cpi.cv-a": "a", "usc.cpi.old": null, "usc.cpi.": null});
    assert_eq!(changes(&mut informer, &edited), restored);
    let same = [("usc.cpi.cv-a", &*a), ("usc.cpi.cv-b", &*b), ("zz", "4")];
    assert_eq!(changes(&mut informer, &same), json!({}));
    informer.remove("cv-b");
    informer.put(insight("c")).unwrap();
    assert_eq!(changes(&mut informer, &same), json!({"usc.cpi.cv-b": null, "usc.cpi.cv-c": "c"}));
}

#[test]
fn published_data_is_compared_only_after_it_is_marked_unpublished() {
    let mut informer = Informer::new("cpi");
    informer.replace([], NOW.parse().unwrap()).unwrap();
    let stray = [("usc.cpi.stray", "x")];
    assert_eq!(changes(&mut informer, &[]), json!({}));
    assert_eq!(changes(&mut informer, &stray), json!({}));
    informer.mark_unpublished();
    assert_eq!(changes(&mut informer, &stray), json!({"usc.cpi.stray": null}));
}
