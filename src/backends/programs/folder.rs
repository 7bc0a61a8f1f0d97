//! The folder of one program: its kubeconfig, the files of its volumes, and the command that starts it there.
//!
//! The paths of volumes come from pods, which any client of the API server may create, and programs may put links into their
//! volumes. So files are written through a [`Dir`], which neither paths nor links lead out of.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::ProgramOrder;
use super::namespace::{Namespaces, Root, is_of_machine, resolved};
use super::ports::Ports;
use super::probes::ExecContext;
use super::process::Process;
use super::volume_files::publish;

/// The name, in the folder of a program, of the root of its container.
const ROOT: &str = "root";

/// The kubeconfig in the folder of a program.
const KUBECONFIG: &str = "kubeconfig";

/// The folder of a program.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// The same folder, open.
    dir: Dir,
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
        namespaces: Option<Namespaces>,
    ) -> io::Result<Self> {
        // An earlier process in the same place may have left files.
        let _ = fs::remove_dir_all(&path);
        let (root, kubeconfig) = (path.join(ROOT), path.join(KUBECONFIG));
        fs::create_dir_all(&root)?;
        let dir = open(&path)?;
        dir.write(KUBECONFIG, &access.kubeconfig)?;
        let account = order.account_folder.as_ref().map(|path| {
            let files = [("token", &access.token), ("ca.crt", &access.authority)];
            let files = files.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
            (path.clone(), Files::from(files))
        });
        // A volume with the path of a file has this file alone, and does not change.
        let changing = order.mounts.iter().filter(|path| !order.files.contains_key(*path));
        let files = changing.map(|path| (path.clone(), Files::new())).collect();
        let (volumes, ports) = (BTreeMap::new(), Ports::default());
        let mut folder = Self { path, dir, root, kubeconfig, volumes, files, account, ports };
        for path in order.mounts.iter().filter(|path| order.files.contains_key(*path)) {
            write(&folder.dir, &at(path)?, &order.files[path])?;
        }
        folder.publish(folder.sorted(&order.files))?;
        let volumes = order.mounts.iter().map(|path| Ok((path.clone(), folder.path.join(at(path)?))));
        folder.volumes = volumes.collect::<io::Result<_>>()?;
        for (path, name) in &order.shared {
            let source = shared_folder(shared, name)?;
            match folder.link(&source, path) {
                // Another volume is inside of this one. In a namespace, both are mounted.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && namespaces.is_some() => {}
                linked => linked?,
            }
            folder.volumes.insert(path.clone(), source);
        }
        Ok(folder)
    }

    /// Makes a path below `{root}` lead to a shared folder.
    fn link(&self, source: &Path, path: &str) -> io::Result<()> {
        let place = at(path)?;
        if let Some(above) = place.parent() {
            self.dir.create_dir_all(above)?;
        }
        self.dir.symlink_contents(source, place)
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
            let place = at(&path)?;
            self.dir.create_dir_all(&place)?;
            publish(&self.dir.open_dir(place)?, &files)?;
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
            inherited: self.inherited(order),
            env: order.env.clone(),
            folder: order.folder.clone(),
        }
    }

    /// The variables that the program has before those of its order; `None` for those of windtunnel.
    fn inherited(&self, order: &ProgramOrder) -> Option<BTreeMap<String, OsString>> {
        let mut variables = order.inherited.clone()?;
        variables.insert("HOME".to_owned(), self.root.clone().into());
        variables.insert("KUBECONFIG".to_owned(), self.kubeconfig.clone().into());
        Some(variables)
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
                let machine = self.machine(order)?;
                let failed = |error: io::Error| format!("a volume cannot be mounted: {error}");
                fill_volumes(&machine).map_err(failed)?;
                way.command(&machine, &words, self.inherited(order).as_ref())
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
        let mut volumes: BTreeMap<PathBuf, PathBuf> =
            self.volumes.iter().map(|(path, source)| (resolved(path), source.clone())).collect();
        // The folder for temporary files may be hidden.
        volumes.insert(resolved(&self.path.display().to_string()), self.path.clone());
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
            let copied = at(path).and_then(|place| copy(source, &self.dir, &place));
            copied.map_err(|error| format!("{}: cannot be copied: {error}", source.display()))?;
        }
        let mut command = Command::new(program);
        command.args(arguments);
        command.current_dir(order.folder.as_deref().unwrap_or(Path::new(".")));
        if let Some(variables) = self.inherited(order) {
            command.env_clear().envs(variables);
        }
        Ok(command)
    }
}

/// The place of a path in the container, below the folder of the program.
fn at(path: &str) -> io::Result<PathBuf> {
    below(Path::new(ROOT), path.trim_start_matches('/'))
}

