"""An operator of the package kopf. It writes the spec of each Pelican to its status, when it is created and when it changes."""

import kopf


@kopf.on.create("birds.example", "v1", "pelicans")
@kopf.on.update("birds.example", "v1", "pelicans")
def copy(spec, patch, **_):
    patch.status["replicas"] = spec["replicas"]
