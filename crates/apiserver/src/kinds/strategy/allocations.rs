//! The addresses and ports that a new Service gets.

use serde_json::Value;

use crate::kinds::Kind;
use crate::kinds::strategy::service::{self, ServiceNetwork};
use crate::metadata;
use crate::profile::Profile;
use crate::rejection::{BoxedRejection, Outcome};
use crate::store::Store;

/// The service addresses from which new Services get theirs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Allocations {
    /// The addresses and node ports of services.
    services: service::AllocatedAddresses,
    network: ServiceNetwork,
}

impl Allocations {
    pub(crate) fn new(network: ServiceNetwork) -> Self {
        Self { network, ..Self::default() }
    }

    pub(crate) fn network(&self) -> ServiceNetwork {
        self.network
    }

    /// Clears the allocated addresses. The next allocation reads all services.
    pub(crate) fn forget_services(&mut self) {
        self.services = service::AllocatedAddresses::default();
    }

    /// Allocates the addresses and ports of a service; `old` is the one that an update replaces.
    pub(crate) fn allocate(
        &mut self,
        kind: &Kind,
        object: &mut Value,
        old: Option<&Value>,
        store: &Store,
        profile: &Profile,
        dry_run: bool,
    ) -> Outcome<()> {
        if !kind.is_resource("", "services") {
            return Ok(());
        }
        self.services.update_from_history(store.table(kind.table));
        let given = service::allocate(object, old, self.network, &mut self.services, profile, dry_run);
        given.map_err(|failure| match failure {
            service::AllocationError::Invalid(errors) => {
                BoxedRejection::invalid("", "Service", metadata::text(object, "name"), &errors, profile)
            }
            service::AllocationError::Internal(why) => BoxedRejection::internal_error(&why),
            service::AllocationError::Unclassified(why) => BoxedRejection::internal(why),
        })
    }
}
