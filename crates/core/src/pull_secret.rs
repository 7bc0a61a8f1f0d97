//! The global pull secret, which each cluster has from its installation.

/// Its namespace.
pub const NAMESPACE: &str = "openshift-config";
/// Its name.
pub const NAME: &str = "pull-secret";
/// The key of its data.
pub const KEY: &str = ".dockerconfigjson";
/// Its data in an installed simulated cluster, in base64. It is public.
pub const INSTALLED: &str = "eyJhdXRocyI6eyJxdWF5LmlvIjp7ImF1dGgiOiJibTl1WlRwdWIyNWwifSwicmVnaXN0cnkucmVkaGF0LmlvIjp7ImF1dGgiOiJibTl1WlRwdWIyNWwifX19";
