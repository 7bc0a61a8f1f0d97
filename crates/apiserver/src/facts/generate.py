#!/usr/bin/env python3
"""Makes the tables of this folder: the fields of the built-in types of one Kubernetes release, as plain facts.

  generate.py DEFINITIONS.json PROTOBUF_SOURCES

DEFINITIONS.json  the OpenAPI definitions of a release; PyPI's `kubernetes-validate` has one for each release, as
                  kubernetes-json-schema/v1.N.0-local/_definitions.json. Names, types and merge behaviour come from it.
PROTOBUF_SOURCES  the `src` folder of the crate `k8s-pb`. The numbers of the fields on the wire come from it.

One file for each group and version. A line that is not indented names a type; `kind` means that it is one of the API's
kinds, `atomic` that server-side apply takes it as a whole. An indented line is a field: its name in JSON, its number on the wire (0: not sent), its type, and what is special:
`required`, `default` (the document gives a zero as default), `map(KEYS)`, `set`, `atomic` or `granular` (how server-side
apply merges it, also if its type says otherwise), `merge(KEY)`, `merge` or `replace` and
`retainKeys` (how a strategic merge patch does). A field named `-` lends its fields to the type around it, as an embedded
struct of Go does; the wire has it as a message of its own. Types of other files are written GROUP.VERSION.Type.
"""
import json, pathlib, re, sys

KEPT = re.compile(
    r"^io\.k8s\.(?:api|kube-aggregator\.pkg\.apis|apiextensions-apiserver\.pkg\.apis|apimachinery\.pkg\.apis)"
    r"\.(\w+)\.(v1|v2)\.(\w+)$")
# What JSON has as one value although the wire has it as a message.
VALUES = {
    "Quantity": "quantity", "IntOrString": "int-or-string", "Time": "time", "MicroTime": "micro-time",
    "RawExtension": "object", "FieldsV1": "object", "Json": "json", "Duration": "duration", "Patch": "object",
    "JsonSchemaPropsOrBool": "schema-or-bool", "JsonSchemaPropsOrArray": "schema-or-array",
    "JsonSchemaPropsOrStringArray": "schema-or-strings",
}
SCALARS = {"string": "string", "bool": "bool", "int32": "int32", "int64": "int64", "bytes": "bytes",
           "double": "double", "uint32": "uint32", "uint64": "uint64", "float": "float"}
# The numbers of fields that are newer than the crate, from the `generated.proto` of Kubernetes 1.36.
NEWER = {
    "admissionregistration.v1.ApplyConfiguration": "expression=1",
    "admissionregistration.v1.JSONPatch": "expression=1",
    "admissionregistration.v1.MutatingAdmissionPolicy": "metadata=1 spec=2",
    "admissionregistration.v1.MutatingAdmissionPolicyBinding": "metadata=1 spec=2",
    "admissionregistration.v1.MutatingAdmissionPolicyBindingList": "items=2 metadata=1",
    "admissionregistration.v1.MutatingAdmissionPolicyBindingSpec": "matchResources=3 paramRef=2 policyName=1",
    "admissionregistration.v1.MutatingAdmissionPolicyList": "items=2 metadata=1",
    "admissionregistration.v1.MutatingAdmissionPolicySpec": "failurePolicy=5 matchConditions=6 matchConstraints=2 mutations=4 paramKind=1 reinvocationPolicy=7 variables=3",
    "admissionregistration.v1.Mutation": "applyConfiguration=3 jsonPatch=4 patchType=2",
    "core.v1.ImageVolumeStatus": "imageRef=1",
    "core.v1.NodeAllocatableResourceClaimStatus": "containers=2 resourceClaimName=1 resources=3",
    "core.v1.PodSchedulingGroup": "podGroupName=1",
    "core.v1.PodSpec": "schedulingGroup=43",
    "core.v1.PodStatus": "nodeAllocatableResourceClaimStatuses=21",
    "core.v1.ResourceHealth": "message=6",
    "core.v1.VolumeMountStatus": "volumeStatus=5",
    "core.v1.VolumeStatus": "image=1",
    "meta.v1.ListMeta": "shardInfo=5",
    "meta.v1.ShardInfo": "selector=1",
    "resource.v1.Device": "nodeAllocatableResourceMappings=13",
    "resource.v1.DeviceAttribute": "bools=7 ints=6 strings=8 versions=9",
    "resource.v1.NodeAllocatableResourceMapping": "allocationMultiplier=2 capacityKey=1",
    "storage.v1.CSIDriverSpec": "preventPodSchedulingIfMissing=11",
}
ROOTS = {"api": "api", "apiextensions_apiserver": "apiextensions_apiserver/pkg/apis",
         "kube_aggregator": "kube_aggregator/pkg/apis", "apimachinery": "apimachinery/pkg/apis"}
