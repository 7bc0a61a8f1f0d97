//! Whether a schema is structural, as `apiextensions.k8s.io/v1` demands.
