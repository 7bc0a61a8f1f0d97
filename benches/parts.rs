//! The cost of the parts of one run: the z-stream update with and without each part.

use jiff::SignedDuration;
use windtunnel::plan::{Action, Expectation, ExpectedState, Plan, PlannedStep, Step, Subject};

use crate::measure::{Table, Timing};
use crate::run::{run_plan, z_stream};

pub(crate) fn measure(table: &mut Table) -> Result<(), String> {
    let whole = z_stream()?;
    let virtual_time = run_plan(&whole)?.virtual_time;
    let timing = time(table, &whole)?;
    table.row("z-stream as shipped", timing, "1.00".to_owned(), "");
    let share = |part: Timing| format!("{:.2}", part.median.as_secs_f64() / timing.median.as_secs_f64());

    let unchecked = with_timeline(&whole, virtual_time, |step| !matches!(step, Step::Expect(_)));
    let without_checks = time(table, &unchecked)?;
    table.row("  without expectations, for the same virtual time", without_checks, share(without_checks), "");
    let mut unwatched = with_timeline(&unchecked, virtual_time, |step| !is_about_insights(step));
    let unpublished = time(table, &unwatched)?;
    table.row("  and without the ConfigMap of insights", unpublished, share(unpublished), "");
    unwatched.cluster.feature_set = String::new();
    let without_controller = time(table, &unwatched)?;
    table.row(
        "  and without the update status controller",
        without_controller,
        share(without_controller),
        "",
    );
    let idle = with_timeline(&unwatched, virtual_time, |_| false);
    let nothing = time(table, &idle)?;
    table.row("  and without an update: an idle cluster", nothing, share(nothing), "");
    Ok(())
}

fn time(table: &Table, plan: &Plan) -> Result<Timing, String> {
    table.time(|| (), |()| run_plan(plan))
}

/// The plan with only the chosen steps, for `span` of virtual time.
fn with_timeline(plan: &Plan, span: SignedDuration, keep: impl Fn(&Step) -> bool) -> Plan {
    let mut plan = plan.clone();
    plan.timeline.retain(|planned| keep(&planned.step) && !matches!(planned.step, Step::Advance(_)));
    plan.timeline.push(PlannedStep {
        line: 0,
        column: 0,
        text: "advance".to_owned(),
        step: Step::Advance(span),
    });
    plan
}

fn is_about_insights(step: &Step) -> bool {
    match step {
        Step::Act(action) => matches!(action, Action::PublishInsights),
        Step::Run(_)
        | Step::Try(_)
        | Step::Advance(_)
        | Step::At(_)
        | Step::Keep(_)
        | Step::KeepCluster(_)
        | Step::Retry(_) => false,
        Step::Expect(Expectation { what, .. }) => matches!(
            what,
            ExpectedState::Insight(..)
                | ExpectedState::NoInsight(..)
                | ExpectedState::Statuses { subject: Subject::Insight(_), .. }
        ),
    }
}
