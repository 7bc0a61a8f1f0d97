//! A controller that keeps a PersistentVolumeClaim for each Workspace, and deletes it when the Workspace is deleted.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::api::{Api, ApiResource, DeleteParams, Patch, PatchParams, Preconditions};
use kube::core::{GroupVersionKind, NotUsed, Object};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::watcher;
use kube::{Client, Resource as _, ResourceExt as _};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The pause between two looks at a Workspace.
const PERIOD: Duration = Duration::from_secs(60);
/// The pause after an error.
const RETRY: Duration = Duration::from_secs(5);

/// The field manager.
const MANAGER: &str = "volume-keeper";

/// The spec of a Workspace.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct WorkspaceSpec {
    /// The size of its volume, such as `1Gi`.
    size: String,
}

/// A Workspace.
pub(crate) type Workspace = Object<WorkspaceSpec, NotUsed>;

/// The kind of Workspaces.
pub(crate) fn kind() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Workspace"))
}

struct Context {
    client: Client,
    /// Whether the controller deletes a claim by its name alone.
    is_buggy: bool,
}

/// Runs the controller until its watch ends, which it does not. With `is_buggy`, it trusts its cache too much.
pub(crate) async fn run(client: Client, is_buggy: bool) {
    let workspaces = Api::<Workspace>::default_namespaced_with(client.clone(), &kind());
    let controller = Controller::new_with(workspaces, watcher::Config::default(), kind());
    let context = Arc::new(Context { client, is_buggy });
    let retry = |_: Arc<Workspace>, _: &kube::Error, _: Arc<Context>| Action::requeue(RETRY);
    controller.run(reconcile, retry, context).for_each(|_| std::future::ready(())).await;
}

async fn reconcile(workspace: Arc<Workspace>, context: Arc<Context>) -> kube::Result<Action> {
    let claims: Api<PersistentVolumeClaim> = Api::default_namespaced(context.client.clone());
    let name = format!("{}-data", workspace.name_any());
    if workspace.metadata.deletion_timestamp.is_some() {
        delete(&claims, &name, &workspace, context.is_buggy).await?;
    } else {
        apply(&claims, &name, &workspace).await?;
    }
    Ok(Action::requeue(PERIOD))
}

async fn apply(claims: &Api<PersistentVolumeClaim>, name: &str, workspace: &Workspace) -> kube::Result<()> {
    let claim = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": { "name": name, "ownerReferences": [workspace.controller_owner_ref(&kind())] },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": { "requests": { "storage": workspace.spec.size } },
        },
    });
    claims.patch(name, &PatchParams::apply(MANAGER), &Patch::Apply(claim)).await.map(drop)
}

/// Deletes the claim of a deleted Workspace.
async fn delete(
    claims: &Api<PersistentVolumeClaim>,
    name: &str,
    workspace: &Workspace,
    is_buggy: bool,
) -> kube::Result<()> {
    let Some(claim) = claims.get_opt(name).await? else { return Ok(()) };
    // The cache may be old. Meanwhile the claim may be that of a new Workspace with the same name.
    let is_owned =
        claim.owner_references().iter().any(|owner| Some(&owner.uid) == workspace.meta().uid.as_ref());
    if !is_owned && !is_buggy {
        return Ok(());
    }
    let preconditions = Preconditions { uid: claim.uid(), resource_version: None };
    claims
        .delete(name, &DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() })
        .await?;
    Ok(())
}
