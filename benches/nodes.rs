//! The cost of nodes: whole updates of clusters of growing size, with a tenth of the workers unavailable at
//! once.

use std::time::Duration;

use windtunnel::plan::Plan;

use crate::measure::{Table, thousands};
use crate::run;

/// Workers of the compared clusters.
const SIZES: &[u32] = &[100, 300, 1_000, 5_000];
/// The numbers of workers in a trial.
const TRIAL: &[u32] = &[20, 40];
/// The limit of the exponent: above it, a node of a large cluster costs more than one of a small cluster.
const EXPONENT: &str = "at most 1.15";

pub(crate) fn measure(table: &mut Table) -> Result<(), String> {
    let six = update_of(3)?;
    let timing = table.time(|| (), |()| run::run_plan(&six))?;
    table.row("an update of 6 nodes, from a snapshot of the cluster", timing, String::new(), "under 50 ms");
    let mut points = Vec::new();
    for &workers in if table.is_trial() { TRIAL } else { SIZES } {
        let plan = update_of(workers)?;
        let timing =
            table.time(|| (), |()| run::run_plan(&plan).map(|outcome| outcome.record.entries.len()))?;
        let each = timing.cpu.as_secs_f64() * 1e6 / f64::from(workers);
        let requirement = if workers == 1_000 { "under 5 s" } else { "" };
        let figure = format!("{} µs a worker", thousands(each));
        points.push((workers, timing.cpu));
        table.row(&format!("an update of {workers} workers"), timing, figure, requirement);
    }
    table.note("exponent of time by workers", &format!("{:.2}", exponent(&points)), EXPONENT);
    Ok(())
}

/// An update to another patch release, until all nodes have it.
fn update_of(workers: u32) -> Result<Plan, String> {
    run::parse(&(
        String::new(),
        format!(
            "name: nodes
cluster: {{version: 4.18.1, nodes: {{workers: {workers}}}}}
releases: {{4.18.5: }}
timeline:
- apply:
    apiVersion: machineconfiguration.openshift.io/v1
    kind: MachineConfigPool
    metadata: {{name: worker}}
    spec: {{maxUnavailable: 10%}}
- update: {{to: 4.18.5}}
- expect: {{object: MachineConfigPool/worker, condition: {{type: Updating, status: 'True'}}, within: 3h}}
- expect: {{object: MachineConfigPool/worker, condition: {{type: Updated, status: 'True'}}, within: 10h}}
- expect: {{object: ClusterVersion/version, condition: {{type: Progressing, status: 'False'}}, within: 3h}}
"
        ),
    ))
}

/// The slope of the logarithms, by least squares: 1 if every worker costs the same.
pub(crate) fn exponent(points: &[(u32, Duration)]) -> f64 {
    let logs: Vec<(f64, f64)> =
        points.iter().map(|(workers, time)| (f64::from(*workers).ln(), time.as_secs_f64().ln())).collect();
    let mean = |value: &dyn Fn(&(f64, f64)) -> f64| {
        let count = u32::try_from(logs.len()).map_or(1.0, f64::from);
        logs.iter().map(value).sum::<f64>() / count
    };
    let (x, y) = (mean(&|point| point.0), mean(&|point| point.1));
    let rise = mean(&|point| (point.0 - x) * (point.1 - y));
    rise / mean(&|point| (point.0 - x).powi(2))
}
