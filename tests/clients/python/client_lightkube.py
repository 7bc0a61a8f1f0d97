"""Everyday uses of the package lightkube: each object is changed twice. Ends with an error at the first wrong answer."""

from lightkube import ApiError, Client
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.apps_v1 import DeploymentSpec
from lightkube.models.autoscaling_v1 import ScaleSpec
from lightkube.models.core_v1 import Container, PodSpec, PodTemplateSpec
from lightkube.models.meta_v1 import LabelSelector, ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Namespace
from lightkube.types import PatchType

NAMESPACE = "client-lightkube"
Pelican = create_namespaced_resource("birds.example", "v1", "Pelican", "pelicans")


def meta(name):
    return ObjectMeta(name=name, namespace=NAMESPACE)


def fails(status, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except ApiError as error:
        assert error.status.code == status, error
        return
    raise AssertionError(f"expected {status}")


def config_maps(client):
    song = ConfigMap(metadata=meta("song"), data={"note": "c"})
    client.create(song)
    fails(409, client.create, song)
    for note in ("d", "e"):
        song = client.replace(ConfigMap(metadata=meta("song"), data={"note": note}))
        song = client.patch(ConfigMap, "song", {"data": {"key": note}}, namespace=NAMESPACE, patch_type=PatchType.MERGE)
        assert song.data == {"note": note, "key": note}, song.data
        applied = client.apply(ConfigMap(metadata=meta("hymn"), data={"note": note}), field_manager="keeper")
        assert applied.data == {"note": note}, applied.data
    assert {found.metadata.name for found in client.list(ConfigMap, namespace=NAMESPACE)} >= {"song", "hymn"}
    kind, first = next(iter(client.watch(ConfigMap, namespace=NAMESPACE)))
    assert kind == "ADDED", kind
    client.delete(ConfigMap, "song", namespace=NAMESPACE)
    fails(404, client.get, ConfigMap, "song", namespace=NAMESPACE)


def deployments(client):
    pod = PodTemplateSpec(
        metadata=ObjectMeta(labels={"app": "gull"}), spec=PodSpec(containers=[Container(name="c", image="example.com/c:1")]),
    )
    spec = DeploymentSpec(selector=LabelSelector(matchLabels={"app": "gull"}), template=pod)
    client.create(Deployment(metadata=meta("gull"), spec=spec))
    for replicas in (2, 3):
        scale = Deployment.Scale(metadata=meta("gull"), spec=ScaleSpec(replicas=replicas))
        assert client.replace(scale).spec.replicas == replicas
    client.delete(Deployment, "gull", namespace=NAMESPACE)


def custom_resources(client):
    pete = Pelican(metadata=meta("pete"), spec={"replicas": 1})
    client.create(pete)
    fails(409, client.create, pete)
    for beak in ("long", "short"):
        patched = client.patch(
            Pelican, "pete", {"spec": {"beak": beak}}, namespace=NAMESPACE, patch_type=PatchType.MERGE,
        )
        assert patched.spec["beak"] == beak, patched
        body = Pelican(apiVersion="birds.example/v1", kind="Pelican", metadata=meta("paul"), spec={"beak": beak})
        assert client.apply(body, field_manager="keeper").spec["beak"] == beak
    client.delete(Pelican, "pete", namespace=NAMESPACE)
    fails(404, client.get, Pelican, "pete", namespace=NAMESPACE)


client = Client()
client.create(Namespace(metadata=ObjectMeta(name=NAMESPACE)))
config_maps(client)
deployments(client)
custom_resources(client)
client.delete(Namespace, NAMESPACE)
