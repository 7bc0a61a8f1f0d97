//! The Kubernetes version of an API server that cannot be changed, and whether it can replace another one.

use std::sync::Arc;

use windtunnel_apiserver::Profile;

use super::wire::Wire;

/// The Kubernetes minor of a cluster, if it is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Server(Option<u32>);

impl Server {
    /// Reads the minor of a cluster.
    pub(super) fn of(wire: &Arc<Wire>) -> Self {
        let version = wire.get("/version").checked().unwrap_or_default();
        // Some minors have a suffix: `27+`.
        let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>();
        Self(version["minor"].as_str().and_then(|minor| digits(minor).parse().ok()))
    }

    /// The minor, if it is known.
    pub(super) fn minor(self) -> Option<u32> {
        self.0
    }

    /// Checks that the server can replace one of Kubernetes 1.`minor`.
    ///
    /// # Errors
    /// The reason why it cannot.
    pub(super) fn can_replace(self, minor: u32) -> Result<(), String> {
        match self.0 {
            Some(own) if validation_profile(own, false) != validation_profile(minor, true) => Err(format!(
                "this cluster's API server stays at Kubernetes 1.{own}, which validates writes differently from 1.{minor}"
            )),
            _ => Ok(()),
        }
    }
}

/// Returns the properties of a minor that affect scenarios: how it validates writes. OpenShift's server has
/// fixes of later minors (`backports`).
fn validation_profile(minor: u32, backports: bool) -> Profile {
    let any = Profile::of(0, false);
    Profile {
        minor: any.minor,
        watch_list: any.watch_list,
        selectable_fields: any.selectable_fields,
        discovery: any.discovery,
        refuses_while_initialising: any.refuses_while_initialising,
        relaxed_service_names: any.relaxed_service_names,
        constrained_impersonation: any.constrained_impersonation,
        ..Profile::of(minor, backports)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_a_server_that_validates_writes_differently() {
        assert_eq!(Server(Some(36)).can_replace(36), Ok(()));
        assert!(Server(Some(36)).can_replace(27).is_err_and(|why| why.contains("1.36, which")));
        // A server of unknown version is accepted.
        assert_eq!(Server(None).can_replace(27), Ok(()));
    }
}
