//! Runs campaigns: which seeds, for how long, and with what reports.

use std::any::Any;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseResult, TestRng, TestRunner};

const SECONDS: &str = "WINDTUNNEL_FUZZ_SECONDS";
const SEED: &str = "WINDTUNNEL_FUZZ_SEED";
/// All campaigns, which share the time.
const CAMPAIGNS: [&str; 51] = [
    "requests::unusual_requests_cause_no_panic_or_internal_error",
    "schemas::accepted_objects_read_back_and_update_unchanged",
    "schemas::reapplying_an_object_of_a_random_schema_changes_nothing",
    "queries::unusual_queries_get_valid_responses",
    "queries::label_selectors_agree_with_a_model",
    "queries::pages_together_equal_the_list",
    "bodies::unusual_bytes_get_valid_responses",
    "policies::writes_under_random_policies_quotas_and_limits_get_valid_responses",
    "patches::patches_of_all_kinds_get_valid_responses",
    "properties::reapplying_changes_nothing",
    "properties::applied_fields_are_stored_and_owned_after_other_applies",
    "properties::an_empty_apply_leaves_the_fields_of_other_managers",
    "properties::merge_patches_agree_with_a_model",
    "properties::merge_and_strategic_merge_patches_of_maps_agree_with_a_model",
    "properties::keyed_lists_agree_with_a_map",
    "properties::merged_string_lists_agree_with_a_set",
    "clusters::every_cluster_has_a_status_or_an_error",
    "clusters::every_file_is_parsed_or_rejected",
    "clusters::every_cluster_has_insights",
    "paths::no_path_leads_out_of_the_allowed_folders",
    "secrets::a_value_of_a_secret_is_in_no_output",
    "texts::records_with_hostile_texts_have_harmless_reports_and_drafts",
    "readers::commands::damaged_kubeconfigs",
    "readers::commands::damaged_upgrade_arguments",
    "readers::commands::damaged_get_arguments",
    "readers::commands::damaged_random_faults",
    "readers::dumps::damaged_dumps",
    "readers::dumps::damaged_archives",
    "readers::insights::damaged_deliveries",
    "readers::insights::damaged_informers",
    "readers::insights::damaged_published_insights",
    "readers::plans::damaged_scenarios",
    "readers::plans::damaged_features",
    "readers::plans::damaged_graph_data",
    "readers::plans::damaged_explored_cases",
    "readers::queries::damaged_queries",
    "readers::queries::damaged_prometheus_requests",
    "readers::queries::damaged_graph_requests",
    "readers::records::damaged_records",
    "readers::releases::damaged_payloads",
    "readers::releases::damaged_definitions_of_releases",
    "readers::releases::damaged_baselines",
    "readers::releases::damaged_signatures",
    "readers::requests::damaged_requests",
    "readers::rules::damaged_rules",
    "readers::rules::damaged_patterns",
    "readers::values::damaged_json_paths",
    "readers::values::damaged_quantities",
    "readers::values::damaged_spans",
    "readers::values::damaged_versions",
    "readers::values::damaged_checks",
];
/// The most processor time of a case. A longer one means that some cost grows too fast.
const SLOW: Duration = Duration::from_secs(60);
/// The most wall-clock time of a case. A longer one means that the case hangs, even on a busy machine.
const STUCK: Duration = Duration::from_secs(600);
/// The most memory of this process, in bytes.
const MEMORY: u64 = 2 << 30;

/// Runs the first seeds of a campaign, then as many as the time allows. A case returns what is wrong, or
/// panics.
pub(super) fn campaign(name: &str, seeds: u64, case: impl Fn(u64) -> Result<(), String>) {
    assert!(CAMPAIGNS.contains(&name), "{name} is not among the campaigns that share the time");
    let began = now();
    if let Some(seed) = environment(SEED) {
        return run_case(name, seed, &case);
    }
    let mut cases = 0;
    while cases < seeds {
        run_case(name, cases, &case);
        cases += 1;
    }
    let Some(seconds) = environment(SECONDS) else { return };
    let share = share(seconds);
    while now() - began < share {
        run_case(name, RandomState::new().build_hasher().finish(), &case);
        cases += 1;
    }
    #[expect(clippy::print_stdout, reason = "`.ci/run` reports how many cases ran")]
    {
        println!("fuzz: {cases} cases of {name} in {} s", (now() - began).as_secs());
    }
}

