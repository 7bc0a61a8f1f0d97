//! Compares the schemas of two releases, and lists each place where the newer one accepts more than the older one keeps.
//!
//! The comparison is by text and asks no server: it lists candidates. Some cannot occur, such as a rule that was only
//! reworded.

mod definitions;
mod difference;
mod lists;
mod objects;
mod values;

use crate::release::Definition;
use crate::schema::{Node, Path, Step};

pub(crate) use difference::{Bound, Candidate, Difference, Keyword, Presentation};

/// All candidates of a definition that both releases have.
pub(crate) fn compare(newer: &Definition, older: &Definition) -> Vec<Candidate> {
    let mut found = definitions::compare(newer, older);
    for version in newer.versions() {
        let Some(before) = older.version(&version.name).filter(|before| before.is_served) else { continue };
        let mut walk = SchemaDiff { version: &version.name, found: &mut found };
        walk.fields(&version.schema, &before.schema, &Path::default());
    }
    found
}

/// The candidate of a kind that only the newer release has.
pub(crate) fn new_kind(newer: &Definition) -> Candidate {
    let version = newer.stored_version().to_owned();
    Candidate { version, path: Path::default(), difference: Difference::Kind }
}

/// The comparison of the schemas of one version.
struct SchemaDiff<'w> {
    version: &'w str,
    found: &'w mut Vec<Candidate>,
}

impl SchemaDiff<'_> {
    /// Compares two schemas and all schemas below them.
    fn node(&mut self, newer: &Node, older: &Node, path: &Path) {
        let mut found = values::compare(newer, older);
        found.extend(lists::compare(newer, older));
        found.extend(objects::rules(newer, older));
        self.add_all(path, found);
        self.fields(newer, older, path);
        if let (Some(newer), Some(older)) = (&newer.items, &older.items) {
            self.node(newer, older, &path.then(Step::Item));
        }
    }

    /// Compares the fields of objects.
    fn fields(&mut self, newer: &Node, older: &Node, path: &Path) {
        if path.steps().is_empty() {
            self.add_all(path, objects::rules(newer, older));
        }
        self.add_all(path, objects::required(newer, older));
        for (name, inner) in &newer.properties {
            if path.steps().is_empty() && (name == "apiVersion" || name == "kind") {
                continue;
            }
            let path = path.field(name);
            match older.field(name) {
                Some(before) => {
                    self.node(inner, before, &path);
                    if newer.default_of(name) != older.default_of(name) && newer.may_lack(name) {
                        let (newer, older) = (inner.default.clone(), before.default.clone());
                        self.add(path, Difference::Default { newer, older });
                    }
                }
                None if older.keeps_unknown => {}
                None => self.add(path, Difference::Pruned),
            }
        }
        if let Some(inner) = &newer.additional {
            match &older.additional {
                Some(before) => self.node(inner, before, &path.then(Step::Entry)),
                None if older.keeps_unknown => {}
                None => self.add(path.then(Step::Entry), Difference::Pruned),
            }
        } else if newer.keeps_unknown
            && !older.keeps_unknown
            && older.additional.is_none()
            && !path.steps().is_empty()
        {
            self.add(path.clone(), Difference::Unknown);
        }
    }

    fn add_all(&mut self, path: &Path, found: Vec<Difference>) {
        for difference in found {
            self.add(path.clone(), difference);
        }
    }

    fn add(&mut self, path: Path, difference: Difference) {
        self.found.push(Candidate { version: self.version.to_owned(), path, difference });
    }
}
