//! The folder of one program: its kubeconfig, the files of its volumes, and the command that starts it there.
//!
//! The paths of volumes come from pods, which any client of the API server may create. They never lead out of the folder.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use super::ProgramOrder;
use super::namespace::{Namespaces, Root};
use super::ports::Ports;
use super::probes::ExecContext;
use super::process::Process;
use super::volume_files::publish;

/// The folder of a program.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// The folder in it that the placeholder `{root}` means. The paths in the container are below it.
    root: PathBuf,
    kubeconfig: PathBuf,
    /// Sources by the paths of volumes in the container.
    volumes: BTreeMap<String, PathBuf>,
    /// The files of volumes that change, by the paths of the volumes in the container.
    files: BTreeMap<String, Files>,
    /// The path of the volume with the token, and the files in it that are not of the order.
    account: Option<(String, Files)>,
    ports: Ports,
}

/// Contents by paths.
type Files = BTreeMap<String, Vec<u8>>;

/// The access of a client to the API server.
#[derive(Debug)]
pub(super) struct Access {
    /// A kubeconfig.
    pub(super) kubeconfig: String,
    /// The token in it.
    pub(super) token: String,
    /// The certificate of the server's authority, as PEM.
    pub(super) authority: String,
    /// The URL of the server.
    pub(super) url: String,
}

impl Folder {
    /// Fills the folder `path`. Folders that programs share are in `shared`.
    ///
    /// # Errors
    /// A file cannot be written; a path would lead out of the folder.
    pub(super) fn fill(
        path: PathBuf,
        shared: &Path,
        order: &ProgramOrder,
        access: &Access,
    ) -> io::Result<Self> {
        // An earlier process in the same place may have left files.
        let _ = fs::remove_dir_all(&path);
        let (root, kubeconfig) = (path.join("root"), path.join("kubeconfig"));
        fs::create_dir_all(&root)?;
        write(&kubeconfig, access.kubeconfig.as_bytes())?;
        let account = order.account_folder.as_ref().map(|path| {
            let files = [("token", &access.token), ("ca.crt", &access.authority)];
            let files = files.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
            (path.clone(), Files::from(files))
        });
        // A volume with the path of a file has this file alone, and does not change.
        let changing = order.mounts.iter().filter(|path| !order.files.contains_key(*path));
        let files = changing.map(|path| (path.clone(), Files::new())).collect();
        let (volumes, ports) = (BTreeMap::new(), Ports::default());
        let mut folder = Self { path, root, kubeconfig, volumes, files, account, ports };
        for path in order.mounts.iter().filter(|path| order.files.contains_key(*path)) {
            write(&folder.at(path)?, &order.files[path])?;
        }
        folder.publish(folder.sorted(&order.files))?;
        let volumes = order.mounts.iter().map(|path| Ok((path.clone(), folder.at(path)?)));
        folder.volumes = volumes.collect::<io::Result<_>>()?;
        for (path, name) in &order.shared {
            let source = below(shared, name)?;
            fs::create_dir_all(&source)?;
            link(&source, &folder.at(path)?)?;
            folder.volumes.insert(path.clone(), source);
        }
        Ok(folder)
    }

    /// The place of a path in the container.
    fn at(&self, path: &str) -> io::Result<PathBuf> {
        below(&self.root, path.trim_start_matches('/'))
    }

