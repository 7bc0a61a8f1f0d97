//! The objects of an image build: the MachineOSBuild, its Job and its ConfigMaps.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use windtunnel_core::resources::{CONFIG_MAPS, JOBS, MACHINE_OS_BUILDS, MACHINE_OS_CONFIGS};
use windtunnel_core::{Object, Resource, text};

use crate::environment::image_builds::{BUILD_CONTAINER, POOL};
use crate::mco::NAMESPACE;
use crate::mco::layering::BUILDER;

/// The label and the annotation with the MachineOSConfig.
pub(super) const CONFIG: &str = "machineconfiguration.openshift.io/machine-os-config";
/// The label and the annotation with the MachineOSBuild.
const BUILD: &str = "machineconfiguration.openshift.io/machine-os-build";
/// The label with the rendered MachineConfig.
const RENDERED: &str = "machineconfiguration.openshift.io/rendered-machine-config";
/// On MachineOSBuilds: the uid of their Job.
pub(super) const JOB_UID: &str = "machineconfiguration.openshift.io/job-uid";
/// On MachineOSBuilds: the Secret for the registry.
const PUSH_SECRET: &str = "machineconfiguration.openshift.io/rendered-image-push-secret";
/// The container that publishes the digest of the image.
const DIGEST_CONTAINER: &str = "create-digest-configmap";
/// The retries of the Job.
const RETRIES: u32 = 3;

/// The name of the build for a MachineOSConfig and a rendered MachineConfig. It depends only on the content of
/// both.
pub(super) fn build_name(config: &Object, rendered: &str) -> String {
    let digest = Sha256::digest(format!("{rendered} {}", config["spec"]));
    format!("{}-{}", config.name(), text::hex(&digest[..16]))
}

/// The name of a build's Job.
pub(super) fn job_name(build: &str) -> String {
    format!("build-{build}")
}

/// The name of the ConfigMap with the digest of a build's image.
pub(super) fn digest_name(build: &str) -> String {
    format!("digest-{build}")
}

/// The name of the ConfigMap with the Containerfile of a build.
pub(super) fn containerfile_name(build: &str) -> String {
    format!("containerfile-{build}")
}

/// A pull specification without its tag.
fn without_tag(image: &str) -> &str {
    let name = image.rfind('/').map_or(0, |slash| slash + 1);
    image[name..].find(':').map_or(image, |colon| &image[..name + colon])
}

/// The pull specification of a built image.
pub(super) fn digested_image(config: &Object, digest: &str) -> String {
    format!("{}@{digest}", without_tag(config.text("/spec/renderedImagePushSpec")))
}

/// The digest of the image that a Job builds. Another Job builds another image from the same content.
pub(super) fn digest(job: &Object, config: &Object) -> String {
    let content = format!("{} {} {}", job.name(), job.uid(), config["spec"]["containerFile"]);
    format!("sha256:{}", text::hex(&Sha256::digest(content)))
}

fn owner(resource: &Resource, object: &Object) -> Value {
    json!([{
        "apiVersion": resource.api_version(),
        "kind": resource.kind,
        "name": object.name(),
        "uid": object.uid(),
        "controller": true,
        "blockOwnerDeletion": true,
    }])
}

/// The MachineOSBuild of this name.
pub(super) fn build(name: &str, config: &Object, pool: &str, rendered: &str) -> Value {
    let push = format!("{}:{name}", without_tag(config.text("/spec/renderedImagePushSpec")));
    json!({
        "apiVersion": MACHINE_OS_BUILDS.api_version(),
        "kind": MACHINE_OS_BUILDS.kind,
        "metadata": {
            "name": name,
            "labels": { (POOL): pool, (RENDERED): rendered, (CONFIG): config.name() },
            "annotations": { (PUSH_SECRET): config.text("/spec/renderedImagePushSecret/name") },
            // Its Job is deleted before it.
            "finalizers": ["foregroundDeletion"],
            "ownerReferences": owner(&MACHINE_OS_CONFIGS, config),
        },
        "spec": {
            "machineConfig": { "name": rendered },
            "machineOSConfig": { "name": config.name() },
            "renderedImagePushSpec": push,
        },
    })
}

fn metadata(name: &str, build: &Object) -> Value {
    let label = |key: &str| build.label(key).unwrap_or_default();
    json!({
        "name": name,
        "namespace": NAMESPACE,
        "labels": {
            "machineconfiguration.openshift.io/ephemeral-build-object": "",
            "machineconfiguration.openshift.io/on-cluster-layering": "",
            (RENDERED): label(RENDERED),
            (POOL): label(POOL),
            (CONFIG): label(CONFIG),
            (BUILD): build.name(),
        },
        "annotations": { (CONFIG): label(CONFIG), (BUILD): build.name() },
        "ownerReferences": owner(&MACHINE_OS_BUILDS, build),
    })
}

/// The ConfigMap with the Containerfile of a build.
pub(super) fn containerfile(build: &Object, config: &Object) -> Value {
    let files = config.list("/spec/containerFile").iter();
    let content: Vec<&str> = files.filter_map(|file| file["content"].as_str()).collect();
    json!({
        "apiVersion": CONFIG_MAPS.api_version(),
        "kind": CONFIG_MAPS.kind,
        "metadata": metadata(&containerfile_name(build.name()), build),
        "data": { "Containerfile": content.join("\n") },
    })
}

/// The ConfigMap with the digest of a build's image.
pub(super) fn digest_map(build: &Object, digest: &str) -> Value {
    json!({
        "apiVersion": CONFIG_MAPS.api_version(),
        "kind": CONFIG_MAPS.kind,
        "metadata": metadata(&digest_name(build.name()), build),
        "data": { "digest": digest },
    })
}

/// The Job of a build, with pods of this image.
pub(super) fn job(build: &Object, config: &Object, image: &str) -> Value {
    let mount = |name: &str, path: &str| json!({ "name": name, "mountPath": path });
    let mounts = json!([
        mount("containerfile", "/tmp/containerfile"),
        mount("final-image-push-creds", "/tmp/final-image-push-creds"),
        mount("done", "/tmp/done"),
    ]);
    let container = |name: &str| {
        json!({
            "name": name,
            "image": image,
            "imagePullPolicy": "Always",
            "command": ["/bin/bash", "-c"],
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "volumeMounts": mounts,
        })
    };
    let secret = config.text("/spec/renderedImagePushSecret/name");
    json!({
        "apiVersion": JOBS.api_version(),
        "kind": JOBS.kind,
        "metadata": metadata(&job_name(build.name()), build),
        "spec": {
            "backoffLimit": RETRIES,
            "completions": 1,
            "template": { "spec": {
                "restartPolicy": "Never",
                "serviceAccountName": BUILDER,
                "initContainers": [container(BUILD_CONTAINER)],
                "containers": [container(DIGEST_CONTAINER)],
                "volumes": [
                    { "name": "containerfile", "configMap": { "name": containerfile_name(build.name()) } },
                    { "name": "final-image-push-creds", "secret": { "secretName": secret } },
                    { "name": "done", "emptyDir": {} },
                ],
            } },
        },
    })
}
