//! The probes of a container.

/// A kind of probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProbeKind {
    /// Whether the container has started up. Until then there are no other probes.
    Startup,
    /// Whether the container has to be restarted.
    Liveness,
    /// Whether the container can serve.
    Readiness,
}

impl ProbeKind {
    /// The field of a container with this probe, such as `livenessProbe`.
    pub fn field(self) -> &'static str {
        match self {
            Self::Startup => "startupProbe",
            Self::Liveness => "livenessProbe",
            Self::Readiness => "readinessProbe",
        }
    }

    /// Its name in Events, such as `Liveness`.
    pub fn label(self) -> &'static str {
        match self {
            Self::Startup => "Startup",
            Self::Liveness => "Liveness",
            Self::Readiness => "Readiness",
        }
    }
}
