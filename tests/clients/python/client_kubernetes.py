"""Everyday uses of the package kubernetes: each object is changed twice. Ends with an error at the first wrong answer."""

from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException

NAMESPACE = "client-kubernetes"
GROUP = ("birds.example", "v1", NAMESPACE, "pelicans")


def fails(status, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except ApiException as error:
        assert error.status == status, error
        return
    raise AssertionError(f"expected {status}")


def config_maps(core):
    body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="song"), data={"note": "c"})
    created = core.create_namespaced_config_map(NAMESPACE, body)
    fails(409, core.create_namespaced_config_map, NAMESPACE, body)
    for note in ("d", "e"):
        created.data = {"note": note}
        created = core.replace_namespaced_config_map("song", NAMESPACE, created)
        patched = core.patch_namespaced_config_map("song", NAMESPACE, {"data": {"key": note}})
        assert patched.data == {"note": note, "key": note}, patched.data
        created = patched
    listed = core.list_namespaced_config_map(NAMESPACE, field_selector="metadata.name=song")
    events = watch.Watch().stream(
        core.list_namespaced_config_map, NAMESPACE,
        resource_version=listed.metadata.resource_version, timeout_seconds=10,
    )
    core.patch_namespaced_config_map("song", NAMESPACE, {"metadata": {"labels": {"tier": "one"}}})
    event = next(event for event in events if event["object"].metadata.name == "song")
    assert event["type"] == "MODIFIED", event["type"]
    core.delete_namespaced_config_map("song", NAMESPACE)
    fails(404, core.delete_namespaced_config_map, "song", NAMESPACE)


def deployments(apps):
    container = client.V1Container(name="c", image="example.com/c:1")
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels={"app": "gull"}), spec=client.V1PodSpec(containers=[container]),
    )
    spec = client.V1DeploymentSpec(selector={"matchLabels": {"app": "gull"}}, template=template)
    body = client.V1Deployment(metadata=client.V1ObjectMeta(name="gull"), spec=spec)
    apps.create_namespaced_deployment(NAMESPACE, body)
    for replicas in (2, 3):
        apps.patch_namespaced_deployment_scale("gull", NAMESPACE, {"spec": {"replicas": replicas}})
        assert apps.read_namespaced_deployment_scale("gull", NAMESPACE).spec.replicas == replicas
    apps.delete_namespaced_deployment("gull", NAMESPACE)


def custom_resources(custom, resources):
    body = {"apiVersion": "birds.example/v1", "kind": "Pelican", "metadata": {"name": "pete"}, "spec": {"replicas": 1}}
    custom.create_namespaced_custom_object(*GROUP, body)
    fails(409, custom.create_namespaced_custom_object, *GROUP, body)
    for replicas in (2, 3):
        patch = {"spec": {"replicas": replicas}}
        patched = custom.patch_namespaced_custom_object(*GROUP, "pete", patch)
        assert patched["spec"] == {"replicas": replicas, "beak": "medium"}, patched
    pelicans = resources.resources.get(api_version="birds.example/v1", kind="Pelican")
    for beak in ("long", "short"):
        applied = pelicans.server_side_apply(
            body={**body, "spec": {"beak": beak}}, namespace=NAMESPACE, field_manager="keeper", force_conflicts=True,
        )
        assert applied.spec.beak == beak, applied
    custom.delete_namespaced_custom_object(*GROUP, "pete")
    fails(404, custom.get_namespaced_custom_object, *GROUP, "pete")


config.load_kube_config()
core = client.CoreV1Api()
core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=NAMESPACE)))
config_maps(core)
deployments(client.AppsV1Api())
custom_resources(client.CustomObjectsApi(), dynamic.DynamicClient(client.ApiClient()))
core.delete_namespace(NAMESPACE)
