//! The fields of Ignition configs of spec 3: their kinds, since which minor they exist, and what names an entry
//! of a list.

use serde_json::Value;

use self::Kind::{Flag, Int, Many, Name, Number, One, Short, Text, Texts};

/// The type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A text that may be absent.
    Text,
    /// A text that is always there, if only empty.
    Name,
    /// A text that is left out if empty.
    Short,
    /// A whole number that may be absent.
    Int,
    /// A whole number that is left out if zero.
    Number,
    /// A truth value that may be absent.
    Flag,
    /// A list of texts.
    Texts,
    /// An object.
    One(&'static Type),
    /// A list of objects.
    Many(&'static Type),
}

/// A field of an object.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// The first minor of spec 3 that has it.
    pub(super) since: u64,
}

/// How the lists of an object are merged and checked for duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lists {
    /// An entry replaces the one of the same key in the same list.
    Own,
    /// All lists of the object share their keys.
    Shared,
    /// These lists may repeat an entry.
    Repeat(&'static [&'static str]),
}

/// A kind of object.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Type {
    /// Its name among the validations.
    pub(super) name: &'static str,
    pub(super) lists: Lists,
    /// In the order in which they are validated.
    pub(super) fields: &'static [Field],
}

impl Type {
    /// The fields that spec 3 of this minor has.
    pub(super) fn fields(&'static self, minor: u64) -> impl Iterator<Item = &'static Field> {
        self.fields.iter().filter(move |field| field.since <= minor)
    }

    /// The type of the object or the objects in a field.
    pub(super) fn inner(&self, name: &str) -> Option<&'static Self> {
        self.fields.iter().find(|field| field.name == name).and_then(|field| match field.kind {
            One(inner) | Many(inner) => Some(inner),
            _ => None,
        })
    }

    /// Its name in messages of the parser.
    pub(super) fn type_name(&self) -> String {
        match self.name {
            "kernelArguments" => "KernelArguments",
            "sources" => "IgnitionConfig",
            "tls" => "TLS",
            "owner" => "NodeUser",
            "header" => "HTTPHeader",
            "group" => "PasswdGroup",
            "user" => "PasswdUser",
            "custom" => "ClevisCustom",
            name => return name[..1].to_uppercase() + &name[1..],
        }
        .to_owned()
    }

    /// Returns whether the entries of this list may repeat.
    pub(super) fn repeats(&self, list: &str) -> bool {
        matches!(self.lists, Lists::Repeat(lists) if lists.contains(&list))
    }
}

/// The key of the entries of a list.
pub(super) fn key_of(of: Option<&Type>, entry: &Value) -> String {
    let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
    match of.map_or("", |of| of.name) {
        "" => entry.as_str().unwrap_or_default().to_owned(),
        "file" | "directory" | "link" => text("path"),
        "disk" | "filesystem" => text("device"),
        "resource" => text("source"),
        "tang" => text("url"),
        "partition" => match (entry["number"].as_i64().unwrap_or_default(), entry["label"].as_str()) {
            (0, Some(label)) => format!("label:{label}"),
            (0, None) => String::new(),
            (number, _) => format!("number:{number}"),
        },
        _ => text("name"),
    }
}

const fn field(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, since: 0 }
}

const fn newer(name: &'static str, kind: Kind, since: u64) -> Field {
    Field { name, kind, since }
}

const fn of(name: &'static str, fields: &'static [Field]) -> Type {
    Type { name, lists: Lists::Own, fields }
}

/// A whole config.
pub(super) static CONFIG: Type = of(
    "config",
    &[
        field("ignition", One(&IGNITION)),
        newer("kernelArguments", One(&KERNEL_ARGUMENTS), 3),
        field("passwd", One(&PASSWD)),
        field("storage", One(&STORAGE)),
        field("systemd", One(&SYSTEMD)),
    ],
);

static IGNITION: Type = of(
    "ignition",
    &[
        field("config", One(&SOURCES)),
        newer("proxy", One(&PROXY), 1),
        field("security", One(&SECURITY)),
        field("timeouts", One(&TIMEOUTS)),
        field("version", Name),
    ],
);

static SOURCES: Type = of("sources", &[field("merge", Many(&RESOURCE)), field("replace", One(&RESOURCE))]);

static PROXY: Type =
    of("proxy", &[field("httpProxy", Text), field("httpsProxy", Text), field("noProxy", Texts)]);

static SECURITY: Type = of("security", &[field("tls", One(&TLS))]);

static TLS: Type = of("tls", &[field("certificateAuthorities", Many(&RESOURCE))]);

static TIMEOUTS: Type = of("timeouts", &[field("httpResponseHeaders", Int), field("httpTotal", Int)]);

static KERNEL_ARGUMENTS: Type = Type {
    name: "kernelArguments",
    lists: Lists::Shared,
    fields: &[field("shouldExist", Texts), field("shouldNotExist", Texts)],
};

static PASSWD: Type = of("passwd", &[field("groups", Many(&GROUP)), field("users", Many(&USER))]);

static GROUP: Type = of(
    "group",
    &[
        field("gid", Int),
        field("name", Name),
        field("passwordHash", Text),
        newer("shouldExist", Flag, 2),
        field("system", Flag),
    ],
);

