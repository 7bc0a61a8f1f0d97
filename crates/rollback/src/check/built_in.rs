//! API versions of built-in kinds that only one of the two API servers serves.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Check;
use crate::servers::{Discovery, bare};
use crate::trap::{Harm, Proof, Trap, Witness};
use crate::trial::Exchange;

/// A version and a kind, with an object that has them.
type Used<'o> = BTreeMap<(&'o str, &'o str), &'o Value>;

impl Check {
    /// The traps of API versions of built-in kinds: objects of the newer release in a version that the older API server does not
    /// serve, and manifests of the older release in a version that the newer API server, which runs when the rollback begins, does
    /// not serve any more.
    pub fn built_in_versions(&self) -> Vec<Trap> {
        let (newer, older) = self.servers.discoveries();
        let own = used(self.newer.manifests().iter().chain(&self.objects));
        let mut traps: Vec<Trap> = own
            .iter()
            .filter_map(|(used, object)| self.version(*used, object, (&newer, &older), Harm::Again))
            .collect();
        let theirs = used(self.older.manifests().iter());
        traps.extend(
            theirs
                .iter()
                .filter_map(|(used, object)| self.version(*used, object, (&older, &newer), Harm::Edits)),
        );
        traps
    }

    /// The trap of a version that the first server serves and the second one does not.
    fn version(
        &self,
        (api_version, kind): (&str, &str),
        object: &Value,
        (serving, other): (&Discovery, &Discovery),
        harm: Harm,
    ) -> Option<Trap> {
        if !serving.serves(api_version, kind) || other.serves(api_version, kind) {
            return None;
        }
        let requests = [serving.request(api_version), other.request(api_version)];
        let witness = Witness {
            object: bare(object),
            place: "apiVersion".to_owned(),
            read: None,
            after: None,
            exchanges: requests.into_iter().map(|(path, answer)| Exchange::discovery(path, answer)).collect(),
            others: Vec::new(),
        };
        let at = |minor: u32| {
            let is_trap = harm == Harm::Edits || !other.at(minor).serves(api_version, kind);
            (minor, if is_trap { harm } else { Harm::Note })
        };
        Some(Trap {
            definition: api_version.to_owned(),
            kind: kind.to_owned(),
            version: api_version.rsplit('/').next().unwrap_or_default().to_owned(),
            path: String::new(),
            difference: "built-in-version",
            detail: format!("an API version that Kubernetes 1.{} does not serve", other.minor()),
            harm,
            writer: if harm == Harm::Edits { "the older payload" } else { "the newer payload or users" }
                .to_owned(),
            proof: Proof::Proved(Box::new(witness)),
            by_minor: self.options.others.clone().map(at).collect(),
            hits: self.objects.iter().filter(|one| is_of(one, api_version, kind)).map(name_of).collect(),
        })
    }
}

/// The versions and kinds of objects.
fn used<'o>(objects: impl Iterator<Item = &'o Value>) -> Used<'o> {
    let key = |object: &'o Value| Some(((object["apiVersion"].as_str()?, object["kind"].as_str()?), object));
    objects.filter_map(key).collect()
}

fn is_of(object: &Value, api_version: &str, kind: &str) -> bool {
    object["apiVersion"] == json!(api_version) && object["kind"] == json!(kind)
}

fn name_of(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}
