"""A controller with several instances: `leader.py NAME [--careful]`.

For each ConfigMap job-NAME in the namespace default, the leader writes its own name into the ConfigMap `work`. At each event it
takes the Lease default/leader, if nobody holds it or it has expired. Its clock is that of the answers.

The mistake: an instance that was the leader once stays it. `--careful` looks at the Lease before each write.
"""

import datetime
import email.utils
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
CONFIG_MAPS = server + "/api/v1/namespaces/default/configmaps"
LEASES = server + "/apis/coordination.k8s.io/v1/namespaces/default/leases"
NAME, CAREFUL = sys.argv[1], "--careful" in sys.argv
SECONDS = 60


def request(url, body=None, method=None, kind="application/json"):
    headers = {"Authorization": "Bearer " + token, "Content-Type": kind}
    data = json.dumps(body).encode() if body else None
    call = urllib.request.Request(url, data=data, headers=headers, method=method)
    return urllib.request.urlopen(call, context=ssl._create_unverified_context())


def current_lease():
    """The Lease, or None, and the time of the answer."""
    try:
        answer = request(LEASES + "/leader")
        return json.load(answer), email.utils.parsedate_to_datetime(answer.headers["Date"])
    except urllib.error.HTTPError as error:
        return None, email.utils.parsedate_to_datetime(error.headers["Date"])


def holds_lease():
    """Whether this instance holds the Lease, which it takes or renews if it can."""
    lease, now = current_lease()
    spec = lease["spec"] if lease else {}
    renewed = spec.get("renewTime")
    age = (now - datetime.datetime.fromisoformat(renewed.replace("Z", "+00:00"))).total_seconds() if renewed else None
    if spec.get("holderIdentity") not in (None, NAME) and age < SECONDS:
        return False
    time = now.strftime("%Y-%m-%dT%H:%M:%S.000000Z")
    spec = {"holderIdentity": NAME, "leaseDurationSeconds": SECONDS, "acquireTime": time, "renewTime": time}
    if lease:
        request(LEASES + "/leader", {**lease, "spec": spec}, method="PUT")
    else:
        request(LEASES, {"metadata": {"name": "leader"}, "spec": spec})
    return True


is_leader = False
# A watch from version 0 begins with the objects that exist.
version = "0"
while True:
    for line in request(f"{CONFIG_MAPS}?watch=true&resourceVersion={version}"):
        event = json.loads(line)
        version, name = event["object"]["metadata"]["resourceVersion"], event["object"]["metadata"]["name"]
        if not name.startswith("job-"):
            continue
        if CAREFUL or not is_leader:
            is_leader = holds_lease()
        print(name, is_leader, flush=True)
        if is_leader:
            patch = {"data": {"by": NAME, "job": name}}
            request(CONFIG_MAPS + "/work", patch, method="PATCH", kind="application/merge-patch+json")
