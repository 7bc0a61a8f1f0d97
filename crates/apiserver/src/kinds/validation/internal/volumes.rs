//! The internal structs of volumes and claims (`pkg/apis/core/types.go`, `pkg/apis/storage/types.go`).

use super::{Form, Members};

/// `core.PersistentVolumeClaimSpec`.
#[rustfmt::skip]
pub(in crate::kinds::validation) const CLAIM: Members = &[
    ("AccessModes", "accessModes", Form::Any),
    ("Selector", "selector", Form::Any),
    ("Resources", "resources", Form::Struct(&[("Limits", "limits", Form::Any), ("Requests", "requests", Form::Any)])),
    ("VolumeName", "volumeName", Form::Text),
    ("StorageClassName", "storageClassName", Form::Any),
    ("VolumeMode", "volumeMode", Form::Any),
    ("DataSource", "dataSource", Form::Pointer(&[
        ("APIGroup", "apiGroup", Form::Any), ("Kind", "kind", Form::Text), ("Name", "name", Form::Text),
    ])),
    ("DataSourceRef", "dataSourceRef", Form::Pointer(&[
        ("APIGroup", "apiGroup", Form::Any), ("Kind", "kind", Form::Text), ("Name", "name", Form::Text),
        ("Namespace", "namespace", Form::Any),
    ])),
    ("VolumeAttributesClassName", "volumeAttributesClassName", Form::Any),
];

const REQUIREMENT: Members =
    &[("Key", "key", Form::Text), ("Operator", "operator", Form::Text), ("Values", "values", Form::Any)];

/// `core.VolumeNodeAffinity`.
#[rustfmt::skip]
pub(in crate::kinds::validation) const AFFINITY: Members = &[("Required", "required", Form::Pointer(&[
    ("NodeSelectorTerms", "nodeSelectorTerms", Form::List(&[
        ("MatchExpressions", "matchExpressions", Form::List(REQUIREMENT)),
        ("MatchFields", "matchFields", Form::List(REQUIREMENT)),
    ])),
]))];

/// `storage.CSINodeDriver`, without the members that may change.
#[rustfmt::skip]
pub(in crate::kinds::validation) const DRIVER: Members = &[
    ("Name", "name", Form::Text),
    ("NodeID", "nodeID", Form::Text),
    ("TopologyKeys", "topologyKeys", Form::Any),
    ("Allocatable", "", Form::Any),
];

/// `storage.VolumeAttachmentSpec`.
#[rustfmt::skip]
pub(in crate::kinds::validation) const ATTACHMENT: Members = &[
    ("Attacher", "attacher", Form::Text),
    ("Source", "source", Form::Struct(&[
        ("PersistentVolumeName", "persistentVolumeName", Form::Any),
        ("InlineVolumeSpec", "inlineVolumeSpec", Form::Any),
    ])),
    ("NodeName", "nodeName", Form::Text),
];

const READ_ONLY: (&str, &str, Form) = ("ReadOnly", "readOnly", Form::Flag);
const FS_TYPE: (&str, &str, Form) = ("FSType", "fsType", Form::Text);
const PARTITION: (&str, &str, Form) = ("Partition", "partition", Form::Number);

/// `core.SecretReference`.
const SECRET: Form = Form::Pointer(&[("Name", "name", Form::Text), ("Namespace", "namespace", Form::Text)]);
const SECRET_REF: (&str, &str, Form) = ("SecretRef", "secretRef", SECRET);