    /// Brings the volumes up to date. Returns whether a file has changed.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(super) fn refresh(&mut self, files: &Files) -> io::Result<bool> {
        let mut sorted = self.sorted(files);
        sorted.retain(|path, files| self.files.get(path) != Some(files));
        let has_changed = !sorted.is_empty();
        self.publish(sorted)?;
        Ok(has_changed)
    }

    /// The files of each volume that changes.
    fn sorted(&self, files: &Files) -> BTreeMap<String, Files> {
        let mut sorted: BTreeMap<String, Files> =
            self.files.keys().map(|path| (path.clone(), Files::new())).collect();
        for (path, content) in files {
            let inside = |volume: &str| Some(path.strip_prefix(volume)?.strip_prefix('/')?.to_owned());
            let volumes = sorted.iter_mut().filter_map(|(volume, files)| Some((inside(volume)?, files)));
            if let Some((inside, files)) = volumes.min_by_key(|(inside, _)| inside.len()) {
                files.insert(inside, content.clone());
            }
        }
        if let Some((path, files)) = &self.account {
            sorted.entry(path.clone()).or_default().extend(files.clone());
        }
        sorted
    }

    fn publish(&mut self, sorted: BTreeMap<String, Files>) -> io::Result<()> {
        for (path, files) in sorted {
            publish(&self.at(&path)?, &files)?;
            self.files.insert(path, files);
        }
        Ok(())
    }

    /// The way for commands into the container of its program.
    pub(super) fn exec_context(
        &self,
        order: &ProgramOrder,
        process: &Process,
        way: Option<Namespaces>,
    ) -> ExecContext {
        let own = way.filter(|_| self.has_namespace(order));
        ExecContext {
            namespace: own.map(|way| (way, process.pid.as_raw_nonzero().get())),
            group: process.group.as_raw_nonzero().get(),
            env: order.env.clone(),
            folder: order.folder.clone(),
        }
    }

    /// The ports of this machine that replace those of the container.
    pub(super) fn ports(&self) -> &Ports {
        &self.ports
    }

    /// Whether the program needs a view of the machine of its own.
    fn has_namespace(&self, order: &ProgramOrder) -> bool {
        !self.volumes.is_empty() || !order.copies.is_empty() || order.is_isolated
    }

    /// The command that starts the program.
    ///
    /// # Errors
    /// There is no command; a file that it needs does not exist or cannot be copied.
    pub(super) fn command(
        &mut self,
        order: &ProgramOrder,
        access: &Access,
        namespaces: Option<Namespaces>,
    ) -> Result<Command, String> {
        let mut ports = Ports::default();
        let mut fill = |text: &String| {
            let filled = text
                .replace("{kubeconfig}", &self.kubeconfig.display().to_string())
                .replace("{server}", &access.url)
                .replace("{root}", &self.root.display().to_string());
            ports.fill(&filled)
        };
        let words: Vec<String> = order.command.iter().map(&mut fill).collect();
        let env: Vec<_> = order.env.iter().map(|(name, value)| (name, fill(value))).collect();
        let (program, arguments) = words.split_first().ok_or("expected a command, found nothing")?;
        if let Some(source) = order.copies.values().find(|source| !source.exists()) {
            return Err(format!("{}: no such file or folder", source.display()));
        }
        let mut command = match namespaces {
            Some(way) if self.has_namespace(order) => {
                self.check_program(program, order)?;
                way.command(&self.machine(order)?, &words)
            }
            None if order.is_isolated => {
                return Err("the command of a container runs only where Linux namespaces can be made; give a `command`"
                    .to_owned());
            }
            _ => self.plain_command(order, program, arguments)?,
        };
        // Unless it asks for another cluster, the program must not reach the one of its user.
        command.env("KUBECONFIG", &self.kubeconfig);
        command.envs(env);
        self.ports = ports;
        Ok(command)
    }

    /// The root of the program in a namespace of its own.
    fn machine(&self, order: &ProgramOrder) -> Result<Root, String> {
        let at = self.path.join("machine");
        fs::create_dir_all(&at).map_err(|error| format!("{}: {error}", at.display()))?;
        let here = || fs::canonicalize(".").unwrap_or_else(|_| PathBuf::from("/"));
        let mut volumes = self.volumes.clone();
        // The folder for temporary files may be hidden.
        volumes.insert(self.path.display().to_string(), self.path.clone());
        Ok(Root {
            at,
            folder: order.folder.clone().unwrap_or_else(here),
            volumes,
            copies: absolute(&order.copies).map_err(|error| error.to_string())?,
            is_isolated: order.is_isolated,
        })
    }

    /// Looks for a program that is given by a path: in a namespace, only the shell there would notice that it is missing.
    ///
    /// # Errors
    /// Neither the machine nor the container has it.
    fn check_program(&self, program: &str, order: &ProgramOrder) -> Result<(), String> {
        let start = order.folder.as_deref().unwrap_or(Path::new("."));
        let is_brought = |path: &String| Path::new(program).starts_with(path);
        let is_found = !program.contains('/')
            || start.join(program).exists()
            || order.is_isolated
            || self.volumes.keys().chain(order.copies.keys()).any(is_brought);
        if is_found { Ok(()) } else { Err(format!("cannot start `{program}`: there is no such file")) }
    }

    /// The command without a namespace: all files are below the folder.
    fn plain_command(
        &self,
        order: &ProgramOrder,
        program: &str,
        arguments: &[String],
    ) -> Result<Command, String> {
        for (path, source) in &order.copies {
            let copied = self.at(path).and_then(|place| copy(source, &place));
            copied.map_err(|error| format!("{}: cannot be copied: {error}", source.display()))?;
        }
        let mut command = Command::new(program);
        command.args(arguments);
        command.current_dir(order.folder.as_deref().unwrap_or(Path::new(".")));
        Ok(command)
    }
}

/// A path below a folder.
///
/// # Errors
/// The path would lead out of the folder, or has characters that separate paths in the orders for a namespace.
fn below(folder: &Path, path: &str) -> io::Result<PathBuf> {
    let is_inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    if is_inside && !path.contains(char::is_control) {
        return Ok(folder.join(path));
    }
    let message = format!("expected a path without `..` and control characters, found {path:?}");
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

fn absolute(sources: &BTreeMap<String, PathBuf>) -> io::Result<BTreeMap<String, PathBuf>> {
    sources.iter().map(|(path, source)| Ok((path.clone(), source.canonicalize()?))).collect()
}

/// Makes `path` lead to a folder.
fn link(folder: &Path, path: &Path) -> io::Result<()> {
    if let Some(above) = path.parent() {
        fs::create_dir_all(above)?;
    }
    std::os::unix::fs::symlink(folder, path)
}

/// Writes a file, with its folders.
fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, content)
}

/// Copies a file or a folder.
fn copy(source: &Path, path: &Path) -> io::Result<()> {
    if source.is_file() {
        return fs::read(source).and_then(|content| write(path, &content));
    }
    if !source.is_dir() {
        // A device or a pipe may have no end.
        let message = format!("expected a regular file or a folder at {}", source.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    fs::create_dir_all(path)?;
    for entry in fs::read_dir(source)? {
        let entry = entry?;
        copy(&entry.path(), &path.join(entry.file_name()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leads_out_of_a_folder() {
        let folder = Path::new("/f");
        assert_eq!(below(folder, "a/b").unwrap(), Path::new("/f/a/b"));
        for path in ["..", "a/../../b", "/etc", "a\tb", "a\nb"] {
            assert!(below(folder, path).is_err(), "{path:?}");
        }
    }

    #[test]
    fn files_without_an_end_are_not_copied() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source");
        fs::create_dir(&source).unwrap();
        fs::write(source.join("a"), "text").unwrap();
        copy(&source, &folder.path().join("one")).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("one/a")).unwrap(), "text");
        link(Path::new("/dev/zero"), &source.join("b")).unwrap();
        let error = copy(&source, &folder.path().join("two")).unwrap_err().to_string();
        assert_eq!(error, format!("expected a regular file or a folder at {}/b", source.display()));
    }
}
