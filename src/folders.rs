//! The rule for paths that files of others name: they lead into the folder of the file, or into a folder that the user allows.
//! Links count as the path to which they lead.
//!
//! The answer about a path outside these folders does not depend on whether it exists.

use std::path::{Component, Path, PathBuf};

/// How many links to missing files may lead to each other.
const LINKS: usize = 40;

/// The folders that the user allows, in addition to the folder of each file.
#[derive(Debug, Default)]
pub struct AllowedFolders {
    folders: Vec<PathBuf>,
}

/// A path that leads out of the allowed folders.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Outside {
    /// A file names it.
    #[error("`{0}` is outside the folders that this file may use")]
    Named(String),
    /// It is a link in a folder, or below one.
    #[error("{0}: this link leads out of its folder")]
    Found(String),
}

impl AllowedFolders {
    /// Allows no folder but those of the files.
    pub const fn new() -> Self {
        Self { folders: Vec::new() }
    }

    /// Allows a folder.
    pub fn allow(&mut self, folder: &Path) {
        self.folders.extend(resolved(folder, LINKS));
    }

    /// Returns the path that `file` names as `name`, which is relative to the file.
    ///
    /// # Errors
    /// It leads out of the allowed folders.
    pub fn named(&self, file: &str, name: &str) -> Result<PathBuf, Outside> {
        let own = Path::new(file).parent().unwrap_or(Path::new(""));
        let path = without_dots(&own.join(name));
        if self.contains(own, &path) { Ok(path) } else { Err(Outside::Named(name.to_owned())) }
    }

    /// Checks a path that a file in the folder `own` names, after the path was joined with the folder.
    ///
    /// # Errors
    /// It leads out of the allowed folders.
    pub fn check_used(&self, own: &Path, path: &Path) -> Result<(), Outside> {
        let outside = || Outside::Named(path.display().to_string());
        self.contains(own, &without_dots(path)).then_some(()).ok_or_else(outside)
    }

    /// Checks a path that was found in `folder`, or below it.
    ///
    /// # Errors
    /// It leads out of `folder`, and of the allowed folders.
    pub fn check_found(&self, folder: &Path, path: &Path) -> Result<(), Outside> {
        let outside = || Outside::Found(path.display().to_string());
        self.contains(folder, path).then_some(()).ok_or_else(outside)
    }

    fn contains(&self, own: &Path, path: &Path) -> bool {
        let Some(path) = resolved(path, LINKS) else { return false };
        let own = resolved(own, LINKS);
        own.iter().chain(&self.folders).any(|folder| path.starts_with(folder))
    }
}

/// Returns a path without `.`, and without `..` after a name. A link to a folder does not count as a folder elsewhere, so that
/// nothing outside of the result is looked up.
fn without_dots(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for part in path.components() {
        match (part, result.components().next_back()) {
            (Component::CurDir, _) | (Component::ParentDir, Some(Component::RootDir)) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => drop(result.pop()),
            _ => result.push(part),
        }
    }
    if result.as_os_str().is_empty() { PathBuf::from(".") } else { result }
}

/// Returns the absolute path without links, or `None` if it is unknown. The end of the path may be missing.
fn resolved(path: &Path, links: usize) -> Option<PathBuf> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    if let Ok(found) = path.canonicalize() {
        return Some(found);
    }
    let above = path.parent()?;
    if path.is_symlink() {
        let target = above.join(path.read_link().ok()?);
        return resolved(&target, links.checked_sub(1)?);
    }
    // A missing folder has no parent.
    Some(resolved(above, links)?.join(path.file_name()?))
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder with a scenario's folder `own`, and files and links around it.
    fn example() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["own/below", "other", "own-too"] {
            fs::create_dir_all(path(name)).unwrap();
        }
        for name in ["own/file", "own/below/file", "other/file", "own-too/file", "secret"] {
            fs::write(path(name), "").unwrap();
        }
        for (target, link) in [
            ("file", "own/inside"),
            ("../secret", "own/out"),
            ("../other", "own/folder"),
            ("../none", "own/dangling"),
            ("dangling", "own/twice"),
            ("loop", "own/loop"),
            ("below/none", "own/new"),
        ] {
            symlink(target, path(link)).unwrap();
        }
        folder
    }

    #[test]
    fn paths_lead_into_the_folder_of_the_file_or_an_allowed_one() {
        let folder = example();
        let mut allowed = AllowedFolders::new();
        let file = folder.path().join("own/a.yaml").display().to_string();
        let absolute = |name: &str| folder.path().join(name).display().to_string();
        let mut outside = [
            "../secret",
            "../none",
            "out",
            "folder/file",
            "folder",
            "dangling",
            "twice",
            "loop",
            "..",
            "/etc/shadow",
            "/",
            "../own-too/file",
            "below/../../secret",
            "below/none/../../../secret",
            "../../../../../../../etc/passwd",
        ]
        .map(str::to_owned)
        .to_vec();
        outside.extend([absolute("secret"), absolute("own/../secret"), absolute("none")]);
        for name in &outside {
            assert_eq!(allowed.named(&file, name), Err(Outside::Named(name.clone())));
        }
        let inside = [
            "file",
            "./file",
            "below/file",
            "below/../file",
            "inside",
            "none",
            "new",
            ".",
            "../own/file",
            "none/none",
        ];
        for name in inside.map(str::to_owned).into_iter().chain([absolute("own/file")]) {
            assert!(allowed.named(&file, &name).is_ok(), "{name}");
        }
        let named = allowed.named(&file, "./below/../file").unwrap();
        assert_eq!(named, folder.path().join("own/file"));
        allowed.allow(&folder.path().join("other"));
        for name in ["../other/file", "folder/file", "../other/none"] {
            assert!(allowed.named(&file, name).is_ok(), "{name}");
        }
        assert!(allowed.named(&file, "../secret").is_err());
    }

    #[test]
    fn links_that_are_found_in_a_folder_stay_below_it() {
        let folder = example();
        let own = folder.path().join("own");
        let found = |name: &str| AllowedFolders::new().check_found(&own, &own.join(name));
        for name in ["file", "below/file", "inside", "new"] {
            assert_eq!(found(name), Ok(()), "{name}");
        }
        for name in ["out", "folder/file", "dangling", "loop"] {
            assert!(found(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_file_without_a_folder_is_in_the_current_one() {
        let allowed = AllowedFolders::new();
        assert_eq!(allowed.named("a.yaml", "./b"), Ok(PathBuf::from("b")));
        assert!(allowed.named("a.yaml", "../b").is_err());
    }
}
