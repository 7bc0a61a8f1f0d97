//! Mutants of the update status controller: its requests are changed between its client and the API server.
//!
//! The controller reads its objects only if another client wrote them, so it believes that they have what it
//! meant to write.

use http::{Method, Request, Response};
use kube::client::Body;
use serde_json::{Value, json};
use windtunnel_core::yaml;
use windtunnel_update_status::insight::published;

use super::answers;
use super::mutant::{FalseAnswer, Mutant, MutantKind, altered};
use super::mutant_state::{MutantState, State, component};

/// The kind of the objects that insights are published in, besides the ConfigMap, and its plural.
const UPDATE_STATUS: &str = "UpdateStatus";
const UPDATE_STATUSES: &str = "/updatestatuses";

impl MutantState {
    /// Returns a client whose requests pass the mutant.
    pub(in crate::engine) fn client(&self, program: &str, client: kube::Client) -> kube::Client {
        let state = self.lock();
        let is_meant = state.planned().is_some_and(|mutant| mutant.component == component(program));
        drop(state);
        if !is_meant {
            return client;
        }
        let (mutant_state, program) = (self.clone(), program.to_owned());
        let service = tower::service_fn(move |request: Request<Body>| {
            let (mutant_state, program, client) = (mutant_state.clone(), program.clone(), client.clone());
            async move {
                match mutant_state.false_answer(&program, &request) {
                    Some(answer) => answer.give(client, request).await,
                    None => mutant_state.send(client, request).await,
                }
            }
        });
        kube::Client::new(service, "default")
    }

    /// Returns the false answer that a request of the update status controller gets.
    fn false_answer(&self, by: &str, request: &Request<Body>) -> Option<FalseAnswer> {
        let mut state = self.lock();
        let Mutant { kind, how: MutantKind::Answered(answer), .. } = state.active()?.clone() else {
            return None;
        };
        let is_write = *request.method() != Method::GET && published_in(request.uri().path()) == Some(&kind);
        let is_change = *request.method() == Method::PATCH;
        (is_write && state.misinforms(by, answer, is_change)).then_some(answer)
    }

    async fn send(
        &self,
        client: kube::Client,
        request: Request<Body>,
    ) -> Result<Response<Body>, kube::Error> {
        let published_in = published_in(request.uri().path());
        let is_status = published_in == Some(UPDATE_STATUS);
        let is_read =
            request.method() == Method::GET && !request.uri().query().unwrap_or_default().contains("watch=");
        let is_patch = request.method() == Method::PATCH;
        let request = if is_patch && published_in.is_some() {
            let (head, body) = request.into_parts();
            let body = body.collect_bytes().await?;
            let changed = serde_json::from_slice(&body).ok().and_then(|patch| {
                let mut state = self.lock();
                if is_status { state.change_status(&patch) } else { state.change_config_map(patch) }
            });
            let body = changed.map_or_else(|| body.to_vec(), |patch| patch.to_string().into_bytes());
            Request::from_parts(head, Body::from(body))
        } else {
            request
        };
        let response = client.send(request).await?;
        if !is_status || !is_read && !is_patch {
            return Ok(response);
        }
        let is_error = !response.status().is_success();
        let (head, body) = response.into_parts();
        let body = body.collect_bytes().await?;
        let mut state = self.lock();
        if is_error {
            state.insights.meant = None;
            if head.status == http::StatusCode::UNPROCESSABLE_ENTITY && state.active().is_some() {
                let status: Value = serde_json::from_slice(&body).unwrap_or_default();
                let message = status["message"].as_str().unwrap_or_default();
                state.observed.rejection.get_or_insert(message.to_owned());
            }
        } else if is_read && let Ok(list) = serde_json::from_slice::<Value>(&body) {
            let object = list["items"].as_array().map_or(Some(&list), |items| items.first());
            state.insights.meant = object.map(|object| object["status"].clone());
        }
        drop(state);
        Ok(Response::from_parts(head, Body::from(body)))
    }
}

/// Returns the kind of the object with this path, if insights are published in it.
fn published_in(path: &str) -> Option<&'static str> {
    if path.contains(UPDATE_STATUSES) {
        return Some(UPDATE_STATUS);
    }
    path.ends_with(published::CONFIG_MAP).then_some("ConfigMap")
}

