//! A view of this machine for one program, in which the volumes of its container are at their real paths (Linux only).
//!
//! The program gets a mount namespace of its own. Its root is a new folder with everything of this machine in it: the
//! folders above a volume as overlays, so that nothing is created on the machine itself, and all others unchanged. The command
//! of a container, which expects to be alone on its file system, sees overlays only: whatever it removes stays on this
//! machine.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Builds the root, and starts the program in it. Arguments: the folder for the root, the folder to start in, the program
/// and its arguments. `FOLDERS` has the top folders that are overlays, or `*` for all. `VOLUMES` has a line
/// `SOURCE<tab>PATH` for each volume, and `COPIES` the same for what is copied. The places in `PLACES`, a line each, must exist:
/// they are in other volumes, whose links must not be followed to create something, or in folders that are not overlays.
const SCRIPT: &str = r#"
set -e
root=$1 folder=$2
shift 2
mount -t tmpfs tmpfs "$root"
mkdir "$root/.layers"
for entry in /* /.[!.]*; do
  name=${entry#/}
  if [ -L "$entry" ]; then
    cp -P "$entry" "$root/$name"
  elif [ -d "$entry" ]; then
    mkdir -p "$root/$name"
    case "$name: $FOLDERS " in
      dev:*|proc:*|sys:*) mount --rbind "$entry" "$root/$name" ;;
      tmp:*"*"*) chmod 1777 "$root/$name" ;;
      *" $name "*|*"*"*)
        mkdir -p "$root/.layers/$name/upper" "$root/.layers/$name/work"
        mount -t overlay overlay -o "lowerdir=$entry,upperdir=$root/.layers/$name/upper,workdir=$root/.layers/$name/work" "$root/$name" ;;
      *) mount --rbind "$entry" "$root/$name" ;;
    esac
  elif [ -e "$entry" ]; then
    : >"$root/$name"
    mount --bind "$entry" "$root/$name"
  fi
done
tab=$(printf '\t')
printf '%s' "$VOLUMES" | while IFS="$tab" read -r source path; do
  case "
$PLACES" in *"
$path
"*) mount --bind "$source" "$root$path"; continue ;; esac
  if [ -d "$source" ]; then
    mkdir -p "$root$path"
  else
    mkdir -p "$(dirname "$root$path")"
    : >"$root$path"
  fi
  mount --bind "$source" "$root$path"
done
printf '%s' "$COPIES" | while IFS="$tab" read -r source path; do
  mkdir -p "$(dirname "$root$path")"
  cp -R "$source" "$root$path"
done
unset FOLDERS VOLUMES COPIES PLACES
cd /
exec chroot "$root" /bin/sh -c 'cd "$0" && exec "$@"' "$folder" "$@"
"#;

/// How this machine makes namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Namespaces {
    /// As the superuser.
    Privileged,
    /// In a namespace of users.
    OfUsers,
}

impl Namespaces {
    /// The way that works here; `None` if none does.
    pub(super) fn find() -> Option<Self> {
        [Self::Privileged, Self::OfUsers].into_iter().find(|way| {
            let mut test = way.unshare();
            test.arg("true").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            cfg!(target_os = "linux") && test.status().is_ok_and(|status| status.success())
        })
    }

    fn unshare(self) -> Command {
        let mut command = Command::new("unshare");
        if self == Self::OfUsers {
            command.args(["--user", "--map-root-user"]);
        }
        command.args(["--mount", "--"]);
        command
    }

    /// The beginning of a command that runs in the namespaces and the root of a running program.
    pub(super) fn enter(self, process: i32) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &process.to_string(), "--mount", "--root", "--wd"]);
        if self == Self::OfUsers {
            command.args(["--user", "--preserve-credentials"]);
        }
        command.arg("--");
        command
    }

    /// A command that runs `words` in such a root, with these variables instead of those of windtunnel.
    pub(super) fn command(
        self,
        root: &Root,
        words: &[String],
        variables: Option<&BTreeMap<String, OsString>>,
    ) -> Command {
        let Root { at, folder, volumes, copies, is_isolated } = root;
        let mut command = self.unshare();
        command.args(["/bin/sh", "-c", SCRIPT, "windtunnel"]).arg(at).arg(folder).args(words);
        if let Some(variables) = variables {
            command.env_clear().envs(variables);
        }
        let paths = volumes.keys().chain(copies.keys());
        let above: Vec<String> = paths.map(|path| top_folder(path)).collect();
        command.env("FOLDERS", if *is_isolated { "*".to_owned() } else { above.join(" ") });
        let is_in_volume = |path: &Path| root.volume_around(path).is_some();
        let places = volumes.keys().filter(|path| is_in_volume(path) || is_of_machine(path));
        let places: Vec<String> = places.map(|path| path.display().to_string()).collect();
        command.env("PLACES", places.join("\n") + "\n");
        let copies = copies.iter().filter(|(path, _)| !is_in_volume(path));
        command.env("VOLUMES", lines(volumes.iter())).env("COPIES", lines(copies));
        command
    }
}

/// The root of a program.
#[derive(Debug)]
pub(super) struct Root {
    /// An empty folder of this machine for it.
    pub(super) at: PathBuf,
    /// The folder in it that the program starts in.
    pub(super) folder: PathBuf,
    /// Sources by the [resolved] paths of volumes.
    pub(super) volumes: BTreeMap<PathBuf, PathBuf>,
    /// Sources by the [resolved] paths of what is copied.
    pub(super) copies: BTreeMap<PathBuf, PathBuf>,
    /// Whether the program can change nothing of this machine but its volumes.
    pub(super) is_isolated: bool,
}

impl Root {
    /// The source of the volume around a path, and the path in it.
    pub(super) fn volume_around<'p>(&self, path: &'p Path) -> Option<(&Path, &'p Path)> {
        let inside = |(volume, source)| Some((PathBuf::as_path(source), path.strip_prefix(volume).ok()?));
        let mut around = self.volumes.iter().filter_map(inside);
        // The longest path of a volume is the last one.
        around.rfind(|(_, inside)| !inside.as_os_str().is_empty())
    }
}

fn lines<'s>(sources: impl Iterator<Item = (&'s PathBuf, &'s PathBuf)>) -> String {
    let line = |(path, source): (&PathBuf, &PathBuf)| format!("{}\t{}\n", source.display(), path.display());
    sources.map(line).fold(String::new(), |lines, line| lines + &line)
}

/// The name of the folder below `/` that a path leads to.
fn top_folder(path: &Path) -> String {
    let mut parts = path.components().skip(1);
    parts.next().map(|part| part.as_os_str().to_string_lossy().into_owned()).unwrap_or_default()
}

/// Whether a path is in a folder that even a command of a container shares with this machine.
pub(super) fn is_of_machine(path: &Path) -> bool {
    ["dev", "proc", "sys"].contains(&top_folder(path).as_str())
}

/// A path without symbolic links in the part of it that exists, such as `/run` for `/var/run`.
pub(super) fn resolved(path: &str) -> PathBuf {
    let mut existing = Path::new(path);
    let mut rest = Vec::new();
    loop {
        if let Ok(found) = existing.canonicalize() {
            return rest.iter().rev().fold(found, |path, part| path.join(part));
        }
        let (Some(above), Some(name)) = (existing.parent(), existing.file_name()) else {
            return PathBuf::from(path);
        };
        rest.push(name.to_owned());
        existing = above;
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn volumes_are_at_their_paths_and_nothing_is_left_on_the_machine() {
        let Some(way) = Namespaces::find() else { return };
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["root", "volume", "copy"] {
            std::fs::create_dir(path(name)).unwrap();
        }
        std::fs::write(path("copy/a"), "copied").unwrap();
        std::fs::write(path("token"), "secret").unwrap();
        let volumes =
            [("/etc/windtunnel-test/volume", "volume"), ("/var/run/windtunnel-test/token", "token")];
        let volumes = volumes.map(|(at, name)| (resolved(at), path(name))).into();
        let copies = [(PathBuf::from("/windtunnel-test"), path("copy"))].into();
        let script =
            "cat /var/run/windtunnel-test/token; mv /windtunnel-test /etc/windtunnel-test/volume/moved; pwd";
        let words = ["sh", "-c", script].map(str::to_owned);
        let mut root =
            Root { at: path("root"), folder: folder.path().into(), volumes, copies, is_isolated: false };
        let mut command = way.command(&root, &words, None);
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(text(&output.stderr), "");
        assert_eq!(text(&output.stdout), format!("secret{}\n", folder.path().display()));
        assert_eq!(std::fs::read_to_string(path("volume/moved/a")).unwrap(), "copied");
        assert!(!Path::new("/etc/windtunnel-test").exists() && !Path::new("/windtunnel-test").exists());
        root.is_isolated = true;
        let script = format!("rm -rf {}", folder.path().display());
        way.command(&root, &["sh", "-c", &script].map(str::to_owned), None).output().unwrap();
        assert!(path("copy/a").exists());
    }
}
