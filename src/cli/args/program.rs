//! The argument of `--program`.

use std::collections::BTreeMap;
use std::env;

use windtunnel_openshift::environment::ContainerPlace;

use crate::plan::{Permission, ProgramPlace, ProgramPlan, ProgramTime, Variables};

/// The flag that lets the programs start that files name.
pub(in crate::cli) const CONSENT: &str = "--allow-programs";

/// Programs of this machine as parts of clusters.
#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct ProgramArgs {
    /// Run a program of this machine in each cluster: in a container (`NAMESPACE/WORKLOAD/CONTAINER=COMMAND`), in all
    /// containers with an image (`*/my-operator:*=COMMAND`) or with a component of a release
    /// (`cluster-version-operator=COMMAND`), or beside the cluster (`COMMAND`). The command may have placeholders such as
    /// `{kubeconfig}`.
    #[arg(long, value_name = "[PLACE=]COMMAND", value_parser = parse)]
    program: Vec<ProgramPlan>,
    /// Start the commands that files name in `programs`. They run on this machine as you, with `PATH` and no other variable of
    /// yours.
    #[arg(long)]
    allow_programs: bool,
    /// Give these commands one more variable of yours. May be repeated.
    #[arg(long, value_name = "NAME", requires = "allow_programs")]
    pass_env: Vec<String>,
}

impl ProgramArgs {
    /// Returns the programs, beside which the clock of the cluster runs like this.
    pub(in crate::cli) fn plans(&self, time: ProgramTime) -> Vec<ProgramPlan> {
        let plans = self.program.iter().enumerate();
        let named = plans.map(|(index, plan)| {
            let is_taken = self.program[..index].iter().any(|other| other.name == plan.name);
            let name = if is_taken { format!("{}-{}", plan.name, index + 1) } else { plan.name.clone() };
            ProgramPlan { name, time, ..plan.clone() }
        });
        named.collect()
    }

    /// Returns the options that let the same programs start again.
    pub(in crate::cli) fn consent_options(&self) -> Vec<String> {
        let flag = self.allow_programs.then(|| CONSENT.to_owned());
        let variables = self.pass_env.iter().flat_map(|name| ["--pass-env".to_owned(), name.clone()]);
        flag.into_iter().chain(variables).collect()
    }

    /// Returns the variables for programs that files name; `None` if such programs may not start.
    pub(in crate::cli) fn permitted(&self) -> Option<Variables> {
        let names = self.pass_env.iter().map(String::as_str).chain(["PATH"]);
        let variables = names.filter_map(|name| Some((name.to_owned(), env::var_os(name)?)));
        self.allow_programs.then(|| variables.collect())
    }
}

/// Parses `[PLACE=]COMMAND`.
///
/// # Errors
/// The expected syntax.
fn parse(text: &str) -> Result<ProgramPlan, String> {
    let placed =
        text.split_once('=').filter(|(place, _)| !place.is_empty() && !place.contains(char::is_whitespace));
    let (place, command) = match placed {
        Some((place, command)) if !place.starts_with(['.', '/']) => (self::place(place), command),
        _ => (ProgramPlace::Beside { user: "system:admin".to_owned() }, text),
    };
    let command = shlex::split(command)
        .ok_or_else(|| format!("expected a command, found an open quote in `{command}`"))?;
    let program =
        command.first().ok_or("expected a command, such as `./my-operator --kubeconfig {kubeconfig}`")?;
    let file = program.rsplit('/').next().unwrap_or(program);
    let name = match &place {
        ProgramPlace::In(ContainerPlace::Container { container, .. }) => container.clone(),
        ProgramPlace::In(ContainerPlace::Component { component, .. }) => component.clone(),
        ProgramPlace::In(ContainerPlace::Image(_)) | ProgramPlace::Beside { .. } | ProgramPlace::Step => {
            file.to_owned()
        }
    };
    Ok(ProgramPlan {
        name,
        place,
        command,
        env: BTreeMap::new(),
        files: BTreeMap::new(),
        folder: None,
        time: ProgramTime::Lockstep,
        permission: Permission::Typed,
    })
}

fn place(text: &str) -> ProgramPlace {
    let parts: Vec<&str> = text.split('/').collect();
    ProgramPlace::In(match parts[..] {
        _ if text.contains(['*', ':', '@']) => ContainerPlace::Image(text.to_owned()),
        [namespace, workload, container] => ContainerPlace::Container {
            namespace: namespace.to_owned(),
            workload: workload.to_owned(),
            container: container.to_owned(),
        },
        [component] => ContainerPlace::Component { release: None, component: component.to_owned() },
        _ => ContainerPlace::Image(text.to_owned()),
    })
}

/// Parses the clock beside programs.
///
/// # Errors
/// The expected syntax.
pub(super) fn time(text: &str) -> Result<ProgramTime, String> {
    if text == "lockstep" {
        return Ok(ProgramTime::Lockstep);
    }
    let speed = super::clusters::speed(text);
    speed
        .map(ProgramTime::Scaled)
        .map_err(|_| "expected `lockstep`, or a factor from 0.01x to 100000x".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_what_stands_before_the_first_equals_sign() {
        let place = |text: &str| parse(text).unwrap().place;
        let container = |text: &str| match place(text) {
            ProgramPlace::In(ContainerPlace::Container { namespace, workload, container }) => {
                [namespace, workload, container].join(" ")
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(container("a/b/c=./x --y=z"), "a b c");
        let image = ProgramPlace::In(ContainerPlace::Image("*/x:*".to_owned()));
        assert_eq!(place("*/x:*=./x"), image);
        let component = ContainerPlace::Component { release: None, component: "etcd-operator".to_owned() };
        assert_eq!(place("etcd-operator=./x"), ProgramPlace::In(component));
        let beside = ProgramPlace::Beside { user: "system:admin".to_owned() };
        assert_eq!([place("./x --kubeconfig={kubeconfig}"), place("x a=b")], [beside.clone(), beside]);
        assert!(parse("a=").is_err() && parse("'x").is_err());
    }
}
