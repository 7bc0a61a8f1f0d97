//! The files of a volume, replaced all at once, as kubelets do it (`pkg/volume/util/atomic_writer.go`): they are in a hidden
//! folder, to which the link `..data` leads, and the names in the volume are links through it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};
use std::{fs, io};

/// The link to the current files.
const CURRENT: &str = "..data";

/// Makes these the files of a volume, by their paths in it.
///
/// # Errors
/// The folder cannot be written.
pub(super) fn publish(volume: &Path, files: &BTreeMap<String, Vec<u8>>) -> io::Result<()> {
    fs::create_dir_all(volume)?;
    let old = fs::read_link(volume.join(CURRENT)).ok();
    let number = old.as_ref().and_then(|old| old.to_str()?.strip_prefix("..")?.parse::<u64>().ok());
    let folder = format!("..{}", number.map_or(0, |number| number + 1));
    for (path, content) in files {
        let path = volume.join(&folder).join(path);
        if let Some(above) = path.parent() {
            fs::create_dir_all(above)?;
        }
        fs::write(path, content)?;
    }
    fs::create_dir_all(volume.join(&folder))?;
    let new = volume.join("..data_new");
    std::os::unix::fs::symlink(&folder, &new)?;
    fs::rename(new, volume.join(CURRENT))?;
    link_names(volume, files)?;
    match old {
        Some(old) => fs::remove_dir_all(volume.join(old)),
        None => Ok(()),
    }
}

/// Links the names in the volume to the current files, and removes those that are gone.
fn link_names(volume: &Path, files: &BTreeMap<String, Vec<u8>>) -> io::Result<()> {
    let first = |path: &String| match Path::new(path).components().next() {
        Some(Component::Normal(name)) => Some(name.to_owned()),
        _ => None,
    };
    let names: BTreeSet<_> = files.keys().filter_map(first).collect();
    for entry in fs::read_dir(volume)? {
        let entry = entry?;
        let is_name = !entry.file_name().as_encoded_bytes().starts_with(b"..");
        if is_name && entry.file_type()?.is_symlink() && !names.contains(&entry.file_name()) {
            fs::remove_file(entry.path())?;
        }
    }
    for name in names {
        if fs::symlink_metadata(volume.join(&name)).is_err() {
            std::os::unix::fs::symlink(Path::new(CURRENT).join(&name), volume.join(&name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(all: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
        all.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn new_files_replace_all_old_ones() {
        let folder = tempfile::tempdir().unwrap();
        let read = |path: &str| fs::read_to_string(folder.path().join(path)).ok();
        publish(folder.path(), &files(&[("a", "1"), ("b/c", "2")])).unwrap();
        assert_eq!((read("a"), read("b/c")), (Some("1".to_owned()), Some("2".to_owned())));
        publish(folder.path(), &files(&[("a", "3"), ("d", "4")])).unwrap();
        assert_eq!((read("a"), read("b/c"), read("d")), (Some("3".to_owned()), None, Some("4".to_owned())));
        let mut names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|one| one.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["..1", "..data", "a", "d"]);
    }
}
