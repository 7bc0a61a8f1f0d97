//! Random paths in files, among random links.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use windtunnel::folders::AllowedFolders;

use super::campaign::{campaign, property};

const SECRET: &str = "precious";

#[test]
fn no_path_leads_out_of_the_allowed_folders() {
    campaign("paths::no_path_leads_out_of_the_allowed_folders", 300, |seed| {
        property(seed, &(vec((path(), path()), 0..5), path()), |(links, name)| holds(&links, &name))
    });
}

/// A path of folders, files and links, `/` for the root of the example.
fn path() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just(".."),
        Just("."),
        Just(""),
        Just("own"),
        Just("a"),
        Just("b"),
        Just("secret"),
        Just("out")
    ];
    (any::<bool>(), vec(part, 1..6)).prop_map(|(is_absolute, parts)| {
        format!("{}{}", if is_absolute { "/" } else { "" }, parts.join("/").trim_start_matches('/'))
    })
}

/// Checks that an allowed path shows and changes nothing outside of the folder `own`.
fn holds(links: &[(String, String)], name: &str) -> TestCaseResult {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join("own/a")).unwrap();
    fs::create_dir_all(root.join("out/a")).unwrap();
    for file in ["secret", "out/secret", "out/a/b"] {
        fs::write(root.join(file), SECRET).unwrap();
    }
    let own = root.join("own").canonicalize().unwrap();
    let placed = |text: &str| text.strip_prefix('/').map_or_else(|| text.into(), |below| root.join(below));
    for (at, target) in links {
        // A stranger makes links in the own folder, as far as they can exist, and not through other links.
        let link = root.join("own").join(at);
        let folder = link.parent().and_then(|folder| folder.canonicalize().ok());
        if folder.is_some_and(|folder| folder.starts_with(&own)) {
            let _ = symlink(placed(target), link);
        }
    }
    let before = outside(root);
    let file = root.join("own/scenario.yaml").display().to_string();
    if let Ok(allowed) = AllowedFolders::new().named(&file, &placed(name).display().to_string()) {
        prop_assert_ne!(fs::read_to_string(&allowed).unwrap_or_default(), SECRET);
        let _ = fs::create_dir(&allowed);
        let _ = fs::write(&allowed, "written");
    }
    prop_assert_eq!(outside(root), before);
    Ok(())
}

/// The paths and texts of everything but the folder `own`.
fn outside(root: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry == root.join("own") {
                continue;
            }
            found.push((entry.display().to_string(), fs::read_to_string(&entry).unwrap_or_default()));
            folders.extend((entry.is_dir() && !entry.is_symlink()).then_some(entry));
        }
    }
    found.sort();
    found
}
