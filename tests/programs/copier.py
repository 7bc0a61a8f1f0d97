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


version = json.load(request(CONFIG_MAPS))["metadata"]["resourceVersion"]
while True:
    for line in request(f"{CONFIG_MAPS}?watch=true&resourceVersion={version}"):
        event = json.loads(line)
        name, version = event["object"]["metadata"]["name"], event["object"]["metadata"]["resourceVersion"]
        print(event["type"], name, flush=True)
        if event["type"] == "ADDED" and not name.startswith("copy-of-"):
            copy = {"metadata": {"name": "copy-of-" + name}, "data": event["object"].get("data", {})}
            request(CONFIG_MAPS, copy)
