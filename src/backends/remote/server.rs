//! An API server that is what it is: which Kubernetes, and whether that makes a difference.

use std::sync::Arc;

use windtunnel_apiserver::Profile;

use super::wire::Wire;

/// The minor of Kubernetes that a cluster serves, if it tells.
#[derive(Debug, Clone, Copy)]
pub(super) struct Server(Option<u32>);

impl Server {
    /// That of a cluster.
    pub(super) fn of(wire: &Arc<Wire>) -> Self {
        let version = wire.get("/version").checked().unwrap_or_default();
        // Some add a sign: `27+`.
        let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>();
        Self(version["minor"].as_str().and_then(|minor| digits(minor).parse().ok()))
    }

    /// Whether it does as well where one of Kubernetes 1.`minor` is wanted.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn stands_for(self, minor: u32) -> Result<(), String> {
        match self.0 {
            Some(own) if judges(own, false) != judges(minor, true) => Err(format!(
                "this cluster's API server stays Kubernetes 1.{own}, which judges writes otherwise than 1.{minor}"
            )),
            _ => Ok(()),
        }
    }
}

/// How a minor judges writes; what it serves besides makes no difference to a scenario. OpenShift's has fixes of later ones
/// (`backports`).
fn judges(minor: u32, backports: bool) -> Profile {
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
    fn only_what_makes_a_difference_keeps_a_server_from_standing_for_another() {
        assert_eq!(Server(Some(36)).stands_for(36), Ok(()));
        assert!(Server(Some(36)).stands_for(27).is_err_and(|why| why.contains("1.36, which")));
        // Who does not tell is taken for what is wanted.
        assert_eq!(Server(None).stands_for(27), Ok(()));
    }
}
