//! The files of a volume, replaced all at once, as kubelets do it (`pkg/volume/util/atomic_writer.go`): they are in a hidden
//! folder, to which the link `..data` leads, and the names in the volume are links through it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path};

use cap_std::fs::Dir;

/// The link to the current files.
const CURRENT: &str = "..data";

/// The link to the files that become the current ones.
const NEW: &str = "..data_new";

/// Makes these the files of a volume, by their paths in it.
///
/// # Errors
/// The folder cannot be written, or a path would lead out of it.
pub(super) fn publish(volume: &Dir, files: &BTreeMap<String, Vec<u8>>) -> io::Result<()> {
    // The program can write here as well: a link to anything else is not followed.
    let number = volume.read_link(CURRENT).ok();
    let number = number.and_then(|old| old.to_str()?.strip_prefix("..")?.parse::<u64>().ok());
    let name = format!("..{}", number.map_or(0, |number| number.wrapping_add(1)));
    volume.create_dir(&name)?;
    let folder = volume.open_dir(&name)?;
    for (path, content) in files {
        if let Some(above) = Path::new(path).parent().filter(|above| !above.as_os_str().is_empty()) {
            folder.create_dir_all(above)?;
        }
        folder.write(path, content)?;
    }
    volume.symlink(&name, NEW)?;
    volume.rename(NEW, volume, CURRENT)?;
    link_names(volume, files)?;
    match number {
        Some(old) => volume.remove_dir_all(format!("..{old}")),
        None => Ok(()),
    }
}

/// Links the names in the volume to the current files, and removes those that are gone.
fn link_names(volume: &Dir, files: &BTreeMap<String, Vec<u8>>) -> io::Result<()> {
    let first = |path: &String| match Path::new(path).components().next() {
        Some(Component::Normal(name)) => Some(name.to_owned()),
        _ => None,
    };
    let names: BTreeSet<_> = files.keys().filter_map(first).collect();
    for entry in volume.entries()? {
        let entry = entry?;
        let is_name = !entry.file_name().as_encoded_bytes().starts_with(b"..");
        if is_name && entry.file_type()?.is_symlink() && !names.contains(&entry.file_name()) {
            volume.remove_file(entry.file_name())?;
        }
    }
    for name in names {
        if volume.symlink_metadata(&name).is_err() {
            volume.symlink(Path::new(CURRENT).join(&name), &name)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use cap_std::ambient_authority;

    use super::*;

    fn open(folder: &Path) -> Dir {
        Dir::open_ambient_dir(folder, ambient_authority()).unwrap()
    }

    fn files(all: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
        all.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn new_files_replace_all_old_ones() {
        let folder = tempfile::tempdir().unwrap();
        let read = |path: &str| fs::read_to_string(folder.path().join(path)).ok();
        let volume = open(folder.path());
        publish(&volume, &files(&[("a", "1"), ("b/c", "2")])).unwrap();
        assert_eq!((read("a"), read("b/c")), (Some("1".to_owned()), Some("2".to_owned())));
        publish(&volume, &files(&[("a", "3"), ("d", "4")])).unwrap();
        assert_eq!((read("a"), read("b/c"), read("d")), (Some("3".to_owned()), None, Some("4".to_owned())));
        let mut names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|one| one.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["..1", "..data", "a", "d"]);
    }

    #[test]
    fn no_path_and_no_link_of_the_program_leads_out_of_the_volume() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("victim/0")).unwrap();
        fs::write(path("victim/a"), "precious").unwrap();
        for name in ["../victim/a", "b/../../../victim/a", &path("victim/a").display().to_string()] {
            let volume = tempfile::tempdir_in(folder.path()).unwrap();
            assert!(publish(&open(volume.path()), &files(&[(name, "lost")])).is_err(), "{name}");
        }
        // The links of a program, with what they lead to.
        let links: [&[(&str, &str)]; 5] = [
            &[("..1", "victim")],
            &[("..data", "victim")],
            &[("..data", "../../victim")],
            &[("..data", "..3"), ("..3", "victim")],
            &[("..data_new", "victim/a")],
        ];
        for links in links {
            let volume = tempfile::tempdir_in(folder.path()).unwrap();
            publish(&open(volume.path()), &files(&[("a", "1")])).unwrap();
            for (name, target) in links {
                let _ = fs::remove_file(volume.path().join(name));
                let target = if target.starts_with("..") { target.into() } else { path(target) };
                symlink(target, volume.path().join(name)).unwrap();
            }
            // It may fail.
            let _ = publish(&open(volume.path()), &files(&[("a", "lost")]));
            assert_eq!(fs::read_to_string(path("victim/a")).unwrap(), "precious", "{links:?}");
            assert!(path("victim/0").is_dir(), "{links:?}");
        }
    }
}
