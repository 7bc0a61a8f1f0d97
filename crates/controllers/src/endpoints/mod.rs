//! The addresses of Services, as EndpointSlices and as legacy Endpoints.
//!
//! Both controllers reconcile a Service when it or one of its pods changes. They share the selection of pods
//! ([`serving`]) and differ in the written objects.

mod legacy;
mod serving;
mod slices;

#[cfg(test)]
mod tests;

use windtunnel_core::resources::{PODS, SERVICES};
use windtunnel_core::{Object, Resource, View};

pub use self::legacy::EndpointsController;
use self::serving::selects;
pub use self::slices::EndpointSliceController;
use super::Input;
use super::workqueue::WorkQueue;

/// Queues the Services that changed, whose pods changed, or whose written object (of kind `written`) changed.
/// `service_of` returns the Service of such an object.
fn notice(
    queue: &mut WorkQueue,
    first: bool,
    input: &Input<'_>,
    written: &Resource,
    service_of: impl Fn(&Object) -> Option<&str>,
) {
    if first {
        input.view.list(&SERVICES).for_each(|service| queue.add(SERVICES.key_of(service)));
    }
    for change in input.changes {
        if change.key.is_kind(&SERVICES) {
            queue.add(change.key.clone());
        } else if change.key.is_kind(&PODS) {
            for pod in std::iter::once(&change.object).chain(&change.old) {
                add_services_of(queue, pod, input.view);
            }
        } else if change.key.is_kind(written)
            && let Some(service) = service_of(&change.object)
        {
            queue.add(SERVICES.key(&change.key.namespace, service));
        }
    }
    queue.process_answers(input.answers, input.now);
}

fn add_services_of(queue: &mut WorkQueue, pod: &Object, view: &View) {
    for service in view.list_in(&SERVICES, pod.namespace()) {
        if selects(service, pod) {
            queue.add(SERVICES.key_of(service));
        }
    }
}
