//! The README and the pages in `docs/`: their commands run and print what the page shows, and their relative
//! links lead to files.
//!
//! Commands are in ```` ```console ```` blocks, each after `$ `. The blocks of a page run in order in one folder
//! with a copy of `scenarios/`, `features/` and `tests/dumps/`. A `yaml` or `gherkin` block that begins with `# file: NAME` is
//! written to that file first. A command must exit with 0, or with N if its line ends with `# exits with N`. The
//! lines below a command must be in its output, in this order; `...` matches any text within a line, and a line
//! `...` matches any lines. Commands that cannot run in a clone are in `sh` blocks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A fenced block of a page.
struct Block {
    language: String,
    /// The number of its first line.
    line: usize,
    lines: Vec<String>,
}

/// A command with the lines of output that the page shows.
struct Shown {
    line: usize,
    command: String,
    output: Vec<String>,
}

#[test]
fn commands_in_docs_print_what_the_page_shows() {
    let pages = pages();
    let faults: Vec<String> = std::thread::scope(|scope| {
        let half = pages.len().div_ceil(2);
        let workers: Vec<_> = pages
            .chunks(half)
            .map(|pages| {
                scope.spawn(|| pages.iter().flat_map(|page| check_commands(page)).collect::<Vec<_>>())
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn relative_links_in_docs_lead_to_files() {
    let link = Regex::new(r"\]\(([^)#:\s]+)(#[^)]*)?\)").unwrap();
    let code = Regex::new(r"(?s)```.*?```|`[^`\n]*`").unwrap();
    let mut faults = Vec::new();
    for page in pages() {
        // Brackets in code are not links.
        let text = code.replace_all(&fs::read_to_string(&page).unwrap(), "").into_owned();
        let folder = page.parent().unwrap();
        let broken = link.captures_iter(&text).filter(|found| !folder.join(&found[1]).exists());
        faults.extend(broken.map(|found| format!("{}: no file {}", page.display(), &found[1])));
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

/// The README, CONTRIBUTING and every page below `docs/`.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![Path::new(ROOT).join("README.md"), Path::new(ROOT).join("CONTRIBUTING.md")];
    let mut folders = vec![Path::new(ROOT).join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

fn check_commands(page: &Path) -> Vec<String> {
    let blocks = blocks(&fs::read_to_string(page).unwrap());
    if blocks.iter().all(|block| block.language != "console") {
        return Vec::new();
    }
    let folder = tempfile::tempdir().unwrap();
    for name in ["scenarios", "features", "tests/dumps"] {
        copy(&Path::new(ROOT).join(name), &folder.path().join(name));
    }
    let mut faults = Vec::new();
    for block in &blocks {
        let file = block.lines.first().and_then(|line| line.strip_prefix("# file: "));
        if let Some(file) = file.filter(|_| matches!(&*block.language, "yaml" | "gherkin")) {
            let path = folder.path().join(file.trim());
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, block.lines.join("\n") + "\n").unwrap();
        }
        if block.language == "console" {
            let found = commands(block).into_iter().filter_map(|shown| check_command(&shown, folder.path()));
            faults.extend(found.map(|fault| format!("{}:{fault}", page.display())));
        }
    }
    faults
}

/// Runs a command. Returns the first difference between its output and the page.
fn check_command(shown: &Shown, folder: &Path) -> Option<String> {
    let exits = Regex::new(r"# exits with (\d+)\s*$").unwrap();
    let code = exits.captures(&shown.command).map_or(0, |found| found[1].parse().unwrap());
    let program = Path::new(env!("CARGO_BIN_EXE_windtunnel")).parent().unwrap();
    let output = Command::new("sh")
        .args(["-c", &format!("{} 2>&1", shown.command.split(" # exits with").next().unwrap())])
        .current_dir(folder)
        .env("PATH", format!("{}:/usr/bin:/bin", program.display()))
        .env("HOME", folder)
        .env_remove("KUBECONFIG")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let place = format!("{}: `{}`", shown.line, shown.command);
    if output.status.code() != Some(code) {
        return Some(format!("{place} exits with {:?}, not {code}:\n{text}", output.status.code()));
    }
    let mut rest = text.lines();
    for line in shown.output.iter().filter(|line| !matches!(line.trim(), "" | "...")) {
        let parts: Vec<String> = line.trim_end().split("...").map(regex::escape).collect();
        let pattern = Regex::new(&format!(r"^{}\s*$", parts.join(".*"))).unwrap();
        if !rest.any(|printed| pattern.is_match(printed)) {
            return Some(format!("{place} does not print `{line}` there, but:\n{text}"));
        }
    }
    None
}

fn commands(block: &Block) -> Vec<Shown> {
    let mut found: Vec<Shown> = Vec::new();
    for (offset, line) in block.lines.iter().enumerate() {
        match (line.strip_prefix("$ "), found.last_mut()) {
            (Some(command), _) => found.push(Shown {
                line: block.line + offset,
                command: command.to_owned(),
                output: Vec::new(),
            }),
            (None, Some(shown)) => shown.output.push(line.clone()),
            (None, None) => panic!("line {}: `{line}` is before the first command", block.line + offset),
        }
    }
    found
}

/// The fenced blocks of a page, also those that are indented in a list.
fn blocks(page: &str) -> Vec<Block> {
    let fence = Regex::new(r"^( *)```(\S*)\s*$").unwrap();
    let mut found = Vec::new();
    let mut open: Option<(Block, usize)> = None;
    for (index, line) in page.lines().enumerate() {
        match (fence.captures(line), open.take()) {
            (Some(fence), None) => {
                let block = Block { language: fence[2].to_owned(), line: index + 2, lines: Vec::new() };
                open = Some((block, fence[1].len()));
            }
            (Some(fence), Some((block, _))) if fence[2].is_empty() => found.push(block),
            (_, Some((mut block, indent))) => {
                let own = line
                    .get(indent..)
                    .filter(|_| line.get(..indent).is_some_and(|start| start.trim().is_empty()));
                block.lines.push(own.unwrap_or(line).to_owned());
                open = Some((block, indent));
            }
            (None, None) => {}
        }
    }
    found
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, to) = {
            let entry = entry.unwrap();
            (entry.path(), to.join(entry.file_name()))
        };
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, &to).unwrap();
        }
    }
}