static USER: Type = of(
    "user",
    &[
        field("gecos", Text),
        field("groups", Texts),
        field("homeDir", Text),
        field("name", Name),
        field("noCreateHome", Flag),
        field("noLogInit", Flag),
        field("noUserGroup", Flag),
        field("passwordHash", Text),
        field("primaryGroup", Text),
        field("sshAuthorizedKeys", Texts),
        field("shell", Text),
        newer("shouldExist", Flag, 2),
        field("system", Flag),
        field("uid", Int),
    ],
);

static STORAGE: Type = Type {
    name: "storage",
    lists: Lists::Own,
    fields: &[
        field("directories", Many(&DIRECTORY)),
        field("disks", Many(&DISK)),
        field("files", Many(&FILE)),
        field("filesystems", Many(&FILESYSTEM)),
        field("links", Many(&LINK)),
        newer("luks", Many(&LUKS), 2),
        field("raid", Many(&RAID)),
    ],
};

/// The lists of `storage` that share their keys.
pub(super) const NODES: [&str; 3] = ["directories", "files", "links"];

static OWNER: Type = of("owner", &[field("id", Int), field("name", Text)]);

static DIRECTORY: Type = of(
    "directory",
    &[
        field("group", One(&OWNER)),
        field("overwrite", Flag),
        field("path", Name),
        field("user", One(&OWNER)),
        field("mode", Int),
    ],
);

static FILE: Type = Type {
    name: "file",
    lists: Lists::Repeat(&["append"]),
    fields: &[
        field("group", One(&OWNER)),
        field("overwrite", Flag),
        field("path", Name),
        field("user", One(&OWNER)),
        field("append", Many(&RESOURCE)),
        field("contents", One(&RESOURCE)),
        field("mode", Int),
    ],
};

static LINK: Type = of(
    "link",
    &[
        field("group", One(&OWNER)),
        field("overwrite", Flag),
        field("path", Name),
        field("user", One(&OWNER)),
        field("hard", Flag),
        field("target", Text),
    ],
);

static RESOURCE: Type = of(
    "resource",
    &[
        field("compression", Text),
        newer("httpHeaders", Many(&HEADER), 1),
        field("source", Text),
        field("verification", One(&VERIFICATION)),
    ],
);

static HEADER: Type = of("header", &[field("name", Name), field("value", Text)]);

static VERIFICATION: Type = of("verification", &[field("hash", Text)]);

static DISK: Type =
    of("disk", &[field("device", Name), field("partitions", Many(&PARTITION)), field("wipeTable", Flag)]);

static PARTITION: Type = of(
    "partition",
    &[
        field("guid", Text),
        field("label", Text),
        field("number", Number),
        newer("resize", Flag, 2),
        field("shouldExist", Flag),
        field("sizeMiB", Int),
        field("startMiB", Int),
        field("typeGuid", Text),
        field("wipePartitionEntry", Flag),
    ],
);

static FILESYSTEM: Type = Type {
    name: "filesystem",
    lists: Lists::Repeat(&["options", "mountOptions"]),
    fields: &[
        field("device", Name),
        field("format", Text),
        field("label", Text),
        newer("mountOptions", Texts, 1),
        field("options", Texts),
        field("path", Text),
        field("uuid", Text),
        field("wipeFilesystem", Flag),
    ],
};

static LUKS: Type = Type {
    name: "luks",
    lists: Lists::Repeat(&["options"]),
    fields: &[
        newer("cex", One(&CEX), 5),
        field("clevis", One(&CLEVIS)),
        field("device", Text),
        newer("discard", Flag, 4),
        field("keyFile", One(&RESOURCE)),
        field("label", Text),
        field("name", Name),
        newer("openOptions", Texts, 4),
        field("options", Texts),
        field("uuid", Text),
        field("wipeVolume", Flag),
    ],
};

static CEX: Type = of("cex", &[field("enabled", Flag)]);

static CLEVIS: Type = of(
    "clevis",
    &[
        field("custom", One(&CUSTOM)),
        field("tang", Many(&TANG)),
        field("threshold", Int),
        field("tpm2", Flag),
    ],
);

static CUSTOM: Type = of("custom", &[field("config", Text), field("needsNetwork", Flag), field("pin", Text)]);

static TANG: Type =
    of("tang", &[newer("advertisement", Text, 4), field("thumbprint", Text), field("url", Short)]);

static RAID: Type = Type {
    name: "raid",
    lists: Lists::Repeat(&["options"]),
    fields: &[
        field("devices", Texts),
        field("level", Text),
        field("name", Name),
        field("options", Texts),
        field("spares", Int),
    ],
};

static SYSTEMD: Type = of("systemd", &[field("units", Many(&UNIT))]);

static UNIT: Type = of(
    "unit",
    &[
        field("contents", Text),
        field("dropins", Many(&DROPIN)),
        field("enabled", Flag),
        field("mask", Flag),
        field("name", Name),
    ],
);

static DROPIN: Type = of("dropin", &[field("contents", Text), field("name", Name)]);
