//! The requests by which insights are published. Both objects are large, and written often: of what was written, answers tell
//! the metadata alone.

use http::header::{ACCEPT, CONTENT_TYPE};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::PartialObjectMeta;
use serde_json::{Value, json};
use windtunnel_core::resources;

use super::state::Data;
use super::watched::Watched;
use super::watches::{api_resource, data_of, resource_version, status_of};
use crate::insight::published::{CONFIG_MAP, NAMESPACE, UPDATE_STATUS};

/// Who made the fields that this controller writes (`metadata.managedFields`).
const FIELD_MANAGER: &str = "update-status-controller";

const JSON_PATCH: &str = "application/json-patch+json";
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// A client of the objects that insights are published into.
pub(super) struct Publisher {
    client: Client,
}

impl Publisher {
    pub(super) fn new(client: Client) -> Self {
        Self { client }
    }

    /// Resource version and data of the ConfigMap. It is listed: whoever may watch it may do so too.
    pub(super) async fn config_map(&self) -> Result<Option<(String, Data)>, kube::Error> {
        let found =
            Api::<ConfigMap>::namespaced(self.client.clone(), NAMESPACE).list(&named(CONFIG_MAP)).await?;
        Ok(found.items.into_iter().next().map(data_of))
    }

    /// Makes a merge patch of the ConfigMap, and gives its resource version.
    pub(super) async fn patch_config_map(&self, patch: &Value) -> Result<String, kube::Error> {
        let api = Api::<PartialObjectMeta<ConfigMap>>::namespaced(self.client.clone(), NAMESPACE);
        let written = api.patch(CONFIG_MAP, &PatchParams::apply(FIELD_MANAGER), &Patch::Merge(patch)).await?;
        Ok(resource_version(written.metadata))
    }

    /// Resource version and status of the UpdateStatus.
    pub(super) async fn update_status(&self) -> Result<Option<(String, Value)>, kube::Error> {
        let kind = api_resource(&resources::UPDATE_STATUSES);
        let found = Api::<Watched>::all_with(self.client.clone(), &kind).list(&named(UPDATE_STATUS)).await?;
        Ok(found.items.into_iter().next().map(status_of))
    }

    /// Creates the UpdateStatus.
    pub(super) async fn create_update_status(&self) -> Result<(String, Value), kube::Error> {
        let kind = api_resource(&resources::UPDATE_STATUSES);
        let object = DynamicObject::new(UPDATE_STATUS, &kind).data(json!({"spec": {}}));
        let field_manager = Some(FIELD_MANAGER.to_owned());
        let params = PostParams { field_manager, ..PostParams::default() };
        let api = Api::<DynamicObject>::all_with(self.client.clone(), &kind);
        api.create(&params, &object).await.map(|created| status_of(created.into()))
    }

    /// Makes a JSON patch of the UpdateStatus, through its status, and gives its resource version.
    pub(super) async fn patch_update_status(&self, operations: &[Value]) -> Result<String, kube::Error> {
        let kind = api_resource(&resources::UPDATE_STATUSES);
        let url = Api::<DynamicObject>::all_with(self.client.clone(), &kind).resource_url().to_owned();
        let request =
            http::Request::patch(format!("{url}/{UPDATE_STATUS}/status?fieldManager={FIELD_MANAGER}"))
                .header(ACCEPT, METADATA)
                .header(CONTENT_TYPE, JSON_PATCH)
                .body(serde_json::to_vec(operations).map_err(kube::Error::SerdeError)?)
                .map_err(kube::Error::HttpError)?;
        let written: PartialObjectMeta = self.client.request(request).await?;
        Ok(resource_version(written.metadata))
    }
}

fn named(name: &str) -> ListParams {
    ListParams::default().fields(&format!("metadata.name={name}"))
}