/// Checks a property for a value of the seed. A value that violates it is shrunk first.
pub(super) fn property<S: Strategy>(
    seed: u64,
    values: &S,
    holds: impl Fn(S::Value) -> TestCaseResult,
) -> Result<(), String> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config { cases: 1, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    runner.run(values, holds).map_err(|error| error.to_string())
}

fn run_case(name: &str, seed: u64, case: &impl Fn(u64) -> Result<(), String>) {
    let outcome = {
        let _watch = watch(name, seed);
        catch_unwind(AssertUnwindSafe(|| case(seed)))
    };
    let mut wrong = outcome.unwrap_or_else(|panic| Err(format!("panic: {}", text(panic.as_ref())))).err();
    wrong =
        wrong.or_else(|| resident().filter(|bytes| *bytes > MEMORY).map(|bytes| format!("{bytes} bytes")));
    if let Some(wrong) = wrong {
        panic!(
            "seed {seed}: {wrong}\nreproduce with: {SEED}={seed} cargo test --release --test it fuzz::{name}"
        );
    }
}

/// Ends the test process if a case does not end in time, until the returned sender is dropped.
fn watch(name: &str, seed: u64) -> Sender<()> {
    let (ended, end) = channel();
    let message = format!(
        "fuzz::{name} does not end\nreproduce with: {SEED}={seed} cargo test --release --test it fuzz::{name}"
    );
    let (began, work) = (now(), Work::begin());
    std::thread::spawn(move || {
        while end.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
            let waited = now() - began;
            if waited < STUCK && work.done().unwrap_or(waited) < SLOW {
                continue;
            }
            // The harness captures the output of macros until the test ends, and this test does not end.
            let _ = writeln!(std::io::stderr(), "{message}");
            std::process::exit(101);
        }
    });
    ended
}

/// The processor time of one thread, which does not depend on how busy the machine is.
struct Work {
    file: Option<PathBuf>,
    before: Option<Duration>,
}

impl Work {
    /// Measures this thread from now on.
    fn begin() -> Self {
        let thread = std::fs::read_link("/proc/thread-self").ok();
        let file = thread.map(|thread| Path::new("/proc").join(thread).join("schedstat"));
        let before = file.as_deref().and_then(on_processor);
        Self { file, before }
    }

    /// The processor time so far, if the system reports it.
    fn done(&self) -> Option<Duration> {
        on_processor(self.file.as_deref()?)?.checked_sub(self.before?)
    }
}

fn on_processor(file: &Path) -> Option<Duration> {
    let text = std::fs::read_to_string(file).ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

fn text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map_or_else(|| panic.downcast_ref().copied().unwrap_or("?"), String::as_str)
}

/// The time of one campaign. The test harness runs as many at once as there are processors.
fn share(seconds: u64) -> Duration {
    let at_once = std::thread::available_parallelism().map_or(1, usize::from).min(CAMPAIGNS.len());
    let at_once = u32::try_from(at_once).unwrap();
    Duration::from_secs(seconds) * at_once / u32::try_from(CAMPAIGNS.len()).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "wall-clock time limits campaigns and cases")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "the user sets the duration and the seed")]
fn environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// The memory of this process, if the system reports it.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

#[test]
fn a_waiting_thread_uses_no_processor_time() {
    let waiting = Work::begin();
    let other = std::thread::spawn(|| {
        let work = Work::begin();
        while work.done()? < Duration::from_millis(50) {}
        work.done()
    });
    let Some(other) = other.join().unwrap() else { return };
    let waiting = waiting.done().unwrap();
    assert!(waiting < other, "{waiting:?} of waiting, {other:?} of work");
}
