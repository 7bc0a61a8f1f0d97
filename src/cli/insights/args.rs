//! Arguments of `windtunnel insights`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use windtunnel_core::text::parse_duration;
use windtunnel_update_status::controller::Terms;
use windtunnel_update_status::insight::published::NAMESPACE;

use crate::cli::terminal::output::Format;

/// `windtunnel insights`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Insights go into the ConfigMap status-api-cm-prototype of the namespace
openshift-update-status-controller where that exists, and into the UpdateStatus
`cluster` where its CustomResourceDefinition does.

Exit codes: 0 ended by a signal, or with --once printed; 1 the Lease is lost, or
with --once the cluster shows or takes too little; 2 wrong usage, an unreadable
kubeconfig, or an address that cannot be listened on.")]
pub(in crate::cli) struct InsightsArgs {
    /// The kubeconfig; without it, the cluster is that of the pod in which the program runs.
    #[arg(long, value_name = "FILE")]
    pub(super) kubeconfig: Option<PathBuf>,
    /// Its context, if not the current one.
    #[arg(long, requires = "kubeconfig")]
    pub(super) context: Option<String>,
    /// The namespace of the Lease; insights are published in their own.
    #[arg(long, default_value = NAMESPACE)]
    pub(super) namespace: String,
    /// Where /healthz, /readyz and /metrics are served, over HTTP.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub(super) listen: SocketAddr,
    /// A Prometheus or Thanos that is asked which alerts fire, with the token of the kubeconfig or the pod; without it there
    /// are no insights on alerts.
    #[arg(long, value_name = "URL")]
    pub(super) prometheus: Option<http::Uri>,
    /// Certificates that may have signed the one of Prometheus, beside those of the cluster.
    #[arg(long, value_name = "FILE", requires = "prometheus")]
    pub(super) prometheus_ca: Option<PathBuf>,
    /// Look at the cluster once, publish unless another process does, print all insights, and end.
    #[arg(long)]
    pub(super) once: bool,
    /// Print only: write nothing, not even the Lease.
    #[arg(long, requires = "once")]
    pub(super) dry_run: bool,
    /// How insights are printed.
    #[arg(long, short, value_enum, default_value_t = Format::Yaml, requires = "once")]
    pub(super) output: Format,
    /// How long others wait after the last sign of life before they lead, in whole seconds.
    #[arg(long, value_name = "TIME", default_value = "137s", value_parser = seconds)]
    leader_elect_lease_duration: Duration,
    /// How long the leader tries to renew its Lease before it gives up; shorter than that.
    #[arg(long, value_name = "TIME", default_value = "107s", value_parser = seconds)]
    leader_elect_renew_deadline: Duration,
    /// The pause between two attempts; shorter still.
    #[arg(long, value_name = "TIME", default_value = "26s", value_parser = seconds)]
    leader_elect_retry_period: Duration,
}

impl InsightsArgs {
    /// Returns the durations of the Lease.
    ///
    /// # Errors
    /// The durations contradict each other.
    pub(super) fn terms(&self) -> Result<Terms, String> {
        let [lease, renew, retry] = [
            self.leader_elect_lease_duration,
            self.leader_elect_renew_deadline,
            self.leader_elect_retry_period,
        ];
        if lease > renew && renew > retry {
            return Ok(Terms { lease, renew, retry });
        }
        let shown = [lease, renew, retry].map(|span| format!("{}s", span.as_secs())).join(", ");
        Err(format!(
            "expected --leader-elect-lease-duration to be longer than --leader-elect-renew-deadline, and that longer than \
             --leader-elect-retry-period, found {shown}"
        ))
    }
}

/// Parses a duration of whole seconds, at least one.
fn seconds(text: &str) -> Result<Duration, String> {
    let span = parse_duration(text).filter(|span| span.as_secs() > 0 && span.subsec_nanos() == 0);
    let span = span.and_then(|span| Duration::try_from(span).ok()).filter(|span| span.as_secs() <= 86_400);
    span.ok_or_else(|| "expected whole seconds up to a day, such as `137s`".to_owned())
}
