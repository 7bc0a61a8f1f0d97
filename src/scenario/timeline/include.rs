//! `include`: steps from another file, which several scenarios share.

use semver::Version;
use windtunnel_core::yaml::{self, Kind, Node};

use crate::plan::PlannedStep;
use crate::scenario::parameters;
use crate::scenario::reader::Reader;

/// The maximum depth of includes. It is enough to group steps, and it stops files that include themselves.
const DEPTH_MAX: usize = 4;

/// Parses `include: FILE` or `include: {steps: FILE, with: {name: value}}`. The steps get the position of the
/// include; errors inside the file keep their position there.
pub(super) fn steps(reader: &mut Reader<'_>, node: &Node, versions: &[Version]) -> Vec<PlannedStep> {
    let Some((file, values)) = file_and_values(reader, node) else { return Vec::new() };
    if reader.depth() >= DEPTH_MAX {
        reader.error(node, format!("includes are nested more than {DEPTH_MAX} deep"));
        return Vec::new();
    }
    let (name, text) = match reader.text_of(&file) {
        Ok(found) => found,
        Err(error) => {
            reader.error(node, error);
            return Vec::new();
        }
    };
    let found = reader.in_file(&name, |reader| {
        let mut tree = match yaml::parse_tree(&text) {
            Ok((tree, None)) => tree,
            Ok((_, Some(error))) | Err(error) => {
                let error =
                    error.with_advice_on_size("move steps into another file, and include that as well");
                reader.error_at(error.line, error.column, error.message);
                return None;
            }
        };
        let used = parameters::fill_in(&mut tree, values);
        Some((super::read(reader, &tree, versions), used))
    });
    let Some((steps, used)) = found else { return Vec::new() };
    parameters::report_unused(reader, values, &used);
    let at = |step: PlannedStep| PlannedStep { line: node.line, column: node.column, ..step };
    steps.into_iter().map(at).collect()
}

/// Parses the file name and the values to fill in.
fn file_and_values<'n>(reader: &mut Reader<'_>, node: &'n Node) -> Option<(String, parameters::Row<'n>)> {
    let what = "a file with a list of steps, such as `steps/rollback.yaml`";
    if !matches!(node.kind, Kind::Map(_)) {
        return Some((reader.text(node, what)?, &[]));
    }
    let map = reader.map(node, "an include", &["steps", "with"])?;
    let file = map.required(reader, "steps", what).and_then(|node| reader.text(node, what));
    let values = match map.get("with") {
        Some(node) => reader.entries(node, "values by name")?,
        None => &[],
    };
    Some((file?, values))
}
