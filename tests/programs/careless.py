"""A controller with one of three mistakes: `careless.py stale|two-writes|intermediate`. `--correct` leaves the mistake out.

For each ConfigMap job-NAME in the namespace default:
stale         creates the Secret data-NAME, and deletes data-NAME of each job that its list lacks. The mistake: the list is one
              of the cache (resource version 0), which may be of the past.
two-writes    creates first-NAME and second-NAME. The mistake: after a restart first-NAME counts as both.
intermediate  creates cleaned-NAME when the phase is `cleanup`. The mistake: the phase may be over before the program sees it.
"""

import json
import os
import re
import ssl
import sys
import urllib.error
import urllib.request

kubeconfig = open(os.environ["KUBECONFIG"]).read()
server = re.search(r'server: "?([^"\n]+)', kubeconfig).group(1)
token = re.search(r'token: "?([^"\n]+)', kubeconfig).group(1)
NAMESPACE = server + "/api/v1/namespaces/default/"
MISTAKE, CORRECT = sys.argv[1], "--correct" in sys.argv


def request(path, body=None, method=None):
    headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
    data = json.dumps(body).encode() if body else None
    call = urllib.request.Request(NAMESPACE + path, data=data, headers=headers, method=method)
    return urllib.request.urlopen(call, context=ssl._create_unverified_context())


def create(kind, name):
    try:
        request(kind, {"metadata": {"name": name}})
    except urllib.error.HTTPError as error:
        if error.code != 409:
            raise


def names(kind, prefix):
    items = json.load(request(kind))["items"]
    found = [item["metadata"]["name"] for item in items]
    return [name[len(prefix):] for name in found if name.startswith(prefix)]


def reconcile(jobs):
    for name, phase in jobs.items():
        if MISTAKE == "stale":
            create("secrets", "data-" + name)
        if MISTAKE == "two-writes" and (CORRECT or name not in names("configmaps", "first-")):
            create("configmaps", "first-" + name)
            create("configmaps", "second-" + name)
        if MISTAKE == "intermediate" and phase in (["cleanup", "done"] if CORRECT else ["cleanup"]):
            create("configmaps", "cleaned-" + name)
    if MISTAKE == "stale":
        for name in names("secrets", "data-"):
            if name not in jobs:
                request("secrets/data-" + name, method="DELETE")


def take(jobs, kind, item):
    name = item["metadata"]["name"]
    if name.startswith("job-") and kind == "DELETED":
        jobs.pop(name[4:], None)
    elif name.startswith("job-"):
        jobs[name[4:]] = item.get("data", {}).get("phase")
    return name.startswith("job-")


listed = json.load(request("configmaps" if CORRECT else "configmaps?resourceVersion=0"))
version, jobs = listed["metadata"]["resourceVersion"], {}
for item in listed["items"]:
    take(jobs, "ADDED", item)
reconcile(jobs)
while True:
    for line in request(f"configmaps?watch=true&resourceVersion={version}"):
        event = json.loads(line)
        version = event["object"]["metadata"]["resourceVersion"]
        if take(jobs, event["type"], event["object"]):
            reconcile(jobs)
