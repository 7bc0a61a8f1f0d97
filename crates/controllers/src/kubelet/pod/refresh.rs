//! Volumes of running processes: kubelets bring them up to date about once a minute.

use windtunnel_core::clock::after;

use super::worker::{PodSync, random_duration};
use crate::Effect;

/// Milliseconds between two updates of the volumes of a pod. Kubelets sync each pod once a minute, plus up to half of that
/// (`syncFrequency`, `backgroundPeriodJitter`).
const PERIOD_MILLIS: (u64, u64) = (60_000, 90_000);

/// The sources of volumes whose content changes.
const SOURCES: [&str; 4] = ["configMap", "secret", "downwardAPI", "projected"];

impl PodSync<'_> {
    /// Brings the volumes of a pod with processes up to date, if it is time.
    pub(super) fn refresh_volumes(&mut self) {
        let changes = |volume: &serde_json::Value| SOURCES.iter().any(|source| volume[source].is_object());
        if !self.has_processes() || !self.pod.list("/spec/volumes").iter().any(changes) {
            return;
        }
        let now = self.site.now;
        if self.memory.refresh_at.is_some_and(|at| at <= now) {
            self.out.effects.push(Effect::RefreshVolumes { pod: self.key.clone() });
            self.memory.refresh_at = None;
        }
        let attempt = u32::try_from(now.as_second() & 0x7fff_ffff).unwrap_or_default();
        let period = random_duration(&mut self.stream("refresh", "", attempt), PERIOD_MILLIS);
        let at = *self.memory.refresh_at.get_or_insert_with(|| after(now, period));
        self.schedule_by(at);
    }
}