/// `core.PersistentVolumeSource`, in the order of the struct.
#[rustfmt::skip]
pub(in crate::kinds::validation) const SOURCE: Members = &[
    ("GCEPersistentDisk", "gcePersistentDisk", Form::Pointer(&[("PDName", "pdName", Form::Text), FS_TYPE, PARTITION, READ_ONLY])),
    ("AWSElasticBlockStore", "awsElasticBlockStore", Form::Pointer(&[("VolumeID", "volumeID", Form::Text), FS_TYPE, PARTITION, READ_ONLY])),
    ("HostPath", "hostPath", Form::Pointer(&[("Path", "path", Form::Text), ("Type", "type", Form::Any)])),
    ("Glusterfs", "glusterfs", Form::Pointer(&[
        ("EndpointsName", "endpoints", Form::Text), ("Path", "path", Form::Text), READ_ONLY,
        ("EndpointsNamespace", "endpointsNamespace", Form::Any),
    ])),
    ("NFS", "nfs", Form::Pointer(&[("Server", "server", Form::Text), ("Path", "path", Form::Text), READ_ONLY])),
    ("RBD", "rbd", Form::Pointer(&[
        ("CephMonitors", "monitors", Form::Any), ("RBDImage", "image", Form::Text), FS_TYPE, ("RBDPool", "pool", Form::Text),
        ("RadosUser", "user", Form::Text), ("Keyring", "keyring", Form::Text), SECRET_REF, READ_ONLY,
    ])),
    ("Quobyte", "quobyte", Form::Pointer(&[
        ("Registry", "registry", Form::Text), ("Volume", "volume", Form::Text), READ_ONLY, ("User", "user", Form::Text),
        ("Group", "group", Form::Text), ("Tenant", "tenant", Form::Text),
    ])),
    ("ISCSI", "iscsi", Form::Pointer(&[
        ("TargetPortal", "targetPortal", Form::Text), ("IQN", "iqn", Form::Text), ("Lun", "lun", Form::Number),
        ("ISCSIInterface", "iscsiInterface", Form::Text), FS_TYPE, READ_ONLY, ("Portals", "portals", Form::Any),
        ("DiscoveryCHAPAuth", "chapAuthDiscovery", Form::Flag), ("SessionCHAPAuth", "chapAuthSession", Form::Flag),
        SECRET_REF, ("InitiatorName", "initiatorName", Form::Any),
    ])),
    ("FlexVolume", "flexVolume", Form::Pointer(&[
        ("Driver", "driver", Form::Text), FS_TYPE, SECRET_REF, READ_ONLY, ("Options", "options", Form::Any),
    ])),
    ("Cinder", "cinder", Form::Pointer(&[("VolumeID", "volumeID", Form::Text), FS_TYPE, READ_ONLY, SECRET_REF])),
    ("CephFS", "cephfs", Form::Pointer(&[
        ("Monitors", "monitors", Form::Any), ("Path", "path", Form::Text), ("User", "user", Form::Text),
        ("SecretFile", "secretFile", Form::Text), SECRET_REF, READ_ONLY,
    ])),
    ("FC", "fc", Form::Pointer(&[
        ("TargetWWNs", "targetWWNs", Form::Any), ("Lun", "lun", Form::Any), FS_TYPE, READ_ONLY, ("WWIDs", "wwids", Form::Any),
    ])),
    ("Flocker", "flocker", Form::Pointer(&[
        ("DatasetName", "datasetName", Form::Text), ("DatasetUUID", "datasetUUID", Form::Text),
    ])),
    ("AzureFile", "azureFile", Form::Pointer(&[
        ("SecretName", "secretName", Form::Text), ("ShareName", "shareName", Form::Text), READ_ONLY,
        ("SecretNamespace", "secretNamespace", Form::Any),
    ])),
    ("VsphereVolume", "vsphereVolume", Form::Pointer(&[
        ("VolumePath", "volumePath", Form::Text), FS_TYPE, ("StoragePolicyName", "storagePolicyName", Form::Text),
        ("StoragePolicyID", "storagePolicyID", Form::Text),
    ])),
    ("AzureDisk", "azureDisk", Form::Pointer(&[
        ("DiskName", "diskName", Form::Text), ("DataDiskURI", "diskURI", Form::Text), ("CachingMode", "cachingMode", Form::Any),
        ("FSType", "fsType", Form::Any), ("ReadOnly", "readOnly", Form::Any), ("Kind", "kind", Form::Any),
    ])),
    ("PhotonPersistentDisk", "photonPersistentDisk", Form::Pointer(&[("PdID", "pdID", Form::Text), FS_TYPE])),
    ("PortworxVolume", "portworxVolume", Form::Pointer(&[("VolumeID", "volumeID", Form::Text), FS_TYPE, READ_ONLY])),
    ("ScaleIO", "scaleIO", Form::Pointer(&[
        ("Gateway", "gateway", Form::Text), ("System", "system", Form::Text), SECRET_REF, ("SSLEnabled", "sslEnabled", Form::Flag),
        ("ProtectionDomain", "protectionDomain", Form::Text), ("StoragePool", "storagePool", Form::Text),
        ("StorageMode", "storageMode", Form::Text), ("VolumeName", "volumeName", Form::Text), FS_TYPE, READ_ONLY,
    ])),
    ("Local", "local", Form::Pointer(&[("Path", "path", Form::Text), ("FSType", "fsType", Form::Any)])),
    ("StorageOS", "storageos", Form::Pointer(&[
        ("VolumeName", "volumeName", Form::Text), ("VolumeNamespace", "volumeNamespace", Form::Text), FS_TYPE, READ_ONLY,
        ("SecretRef", "secretRef", Form::Any),
    ])),
    ("CSI", "csi", Form::Pointer(&[
        ("Driver", "driver", Form::Text), ("VolumeHandle", "volumeHandle", Form::Text), READ_ONLY, FS_TYPE,
        ("VolumeAttributes", "volumeAttributes", Form::Any), ("ControllerPublishSecretRef", "controllerPublishSecretRef", SECRET),
        ("NodeStageSecretRef", "nodeStageSecretRef", SECRET), ("NodePublishSecretRef", "nodePublishSecretRef", SECRET),
        ("ControllerExpandSecretRef", "controllerExpandSecretRef", SECRET), ("NodeExpandSecretRef", "nodeExpandSecretRef", SECRET),
    ])),
];
