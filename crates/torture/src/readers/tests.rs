//! Every example of every reader is read.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{READERS, find};

#[test]
fn every_reader_reads_its_examples() {
    for reader in READERS {
        let examples = (reader.examples)();
        assert!(examples.len() >= 3, "{}: only {} examples", reader.name, examples.len());
        for example in &examples {
            (reader.read)(example);
        }
    }
}

#[test]
fn every_reader_ends_on_damaged_examples() {
    for reader in READERS {
        for example in (reader.examples)().iter().take(2) {
            let middle = example.len() / 2;
            (reader.read)(&example[..middle]);
            let mut flipped = example.clone();
            flipped.iter_mut().skip(middle).take(1).for_each(|byte| *byte ^= 0x80);
            (reader.read)(&flipped);
        }
        (reader.read)(b"");
    }
}

#[test]
fn names_are_unique() {
    let names: BTreeSet<&str> = READERS.iter().map(|reader| reader.name).collect();
    assert_eq!(names.len(), READERS.len());
    assert!(names.iter().all(|name| find(name).is_some_and(|found| found.name == *name)));
}

#[test]
fn every_reader_has_a_fuzz_target() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    for reader in READERS {
        let name = reader.name;
        assert!(
            manifest.contains(&format!("\nname = \"{name}\"\npath = \"fuzz_targets/{name}.rs\"\n")),
            "{name}"
        );
        let target = fs::read_to_string(folder.join(format!("fuzz_targets/{name}.rs"))).unwrap();
        assert!(target.contains(&format!("readers::read(\"{name}\", bytes)")), "{name}");
    }
    let targets = fs::read_dir(folder.join("fuzz_targets")).unwrap().count();
    assert_eq!(targets, READERS.len());
}
