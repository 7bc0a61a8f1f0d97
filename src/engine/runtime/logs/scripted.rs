//! Lines that a scenario prints to the logs of pods.

use windtunnel_core::Key;
use windtunnel_core::Object;
use windtunnel_core::resources::PODS;
use windtunnel_core::text::did_you_mean;

use super::IsRecorded;
use crate::engine::error::SessionError;
use crate::engine::runtime::Simulation;

impl Simulation {
    /// Prints lines to the log of each pod whose name begins like this, and whose programs are simulated.
    ///
    /// # Errors
    /// There is no such pod, or it has no such container; the pods of this cluster run on real kubelets.
    pub(in crate::engine) fn print_to_pods(
        &mut self,
        namespace: &str,
        pod: &str,
        container: Option<&str>,
        lines: &[String],
    ) -> Result<(), SessionError> {
        if self.connection.capabilities().real_kubelets {
            let why = "the pods of this cluster run on real kubelets, which have their logs";
            return Err(SessionError::Unsupported(why.to_owned()));
        }
        let logs = self.scripted_logs(namespace, pod, container)?;
        let (now, text) = (self.now(), lines.join("\n"));
        self.observers.exports.with_logs(|known| {
            for (pod, container) in &logs {
                known.print(pod, container, &text, now, IsRecorded::Yes);
            }
        });
        Ok(())
    }

    /// The pods and containers of a name: those of pods; if there is none, those of programs that run without a pod.
    fn scripted_logs(
        &self,
        namespace: &str,
        pod: &str,
        container: Option<&str>,
    ) -> Result<Vec<(Key, String)>, SessionError> {
        let pods = self.view.list_in(&PODS, namespace).filter(|found| found.name().starts_with(pod));
        let found: Vec<(Key, String)> = pods
            .map(|found| Ok((PODS.key(namespace, found.name()), container_of(found, container)?)))
            .collect::<Result<_, SessionError>>()?;
        if !found.is_empty() {
            return Ok(found);
        }
        let mut known: Vec<(Key, String)> = self.observers.exports.with_logs(|logs| {
            logs.all(false).map(|(key, container, _)| (key.clone(), container.to_owned())).collect()
        });
        known.retain(|(key, _)| key.namespace == namespace);
        let is_meant = |(key, name): &(Key, String)| {
            key.name.starts_with(pod) && container.is_none_or(|container| container == name)
        };
        let found: Vec<(Key, String)> = known.iter().filter(|log| is_meant(log)).cloned().collect();
        if found.is_empty() {
            let pods = self.view.list_in(&PODS, namespace).map(Object::name);
            let hint = did_you_mean(pod, pods.chain(known.iter().map(|(key, _)| key.name.as_ref())));
            return Err(not_there("pod with a name like", &format!("{namespace}/{pod}"), hint));
        }
        Ok(found)
    }
}

/// The name of the container of a pod, by default its first one.
fn container_of(pod: &Object, wanted: Option<&str>) -> Result<String, SessionError> {
    let containers = ["/spec/containers", "/spec/initContainers"].into_iter().flat_map(|list| pod.list(list));
    let mut names = containers.filter_map(|container| container["name"].as_str());
    let Some(wanted) = wanted else { return Ok(names.next().unwrap_or_default().to_owned()) };
    if names.any(|name| name == wanted) {
        return Ok(wanted.to_owned());
    }
    let containers = pod.list("/spec/containers").iter().filter_map(|container| container["name"].as_str());
    Err(not_there(&format!("container of pod {}", pod.name()), wanted, did_you_mean(wanted, containers)))
}

fn not_there(kind: &str, name: &str, hint: String) -> SessionError {
    SessionError::NotThere { kind: kind.to_owned(), name: name.to_owned(), hint }
}
