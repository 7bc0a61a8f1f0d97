//! A kubelet that is stopped and restarted.

use super::*;
use crate::faults as fault;

/// Stops or restarts the kubelet of the node.
fn stop(rig: &mut Rig, is_stopped: bool) {
    let fault = json!(if is_stopped { "kubelet-stopped" } else { fault::NONE });
    let patch = json!({ "metadata": { "annotations": { fault::ANNOTATION: fault } } });
    rig.write(&Write::merge_patch(&NODES, "", "master-0", patch));
}

fn named(name: &str) -> Value {
    let mut pod = program_pod();
    pod["metadata"]["name"] = json!(name);
    pod
}

/// The effects on the machine.
fn effects(rig: &Rig) -> Vec<&str> {
    rig.log
        .iter()
        .filter(|line| !line.contains(" patch ") && !line.contains(" events/"))
        .map(String::as_str)
        .collect()
}

#[test]
fn a_stopped_kubelet_writes_nothing_and_catches_up_after_its_restart() {
    let mut rig = Rig::new();
    seat(&mut rig, Pull::Succeeds, "v1.33.1");
    for name in ["ends", "program", "goes", "is-removed"] {
        rig.put(&PODS, named(name));
    }
    rig.run(60);
    stop(&mut rig, true);
    rig.run(1);
    let (writes, effect_count) = (rig.writes, effects(&rig).len());
    rig.put(&PODS, named("comes"));
    rig.write(&Write::delete(&PODS, "ns", "goes"));
    rig.write(&Write::delete_now(&PODS, "ns", "is-removed"));
    rig.process_ends(&key("ends"), "main");
    rig.run(600);
    assert_eq!((rig.writes, effects(&rig).len()), (writes, effect_count), "{:#?}", rig.log);

    stop(&mut rig, false);
    rig.run(60);
    assert_eq!(pod(&rig, "comes").text("/status/phase"), "Running");
    assert_eq!(pod(&rig, "ends").number("/status/containerStatuses/0/restartCount"), Some(1));
    assert_eq!(pod(&rig, "program").number("/status/containerStatuses/0/restartCount"), Some(0));
    let killed =
        effects(&rig).into_iter().filter(|line| line.contains("kill") && line.contains("is-removed"));
    assert_eq!(killed.count(), 1, "{:#?}", rig.log);
    rig.process_ends(&key("goes"), "main");
    rig.run(60);
    assert!(rig.view.get(&PODS, "ns", "goes").is_none(), "{:#?}", rig.log);
}
