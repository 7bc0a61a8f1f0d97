//! `images`: the registry's behavior for images that belong to no release.

use windtunnel_controllers::registry::{Containers, Image, Pull, Workloads};
use windtunnel_core::yaml::Node;

use crate::scenario::reader::Reader;

/// The key for all images without an entry of their own.
const OTHERS: &str = "*";

/// Parses images by pull specification.
pub(in crate::scenario) fn read(reader: &mut Reader<'_>, node: &Node) -> Workloads {
    let mut workloads = Workloads::default();
    for (name, facts) in reader.entries(node, "images by pull specification").unwrap_or_default() {
        let name = reader.text(name, "a pull specification such as `quay.io/example/web:1`");
        let map = reader.map(facts, "an image", &["pull", "containers", "size"]);
        let (Some(name), Some(map)) = (name, map) else { continue };
        let image = Image {
            size: map.get("size").and_then(|node| size(reader, node)),
            ..Workloads::image(pull(reader, map.get("pull")), containers(reader, map.get("containers")))
        };
        if name == OTHERS {
            workloads.others = image;
        } else {
            workloads.named.insert(name, image);
        }
    }
    workloads
}

/// Parses a size in bytes: a number with `Mi` or `Gi`.
fn size(reader: &mut Reader<'_>, node: &Node) -> Option<u64> {
    let text = reader.text(node, "a size such as `300Mi` or `40Gi`")?;
    let units = [("Mi", 1 << 20), ("Gi", 1_u64 << 30)];
    let found = units.into_iter().find_map(|(unit, bytes)| {
        text.strip_suffix(unit)?.parse::<u64>().ok().filter(|count| *count <= 1 << 20)?.checked_mul(bytes)
    });
    if found.is_none() {
        reader.error(
            node,
            format!("`{text}` is no size; write a whole number with `Mi` or `Gi`, such as `40Gi`"),
        );
    }
    found
}

pub(in crate::scenario) fn pull(reader: &mut Reader<'_>, node: Option<&Node>) -> Pull {
    let word = node.and_then(|node| reader.word(node, &Pull::NAMES));
    word.and_then(Pull::named).unwrap_or_default()
}

pub(in crate::scenario) fn containers(reader: &mut Reader<'_>, node: Option<&Node>) -> Containers {
    const CONTAINERS: &[&str] = &["run", "crash", "out-of-memory", "cannot-be-created"];
    match node.and_then(|node| reader.word(node, CONTAINERS)) {
        Some("crash") => Containers::Crash,
        Some("out-of-memory") => Containers::OutOfMemory,
        Some("cannot-be-created") => Containers::CannotBeCreated,
        _ => Containers::Run,
    }
}
