//! Pulls from the mirrors in the files of the node.

use std::sync::Arc;

use serde_json::json;
use windtunnel_core::resources::{NODES, PODS};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Object, View, Write};

use super::{Kubelet, pod, program_pod};
use crate::environment::{NodeEnvironment, NodeSoftware};
use crate::registries_conf::RegistriesConf;
use crate::registry::{Containers, Image, Pull, Workloads};
use crate::testing::Rig;

/// Only `mirror` has images. An annotation of the node has the file.
#[derive(Debug)]
struct Mirrored;

impl NodeEnvironment for Mirrored {
    fn image(&self, pullspec: &str) -> Image {
        let pull = if pullspec.starts_with("mirror/") { Pull::Succeeds } else { Pull::ManifestUnknown };
        Workloads::image(pull, Containers::Run)
    }

    fn payload(&self, pullspec: &str) -> Image {
        self.image(pullspec)
    }

    fn registries(&self, node: &Object, _view: &View) -> Option<RegistriesConf> {
        node.annotation("file").and_then(|text| RegistriesConf::parse(text).ok())
    }

    fn software(&self, _os_image: &str, _architecture: &str) -> Option<NodeSoftware> {
        None
    }

    fn lease_stretch(&self) -> Option<i32> {
        None
    }
}

#[test]
fn a_change_of_the_nodes_files_makes_the_next_pull_use_the_mirror() {
    let mut rig = Rig::new();
    rig.put(&NODES, json!({ "metadata": { "name": "master-0", "annotations": { "file": "" } } }));
    rig.seat(|| Box::new(Kubelet::new("master-0", Arc::new(Mirrored), &Streams::new(7))));
    rig.put(&PODS, program_pod());
    rig.run(30);
    let is_ready = |rig: &Rig| pod(rig, "program").text("/status/phase") == "Running";
    assert!(!is_ready(&rig));
    let file = "[[registry]]\nlocation = \"quay.io\"\n[[registry.mirror]]\nlocation = \"mirror\"\n";
    let patch = json!({ "metadata": { "annotations": { "file": file } } });
    rig.write(&Write::merge_patch(&NODES, "", "master-0", patch));
    rig.run(300);
    assert!(is_ready(&rig));
}
