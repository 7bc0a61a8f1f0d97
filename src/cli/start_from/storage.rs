//! Tries which objects of a dump the API server of the copy stores. A malformed object is left out, and the rest of the dump is
//! taken over.

use windtunnel_apiserver::ApiServer;
use windtunnel_core::clock::Time;
use windtunnel_core::{Object, Resource};
use windtunnel_openshift::manifests;
use windtunnel_openshift::release::Release;

/// The answer of an API server to an object of a version or a kind that it does not serve.
const UNKNOWN: &str = "the server could not find the requested resource";

/// An API server to try objects on.
pub(super) struct Storage {
    server: ApiServer,
}

impl Storage {
    /// Returns an empty API server of a release, with those of its definitions (by name) whose objects are tried.
    pub(super) fn new(release: &Release, feature_set: &str, definitions: &[&str]) -> Self {
        let server = ApiServer::builder().kubernetes(release.kubernetes_minor).build(Time::UNIX_EPOCH);
        let mut storage = Self { server };
        let line = Release::line_of_facts(&release.version);
        let definitions = definitions.iter().filter_map(|name| manifests::crd_with(name, line, feature_set));
        for definition in definitions {
            // Objects of a definition that cannot be stored are not stored either.
            let _ = storage.store([Object::new((*definition).clone())]);
        }
        storage
    }

    /// Stores the first of several forms of an object that the server accepts, and returns it.
    ///
    /// # Errors
    /// The reason of the server: that of a form in a version that it serves, if there is one.
    pub(super) fn store(&mut self, forms: impl IntoIterator<Item = Object>) -> Result<Object, String> {
        let mut problem = UNKNOWN.to_owned();
        for form in forms {
            match self.server.replay(form.to_value(), Time::UNIX_EPOCH) {
                Ok(()) => return Ok(form),
                Err(why) if why != UNKNOWN => problem = why,
                Err(_) => {}
            }
        }
        Err(problem)
    }

    /// Returns the stored object, with defaults.
    pub(super) fn object(&self, resource: &Resource, object: &Object) -> Option<Object> {
        self.server.object(resource, object.namespace(), object.name())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn budget(version: &str, spec: &Value) -> Object {
        Object::new(json!({
            "apiVersion": version,
            "kind": "PodDisruptionBudget",
            "metadata": { "namespace": "shop", "name": "web" },
            "spec": spec,
        }))
    }

    #[test]
    fn the_first_form_that_the_server_knows_is_stored() {
        let release = Release::nearest(&"4.18.3".parse().unwrap());
        let mut storage = Storage::new(&release, "", &["machineconfigs.machineconfiguration.openshift.io"]);
        let forms = ["policy/v1beta1", "policy/v1"].map(|version| budget(version, &json!({})));
        assert_eq!(storage.store(forms.clone()).as_ref(), Ok(&forms[1]));
        let problem = storage.store([budget("policy/v1", &json!([1]))]).unwrap_err();
        assert!(problem.contains("spec"), "{problem}");
        assert_eq!(storage.store([forms[0].clone()]), Err(UNKNOWN.to_owned()));
        let config = json!({
            "apiVersion": "machineconfiguration.openshift.io/v1",
            "kind": "MachineConfig",
            "metadata": { "name": "50-ours" },
        });
        assert!(storage.store([Object::new(config)]).is_ok());
    }
}
