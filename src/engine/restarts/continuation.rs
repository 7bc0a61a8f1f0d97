//! Tests that a copy of the cluster continues a plan exactly.

use std::sync::mpsc::channel;

use jiff::SignedDuration;
use semver::Version;
use windtunnel_core::resources::CLUSTER_VERSIONS;
use windtunnel_openshift::release::Release;

use super::check_with;
use super::finder::Origins;
use crate::engine::cluster_copy::ClusterCopy;
use crate::engine::run::{run_in_session, run_observed};
use crate::engine::session::Session;
use crate::plan::{
    Action, Check, ClusterPlan, Expectation, ExpectedState, ExpectedTime, Keep, ObjectRef, Plan, PlannedStep,
    ReleasePlan, Retry, Step, Target, TextMatch, ValueSource,
};

fn release(version: &str) -> Release {
    Release::find(&version.parse().unwrap()).unwrap()
}

fn cluster_version() -> ObjectRef {
    ObjectRef { resource: CLUSTER_VERSIONS, namespace: String::new(), name: "version".to_owned() }
}

fn planned(step: Step) -> PlannedStep {
    PlannedStep { line: 1, column: 1, text: "a step".to_owned(), step }
}

fn expects(check: Check, when: ExpectedTime) -> Step {
    Step::Expect(Expectation { what: ExpectedState::Object(cluster_version(), vec![check]), when })
}

/// The first minutes of an update of one node, with each kind of step in which time passes.
fn plan() -> Plan {
    let (to, minute) = (Version::new(4, 18, 7), SignedDuration::from_mins(1));
    let field = |path: &str, value: &str| Check::Field {
        path: path.to_owned(),
        value: TextMatch::Equals(value.to_owned()),
    };
    let update = Action::Update { to: Target::Version(to.clone()), force: false };
    let image = ValueSource::Field(cluster_version(), "status.desired.image".to_owned());
    let spec = Check::Unchanged { path: "spec".to_owned() };
    let attempts = vec![planned(expects(field("status.desired.image", "$(kept image)"), ExpectedTime::Now))];
    let steps = [
        Step::Act(update),
        expects(field("status.history[0].version", "4.18.7"), ExpectedTime::Within(minute * 2)),
        Step::Keep(Keep { name: "image".to_owned(), what: image }),
        expects(spec, ExpectedTime::Throughout(minute)),
        Step::Retry(Retry { within: minute, steps: attempts }),
        Step::Advance(minute),
        Step::At(minute * 5),
    ];
    let cluster = ClusterPlan {
        releases: vec![ReleasePlan::plain(release("4.18.7"))],
        control_plane_nodes: 1,
        worker_nodes: 0,
        ..ClusterPlan::new(release("4.18.3"))
    };
    Plan::new(cluster, steps.map(planned).to_vec())
}

#[test]
fn a_copy_that_continues_a_plan_has_the_same_record() {
    let plan = plan();
    let start = || Session::start(&plan, 1).unwrap();
    let mut session = start();
    let ((sender, receiver), mut looks) = (channel(), 0);
    let failure = run_observed(&mut session, &plan, move |cluster| {
        looks += 1;
        if looks % 5 == 0 && cluster.steps.progress.can_continue() {
            sender.send(ClusterCopy::with_record(cluster).unwrap()).unwrap();
        }
        None
    });
    assert_eq!(failure, None);
    let record = session.into_record().to_lines();
    let copies: Vec<ClusterCopy> = receiver.iter().collect();
    assert!(copies.len() > 5, "{}", copies.len());
    for (number, copy) in copies.iter().enumerate() {
        let mut session = copy.resume().unwrap();
        assert_eq!(run_in_session(&mut session, &plan), None, "copy {number}");
        assert!(session.into_record().to_lines() == record, "copy {number}");
    }
}

#[test]
fn copies_and_whole_runs_report_the_same_restarts() {
    let plan = plan();
    let copies = check_with(&plan, 1, 2, Origins::Copies).unwrap();
    let whole_runs = check_with(&plan, 1, 2, Origins::Start).unwrap();
    assert_eq!(copies, whole_runs);
    assert!(copies.restarts > 20, "{}", copies.restarts);
    let is_of_operator = |(restart, difference): &(super::Restart, String)| {
        restart.process == "cluster-version-operator" && difference.contains("4.18.3")
    };
    assert!(copies.differences.iter().any(is_of_operator), "{:?}", copies.differences);
}
