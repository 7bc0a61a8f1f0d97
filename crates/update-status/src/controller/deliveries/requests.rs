//! The requests to the API server that a delivery needs.

use std::collections::BTreeMap;

use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::PartialObjectMeta;
use serde_json::{Value, json};
use windtunnel_core::resources::{UPDATE_INFORMERS, UPDATE_INSIGHTS};

use super::AUDIENCE;
use crate::controller::watch::api_resource;
use crate::insight::published::NAMESPACE;

/// The label of stored insights: the name of their informer.
pub(super) const LABEL: &str = "update.openshift.io/informer";

/// The field manager of stored insights.
const FIELD_MANAGER: &str = "update-status-controller-deliveries";

/// The user of a token.
#[derive(Debug)]
pub(super) struct User {
    pub(super) name: String,
    /// `status.user` of the TokenReview.
    info: Value,
}

/// An UpdateInformer.
#[derive(Debug)]
pub(super) struct InformerRef {
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) spec: Value,
    /// The reported rejection of a delivery; null if there is none.
    pub(super) rejected: Value,
}

/// The resource versions of stored insights by name.
pub(super) type Stored = BTreeMap<String, String>;

/// Sends the requests.
pub(super) struct Requests {
    client: Client,
}

impl Requests {
    pub(super) fn new(client: Client) -> Self {
        Self { client }
    }

    /// Returns the user of a token; `None` if the token is invalid or has another audience.
    pub(super) async fn review_token(&self, token: &str) -> Result<Option<User>, kube::Error> {
        let review = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
            "spec": {"token": token, "audiences": [AUDIENCE]},
        });
        let answer = self.post("/apis/authentication.k8s.io/v1/tokenreviews", &review).await?;
        let status = &answer["status"];
        // An authenticator that knows no audiences returns none: its answer is not about this audience.
        let audiences = status["audiences"].as_array();
        let is_for_us =
            audiences.is_some_and(|audiences| audiences.iter().any(|audience| audience == AUDIENCE));
        let name = status["user"]["username"].as_str().filter(|name| !name.is_empty());
        let name = name.filter(|_| is_for_us && status["authenticated"] == true);
        Ok(name.map(|name| User { name: name.to_owned(), info: status["user"].clone() }))
    }

    /// Returns whether a user may deliver insights of an informer.
    pub(super) async fn may_deliver(&self, user: &User, informer: &str) -> Result<bool, kube::Error> {
        let mut spec = json!({
            "user": user.name,
            "resourceAttributes": {
                "group": "update.openshift.io", "version": "v1alpha1", "resource": "updateinformers",
                "subresource": "insights", "name": informer, "verb": "create",
            },
        });
        for field in ["uid", "groups", "extra"] {
            if let Some(value) = user.info.get(field) {
                spec[field] = value.clone();
            }
        }
        let review =
            json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec});
        let answer = self.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", &review).await?;
        Ok(answer["status"]["allowed"] == true)
    }

    /// Returns an UpdateInformer.
    pub(super) async fn informer(&self, name: &str) -> Result<Option<InformerRef>, kube::Error> {
        let api = Api::<DynamicObject>::all_with(self.client.clone(), &api_resource(&UPDATE_INFORMERS));
        let params = ListParams::default().fields(&format!("metadata.name={name}"));
        // A list needs no right besides those of the watch.
        let found = api.list(&params).await?.items.into_iter().next();
        Ok(found.map(|object| InformerRef {
            name: name.to_owned(),
            uid: object.metadata.uid.unwrap_or_default(),
            spec: object.data["spec"].clone(),
            rejected: object.data["status"]["rejectedDelivery"].clone(),
        }))
    }

    /// Reports the last rejection of a delivery in the status of an UpdateInformer; null removes it.
    pub(super) async fn report(&self, informer: &str, rejected: &Value) -> Result<(), kube::Error> {
        let api = Api::<DynamicObject>::all_with(self.client.clone(), &api_resource(&UPDATE_INFORMERS));
        let patch = Patch::Merge(json!({"status": {"rejectedDelivery": rejected}}));
        api.patch_status(informer, &PatchParams::default(), &patch).await.map(drop)
    }

    /// Returns the stored insights of an informer.
    pub(super) async fn stored(&self, informer: &str) -> Result<Stored, kube::Error> {
        let params = ListParams::default().labels(&format!("{LABEL}={informer}"));
        let found = self.insights().list_metadata(&params).await?.items.into_iter();
        let named = |object: PartialObjectMeta<DynamicObject>| {
            Some((object.metadata.name?, object.metadata.resource_version?))
        };
        Ok(found.filter_map(named).collect())
    }

    /// Creates or replaces an object; with `is_check` only checks whether the API server accepts it.
    pub(super) async fn store(
        &self,
        object: &Value,
        stored: &Stored,
        is_check: bool,
    ) -> Result<(), kube::Error> {
        let field_manager = Some(FIELD_MANAGER.to_owned());
        let params = PostParams { dry_run: is_check, field_manager };
        let mut object: DynamicObject =
            serde_json::from_value(object.clone()).map_err(kube::Error::SerdeError)?;
        let name = object.metadata.name.clone().unwrap_or_default();
        match stored.get(&name) {
            Some(version) => {
                object.metadata.resource_version = Some(version.clone());
                self.insights().replace(&name, &params, &object).await.map(drop)
            }
            None => self.insights().create(&params, &object).await.map(drop),
        }
    }

    /// Deletes a stored insight.
    pub(super) async fn remove(&self, name: &str) -> Result<(), kube::Error> {
        match self.insights().delete(name, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            other => other.map(drop),
        }
    }

    fn insights(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), NAMESPACE, &api_resource(&UPDATE_INSIGHTS))
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value, kube::Error> {
        let request = http::Request::post(path)
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(serde_json::to_vec(body).map_err(kube::Error::SerdeError)?)
            .map_err(kube::Error::HttpError)?;
        self.client.request(request).await
    }
}
