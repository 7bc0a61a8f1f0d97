"""Measures the durations of an update in a record of windtunnel.

`read` collects the moments that matter from a record: the history of ClusterVersion, Progressing of ClusterOperators, Updating of
pools, Ready and cordons of nodes, Events of nodes, new static pods. `measure` takes the quantities of `real.json` from them. All
times are seconds.
"""

import datetime
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

# Operators that the real captures leave out of the last ones before machine-config: they roll out beside it.
BESIDE_MACHINE_CONFIG = {"network", "dns", "machine-config"}

# The operators that real captures have a time for, and the pairs between which they have one.
PAIRS = [
    ("etcd", "kube-apiserver"),
    ("kube-apiserver", "kube-controller-manager"),
    ("kube-controller-manager", "kube-scheduler"),
    ("kube-scheduler", "machine-api"),
    ("machine-api", "monitoring"),
]

# Static pods by the beginnings of their names.
STATIC_PODS = {
    "etcd": "etcd-master-",
    "kube-apiserver": "kube-apiserver-master-",
    "kube-controller-manager": "kube-controller-manager-master-",
    "kube-scheduler": "openshift-kube-scheduler-master-",
}

# For each object, the moments at which a property of it changed, and its new value.
Changes = dict[str, list[tuple[float, bool]]]

# A quantity, its subject and its seconds.
Sample = tuple[str, str, float]


@dataclass
class Moments:
    """The moments of one update, from a record."""

    scenario: str = ""
    started: float = 0
    completed: float = 0
    progressing: Changes = field(default_factory=lambda: defaultdict(list))
    updating: Changes = field(default_factory=lambda: defaultdict(list))
    ready: Changes = field(default_factory=lambda: defaultdict(list))
    cordoned: Changes = field(default_factory=lambda: defaultdict(list))
    node_events: dict[tuple[str, str], float] = field(default_factory=dict)
    static_pods: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))


def read(path: Path) -> Moments:
    """Reads the moments of a record."""
    moments = Moments()
    epoch = 0.0
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            if "scenario" in entry:
                moments.scenario = entry["scenario"]
                epoch = entry["epoch"] / 1000
            write = entry.get("write")
            if write and entry["at"] / 1000 >= epoch:
                add_write(moments, entry["at"] / 1000, write)
    return moments


def add_write(moments: Moments, at: float, write: dict) -> None:
    """Adds what one write changes."""
    content = write.get("object") or write.get("patch") or {}
    status = content.get("status") or {}
    name = write["name"]
    match write["kind"]:
        case "ClusterVersion":
            add_history(moments, status.get("history", []))
        case "ClusterOperator":
            add_condition(moments.progressing[name], at, status, "Progressing")
        case "MachineConfigPool":
            add_condition(moments.updating[name], at, status, "Updating")
        case "Node":
            add_condition(moments.ready[name], at, status, "Ready")
            if "unschedulable" in content.get("spec", {}):
                add_change(moments.cordoned[name], at, bool(content["spec"]["unschedulable"]))
        case "Event":
            involved = content.get("involvedObject", {})
            if involved.get("kind") == "Node":
                moments.node_events[content["reason"], involved["name"]] = at
        case "Pod" if write["verb"] == "create" and not write.get("subresource"):
            found = [operator for operator, start in STATIC_PODS.items() if name.startswith(start)]
            for operator in found:
                moments.static_pods[operator].append(at)


def add_history(moments: Moments, history: list[dict]) -> None:
    """Takes the start and the end of the newest update. The first entry of a new cluster is its installation."""
    if len(history) > 1:
        moments.started = seconds_of(history[0]["startedTime"])
        if history[0].get("completionTime"):
            moments.completed = seconds_of(history[0]["completionTime"])


def seconds_of(text: str) -> float:
    """Converts a time of an object to seconds."""
    return datetime.datetime.fromisoformat(text).timestamp()


def add_condition(changes: list[tuple[float, bool]], at: float, status: dict, kind: str) -> None:
    """Adds a change of a condition, if the status has the condition."""
    for condition in status.get("conditions", []):
        if condition["type"] == kind:
            add_change(changes, at, condition["status"] == "True")


