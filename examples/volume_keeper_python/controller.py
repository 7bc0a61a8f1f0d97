"""A controller that keeps a PersistentVolumeClaim for each Workspace, and deletes it when the Workspace is deleted.

It needs the package `kubernetes` from PyPI. With BUGGY=1 in its environment it has the bug that `restore.yaml` beside
this file finds with `--check-staleness`.
"""

import os
import queue
import sys
import threading

from kubernetes import client, config, watch

MANAGER = "volume-keeper"
GROUP, VERSION, PLURAL = "example.com", "v1", "workspaces"
SUFFIX = "-data"
# Seconds until the next try after an error.
RETRY = 5
# Seconds after which a watch ends and the objects are listed again.
RESYNC = 3600


class Keeper:
    """Compares Workspaces with their claims, one name at a time."""

    def __init__(self, namespace, is_buggy):
        self.namespace = namespace
        self.is_buggy = is_buggy
        self.core = client.CoreV1Api()
        self.custom = client.CustomObjectsApi()
        # The last seen state of each Workspace, by name.
        self.workspaces = {}
        # The names of Workspaces to compare.
        self.names = queue.Queue()

    def run(self):
        """Runs until the process ends."""
        for follow in (self.follow_workspaces, self.follow_claims):
            threading.Thread(target=follow, daemon=True).start()
        while True:
            name = self.names.get()
            try:
                self.reconcile(name)
            except client.ApiException as error:
                print(f"{name}: {error.status} {error.reason}", file=sys.stderr, flush=True)
                threading.Timer(RETRY, self.names.put, [name]).start()

    def follow_workspaces(self):
        """Keeps the cache of Workspaces up to date, and puts each changed one into the queue."""

        def listed(items):
            old, self.workspaces = self.workspaces, {item["metadata"]["name"]: item for item in items}
            for name in {**old, **self.workspaces}:
                self.names.put(name)

        def changed(kind, item):
            name = item["metadata"]["name"]
            if kind == "DELETED":
                self.workspaces.pop(name, None)
            else:
                self.workspaces[name] = item
            self.names.put(name)

        place = {"group": GROUP, "version": VERSION, "namespace": self.namespace, "plural": PLURAL}
        follow(self.custom.list_namespaced_custom_object, place, listed, changed)

    def follow_claims(self):
        """Puts the Workspace of each changed claim into the queue."""

        def changed(_, item):
            name = item["metadata"]["name"]
            if name.endswith(SUFFIX):
                self.names.put(name.removesuffix(SUFFIX))

        def listed(items):
            for item in items:
                changed("ADDED", item)

        follow(self.core.list_namespaced_persistent_volume_claim, {"namespace": self.namespace}, listed, changed)

    def reconcile(self, name):
        """Applies the claim of a Workspace, or deletes that of a Workspace that is being deleted."""
        workspace = self.workspaces.get(name)
        if workspace is None:
            return
        if workspace["metadata"].get("deletionTimestamp"):
            self.delete_claim(workspace)
        else:
            self.apply_claim(workspace)

    def apply_claim(self, workspace):
        metadata = workspace["metadata"]
        owner = {
            "apiVersion": f"{GROUP}/{VERSION}", "kind": "Workspace", "name": metadata["name"], "uid": metadata["uid"],
            "controller": True,
        }
        claim = {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": metadata["name"] + SUFFIX, "ownerReferences": [owner]},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": workspace["spec"]["size"]}},
            },
        }
        self.core.patch_namespaced_persistent_volume_claim(
            metadata["name"] + SUFFIX, self.namespace, claim, field_manager=MANAGER,
            _content_type="application/apply-patch+yaml",
        )

    def delete_claim(self, workspace):
        name = workspace["metadata"]["name"] + SUFFIX
        try:
            claim = self.core.read_namespaced_persistent_volume_claim(name, self.namespace)
        except client.ApiException as error:
            if error.status == 404:
                return
            raise
        # The cache may be old. Meanwhile the claim may be that of a new Workspace with the same name.
        owners = [owner.uid for owner in claim.metadata.owner_references or []]
        if workspace["metadata"]["uid"] not in owners and not self.is_buggy:
            return
        only_this = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid=claim.metadata.uid))
        self.core.delete_namespaced_persistent_volume_claim(name, self.namespace, body=only_this)


def follow(list_objects, place, listed, changed):
    """Lists objects, then watches them, and starts again when the watch ends."""
    plain = client.ApiClient().sanitize_for_serialization
    while True:
        try:
            found = plain(list_objects(**place))
            listed(found["items"])
            version = found["metadata"]["resourceVersion"]
            for event in watch.Watch().stream(list_objects, **place, resource_version=version, timeout_seconds=RESYNC):
                changed(event["type"], plain(event["raw_object"]))
        except Exception as error:  # Whatever ended the watch, the next list shows the current state.
            print(f"watch ended: {error}", file=sys.stderr, flush=True)
            threading.Event().wait(RETRY)


if __name__ == "__main__":
    config.load_config()
    Keeper(os.environ.get("NAMESPACE", "default"), bool(os.environ.get("BUGGY"))).run()