FIELD = re.compile(r"#\[prost\(([^\]]*)\)\]\s*pub (r#)?(\w+):\s*([^;{}]*?),\n(?=\s*(?:///|#\[|\}))", re.S)


def newer(owner, field):
    """The number of a field that the crate does not have; 0 if it is never sent."""
    numbers = dict(pair.split("=") for pair in NEWER.get(owner, "").split())
    return int(numbers.get(field, 0))


def plain(name):
    return re.sub(r"[^a-z0-9]", "", name.lower())


def camel(name):
    """The JSON name of a field of a JSON schema, of which the definitions say nothing."""
    if name.startswith("x_"):
        return name.replace("_", "-")
    head, *tail = name.split("_")
    return ("$" if name in ("ref", "schema") else "") + head + "".join(word.capitalize() for word in tail)


def sources(folder):
    """Messages by (group, version) and name: a list of (name, number, kind of value, type, repeated, map)."""
    found = {}
    for root in ROOTS.values():
        for path in sorted((folder / root).glob("*/v[12]/mod.rs")):
            group, version = path.parts[-3:-1]
            text = path.read_text()
            for struct in re.finditer(r"pub struct (\w+) \{\n(.*?)\n\}", text, re.S):
                fields = []
                for match in FIELD.finditer(struct[2] + "\n}"):
                    attributes, _, name, rust = match.groups()
                    number = int(re.search(r'tag = "(\d+)"', attributes)[1])
                    mapped = re.search(r'btree_map = "(\w+), (\w+)"', attributes)
                    what = mapped[2] if mapped else attributes.split(",")[0].split("=")[0].strip()
                    inner = re.sub(r"\s+", "", rust).replace(",>", ">")
                    if mapped:
                        inner = inner.rsplit(",", 1)[-1] if what == "message" else ""
                        inner = inner.strip(">")
                    else:
                        inner = re.sub(r"^.*<([^<>]+)>.*$", r"\1", inner)
                    fields.append((name, number, what, inner, "repeated" in attributes, bool(mapped)))
                found.setdefault((group, version), {})[struct[1]] = fields
            for struct in re.finditer(r"pub struct (\w+) \{\}", text):
                found.setdefault((group, version), {}).setdefault(struct[1], [])
    return found


def reference(rust, group, version):
    parts = [part for part in rust.split("::") if part not in ("super", "pkg", "apis", "api", "")]
    name = parts[-1]
    if name in VALUES:
        return VALUES[name], None
    if len(parts) > 2:
        return None, (parts[-3], parts[-2], name)
    return None, (group, version, name)


def marks(schema, required):
    out = ["required"] if required else []
    merged = schema.get("x-kubernetes-list-type") or schema.get("x-kubernetes-map-type")
    if merged == "map":
        out.append("map(%s)" % ",".join(schema["x-kubernetes-list-map-keys"]))
    elif merged in ("set", "atomic", "granular"):
        out.append(merged)
    # Defaults other than zeros have a rule of their own, and zeros of required fields are no news.
    if not required and schema.get("default") in ("", 0, False):
        out.append("default")
    strategy = (schema.get("x-kubernetes-patch-strategy") or "").split(",")
    if "merge" in strategy:
        key = schema.get("x-kubernetes-patch-merge-key")
        out.append(f"merge({key})" if key else "merge")
    out += [word for word in strategy if word in ("replace", "retainKeys")]
    return out


def from_schema(prop):
    """The type of a field by its schema alone."""
    if ref := prop.get("$ref"):
        name = ref.rsplit("/", 1)[-1]
        if name.rsplit(".", 1)[-1] in VALUES:
            return "", VALUES[name.rsplit(".", 1)[-1]]
        match = KEPT.match(name)
        return "", (match[1], match[2], match[3])
    kind = prop["type"][0] if isinstance(prop["type"], list) else prop["type"]
    if kind == "array":
        return "[]", from_schema(prop["items"])[1]
    if kind == "object":
        return "map[string]", from_schema(prop["additionalProperties"])[1]
    return "", {"integer": prop.get("format", "int64"), "boolean": "bool", "number": "double"}.get(kind, "string")