def add_change(changes: list[tuple[float, bool]], at: float, value: bool) -> None:
    """Adds a value if it differs from the last one."""
    if not changes or changes[-1][1] != value:
        changes.append((at, value))


def first(changes: list[tuple[float, bool]], value: bool, after: float = 0) -> float | None:
    """Returns the first moment after another one at which a property got a value."""
    return next((at for at, new in changes if new == value and at > after), None)


def measure(moments: Moments) -> Iterator[Sample]:
    """Yields the durations of an update."""
    kind = moments.scenario.split(" on ")[0]
    yield "whole update", kind, moments.completed - moments.started
    single = " of a single node" if kind == "single node" else ""
    begins = first(moments.progressing["machine-config"], True)
    finished = finished_operators(moments, begins or moments.completed)
    for operator, at in finished.items():
        yield "operator finished", operator + single, at - moments.started
    if single:
        return
    if begins:
        yield "machine-config begins", "3 masters", begins - moments.started
        yield from between_operators(finished, begins)
    yield from static_pods(moments)
    for node in moments.ready:
        yield from node_steps(moments, node)
    for pool in ("master", "worker"):
        yield from pool_steps(moments, pool)
    workers = first(moments.updating["worker"], False, after=moments.started) or moments.completed
    yield "workers after the update", "3 nodes", max(0, workers - moments.completed)


def finished_operators(moments: Moments, until: float) -> dict[str, float]:
    """Returns the last moment before another one at which each operator stopped progressing."""
    finished = {}
    for operator, changes in moments.progressing.items():
        ends = [at for at, progressing in changes[1:] if not progressing and moments.started < at <= until]
        if ends and operator != "machine-config":
            finished[operator] = ends[-1]
    return finished


def between_operators(finished: dict[str, float], begins: float) -> Iterator[Sample]:
    """Yields the time between the ends of two operators."""
    for before, after in PAIRS:
        if before in finished and after in finished:
            yield "between operators", f"{before} to {after}", finished[after] - finished[before]
    last = max(at for operator, at in finished.items() if operator not in BESIDE_MACHINE_CONFIG)
    yield "between operators", "last operator to machine-config", begins - last


def static_pods(moments: Moments) -> Iterator[Sample]:
    """Yields the time from the new static pod to that of the next one, and that of a whole rollout."""
    for operator in STATIC_PODS:
        created = [at for at in moments.static_pods[operator] if at > moments.started]
        for before, after in zip(created, created[1:]):
            yield "static pod", operator, after - before
    changes = moments.progressing["kube-apiserver"]
    start = first(changes, True)
    end = first(changes, False, after=start) if start else None
    if start and end:
        yield "static pods of 3 nodes", "kube-apiserver", end - start


def node_steps(moments: Moments, node: str) -> Iterator[Sample]:
    """Yields the steps of a node's update."""
    at = {reason: moments.node_events.get((reason, node)) for reason in ("Drain", "OSUpdateStarted", "Reboot", "Starting")}
    if None in at.values():
        return
    yield "drain", "node", at["OSUpdateStarted"] - at["Drain"]
    yield "operating system", "node", at["Reboot"] - at["OSUpdateStarted"]
    yield "reboot to kubelet", "node", at["Starting"] - at["Reboot"]
    ready = first(moments.ready[node], True, after=at["Starting"])
    if ready:
        yield "kubelet to Ready", "node", ready - at["Starting"]
        yield "reboot to Ready", "node", ready - at["Reboot"]


def pool_steps(moments: Moments, pool: str) -> Iterator[Sample]:
    """Yields the durations of a pool's update, and the times between its nodes."""
    start = first(moments.updating[pool], True)
    if not start:
        return
    nodes = [node for node in moments.ready if node.startswith(pool)]
    ready = sorted(filter(None, (first(moments.ready[node], True, after=start) for node in nodes)))
    cordoned = sorted(filter(None, (first(moments.cordoned[node], True, after=start) for node in nodes)))
    if ready:
        yield "first node", pool, ready[0] - start
    for before, after in zip(ready, ready[1:]):
        yield "node to node", pool, after - before
    for before, after in zip(ready, cordoned[1:]):
        yield "pause between nodes", "node", after - before
    end = first(moments.updating[pool], False, after=start)
    if end:
        yield "pool", pool, end - start
