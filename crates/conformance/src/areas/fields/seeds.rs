//! The valid objects in the folder `objects`.

use std::sync::LazyLock;

use include_dir::{Dir, include_dir};
use serde_json::Value;

use crate::oracle::{Kind, OracleKinds};

static OBJECTS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/objects");

static SEEDS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let texts = OBJECTS.files().filter_map(|file| file.contents_utf8());
    texts.flat_map(|text| serde_json::from_str::<Vec<Value>>(text).expect("a list of objects")).collect()
});

/// The valid objects that the server serves, with their kinds.
pub(in crate::areas) fn seeds<'a>(oracle: &'a OracleKinds, only: Option<&str>) -> Vec<(&'a Kind, &'a Value)> {
    let known = SEEDS.iter().filter_map(|object| Some((oracle.kind_of(object)?, object)));
    known.filter(|(kind, _)| only.is_none_or(|only| kind.plural == only)).collect()
}