def main():
    definitions = json.loads(pathlib.Path(sys.argv[1]).read_text())
    definitions = definitions.get("$defs") or definitions["definitions"]
    messages = sources(pathlib.Path(sys.argv[2]))
    schemas = {}
    for name, schema in definitions.items():
        if (match := KEPT.match(name)) and not any(plain(match[3]) == plain(value) for value in VALUES):
            schemas[(match[1], match[2], match[3])] = schema
    # Names of messages are in prost's case (`Csi...`); those of the API are in the definitions.
    names = {(g, v, plain(n)): n for g, v, n in schemas}
    named = lambda key: names.get((key[0], key[1], plain(key[2])), key[2])
    files = {}

    def lendable(key):
        """The names of all fields of a message and of those that it embeds."""
        group, version, name = key
        fields = messages.get((group, version), {})
        fields = next((rows for message, rows in fields.items() if plain(message) == plain(name)), [])
        own = {field[0] for field in fields}
        for field in fields:
            target = reference(field[3], group, version)[1] if field[2] == "message" else None
            if target and target != key and not schemas.get(key, {}).get("properties", {}).get(field[0]):
                own |= {row[0] for row in messages.get(target[:2], {}).get(target[2], [])}
        return own

    def emit(key, schema, lent):
        """Writes the type; `lent` is the schema of the type that it lends its fields to."""
        group, version, name = key
        out = files.setdefault((group, version), {})
        if named(key) in out:
            return
        special = ["kind"] if "x-kubernetes-group-version-kind" in schema else []
        special += ["atomic"] if schema.get("x-kubernetes-map-type") == "atomic" and not lent else []
        rows = out[named(key)] = {"special": special, "fields": []}
        fields = messages.get((group, version), {})
        fields = next((rows for message, rows in fields.items() if plain(message) == plain(name)), [])
        if fields and "properties" not in schema and not lent:
            schema = {**schema, "properties": {camel(row[0]): {} for row in fields}}
            rules = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["rule"],
                     "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "rule"}
            if "x-kubernetes-validations" in schema["properties"]:
                schema["properties"]["x-kubernetes-validations"] = rules
        properties = schema.get("properties", {})
        byname = {plain(p): p for p in properties}
        seen = set()
        for field, number, what, rust, repeated, mapped in fields:
            value, target = (SCALARS.get(what), None) if what != "message" else reference(rust, group, version)
            json_name = byname.get(plain(field))
            if json_name is None and what == "message" and target:
                inner = lendable(target)
                if not any(plain(name) in byname for name in inner):
                    continue  # a field of another release
                rows["fields"].append(("-", number, target, []))
                emit(target, schemas.get(target, schema if not lent else lent), schema)
                seen |= {byname.get(plain(name)) for name in inner}
                continue
            if json_name is None:
                continue  # a field of another release
            seen.add(json_name)
            prop = properties[json_name]
            if target:
                emit(target, schemas.get(target, {}), None)
                inner = target
            else:
                inner = value
            prefix = "map[string]" if mapped else "[]" if repeated else ""
            if mapped and prop.get("additionalProperties", {}).get("type", [""])[0] == "array":
                inner = "[]string"
            rows["fields"].append((json_name, number, (prefix, inner), marks(prop, json_name in schema.get("required", []))))
        for json_name in properties:
            if json_name in seen or json_name in ("apiVersion", "kind") or lent:
                continue
            # Newer than the sources of the wire format.
            prop = properties[json_name]
            special = marks(prop, json_name in schema.get("required", []))
            rows["fields"].append((json_name, 0, from_schema(prop), special))

    def numbered(rows, owner):
        """The fields with their numbers. Those that only newer sources have follow the others, by number."""
        new = [(row[0], newer(owner, row[0]), *row[2:]) for row in rows if not row[1]]
        return [row for row in rows if row[1]] + sorted(new, key=lambda row: row[1])

    for key, schema in sorted(schemas.items()):
        emit(key, schema, None)
    here = pathlib.Path(__file__).parent
    for (group, version), types in sorted(files.items()):
        text = ""
        for name, rows in sorted(types.items()):
            text += " ".join([name, *rows["special"]]) + "\n"
            for json_name, number, kind, special in numbered(rows["fields"], f"{group}.{version}.{name}"):
                prefix, inner = kind if len(kind) == 2 else ("", kind)
                if isinstance(inner, tuple):
                    local = inner[:2] == (group, version)
                    inner = named(inner) if local else f"{inner[0]}.{inner[1]}.{named(inner)}"
                text += " ".join(filter(None, [" ", json_name, str(number), prefix + inner, *special])) + "\n"
        (here / f"{group}.{version}.txt").write_text(text)


main()
