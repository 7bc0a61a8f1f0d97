"""Everyday uses of the package kr8s: each object is changed twice. Ends with an error at the first wrong answer."""

import kr8s
from kr8s.objects import ConfigMap, Deployment, Namespace, new_class

NAMESPACE = "client-kr8s"
Pelican = new_class("Pelican", "birds.example/v1", namespaced=True, scalable=True)


def meta(name):
    return {"name": name, "namespace": NAMESPACE}


def fails(call):
    try:
        call()
    except (kr8s.ServerError, kr8s.NotFoundError):
        return
    raise AssertionError("expected an error")


def config_maps():
    song = ConfigMap({"metadata": meta("song"), "data": {"note": "c"}})
    song.create()
    fails(song.create)
    for note in ("d", "e"):
        song.patch({"data": {"note": note}})
        song.label({"tier": note})
        song.annotate({"tier": note})
        song.refresh()
        assert song.data.note == note and song.labels["tier"] == note, song.raw
    assert [found.name for found in kr8s.get("configmaps", namespace=NAMESPACE, label_selector={"tier": "e"})] == ["song"]
    song.delete()
    song.wait("delete", timeout=10)
    assert not song.exists()


def deployments():
    container = {"name": "c", "image": "example.com/c:1"}
    template = {"metadata": {"labels": {"app": "gull"}}, "spec": {"containers": [container]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "gull"}}, "template": template}
    gull = Deployment({"metadata": meta("gull"), "spec": spec})
    gull.create()
    for replicas in (2, 3):
        gull.patch({"spec": {"replicas": replicas}}, subresource="scale")
        gull.refresh()
        assert gull.replicas == replicas
    gull.delete()


def custom_resources():
    pete = Pelican({"metadata": meta("pete"), "spec": {"replicas": 1}})
    pete.create()
    fails(pete.create)
    for beak in ("long", "short"):
        pete.patch({"spec": {"beak": beak}})
        assert pete.spec.beak == beak, pete.raw
    pete.delete()
    fails(lambda: Pelican.get("pete", namespace=NAMESPACE))


namespace = Namespace({"metadata": {"name": NAMESPACE}})
namespace.create()
config_maps()
deployments()
custom_resources()
namespace.delete()
