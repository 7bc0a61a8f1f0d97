//! Tests with truncated or changed data files: each opens with everything that was written, or is rejected
//! with a message and left unchanged.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use windtunnel_core::rng::{Stream, Streams};
use windtunnel_core::{Key, resources};

use crate::Stored;
use crate::storage::{Change, DataDir, Storage as _};

const FILE: &str = "windtunnel.redb";

fn change(number: u64) -> Change {
    let key = resources::CONFIG_MAPS.key("default", &format!("m{}", number % 60));
    let object = json!({ "data": { "k": format!("value {number} ").repeat(40) } });
    Change { key, revision: 200 + number, object: Some(Stored::split(object)) }
}

/// The data file of a server that ended and of one that was killed, with the same objects; and these objects.
fn written(folder: &Path) -> ([Vec<u8>; 2], Vec<(Key, Value)>) {
    let mut data = DataDir::open(folder).unwrap();
    for number in 0..40 {
        data.commit(&[change(number * 3), change(number * 3 + 1), change(number * 3 + 2)]).unwrap();
    }
    let killed = fs::read(folder.join(FILE)).unwrap();
    drop(data);
    let closed = fs::read(folder.join(FILE)).unwrap();
    let objects = DataDir::open(folder).unwrap().begin().unwrap().objects;
    ([closed, killed], objects)
}

/// Truncates a file, or changes a bit, a byte, a block or its header.
fn mutate(bytes: &mut Vec<u8>, stream: &mut Stream) {
    let len = bytes.len() as u64;
    let mut at = |from: u64, to: u64| usize::try_from(stream.between(from, to - 1)).unwrap();
    match at(0, 6) {
        0 => bytes.truncate(at(1, len)),
        1 => {
            let byte = at(0, 320);
            bytes[byte] ^= 1 << at(0, 8);
        }
        2 => {
            let byte = at(0, len);
            bytes[byte] = u8::try_from(at(0, 256)).unwrap();
        }
        3 => {
            let (start, long) = (at(0, len), at(1, 4096));
            let end = bytes.len().min(start + long);
            bytes[start..end].fill(0);
        }
        4 => {
            let (from, to) = (at(0, len / 4096) * 4096, at(0, len / 4096) * 4096);
            bytes.copy_within(from..from + 4096, to);
        }
        _ => {
            let byte = at(0, len);
            bytes[byte] ^= 1 << at(0, 8);
        }
    }
}

#[test]
fn a_damaged_file_opens_with_all_objects_or_is_rejected_with_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let (files, expected) = written(folder.path());
    let streams = Streams::new(34);
    let (mut opened, mut rejection) = (0, 0);
    for number in 0..150 {
        let mut stream = streams.stream(&format!("mutation/{number}"));
        let mut bytes = files[number % 2].clone();
        mutate(&mut bytes, &mut stream);
        fs::write(folder.path().join(FILE), &bytes).unwrap();
        match DataDir::open(folder.path()).and_then(|mut data| data.begin()) {
            Ok(saved) => {
                opened += 1;
                assert!(saved.objects == expected, "mutation {number}: other objects");
                assert_eq!(saved.revision, 319, "mutation {number}");
            }
            Err(why) => {
                rejection += 1;
                let (why, place) = (why.to_string(), folder.path().display().to_string());
                assert!(
                    why.starts_with(&format!("{place}/{FILE}: the file is damaged: ")),
                    "{number}: {why}"
                );
                assert!(why.ends_with("; restore a backup of the file, or use another --data-dir"), "{why}");
                assert!(!why.contains('\n'), "{why}");
                let after = fs::read(folder.path().join(FILE)).unwrap();
                assert!(after == bytes, "mutation {number}: the file was changed: {why}");
            }
        }
    }
    assert!(opened > 20 && rejection > 50, "{opened} opened, {rejection} refused");
}

#[test]
fn no_wrong_byte_in_the_header_changes_the_objects() {
    let folder = tempfile::tempdir().unwrap();
    let (files, expected) = written(folder.path());
    for (number, file) in files.iter().enumerate() {
        // A bit in the flags, in each size, in each slot, and in the padding.
        for byte in (9..320).step_by(7).chain(9..32) {
            let mut bytes = file.clone();
            bytes[byte] ^= 1 << (byte % 8);
            fs::write(folder.path().join(FILE), &bytes).unwrap();
            let found = DataDir::open(folder.path()).and_then(|mut data| data.begin());
            if let Ok(saved) = found {
                assert!(saved.objects == expected, "byte {byte} of file {number}: other objects");
            }
        }
    }
}
