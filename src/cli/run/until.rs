//! `--until TIME [--serve]`: stops a scenario at a moment to inspect the cluster.

use windtunnel_update_status::status::Details;

use crate::backends::in_process::InProcess;
use crate::cli::args::{BackendKind, SuiteArgs};
use crate::cli::{Exit, print_output, print_painted};
use crate::engine::{self, Session};
use crate::plan::{ClusterPlan, Plan};
use crate::report::story::Insights;
use crate::report::{ScenarioResult, status_text, story, summary};
use crate::scenario;

/// Runs one scenario up to the moment, prints the timeline and the status of the update, and serves the
/// cluster if requested. A scenario that fails before stops at the failure.
///
/// # Errors
/// There are several scenarios, the time is invalid, or the cluster cannot be installed or served.
pub(in crate::cli) fn run_until(args: &SuiteArgs, plans: &[Plan]) -> Result<Exit, String> {
    let [plan] = plans else {
        return Err(format!("--until: expected one scenario, found {}", plans.len()));
    };
    if args.place.backend != BackendKind::InProcess {
        return Err("--until requires `--backend in-process`, the default".to_owned());
    }
    let until = args.interactive.until.as_deref().unwrap_or_default();
    let span = scenario::duration(until, "`30m`").map_err(|error| format!("--until: {error}"))?;
    let mut shared = None;
    let cluster = ClusterPlan { shows_secrets: args.place.show_secrets, ..plan.cluster.clone() };
    let session =
        Session::start_with_connection(&cluster, args.first_seed(), engine::EPOCH, |minor, clock| {
            #[cfg(feature = "serve")]
            let connect = if args.interactive.serve { InProcess::served } else { InProcess::new };
            #[cfg(not(feature = "serve"))]
            let connect = InProcess::new;
            let connection = connect(minor, args.first_seed(), clock);
            shared = Some(connection.shared().clone());
            Ok(Box::new(connection))
        });
    let mut session = session.map_err(|error| format!("the cluster could not be installed: {error}"))?;
    session.halt_after(span);
    let failure = engine::run_in_session(&mut session, plan);
    if failure.is_none() {
        // The timeline may end before.
        let _ = session.advance(span);
    }
    let record = session.redacted_record();
    let mut result = ScenarioResult::from_record(&record, &plan.file);
    result.name.clone_from(&plan.name);
    // The last write is usually earlier.
    result.virtual_time = session.elapsed();
    // The steps of a feature have no place here.
    result.failed_at = failure.map(|failure| (failure.line, failure.column)).filter(|(line, _)| *line > 0);
    let result = result.without_secrets(session.secrets());
    if !args.quiet {
        let shown = if args.verbose { Insights::AtTheEnd } else { Insights::Changed };
        print_painted(&story::render(&record, args.layout.width(), shown));
    }
    print_output(&status_text::render_at(&record, session.now(), Details::None).unwrap_or_default());
    print_painted(&format!("\n{}", summary::scenario(&result)));
    #[cfg(feature = "serve")]
    if let Some(shared) = shared.filter(|_| args.interactive.serve) {
        let kubeconfig = &args.interactive.serve_kubeconfig;
        crate::cli::serve::serve_session(session, &shared, args.place.speed, kubeconfig)?;
    }
    Ok(if result.failed() { Exit::Failed } else { Exit::Passed })
}
