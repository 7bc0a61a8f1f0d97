//! Checks that crates and modules use only those that the tables allow.

use std::collections::BTreeSet;

use super::source::{self, Token, outline, tokens};

/// The crates of the workspace, and the crates that each may use. Cargo enforces the same, and the table
/// documents it.
pub(super) const CRATES: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("apiserver", &["core"]),
    ("conformance", &[]),
    // The API server: for the feature `runner`.
    ("controllers", &["apiserver", "core"]),
    // The API server: for tests of admission plug-ins.
    ("openshift", &["apiserver", "controllers", "core"]),
    ("rollback", &["apiserver", "core"]),
    ("torture", &["apiserver", "conformance", "core"]),
    ("update-status", &["core"]),
];

/// The modules of the program, and the modules and crates that each may use. A module uses only earlier
/// modules.
pub(super) const MODULES: &[(&str, &[&str])] = &[
    ("folders", &[]),
    ("record", &["core"]),
    ("plan", &["core", "apiserver::known_fields", "controllers", "openshift", "update_status"]),
    ("scenario", &["core", "controllers", "openshift", "update_status", "plan"]),
    (
        "backends",
        &[
            "core",
            "apiserver",
            "openshift::SERVICE_NETWORK",
            "openshift::admission",
            "openshift::aggregated",
            "openshift::manifests",
            "record",
        ],
    ),
    ("dump", &["core", "openshift::manifests"]),
    ("engine", &["core", "controllers", "openshift", "update_status", "record", "plan", "backends"]),
    (
        "rehearsal",
        &[
            "core",
            "openshift::graph",
            "openshift::monitoring",
            "openshift::release",
            "record",
            "plan",
            "dump",
            "engine",
        ],
    ),
    ("report", &["core", "controllers::faults", "update_status", "record"]),
    (
        "steps",
        &[
            "core",
            "controllers",
            "openshift",
            "update_status",
            "record",
            "plan",
            "scenario",
            "backends",
            "engine",
        ],
    ),
    (
        "tunnel",
        &[
            "core",
            "openshift::environment",
            "openshift::release",
            "folders",
            "record",
            "plan",
            "scenario",
            "engine",
            "report",
        ],
    ),
    (
        "oracles",
        &[
            "core",
            "controllers::faults",
            "openshift::cvo",
            "openshift::mco",
            "update_status",
            "record",
            "plan",
            "engine",
        ],
    ),
    (
        "explore",
        &[
            "core",
            "controllers::faults",
            "openshift::cvo",
            "openshift::mco::annotations",
            "openshift::release",
            "update_status::insight",
            "record",
            "plan",
            "scenario",
            "engine",
            "oracles",
        ],
    ),
    (
        "cli",
        &[
            "core",
            "apiserver",
            "controllers",
            "openshift",
            "rollback",
            "update_status",
            "folders",
            "record",
            "plan",
            "scenario",
            "backends",
            "engine",
            "dump",
            "rehearsal",
            "report",
            "steps",
            "oracles",
            "explore",
        ],
    ),
];

/// The position of a file among the layers.
struct Place<'t> {
    /// The module of the program, or the crate.
    own: &'t str,
    /// Whether it is a crate.
    is_crate: bool,
    allowed: &'static [&'static str],
    /// The number of modules between the file and the root of its crate or of the program.
    depth: usize,
}

impl<'t> Place<'t> {
    /// The place of a file in `src/` or `crates/`; `None` for other files, an error if neither table has its
    /// module.
    fn find(file: &'t str) -> Option<Result<Self, String>> {
        let below = |file: &'t str| {
            let module = file.strip_suffix("/mod.rs").or_else(|| file.strip_suffix(".rs")).unwrap_or(file);
            (module.split('/').next().unwrap_or_default(), module.split('/').count())
        };
        let row = |table: &'static [(&str, &'static [&'static str])], own: &str| {
            table.iter().find(|(name, _)| *name == own).map(|(_, allowed)| *allowed)
        };
        if let Some(inner) = file.strip_prefix("src/") {
            let (own, depth) = below(inner);
            let allowed = match own {
                "lib" => Some(&[][..]),
                "main" => Some(&["cli"][..]),
                _ => row(MODULES, own),
            };
            return Some(
                allowed
                    .map(|allowed| Self { own, is_crate: false, allowed, depth })
                    .ok_or_else(|| format!("{file}:1: MODULES has no `{own}`")),
            );
        }
        let (own, inner) = file.strip_prefix("crates/")?.split_once("/src/")?;
        let depth = if inner == "lib.rs" { 0 } else { below(inner).1 };
        Some(
            row(CRATES, own)
                .map(|allowed| Self { own, is_crate: true, allowed, depth })
                .ok_or_else(|| format!("{file}:1: CRATES has no `{own}`")),
        )
    }

    /// Checks one path.
    fn check(&self, path: &source::Path<'_>) -> Option<String> {
        let own = self.own;
        let names = path.names.strip_prefix(&["self"]).unwrap_or(&path.names);
        let up = names.iter().take_while(|name| **name == "super").count();
        if !self.is_crate && up > 0 && up >= self.depth + path.depth {
            return Some(format!("`{}` leaves `{own}`: write `crate::...`", path.names.join("::")));
        }
        if names.starts_with(&["std", "env"]) && own != "cli" {
            return Some(format!("`{own}` may not use `std::env`: take the value as an argument"));
        }
        let used = match names {
            ["crate", ..] if self.is_crate => return None,
            ["crate" | "windtunnel", used @ ..] => used.join("::"),
            [first, used @ ..] => [&[first.strip_prefix("windtunnel_")?][..], used].concat().join("::"),
            [] => return None,
        };
        let within = |layer: &str| {
            used.strip_prefix(layer).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        if within(&own.replace('-', "_")) || self.allowed.iter().any(|layer| within(layer)) {
            return None;
        }
        let allowed = if self.allowed.is_empty() { "nothing".to_owned() } else { self.allowed.join(", ") };
        Some(format!("`{own}` may not use `{used}`; it may use {allowed}"))
    }
}

/// Checks the paths of a file against [`CRATES`] and [`MODULES`].
pub(super) fn check_uses(file: &str, tokens: &[Token<'_>]) -> Vec<String> {
    let place = match Place::find(file) {
        None => return Vec::new(),
        Some(Err(fault)) => return vec![fault],
        Some(Ok(place)) => place,
    };
    let (paths, _) = outline(tokens);
    let fault =
        |path: &source::Path<'_>| place.check(path).map(|fault| format!("{file}:{}: {fault}", path.line));
    paths.iter().filter_map(fault).collect()
}

/// Checks that the crate root declares exactly the modules of [`MODULES`]. Any other name would bypass the
/// table.
pub(super) fn check_root(lib: &str) -> Vec<String> {
    let tokens = tokens(lib);
    let declared: BTreeSet<&str> = outline(&tokens).1.iter().map(|line| line.name).collect();
    let known: BTreeSet<&str> = MODULES.iter().map(|(name, _)| *name).collect();
    let differs = declared.symmetric_difference(&known);
    let mut faults: Vec<String> = differs
        .map(|name| format!("src/lib.rs: `{name}` is only in one of src/lib.rs and MODULES"))
        .collect();
    let other = |token: &&Token<'_>| matches!(token.text, "use" | "fn" | "struct" | "enum" | "macro_rules");
    faults.extend(
        tokens
            .iter()
            .find(other)
            .map(|token| format!("src/lib.rs:{}: only `mod` lines are allowed here", token.line)),
    );
    faults
}
