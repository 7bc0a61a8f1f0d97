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
#[command(after_help = "The controller publishes insights in the ConfigMap status-api-cm-prototype if the
namespace openshift-update-status-controller exists, and in the UpdateStatus
`cluster` if its CustomResourceDefinition exists.

Exit codes: 0 ended by a signal, or with --once printed; 1 the Lease is lost, or
with --once the cluster lacks a required object or rejects a write; 2 wrong usage,
an unreadable kubeconfig, or an unusable address.")]
pub(in crate::cli) struct InsightsArgs {
    /// Kubeconfig of the cluster [default: the cluster of the program's pod].
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: the current one].
    #[arg(long, requires = "kubeconfig")]
    pub(in crate::cli) context: Option<String>,
    /// Namespace of the Lease; insights have their own.
    #[arg(long, default_value = NAMESPACE)]
    pub(in crate::cli) namespace: String,
    /// Address to serve /healthz, /readyz and /metrics on, over HTTP.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub(in crate::cli) listen: SocketAddr,
    /// Address to take deliveries of insight producers on, over HTTPS [default: none].
    #[arg(long, value_name = "ADDRESS", requires_all = ["tls_cert", "tls_key"], conflicts_with = "once")]
    pub(in crate::cli) deliveries_listen: Option<SocketAddr>,
    /// Certificate of that address, with its issuers, as PEM.
    #[arg(long, value_name = "FILE", requires = "deliveries_listen")]
    pub(in crate::cli) tls_cert: Option<PathBuf>,
    /// Private key of that certificate, as PEM.
    #[arg(long, value_name = "FILE", requires = "deliveries_listen")]
    pub(in crate::cli) tls_key: Option<PathBuf>,
    /// Prometheus or Thanos to query for firing alerts, with the token of the kubeconfig or the pod [default: no insights
    /// on alerts].
    #[arg(long, value_name = "URL")]
    pub(in crate::cli) prometheus: Option<http::Uri>,
    /// Certificate authorities of Prometheus, in addition to those of the cluster.
    #[arg(long, value_name = "FILE", requires = "prometheus")]
    pub(in crate::cli) prometheus_ca: Option<PathBuf>,
    /// Assess the cluster once, publish unless another process is the leader, print all insights, and exit.
    #[arg(long)]
    pub(in crate::cli) once: bool,
    /// Only print; write nothing, not even the Lease.
    #[arg(long, requires = "once")]
    pub(in crate::cli) dry_run: bool,
    /// Output format of the insights.
    #[arg(long, short, value_enum, default_value_t = Format::Yaml, requires = "once")]
    pub(in crate::cli) output: Format,
    /// Time since the last renewal of the Lease before another replica becomes the leader, in whole seconds.
    #[arg(long, value_name = "TIME", default_value = "137s", value_parser = seconds)]
    leader_elect_lease_duration: Duration,
    /// Time for the leader to renew its Lease before it gives up; shorter than the lease duration.
    #[arg(long, value_name = "TIME", default_value = "107s", value_parser = seconds)]
    leader_elect_renew_deadline: Duration,
    /// Pause between two attempts to acquire or renew the Lease; shorter than the renew deadline.
    #[arg(long, value_name = "TIME", default_value = "26s", value_parser = seconds)]
    leader_elect_retry_period: Duration,
}

impl InsightsArgs {
    /// Returns the durations of the Lease.
    ///
    /// # Errors
    /// The durations contradict each other.
    pub(in crate::cli) fn terms(&self) -> Result<Terms, String> {
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
            "expected --leader-elect-lease-duration > --leader-elect-renew-deadline > --leader-elect-retry-period, \
             found {shown}"
        ))
    }
}

/// Parses a duration of whole seconds, at least one.
fn seconds(text: &str) -> Result<Duration, String> {
    let span = parse_duration(text).filter(|span| span.as_secs() > 0 && span.subsec_nanos() == 0);
    let span = span.and_then(|span| Duration::try_from(span).ok()).filter(|span| span.as_secs() <= 86_400);
    span.ok_or_else(|| "expected whole seconds up to a day, such as `137s`".to_owned())
}