impl FalseAnswer {
    /// Gives this answer to a request of a kube client.
    async fn give(self, client: kube::Client, request: Request<Body>) -> Result<Response<Body>, kube::Error> {
        let rejection = match self {
            Self::Failure => answers::failure(),
            Self::Conflict => {
                let mut path = request.uri().path().rsplit('/').filter(|part| *part != "status");
                let (name, plural) = (path.next().unwrap_or_default(), path.next().unwrap_or_default());
                answers::conflict(plural, name)
            }
            Self::Timeout => {
                client.send(request).await?;
                answers::timeout()
            }
        };
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": rejection.message, "reason": rejection.reason, "code": rejection.code,
        });
        let response = Response::builder().status(rejection.code).header("Content-Type", "application/json");
        response.body(Body::from(status.to_string().into_bytes())).map_err(kube::Error::HttpError)
    }
}

impl State {
    /// Returns the merge patch of the ConfigMap as the mutant sends it.
    fn change_config_map(&mut self, mut patch: Value) -> Option<Value> {
        let mutant = self.active().cloned()?;
        let data = patch["data"].as_object_mut()?;
        for (uid, document) in data.iter_mut().filter(|(uid, _)| uid.starts_with(published::KEY_PREFIX)) {
            let insight = document.as_str().and_then(|text| yaml::from_str::<Value>(text).ok());
            let Some(mut insight) = insight else { continue };
            match self.change_insight(&mutant, uid, &mut insight) {
                Changed::Not => {}
                Changed::Value => *document = json!(yaml::to_string(&insight).ok()?),
                Changed::Lost => *document = Value::Null,
            }
        }
        Some(patch)
    }

    /// Applies a JSON patch to the status that the controller means, and returns the patch that the mutant sends.
    fn change_status(&mut self, operations: &Value) -> Option<Value> {
        let parsed = serde_json::from_value::<json_patch::Patch>(operations.clone()).ok()?;
        let mut object = json!({"metadata": {"resourceVersion": ""}});
        object["status"] = self.insights.meant.take()?;
        json_patch::patch(&mut object, &parsed).ok()?;
        let mut status = object["status"].take();
        self.insights.meant = Some(status.clone());
        let mutant = self.active().cloned()?;
        self.change_part(&mutant, &mut status["controlPlane"]);
        for pool in status["workerPools"].as_array_mut().into_iter().flatten() {
            self.change_part(&mutant, pool);
        }
        let version = object["metadata"]["resourceVersion"].take();
        Some(json!([
            {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
            {"op": "add", "path": "/status", "value": status},
        ]))
    }

    fn change_part(&mut self, mutant: &Mutant, part: &mut Value) {
        for informer in part["informers"].as_array_mut().into_iter().flatten() {
            let Some(insights) = informer["insights"].as_array_mut() else { continue };
            insights.retain_mut(|insight| {
                let uid = insight["uid"].as_str().unwrap_or_default().to_owned();
                self.change_insight(mutant, &uid, insight) != Changed::Lost
            });
        }
    }

    fn change_insight(&mut self, mutant: &Mutant, uid: &str, insight: &mut Value) -> Changed {
        let Some((kind, content)) = published::content(insight) else { return Changed::Not };
        if kind != mutant.kind {
            return Changed::Not;
        }
        let (place, new) = match &mutant.how {
            MutantKind::LostInsight => {
                self.observed.hits += 1;
                return Changed::Lost;
            }
            MutantKind::AlteredInsight(place) => {
                (place, place.get(content).and_then(|value| altered(place, value)))
            }
            MutantKind::FrozenInsight(place) => {
                let first = self.insights.first.entry((uid.to_owned(), place.clone()));
                (place, first.or_insert_with(|| place.get(content).cloned()).clone())
            }
            _ => return Changed::Not,
        };
        let is_alteration = matches!(mutant.how, MutantKind::AlteredInsight(_));
        if new.as_ref() == place.get(content) || is_alteration && new.is_none() {
            return Changed::Not;
        }
        let member = published::member(kind);
        place.set(&mut insight[member.as_str()], new);
        self.observed.hits += 1;
        Changed::Value
    }
}

/// The effect of a mutant on an insight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Changed {
    Not,
    Value,
    Lost,
}
