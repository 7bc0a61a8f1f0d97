//! The help texts.

use super::environment::check;

#[test]
fn the_help_says_what_there_is() {
    insta::assert_snapshot!(check(&[], &["--help"]), @r"
        exit 0
        A wind tunnel for OpenShift updates: plays updates and rollbacks in a simulated cluster, in virtual
        time

        Usage: windtunnel <COMMAND>

        Commands:
          run            Run scenarios and print what happened in them
          report         Print the timeline of a record that `run --record` wrote
          status         Print what `oc adm upgrade status` prints, for a record, the files of a cluster, or
                         a cluster
          insights       Run the update status controller for a cluster: publish insights until SIGTERM or
                         SIGINT
          adm            Talk to any cluster as `oc adm` does
          record         Watch a cluster and write what happens in it into a record, until SIGINT or SIGTERM
          serve          Serve a Kubernetes API over HTTPS until SIGTERM or SIGINT
          envtest        Fill a folder that suites of controller-runtime take for KUBEBUILDER_ASSETS
          replay         Serve a cluster in which happens again what a record tells
          test           Play Gherkin features
          twins          Write a scenario as two: what is done before an update that others make, and what
                         is checked after
          steps          List the sentences that features may say, or tell which step a sentence is
          clean          Remove what runs left behind that were killed, or told to keep it
          scenario-from  Draft a scenario of what a record tells, to be edited
          lint           Tell what is wrong or odd about scenarios and features, without playing them
          new            Write a scenario or a feature to begin with; without a path, list what there is
          schema         Print the shape of a file as a JSON Schema, for editors
          completions    Print what completes the commands of this program in a shell
          help           Print this message or the help of the given subcommand(s)

        Options:
          -h, --help     Print help
          -V, --version  Print version

        Exit codes: 0 all passed (serve: ended by a signal), 1 a scenario failed, 2 wrong usage, unreadable
        input, or a server that cannot be served, 130 and 143 a run that SIGINT or SIGTERM ended.
        ");
}

#[test]
#[expect(clippy::too_many_lines, reason = "one text")]
fn the_help_of_run_tells_of_each_option() {
    insta::assert_snapshot!(check(&[], &["run", "--help"]), @r"
        exit 0
        Run scenarios and print what happened in them

        Usage: windtunnel run [OPTIONS] [PATHS]...

        Arguments:
          [PATHS]...
                  Scenario files, or folders to search for `*.yaml`
                  
                  [default: scenarios]

        Options:
              --seed <SEED>
                  Seed of everything that is drawn at random
                  
                  [default: 1]

              --payload <VERSION=DIR>
                  Take the payload of a release from a folder, as `oc adm release extract` writes it; it
                  exists in every scenario

              --start-from <PATH>
                  Begin with the cluster of a dump (as `serve --from` takes them) or a record, in place of
                  the one that the scenario describes: its release and history, nodes, channel,
                  capabilities, known updates and troubles. What is not taken is told

              --record <FILE>
                  Write the record of the run to FILE; with several scenarios, one record each into the
                  folder FILE

              --check-determinism
                  Play each scenario three times and fail when the records differ

              --check-restarts
                  Play each scenario again for every write of a simulated program, which dies right after
                  it, and fail when the cluster ends otherwise then

              --update-snapshots
                  Write the files that statuses are compared with (`matches`) instead of comparing

              --quiet
                  Print no timeline, even of a single scenario

          -v, --verbose
                  Print the timeline of every scenario; without it, several scenarios get a line each and a
                  list of failures

              --shard <I/N>
                  Play only this part of the scenarios, such as `2/3`: every third, beginning with the
                  second

              --fail-fast
                  Begin no other scenario when one has failed; those that were not begun are told of as
                  skipped

              --tags <EXPRESSION>
                  Play only scenarios whose tags fit, such as `@rollback and not @slow`; ids of scenarios
                  are tags as well

              --retry <N>
                  Play a scenario that failed again, with the next seed, up to N times. One that passes then
                  is told of as a flake
                  
                  [default: 0]

              --junit <FILE>
                  Write results as JUnit XML

              --junit-per <WHAT>
                  What a test case of JUnit is

                  Possible values:
                  - scenario: A scenario
                  - step:     A step of a scenario
                  
                  [default: scenario]

              --junit-upgrade <FILE>
                  Write who is to blame for failed updates as JUnit XML: the suite `cluster upgrade`, with
                  the same test cases in every run

              --test-results <FILE>
                  Write the counts and the names of failing scenarios as YAML, as a `test-results.yaml` has
                  them

              --html <FILE>
                  Write the results with their timelines as one HTML page

              --format <FORMAT>
                  How results are printed

                  Possible values:
                  - text: For people
                  - json: For machines: one document
                  
                  [default: text]

          -h, --help
                  Print help (see a summary with '-h')

        Where:
              --backend <BACKEND>
                  Kind of cluster to play in

                  Possible values:
                  - in-process: A simulated API server in this process, in virtual time
                  - served:     The same behind HTTPS
                  - container:  The same in a container, by Docker
                  - k3s:        k3s in a container, by Docker
                  - kind:       Kubernetes in containers, by kind
                  - k3d:        k3s in containers, by k3d
                  - kubeconfig: A cluster that is there
                  
                  [default: in-process]

              --kubeconfig <FILE>
                  The kubeconfig of the cluster (`--backend kubeconfig`); otherwise those that KUBECONFIG
                  names, or the one in the home folder

              --context <NAME>
                  Its context. No cluster is touched that is not named

              --speed <FACTOR>
                  How fast time passes in a cluster that is not simulated, such as `60x`: an hour in a
                  minute
                  
                  [default: 60x]

              --writes-per-second <N>
                  Writes that are made in a second at most, in a cluster that is not simulated
                  
                  [default: 50]

              --image <IMAGE>
                  Image of the cluster: the one that is run (container, k3s), or that of the nodes (kind,
                  k3d)

              --debug
                  Tell which commands of other programs are run, and how they end

              --keep
                  Leave the cluster as it is at the end, and tell how to reach and to remove it

              --width <COLUMNS>
                  Columns of a timeline; 0: no line is cut [default: the terminal's, or 160]

              --watch
                  Play again whenever a file that was read changes, until Ctrl-C

              --until <TIME>
                  Stop at this time of the cluster, counted from its start, such as `30m`; steps after it
                  are not played

              --serve
                  Serve the cluster as it is then, standing still, until Ctrl-C: `run my.yaml --until 30m
                  --serve`

              --serve-kubeconfig <FILE>
                  Write a kubeconfig for it to FILE
                  
                  [default: wind.kubeconfig]
        ");
}

#[test]
fn the_help_of_report_tells_of_each_option() {
    insta::assert_snapshot!(check(&[], &["report", "--help"]), @"
        exit 0
        Print the timeline of a record that `run --record` wrote

        Usage: windtunnel report [OPTIONS] <RECORD>

        Arguments:
          <RECORD>  A record file

        Options:
              --html <FILE>      Write the timeline as one HTML page
              --width <COLUMNS>  Columns of a timeline; 0: no line is cut [default: the terminal's, or 160]
          -h, --help             Print help
        ");
}

#[cfg(feature = "gherkin")]
#[test]
#[expect(clippy::too_many_lines, reason = "one text")]
fn the_help_of_test_tells_of_each_option() {
    insta::assert_snapshot!(check(&[], &["test", "--help"]), @r"
        exit 0
        Play Gherkin features

        Usage: windtunnel test [OPTIONS] [PATHS]...

        Arguments:
          [PATHS]...
                  Feature files, or folders to search for `*.feature`
                  
                  [default: features]

        Options:
              --seed <SEED>
                  Seed of everything that is drawn at random
                  
                  [default: 1]

              --shard <I/N>
                  Play only this part of the scenarios, such as `2/3`: every third, beginning with the
                  second

              --fail-fast
                  Begin no other scenario when one has failed; those that were not begun are told of as
                  skipped

              --tags <EXPRESSION>
                  Play only scenarios whose tags fit, such as `@rollback and not @slow`; ids of scenarios
                  are tags as well

              --retry <N>
                  Play a scenario that failed again, with the next seed, up to N times. One that passes then
                  is told of as a flake
                  
                  [default: 0]

              --record <FILE>
                  Write the record of the run to FILE; of several scenarios, one record each into the folder
                  FILE

              --junit <FILE>
                  Write results as JUnit XML

              --junit-per <WHAT>
                  What a test case of JUnit is

                  Possible values:
                  - scenario: A scenario
                  - step:     A step of a scenario
                  
                  [default: scenario]

              --junit-upgrade <FILE>
                  Write who is to blame for failed updates as JUnit XML: the suite `cluster upgrade`, with
                  the same test cases in every run

              --test-results <FILE>
                  Write the counts and the names of failing scenarios as YAML, as a `test-results.yaml` has
                  them

              --html <FILE>
                  Write the results with their timelines as one HTML page

              --format <FORMAT>
                  How results are printed

                  Possible values:
                  - text: For people
                  - json: For machines: one document
                  
                  [default: text]

              --cucumber-json <FILE>
                  Write results as Cucumber's JSON

          -h, --help
                  Print help (see a summary with '-h')

        Where:
              --backend <BACKEND>
                  Kind of cluster to play in

                  Possible values:
                  - in-process: A simulated API server in this process, in virtual time
                  - served:     The same behind HTTPS
                  - container:  The same in a container, by Docker
                  - k3s:        k3s in a container, by Docker
                  - kind:       Kubernetes in containers, by kind
                  - k3d:        k3s in containers, by k3d
                  - kubeconfig: A cluster that is there
                  
                  [default: in-process]

              --kubeconfig <FILE>
                  The kubeconfig of the cluster (`--backend kubeconfig`); otherwise those that KUBECONFIG
                  names, or the one in the home folder

              --context <NAME>
                  Its context. No cluster is touched that is not named

              --speed <FACTOR>
                  How fast time passes in a cluster that is not simulated, such as `60x`: an hour in a
                  minute
                  
                  [default: 60x]

              --writes-per-second <N>
                  Writes that are made in a second at most, in a cluster that is not simulated
                  
                  [default: 50]

              --image <IMAGE>
                  Image of the cluster: the one that is run (container, k3s), or that of the nodes (kind,
                  k3d)

              --debug
                  Tell which commands of other programs are run, and how they end

              --keep
                  Leave the cluster as it is at the end, and tell how to reach and to remove it

              --update-snapshots
                  Write the files that statuses are compared with (`the status is as in`) instead of
                  comparing
        ");
}
