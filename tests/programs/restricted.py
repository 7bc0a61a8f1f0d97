"""A program that lists ConfigMaps, tries to create one, and waits. It may not create any."""

import json
import os
import re
import ssl
import urllib.error
import urllib.request

kubeconfig = open(os.environ["KUBECONFIG"]).read()
server = re.search(r'server: "?([^"\n]+)', kubeconfig).group(1)
token = re.search(r'token: "?([^"\n]+)', kubeconfig).group(1)
CONFIG_MAPS = server + "/api/v1/namespaces/default/configmaps"


def request(url, body=None):
    headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
    data = json.dumps(body).encode() if body else None
    call = urllib.request.Request(url, data=data, headers=headers)
    return urllib.request.urlopen(call, context=ssl._create_unverified_context())


listed = json.load(request(CONFIG_MAPS))
try:
    request(CONFIG_MAPS, {"metadata": {"name": "found"}, "data": {"count": str(len(listed["items"]))}})
except urllib.error.HTTPError as error:
    print("create:", error.code, flush=True)
for line in request(CONFIG_MAPS + "?watch=true&resourceVersion=" + listed["metadata"]["resourceVersion"]):
    print(json.loads(line)["type"], flush=True)
