//! How the controller writes insights to the cluster, and how it handles rejected writes.

use std::time::Duration;

use kube::core::Status;
use tokio::time::Instant;
use windtunnel_core::{Resource, resources};

use super::{Controller, RETRY_MAX, RoundError};
use crate::controller::observer::Note;
use crate::controller::publishing::update_status_state::StatusWrite;
use crate::controller::state::producers::ProducerNews;

/// The pause between two writes of the UpdateStatus, which may be large.
const PACE: Duration = Duration::from_secs(1);
/// The pause grows by [`PACE`] per this many insights. From twice as many on, writes of the ConfigMap pause
/// as well: each write costs the API server and etcd the whole object.
const MANY: usize = 128;
/// The longest pause, in multiples of [`PACE`].
const PAUSE_FACTOR_MAX: u32 = 8;

impl Controller {
    /// Notes that the API server rejects an object of this kind, probably for some time.
    fn note_rejection(&mut self, resource: &Resource, rejection: &Status) {
        self.observer.note(Note::Failed { why: &rejection.message });
        self.rejections.insert(resource.kind.to_string(), rejection.message.clone());
    }

    pub(in crate::controller) async fn publish_config_map(&mut self) -> Result<(), RoundError> {
        if self.config_map_due.is_some_and(|due| due > Instant::now()) {
            return Ok(());
        }
        self.config_map_due = None;
        let Some(patch) = self.state.patch() else {
            if self.state.lacks_config_map() {
                self.observer.note(Note::NoConfigMap);
            }
            if !self.state.is_patch_refused() {
                self.rejections.remove(&*resources::CONFIG_MAPS.kind);
            }
            return Ok(());
        };
        for (insight, text) in patch["data"].as_object().into_iter().flatten() {
            self.observer.note(Note::Changed { insight, is_dropped: text.is_null() });
        }
        match self.publisher.patch_config_map(&patch).await {
            Ok(version) => {
                self.observer.note(Note::Published { to: &resources::CONFIG_MAPS.kind });
                self.state.config_map_written(version, &patch);
                self.config_map_due = Some(self.pause_factor())
                    .filter(|factor| *factor > 1)
                    .map(|factor| Instant::now() + PACE * factor);
                self.rejections.remove(&*resources::CONFIG_MAPS.kind);
            }
            // Just deleted. Its watch will report it, and there is nothing to publish to.
            Err(kube::Error::Api(status)) if status.code == 404 => self.state.config_map_read(None),
            Err(kube::Error::Api(status)) if matches!(status.code, 400 | 413 | 422) => {
                self.state.patch_refused();
                self.note_rejection(&resources::CONFIG_MAPS, &status);
            }
            Err(kube::Error::Api(status)) if matches!(status.code, 403 | 405) => {
                self.config_map_due = Some(Instant::now() + RETRY_MAX);
                self.note_rejection(&resources::CONFIG_MAPS, &status);
            }
            Err(error) => {
                if is_conflict(&error) {
                    self.state.discard_config_map();
                }
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// Returns the pause between writes in multiples of [`PACE`].
    fn pause_factor(&self) -> u32 {
        let known: usize = self.state.informers().into_iter().map(|informer| informer.by_key().count()).sum();
        u32::try_from(known / MANY).unwrap_or(PAUSE_FACTOR_MAX).clamp(1, PAUSE_FACTOR_MAX)
    }

    pub(in crate::controller) async fn read_update_status(&mut self) -> Result<(), RoundError> {
        if self.state.status_object.wants_reading() {
            match self.publisher.update_status().await {
                Ok(found) => self.state.status_object.set_object(found),
                // Without permission, act as if there were none.
                Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => {
                    self.state.status_object.failed();
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Writes the UpdateStatus if it is due. Insights that do not fit are left out instead of retried
    /// forever.
    pub(in crate::controller) async fn publish_update_status(&mut self) -> Result<(), RoundError> {
        if self.paced_until.is_some_and(|until| until > Instant::now()) {
            return Ok(());
        }
        while let Some(write) = self.state.update_status(self.clock.now()) {
            self.paced_until = Some(Instant::now() + PACE * self.pause_factor());
            match self.write_update_status(write).await {
                Ok(()) => {}
                Err(kube::Error::Api(status)) if matches!(status.code, 400 | 413 | 422) => {
                    self.state.update_status_refused();
                    self.read_update_status().await?;
                    if self.state.status_object.is_given_up() {
                        self.paced_until = Some(Instant::now() + RETRY_MAX);
                        self.note_rejection(&resources::UPDATE_STATUSES, &status);
                        return Ok(());
                    }
                }
                Err(kube::Error::Api(status)) if matches!(status.code, 403 | 405) => {
                    self.paced_until = Some(Instant::now() + RETRY_MAX);
                    self.note_rejection(&resources::UPDATE_STATUSES, &status);
                    return Ok(());
                }
                // The UpdateStatus has just been deleted, alone or with its CRD.
                Err(kube::Error::Api(status)) if status.code == 404 => {
                    self.state.status_object.set_object(None);
                    return Ok(());
                }
                Err(error) => {
                    if is_conflict(&error) {
                        self.state.status_object.discard();
                    }
                    return Err(error.into());
                }
            }
        }
        if !self.state.status_object.is_given_up() {
            self.rejections.remove(&*resources::UPDATE_STATUSES.kind);
        }
        Ok(())
    }

    async fn write_update_status(&mut self, write: StatusWrite) -> Result<(), kube::Error> {
        match write {
            StatusWrite::Create => {
                let created = self.publisher.create_update_status().await?;
                self.state.status_object.set_object(Some(created));
            }
            StatusWrite::Patch(operations) => {
                let version = self.publisher.patch_update_status(&operations).await?;
                self.observer.note(Note::Published { to: &resources::UPDATE_STATUSES.kind });
                self.state.update_status_written(version, operations);
            }
        }
        Ok(())
    }
}

impl Controller {
    /// Notes what became of the insights of producers.
    pub(in crate::controller) fn log_producers(&mut self) {
        for news in self.state.producers.take_news() {
            self.observer.note(match &news {
                ProducerNews::Rejected { informer, insight, why } => {
                    Note::Rejected { informer, insight, why }
                }
                ProducerNews::Silent { informer } => Note::Silent { informer },
            });
        }
    }

    /// Writes the status of UpdateInformers. What the API server rejects waits for the next change.
    pub(in crate::controller) async fn report_to_producers(&mut self) -> Result<(), RoundError> {
        while let Some((name, status)) = self.state.producers.next_report() {
            let (name, status) = (name.clone(), status.clone());
            match self.publisher.report_to_informer(&name, &status).await {
                Ok(()) => {}
                Err(kube::Error::Api(status)) if matches!(status.code, 400 | 403 | 404 | 405 | 413 | 422) => {
                    if status.code != 404 {
                        self.observer.note(Note::Failed { why: &status.message });
                    }
                }
                Err(error) => return Err(error.into()),
            }
            self.state.producers.reported(&name);
        }
        Ok(())
    }
}

/// Returns whether the object was changed or created by another client.
fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 409)
}
