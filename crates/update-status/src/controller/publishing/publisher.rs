//! The requests that publish insights. Both objects are large and often written, so responses to patches
//! contain only metadata.

use http::header::{ACCEPT, CONTENT_TYPE};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::PartialObjectMeta;
use serde_json::{Value, json};
use windtunnel_core::resources;

use crate::controller::watch::fields::Watched;
use crate::controller::watch::{ConfigMapData, api_resource, data_of, resource_version, status_of};
use crate::insight::published::{CONFIG_MAP, NAMESPACE, UPDATE_STATUS};

/// The field manager of the controller's writes (`metadata.managedFields`).
const FIELD_MANAGER: &str = "update-status-controller";

const JSON_PATCH: &str = "application/json-patch+json";
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// A client for the objects that insights are published in.
pub(in crate::controller) struct Publisher {
    client: Client,
}

impl Publisher {
    pub(in crate::controller) fn new(client: Client) -> Self {
        Self { client }
    }

    /// Returns resource version and data of the ConfigMap. A list needs no permission beyond those of the
    /// watch.
    pub(in crate::controller) async fn config_map(
        &self,
    ) -> Result<Option<(String, ConfigMapData)>, kube::Error> {
        let found =
            Api::<ConfigMap>::namespaced(self.client.clone(), NAMESPACE).list(&named(CONFIG_MAP)).await?;
        Ok(found.items.into_iter().next().map(data_of))
    }

    /// Applies a merge patch to the ConfigMap, and returns its resource version.
    pub(in crate::controller) async fn patch_config_map(&self, patch: &Value) -> Result<String, kube::Error> {
        let api = Api::<PartialObjectMeta<ConfigMap>>::namespaced(self.client.clone(), NAMESPACE);
        let written = api.patch(CONFIG_MAP, &PatchParams::apply(FIELD_MANAGER), &Patch::Merge(patch)).await?;
        Ok(resource_version(written.metadata))
    }

    /// Returns resource version and status of the UpdateStatus.
    pub(in crate::controller) async fn update_status(&self) -> Result<Option<(String, Value)>, kube::Error> {
        let kind = api_resource(&resources::UPDATE_STATUSES);
        let found = Api::<Watched>::all_with(self.client.clone(), &kind).list(&named(UPDATE_STATUS)).await?;
        Ok(found.items.into_iter().next().map(status_of))
    }

    pub(in crate::controller) async fn create_update_status(&self) -> Result<(String, Value), kube::Error> {
        let kind = api_resource(&resources::UPDATE_STATUSES);
        let object = DynamicObject::new(UPDATE_STATUS, &kind).data(json!({"spec": {}}));
        let field_manager = Some(FIELD_MANAGER.to_owned());
        let params = PostParams { field_manager, ..PostParams::default() };
        let api = Api::<DynamicObject>::all_with(self.client.clone(), &kind);
        api.create(&params, &object).await.map(|created| status_of(created.into()))
    }

    /// Applies a JSON patch to the UpdateStatus through its status subresource, and returns its resource
    /// version.
    pub(in crate::controller) async fn patch_update_status(
        &self,
        operations: &[Value],
    ) -> Result<String, kube::Error> {
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

    /// Merges a status into that of an UpdateInformer.
    pub(in crate::controller) async fn report_to_informer(
        &self,
        name: &str,
        status: &Value,
    ) -> Result<(), kube::Error> {
        let kind = api_resource(&resources::UPDATE_INFORMERS);
        let api = Api::<PartialObjectMeta<DynamicObject>>::all_with(self.client.clone(), &kind);
        let patch = Patch::Merge(json!({"status": status}));
        api.patch_subresource("status", name, &PatchParams::apply(FIELD_MANAGER), &patch).await.map(drop)
    }
}

fn named(name: &str) -> ListParams {
    ListParams::default().fields(&format!("metadata.name={name}"))
}
