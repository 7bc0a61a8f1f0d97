//! The help texts.

use super::environment::check;

#[test]
fn the_help_lists_the_commands() {
    insta::assert_snapshot!(check(&[], &["--help"]), @"
    exit 0
    A wind tunnel for OpenShift updates: runs updates and rollbacks in a simulated cluster, in virtual
    time

    Usage: windtunnel <COMMAND>

    Commands:
      run             Run scenarios and features, and print the results
      report          Print the timeline of a record, or the results of several; write the page of all
      logs            Print the logs of simulated programs in a record; without a pod, list them
      must-gather     Write the cluster of a record, with its logs, as the files of a must-gather
      dump            List the kinds and files of a dump: what windtunnel reads of it, and what not
      status          Print the output of `oc adm upgrade status` for a record, the files of a cluster,
                      or a cluster
      rehearse        Run the update of a cluster from its dump, and list where it stops, why, and how
                      it goes on
      risks           Evaluate the risks of graph data for clusters, and check their PromQL
      rollback-check  List the objects of a newer release that an older one rejects or changes, each
                      with a proof
      rollback-pairs  Update clusters of many kinds to the next minor, take each update back, and report
                      what becomes of them
      insights        Run the update status controller for a cluster, and publish insights until SIGTERM
                      or SIGINT
      adm             Run `oc adm` commands against any cluster
      record          Record the changes in a cluster until SIGINT or SIGTERM
      serve           Serve a Kubernetes API over HTTPS until SIGTERM or SIGINT
      clock           Print, pause, advance or change the speed of the clock of a served cluster
      rbac            Report the used and unused rules of the users of a served cluster, or of a
                      recorded run
      envtest         Run a command with the programs of controller-runtime's envtest
      replay          Replay a record in a served cluster
      test            Run features and scenarios: as `run`, but without paths the folder `features`
      split-upgrade   Split a scenario or a feature into pre- and post-upgrade scenarios
      steps           List the Gherkin steps, or find the step for a text
      clean           Remove the clusters and objects of killed runs, and of runs with --keep
      scenario-from   Draft a scenario from a record
      lint            Report errors and suspicious steps in scenarios and features without running them
      mutate          Run scenarios with deliberately broken components, and report expectations that
                      none of them breaks
      sweep           Ask a copy of the cluster to go back at each moment of a scenario's update, and
                      report what becomes of it
      check           Check that records of runs and of watched clusters keep the rules of updates
      explore         Invent faulty updates, run them, and shrink those that break a rule into scenarios
      new             Write a scenario or a feature from a template; without a path, list the templates
      schema          Print the JSON Schema of a file, for editors
      completions     Print a completion script for a shell
      help            Print this message or the help of the given subcommand(s)

    Options:
      -h, --help     Print help
      -V, --version  Print version

    Exit codes: 0 all passed (serve: ended by a signal), 1 a scenario failed, 2 wrong usage, unreadable
    input, or a server that cannot start, 130 and 143 a run ended by SIGINT or SIGTERM.
    ");
}

#[test]
#[expect(clippy::too_many_lines, reason = "one text")]
fn the_help_of_run_lists_the_options() {
    insta::assert_snapshot!(check(&[], &["run", "--help"]), @"
    exit 0
    Run scenarios and features, and print the results

    Usage: windtunnel run [OPTIONS] [PATHS]...

    Arguments:
      [PATHS]...
              Scenario and feature files, or folders to search for `*.yaml` and `*.feature` [default:
              the folder `scenarios`; of `test`, the folder `features`]

    Options:
          --payload <VERSION=DIR>
              Read the payload of a release from a folder, as written by `oc adm release extract`; the
              release exists in every scenario. This flag, `--start-from` and the `--check-*` flags are
              for YAML scenarios only

          --start-from <PATH>
              Start with the cluster of a record or a dump (as for `serve --from`) instead of the
              scenario's: its release and history, nodes, channel, capabilities, known updates and
              faults. Standard error lists the parts not taken

          --ignore <KIND>
              Let a run of `--start-from` pass although it leaves out objects of this kind that can hold
              an update up, such as `PodDisruptionBudget`; may be repeated. The result says `with
              omissions`

          --check-determinism
              Run each scenario three times, and fail if the records differ

          --check-restarts
              Continue each scenario in a copy of the cluster once per write of each simulated
              component, kill the component right after that write, and fail if a final state differs. A
              scenario with `programs` is repeated from the start, once with a kill before and once
              after each write of each program

          --check-staleness
              Repeat each scenario with `programs` for each event that a program may see late: once with
              a view that lacks it for ten seconds, and twice with a restart. Fail if a final state
              differs

          --check-gaps
              Repeat each scenario with `programs` for each intermediate state of an object that a
              program may never see. Fail if a final state differs

          --check-runs <N>
              Try at most N of the possible faults of programs in each check, evenly spread

          --emit <DIR>
              Write a scenario into this folder for each difference that faults of programs make,
              instead of printing its faults only

          --check-restored
              Take each cluster back to its first release at the end, unless the scenario does, and fail
              if the cluster differs from its state before the update, and from a second cluster that
              was not updated

          --seed <SEED>
              Seed of every random draw
              
              [default: 1]

          --seeds <SEEDS>
              Run each scenario with each of these seeds, such as `1..50` or `1,7,20..30`, and print the
              seeds with which it fails. Reports have the first run that failed, or else the first run

          --record <PATH>
              Write the record of the scenario to the file PATH; if PATH ends with `/` or is a folder,
              the record of each scenario into it

          --lenient
              Let expectations with `within` pass that have held since before the last action, and
              therefore pass whatever it does. The tag `@lenient` asks for it in a feature, the line
              `strict: false` in a scenario

          --update
              Replace exact expected texts by what the run printed and reported, in the files of
              scenarios and features and in those of `matches`. A file is written if its scenarios pass
              with the new texts
              
              [alias: --update-snapshots]

          --dry-run
              Print what `--update` would write, and write and run nothing else

      -q, --quiet
              Print no timeline and no warning

      -v, --verbose
              Print the timeline of every scenario [default: of the only one; of several, those of
              failures]

          --program <[PLACE=]COMMAND>
              Run a program of this machine in each cluster: in a container
              (`NAMESPACE/WORKLOAD/CONTAINER=COMMAND`), in all containers with an image
              (`*/my-operator:*=COMMAND`) or with a component of a release
              (`cluster-version-operator=COMMAND`), or beside the cluster (`COMMAND`). The command may
              have placeholders such as `{kubeconfig}`

          --allow-programs
              Start the commands that files name in `programs`. They run on this machine as you, with
              `PATH` and no other variable of yours

          --pass-env <NAME>
              Give these commands one more variable of yours. May be repeated

          --program-time <TIME>
              The clock of the cluster beside programs of `--program`: `lockstep`, or a speed such as
              `60x`
              
              [default: lockstep]

          --shard <I/N>
              Run only this part of the scenarios, such as `2/3`: every third, starting with the second

          --name <REGEX>
              Run only scenarios whose names match this regular expression

          --list
              Print the scenarios that would run, and run none

      -j, --jobs <N>
              Run at most N scenarios at the same time [default: the number of cores]

          --fail-fast
              Start no other scenario after a failure; report the rest as skipped

          --keep-going
              Run all scenarios despite failures, the default; overrides an earlier `--fail-fast`

          --tags <EXPRESSION>
              Run only scenarios with matching tags, such as `@rollback and not @slow`; ids are tags as
              well

          --retry <N>
              Rerun a failed scenario up to N times, each time with the next seed; report a later pass
              as a flake
              
              [default: 0]

          --junit <FILE>
              Write results as JUnit XML

          --junit-per <UNIT>
              Unit of a JUnit test case

              Possible values:
              - scenario: One test case per scenario
              - step:     One test case per step of a scenario
              
              [default: scenario]

          --junit-upgrade <FILE>
              Write the component responsible for each failed update as JUnit XML: the suite `cluster
              upgrade`, with the same test cases in every run

          --test-results <FILE>
              Write counts and the names of failed scenarios as YAML, in the format of
              `test-results.yaml`

          --cucumber-json <FILE>
              Write results as Cucumber's JSON

          --github-summary[=<FILE>]
              Append a summary in Markdown to FILE, or to the file that GITHUB_STEP_SUMMARY names

          --html <FILE>
              Write results with timelines as one HTML page

          --format <FORMAT>
              Output format of the results

              Possible values:
              - text: Text for people
              - json: One JSON document
              
              [default: text]

          --width <COLUMNS>
              Width of a timeline in columns; 0 cuts no line [default: the terminal's, or 160]

          --watch
              Rerun whenever an input file changes, until Ctrl-C

          --until <TIME>
              Stop at this cluster time, such as `30m` after its start; later steps do not run

          --serve
              Serve the cluster from that moment, until Ctrl-C: `run my.yaml --until 30m --serve`. Its
              clock is stopped; with `--speed 60x` it continues

          --serve-kubeconfig <FILE>
              Write the kubeconfig of the served cluster to FILE
              
              [default: wind.kubeconfig]

      -h, --help
              Print help (see a summary with '-h')

    Backend options:
          --backend <BACKEND>
              Kind of cluster to run scenarios in

              Possible values:
              - in-process: Simulated API server in this process, in virtual time
              - served:     Simulated API server behind HTTPS, in virtual time
              - container:  Simulated API server in a Docker container
              - k3s:        k3s in a Docker container
              - kind:       Kubernetes in containers, created with kind
              - k3d:        k3s in containers, created with k3d
              - kubeconfig: Existing cluster
              
              [default: in-process]

          --show-secrets
              Show the values of Secrets in all output and records, instead of REDACTED; only in
              clusters that windtunnel simulates in this process

          --kubeconfig <FILE>
              Kubeconfig for `--backend kubeconfig` [default: KUBECONFIG, or the one in the home folder]

          --context <NAME>
              Context for `--backend kubeconfig`; required, no other cluster is touched

          --speed <FACTOR>
              Speed of time, such as `60x`, an hour in a minute: in a cluster outside this process
              [default: 60x], or in that of `run --serve` [default: its clock is stopped]

          --writes-per-second <N>
              Maximum number of writes per second to a cluster outside this process
              
              [default: 50]

          --image <IMAGE>
              Image to run (container, k3s), or image of the nodes (kind, k3d)

          --debug
              Print the commands of other programs, and their results

          --keep
              Keep the cluster at the end, and print how to reach and remove it
    ");
}

#[test]
fn the_help_of_report_lists_the_options() {
    insta::assert_snapshot!(check(&[], &["report", "--help"]), @"
    exit 0
    Print the timeline of a record, or the results of several; write the page of all

    Usage: windtunnel report [OPTIONS] <RECORDS>...

    Arguments:
      <RECORDS>...  Record files, or folders to search for `*.jsonl`

    Options:
          --html <FILE>      Write the timelines as one HTML page
          --junit <FILE>     Write the results of all records as one JUnit XML file, with a test case
                             for each record
      -v, --verbose          Print all insights at the end as YAML, instead of a line for each that
                             changed
          --width <COLUMNS>  Width of a timeline in columns; 0 cuts no line [default: the terminal's, or
                             160]
      -h, --help             Print help
    ");
}

#[cfg(feature = "gherkin")]
#[test]
#[expect(clippy::too_many_lines, reason = "one text")]
fn the_help_of_test_lists_the_options() {
    insta::assert_snapshot!(check(&[], &["test", "--help"]), @"
    exit 0
    Run features and scenarios: as `run`, but without paths the folder `features`

    Usage: windtunnel test [OPTIONS] [PATHS]...

    Arguments:
      [PATHS]...
              Scenario and feature files, or folders to search for `*.yaml` and `*.feature` [default:
              the folder `scenarios`; of `test`, the folder `features`]

    Options:
          --payload <VERSION=DIR>
              Read the payload of a release from a folder, as written by `oc adm release extract`; the
              release exists in every scenario. This flag, `--start-from` and the `--check-*` flags are
              for YAML scenarios only

          --start-from <PATH>
              Start with the cluster of a record or a dump (as for `serve --from`) instead of the
              scenario's: its release and history, nodes, channel, capabilities, known updates and
              faults. Standard error lists the parts not taken

          --ignore <KIND>
              Let a run of `--start-from` pass although it leaves out objects of this kind that can hold
              an update up, such as `PodDisruptionBudget`; may be repeated. The result says `with
              omissions`

          --check-determinism
              Run each scenario three times, and fail if the records differ

          --check-restarts
              Continue each scenario in a copy of the cluster once per write of each simulated
              component, kill the component right after that write, and fail if a final state differs. A
              scenario with `programs` is repeated from the start, once with a kill before and once
              after each write of each program

          --check-staleness
              Repeat each scenario with `programs` for each event that a program may see late: once with
              a view that lacks it for ten seconds, and twice with a restart. Fail if a final state
              differs

          --check-gaps
              Repeat each scenario with `programs` for each intermediate state of an object that a
              program may never see. Fail if a final state differs

          --check-runs <N>
              Try at most N of the possible faults of programs in each check, evenly spread

          --emit <DIR>
              Write a scenario into this folder for each difference that faults of programs make,
              instead of printing its faults only

          --check-restored
              Take each cluster back to its first release at the end, unless the scenario does, and fail
              if the cluster differs from its state before the update, and from a second cluster that
              was not updated

          --seed <SEED>
              Seed of every random draw
              
              [default: 1]

          --seeds <SEEDS>
              Run each scenario with each of these seeds, such as `1..50` or `1,7,20..30`, and print the
              seeds with which it fails. Reports have the first run that failed, or else the first run

          --record <PATH>
              Write the record of the scenario to the file PATH; if PATH ends with `/` or is a folder,
              the record of each scenario into it

          --lenient
              Let expectations with `within` pass that have held since before the last action, and
              therefore pass whatever it does. The tag `@lenient` asks for it in a feature, the line
              `strict: false` in a scenario

          --update
              Replace exact expected texts by what the run printed and reported, in the files of
              scenarios and features and in those of `matches`. A file is written if its scenarios pass
              with the new texts
              
              [alias: --update-snapshots]

          --dry-run
              Print what `--update` would write, and write and run nothing else

      -q, --quiet
              Print no timeline and no warning

      -v, --verbose
              Print the timeline of every scenario [default: of the only one; of several, those of
              failures]

          --program <[PLACE=]COMMAND>
              Run a program of this machine in each cluster: in a container
              (`NAMESPACE/WORKLOAD/CONTAINER=COMMAND`), in all containers with an image
              (`*/my-operator:*=COMMAND`) or with a component of a release
              (`cluster-version-operator=COMMAND`), or beside the cluster (`COMMAND`). The command may
              have placeholders such as `{kubeconfig}`

          --allow-programs
              Start the commands that files name in `programs`. They run on this machine as you, with
              `PATH` and no other variable of yours

          --pass-env <NAME>
              Give these commands one more variable of yours. May be repeated

          --program-time <TIME>
              The clock of the cluster beside programs of `--program`: `lockstep`, or a speed such as
              `60x`
              
              [default: lockstep]

          --shard <I/N>
              Run only this part of the scenarios, such as `2/3`: every third, starting with the second

          --name <REGEX>
              Run only scenarios whose names match this regular expression

          --list
              Print the scenarios that would run, and run none

      -j, --jobs <N>
              Run at most N scenarios at the same time [default: the number of cores]

          --fail-fast
              Start no other scenario after a failure; report the rest as skipped

          --keep-going
              Run all scenarios despite failures, the default; overrides an earlier `--fail-fast`

          --tags <EXPRESSION>
              Run only scenarios with matching tags, such as `@rollback and not @slow`; ids are tags as
              well

          --retry <N>
              Rerun a failed scenario up to N times, each time with the next seed; report a later pass
              as a flake
              
              [default: 0]

          --junit <FILE>
              Write results as JUnit XML

          --junit-per <UNIT>
              Unit of a JUnit test case

              Possible values:
              - scenario: One test case per scenario
              - step:     One test case per step of a scenario
              
              [default: scenario]

          --junit-upgrade <FILE>
              Write the component responsible for each failed update as JUnit XML: the suite `cluster
              upgrade`, with the same test cases in every run

          --test-results <FILE>
              Write counts and the names of failed scenarios as YAML, in the format of
              `test-results.yaml`

          --cucumber-json <FILE>
              Write results as Cucumber's JSON

          --github-summary[=<FILE>]
              Append a summary in Markdown to FILE, or to the file that GITHUB_STEP_SUMMARY names

          --html <FILE>
              Write results with timelines as one HTML page

          --format <FORMAT>
              Output format of the results

              Possible values:
              - text: Text for people
              - json: One JSON document
              
              [default: text]

          --width <COLUMNS>
              Width of a timeline in columns; 0 cuts no line [default: the terminal's, or 160]

          --watch
              Rerun whenever an input file changes, until Ctrl-C

          --until <TIME>
              Stop at this cluster time, such as `30m` after its start; later steps do not run

          --serve
              Serve the cluster from that moment, until Ctrl-C: `run my.yaml --until 30m --serve`. Its
              clock is stopped; with `--speed 60x` it continues

          --serve-kubeconfig <FILE>
              Write the kubeconfig of the served cluster to FILE
              
              [default: wind.kubeconfig]

      -h, --help
              Print help (see a summary with '-h')

    Backend options:
          --backend <BACKEND>
              Kind of cluster to run scenarios in

              Possible values:
              - in-process: Simulated API server in this process, in virtual time
              - served:     Simulated API server behind HTTPS, in virtual time
              - container:  Simulated API server in a Docker container
              - k3s:        k3s in a Docker container
              - kind:       Kubernetes in containers, created with kind
              - k3d:        k3s in containers, created with k3d
              - kubeconfig: Existing cluster
              
              [default: in-process]

          --show-secrets
              Show the values of Secrets in all output and records, instead of REDACTED; only in
              clusters that windtunnel simulates in this process

          --kubeconfig <FILE>
              Kubeconfig for `--backend kubeconfig` [default: KUBECONFIG, or the one in the home folder]

          --context <NAME>
              Context for `--backend kubeconfig`; required, no other cluster is touched

          --speed <FACTOR>
              Speed of time, such as `60x`, an hour in a minute: in a cluster outside this process
              [default: 60x], or in that of `run --serve` [default: its clock is stopped]

          --writes-per-second <N>
              Maximum number of writes per second to a cluster outside this process
              
              [default: 50]

          --image <IMAGE>
              Image to run (container, k3s), or image of the nodes (kind, k3d)

          --debug
              Print the commands of other programs, and their results

          --keep
              Keep the cluster at the end, and print how to reach and remove it
    ");
}