/// A path below a folder.
///
/// # Errors
/// The path would be the folder or lead out of it, or has characters that separate paths in the orders for a namespace.
pub(super) fn below(folder: &Path, path: &str) -> io::Result<PathBuf> {
    let is_inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    if is_inside && !path.is_empty() && !path.contains(char::is_control) {
        return Ok(folder.join(path));
    }
    let message = format!("expected a path without `..` and control characters, found {path:?}");
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// Returns the folder that programs share under a name, and creates it.
///
/// # Errors
/// The name, or a link that a program left there, leads out of the shared folders.
fn shared_folder(shared: &Path, name: &str) -> io::Result<PathBuf> {
    let path = below(shared, name)?;
    fs::create_dir_all(shared)?;
    open(shared)?.create_dir_all(name)?;
    let path = path.canonicalize()?;
    if path.starts_with(shared.canonicalize()?) {
        return Ok(path);
    }
    let message = format!("the shared folder {name:?} is a link to another place");
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

fn open(folder: &Path) -> io::Result<Dir> {
    Dir::open_ambient_dir(folder, ambient_authority())
}

/// Creates what is inside of volumes: the places of other volumes, and copies. The script in the namespace does not: it
/// would follow links that other programs left there.
fn fill_volumes(machine: &Root) -> io::Result<()> {
    for (path, source) in &machine.volumes {
        let Some((outer, inside)) = machine.volume_around(path) else { continue };
        let outer = open(outer)?;
        if source.is_dir() {
            outer.create_dir_all(inside)?;
        } else if outer.symlink_metadata(inside).is_err() {
            write(&outer, inside, &[])?;
        }
    }
    for (path, source) in &machine.copies {
        if let Some((outer, inside)) = machine.volume_around(path) {
            copy(source, &open(outer)?, inside)?;
        }
    }
    Ok(())
}

/// Resolves the paths of copies and of their sources.
fn absolute(sources: &BTreeMap<String, PathBuf>) -> io::Result<BTreeMap<PathBuf, PathBuf>> {
    let resolve = |(path, source): (&String, &PathBuf)| {
        at(path)?;
        let place = resolved(path);
        if is_of_machine(&place) {
            let message =
                format!("{}: nothing is copied into a folder that this machine shares", place.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        Ok((place, source.canonicalize()?))
    };
    sources.iter().map(resolve).collect()
}

/// Writes a file in a folder, with the folders above it.
fn write(dir: &Dir, path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
        dir.create_dir_all(above)?;
    }
    dir.write(path, content)
}

/// Copies a file or a folder into a folder.
fn copy(source: &Path, dir: &Dir, path: &Path) -> io::Result<()> {
    if source.is_file() {
        return fs::read(source).and_then(|content| write(dir, path, &content));
    }
    if !source.is_dir() {
        // A device or a pipe may have no end.
        let message = format!("expected a regular file or a folder at {}", source.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    dir.create_dir_all(path)?;
    for entry in fs::read_dir(source)? {
        let entry = entry?;
        copy(&entry.path(), dir, &path.join(entry.file_name()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_path_leads_out_of_a_folder() {
        let folder = Path::new("/f");
        assert_eq!(below(folder, "a/b").unwrap(), Path::new("/f/a/b"));
        for path in ["", ".", "..", "a/../../b", "/etc", "a\tb", "a\nb"] {
            assert!(below(folder, path).is_err(), "{path:?}");
        }
    }

    /// A folder with the folders `shared` and `victim`. A file in `victim` is precious, and programs have left links to it.
    fn example() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["shared/pods/u/a", "shared/nodes/n/etc", "victim"] {
            fs::create_dir_all(path(name)).unwrap();
        }
        fs::write(path("victim/file"), "precious").unwrap();
        fs::write(path("source"), "lost").unwrap();
        for link in ["shared/pods/u/a/sub", "shared/nodes/n/etc/sub"] {
            symlink(path("victim"), path(link)).unwrap();
        }
        folder
    }

    /// Runs a script as the command of a container; `None` where that is not possible.
    fn run(folder: &Path, order: ProgramOrder, script: &str) -> Option<Result<(Folder, String), String>> {
        let namespaces = Namespaces::find()?;
        let access = Access {
            kubeconfig: String::new(),
            token: String::new(),
            authority: String::new(),
            url: String::new(),
        };
        let command = ["sh", "-c", script].map(str::to_owned).to_vec();
        let order = ProgramOrder { command, is_isolated: true, folder: Some("/".into()), ..order };
        let (path, shared) = (folder.join("program"), folder.join("shared"));
        let filled = Folder::fill(path, &shared, &order, &access, Some(namespaces));
        let started = filled.map_err(|error| error.to_string()).and_then(|mut filled| {
            let output = filled.command(&order, &access, Some(namespaces))?.output().unwrap();
            let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            Ok((filled, text))
        });
        Some(started)
    }

    fn texts(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    /// Volumes of files, each with a file of its own.
    fn with_files(shared: &[(&str, &str)], mounts: &[&str], files: &[&str]) -> ProgramOrder {
        ProgramOrder {
            shared: texts(shared),
            mounts: mounts.iter().map(|path| (*path).to_owned()).collect(),
            files: files.iter().map(|path| ((*path).to_owned(), b"lost".to_vec())).collect(),
            ..ProgramOrder::default()
        }
    }

    #[test]
    fn no_mount_follows_the_link_of_another_program() {
        let data = ("/data", "pods/u/a");
        let copies = [("/data/sub/file".to_owned(), PathBuf::from("source"))];
        let orders = [
            with_files(&[data, ("/data/sub/new", "pods/u/b")], &[], &[]),
            with_files(&[data], &["/data/sub/new"], &["/data/sub/new/key"]),
            with_files(&[data], &["/data/sub/file"], &["/data/sub/file"]),
            with_files(&[data], &["/data/sub/file2"], &["/data/sub/file2"]),
            with_files(&[("/host", "nodes/n/etc/sub")], &[], &[]),
            with_files(&[("/host", "nodes/n/etc/sub/new")], &[], &[]),
            ProgramOrder { copies: copies.into(), ..with_files(&[data], &[], &[]) },
        ];
        for mut order in orders {
            let folder = example();
            order.copies.values_mut().for_each(|source| *source = folder.path().join("source"));
            let shown = format!("{order:?}");
            let script = "echo lost >/host/file; echo lost >/host/new/file; echo lost >/data/sub/file";
            if run(folder.path(), order, script).is_none() {
                return;
            }
            let victim = folder.path().join("victim");
            assert_eq!(fs::read_to_string(victim.join("file")).unwrap(), "precious", "{shown}");
            assert_eq!(fs::read_dir(victim).unwrap().count(), 1, "{shown}");
        }
    }

    #[test]
    fn volumes_can_be_inside_of_volumes() {
        let folder = example();
        let shared = [("/data", "pods/u/c"), ("/data/other", "pods/u/b"), ("/dev/shm", "pods/u/shm")];
        let order = with_files(&shared, &["/data/conf"], &["/data/conf/key"]);
        let script = "cat /data/conf/key; echo 1 >/data/other/file; echo 2 >/dev/shm/file";
        let Some(ran) = run(folder.path(), order, script) else { return };
        let (_, output) = ran.unwrap();
        assert_eq!(output, "lost");
        let read = |name: &str| fs::read_to_string(folder.path().join("shared/pods/u").join(name)).unwrap();
        assert_eq!([read("b/file"), read("shm/file")], ["1\n", "2\n"]);
    }

    #[test]
    fn nothing_is_created_in_the_folders_of_the_machine() {
        let path = format!("/dev/shm/windtunnel-test-{}", std::process::id());
        for file in [format!("{path}/file"), path.clone()] {
            let folder = example();
            let order = with_files(&[], &[&path], &[&file]);
            let Some(ran) = run(folder.path(), order, "echo started") else { return };
            assert!(!ran.unwrap().1.contains("started"));
            assert!(!Path::new(&path).exists());
        }
    }

    #[test]
    fn new_files_of_a_volume_do_not_follow_a_link_of_the_program() {
        for name in ["root/etc", "root/etc/conf"] {
            let folder = example();
            let order = with_files(&[], &["/etc/conf"], &["/etc/conf/key"]);
            let Some(ran) = run(folder.path(), order, "true") else { return };
            let (mut filled, _) = ran.unwrap();
            let place = folder.path().join("program").join(name);
            fs::rename(&place, folder.path().join("moved")).unwrap();
            symlink(folder.path().join("victim"), &place).unwrap();
            let files = BTreeMap::from([("/etc/conf/key".to_owned(), b"new".to_vec())]);
            assert!(filled.refresh(&files).is_err(), "{name}");
            assert_eq!(fs::read_dir(folder.path().join("victim")).unwrap().count(), 1, "{name}");
        }
    }

    #[test]
    fn files_without_an_end_are_not_copied() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source");
        fs::create_dir(&source).unwrap();
        fs::write(source.join("a"), "text").unwrap();
        let dir = open(folder.path()).unwrap();
        copy(&source, &dir, Path::new("one")).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("one/a")).unwrap(), "text");
        symlink("/dev/zero", source.join("b")).unwrap();
        let error = copy(&source, &dir, Path::new("two")).unwrap_err().to_string();
        assert_eq!(error, format!("expected a regular file or a folder at {}/b", source.display()));
    }
}
