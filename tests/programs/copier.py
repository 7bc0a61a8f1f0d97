"""A controller that creates ConfigMap copy-of-NAME for each new ConfigMap NAME in the namespace default."""

import json
import os
import re
import ssl
import urllib.request

kubeconfig = open(os.environ["KUBECONFIG"]).read()
server = re.search(r'server: "?([^"\n]+)', kubeconfig).group(1)
token = re.search(r'token: "?([^"\n]+)', kubeconfig).group(1)
CONFIG_MAPS = server + "/api/v1/namespaces/default/configmaps"


def request(url, body=None):
    headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
    data = json.dumps(body).encode() if body else None
    return urllib.request.urlopen(
        urllib.request.Request(url, data=data, headers=headers), context=ssl._create_unverified_context()
    )


def name_of(config_map):
    return config_map["metadata"]["name"]


listed = json.load(request(CONFIG_MAPS))
known, version = {name_of(item) for item in listed["items"]}, listed["metadata"]["resourceVersion"]


def changes():
    """Yields each change since `version`; objects that were created meanwhile, if the server has forgotten its changes."""
    for line in request(f"{CONFIG_MAPS}?watch=true&resourceVersion={version}"):
        event = json.loads(line)
        if event["type"] != "ERROR":
            yield event, event["object"]["metadata"]["resourceVersion"]
            continue
        # 410: the version is too old.
        listed = json.load(request(CONFIG_MAPS))
        for item in listed["items"]:
            if name_of(item) not in known:
                yield {"type": "ADDED", "object": item}, version
        yield None, listed["metadata"]["resourceVersion"]
        return


while True:
    for event, version in changes():
        if event is None:
            break
        name = name_of(event["object"])
        known.add(name)
        print(event["type"], name, flush=True)
        if event["type"] == "ADDED" and not name.startswith("copy-of-"):
            copy = {"metadata": {"name": "copy-of-" + name}, "data": event["object"].get("data", {})}
            request(CONFIG_MAPS, copy)
