//! The connection to an API server: threads of its own, so that whoever asks may live in virtual time or just wait.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::time::Duration;

use http::header::{HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT};
use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use kube::client::Body;
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::runtime::{Handle, Runtime};
use tokio::time::Instant;
use windtunnel_core::text::causes;
use windtunnel_core::{Identity, Refusal};

use super::turns::Turns;
use super::{again, concessions};
use crate::backends::{BackendError, Stop};

/// How long a request may take that is no watch.
const REQUEST_MAX: Duration = Duration::from_secs(60);

/// How long it may take to answer whether the server is there.
const PROBE_MAX: Duration = Duration::from_secs(5);
/// How long a server may be out of reach before it is given up: longer than a restart takes.
const LOST_AFTER: Duration = Duration::from_secs(30);
/// Pause before a request is sent again that could not be sent.
const AGAIN: Duration = Duration::from_millis(200);

/// An answer that has been read.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) code: u16,
    /// The body; `Null` where it is no JSON.
    pub(crate) body: Value,
}

impl Reply {
    /// The body, or why the server refused.
    pub(crate) fn checked(self) -> Result<Value, Refusal> {
        if self.code < 400 { Ok(self.body) } else { Err(refusal(self.code, &self.body)) }
    }
}

/// A connection.
pub(crate) struct Wire {
    /// `None` once it is closed.
    runtime: Mutex<Option<Runtime>>,
    handle: Handle,
    client: Client,
    turns: Arc<Turns>,
    /// Why the server is given up.
    lost: Arc<OnceLock<String>>,
    /// Has it be given up as well.
    stop: Stop,
}

impl Wire {
    /// Threads for a connection, and more if need be.
    ///
    /// # Errors
    /// No threads can be started.
    pub(crate) fn threads() -> Result<Runtime, BackendError> {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("windtunnel-wire")
            .enable_all()
            .build()
            .map_err(|error| BackendError::Failed(format!("no threads can be started: {error}")))
    }

    /// A connection of these settings; nothing is asked yet. At most `writes_per_second` requests change something, and none
    /// is made once `stop` is told.
    ///
    /// # Errors
    /// The settings lead nowhere.
    pub(crate) fn new(
        runtime: Runtime,
        mut config: Config,
        writes_per_second: Option<u32>,
        stop: Stop,
    ) -> Result<Self, BackendError> {
        // What the server says is for the engine and its actors to answer, not for a layer beneath them.
        config.default_retry = false;
        let guard = runtime.enter();
        let client = Client::try_from(config);
        drop(guard);
        let client =
            client.map_err(|error| BackendError::Failed(format!("no connection can be made: {error}")))?;
        let handle = runtime.handle().clone();
        Ok(Self {
            runtime: Mutex::new(Some(runtime)),
            handle,
            client,
            turns: Arc::new(Turns::new(writes_per_second)),
            lost: Arc::default(),
            stop,
        })
    }

    /// The same connection for what has to be done although everything is to stop. It ends with this one.
    pub(crate) fn unstopped(&self) -> Arc<Self> {
        Arc::new(Self {
            runtime: Mutex::default(),
            handle: self.handle.clone(),
            client: self.client.clone(),
            turns: Arc::clone(&self.turns),
            lost: Arc::clone(&self.lost),
            stop: Stop::default(),
        })
    }

    /// Where its tasks run.
    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Why the server is given up, if it is: nothing is asked of it any more.
    pub(crate) fn lost(&self) -> Option<&str> {
        let interrupted = self.stop.is_told().then_some(INTERRUPTED);
        self.lost.get().map(String::as_str).or(interrupted)
    }

    /// Asks nothing of the server any more.
    pub(crate) fn give_up(&self, why: &str) {
        self.lost.get_or_init(|| why.to_owned());
    }

    /// Ends all its tasks.
    pub(crate) fn end(&self) {
        // This may be on another runtime, where nobody may wait for the threads of this one.
        if let Some(runtime) = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).take() {
            runtime.shutdown_background();
        }
    }

    /// Sends a request and gives the answer as it comes.
    ///
    /// # Errors
    /// There is no answer.
    pub(crate) async fn send(&self, request: Request<Body>) -> Result<Response<Body>, String> {
        if request.method() != Method::GET {
            self.turns.take().await;
        }
        self.client.send(request).await.map_err(|error| causes(&error))
    }

    /// Sends a request and reads the whole answer. While there is no connection it is tried again.
    pub(crate) async fn ask(&self, request: Request<Vec<u8>>) -> Reply {
        if let Some(why) = self.lost() {
            return given_up(why);
        }
        let began = Instant::now();
        let work = async {
            // Whether it may have been done already.
            let mut unsure = false;
            let reply = loop {
                match self.attempt(&request).await {
                    Ok(reply) => break reply,
                    Err(why) if !again::is_made_again(request.method(), &why) => return Err(why),
                    Err(why) if self.stop.is_told() => return Err(why),
                    // A second one would have another name: who sent it has to look first whether there is one.
                    Err(why) if again::is_broken(&why) && again::names_itself_anew(&request) => {
                        return Ok(unsettled(&why));
                    }
                    Err(why) if began.elapsed() > LOST_AFTER => {
                        let why = format!("{why}, for {} s", LOST_AFTER.as_secs());
                        self.give_up(&out_of_reach(&why));
                        return Err(why);
                    }
                    Err(why) => {
                        unsure |= again::is_broken(&why);
                        tokio::time::sleep(AGAIN).await;
                    }
                }
            };
            let reply = if unsure { self.settled(&request, reply).await } else { reply };
            Ok(match concessions::instead(&request, &reply) {
                Some(instead) => Box::pin(self.ask(instead)).await,
                None => reply,
            })
        };
        match tokio::time::timeout(REQUEST_MAX, work).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(why)) => unanswered(&why),
            Err(_) => {
                let why = format!("no answer within {} s", REQUEST_MAX.as_secs());
                if *request.method() == Method::GET { unanswered(&why) } else { unsettled(&why) }
            }
        }
    }

    /// Sends a request once and reads its answer.
    async fn attempt(&self, request: &Request<Vec<u8>>) -> Result<Reply, String> {
        let response = self.send(request.clone().map(Body::from)).await?;
        read(response).await.map_err(|why| format!("{}: {why}", again::CUT_OFF))
    }

    /// What the answer to a request means that may have been done before.
    async fn settled(&self, request: &Request<Vec<u8>>, reply: Reply) -> Reply {
        if *request.method() == Method::DELETE && reply.code == 404 {
            return again::deleted();
        }
        let Some(path) = again::where_to_look(request, &reply) else { return reply };
        // It asks in its turn.
        let live = Box::pin(self.read(&path)).await.checked().ok();
        live.and_then(|live| again::lost_answer(request, live)).unwrap_or(reply)
    }

    /// Reads an object or a list.
    pub(crate) async fn read(&self, path: &str) -> Reply {
        match request(Method::GET, path, None, None) {
            Ok(request) => self.ask(request).await,
            Err(why) => unanswered(&why),
        }
    }

    /// Does work on the wire's threads while the caller waits on its own.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (tell, told) = mpsc::channel();
        self.handle().spawn(async move {
            // The result is dropped where nobody waits any more.
            let _ = tell.send(work.await);
        });
        told.recv().ok()
    }

    /// Asks once, and not for long: whether the server is there.
    pub(crate) fn probe(self: &Arc<Self>, path: &str) -> Reply {
        let request = match request(Method::GET, path, None, None) {
            Ok(request) => request,
            Err(why) => return unanswered(&why),
        };
        let wire = Arc::clone(self);
        let asked = async move {
            let answer = async { read(wire.send(request.map(Body::from)).await?).await };
            match tokio::time::timeout(PROBE_MAX, answer).await {
                Ok(Ok(reply)) => reply,
                Ok(Err(why)) => unanswered(&why),
                Err(_) => unanswered(&format!("no answer within {} s", PROBE_MAX.as_secs())),
            }
        };
        self.wait(asked).unwrap_or_else(|| unanswered("the connection is closed"))
    }

    /// Sends a request and waits for the answer.
    pub(crate) fn call(self: &Arc<Self>, request: Request<Vec<u8>>) -> Reply {
        let wire = Arc::clone(self);
        let reply = self.wait(async move { wire.ask(request).await });
        reply.unwrap_or_else(|| unanswered("the connection is closed"))
    }

    /// Reads an object or a list and waits for it.
    pub(crate) fn get(self: &Arc<Self>, path: &str) -> Reply {
        match request(Method::GET, path, None, None) {
            Ok(request) => self.call(request),
            Err(why) => unanswered(&why),
        }
    }

    /// Makes a request of its own, with a body or without.
    pub(crate) fn change(self: &Arc<Self>, method: Method, path: &str, body: &Value) -> Reply {
        let media = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        match request(method, path, Some((media, body)), None) {
            Ok(request) => self.call(request),
            Err(why) => unanswered(&why),
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.end();
    }
}

/// Reads an answer to its end.
async fn read(response: Response<Body>) -> Result<Reply, String> {
    let (head, body) = response.into_parts();
    let body = body.collect().await.map_err(|error| error.to_string())?.to_bytes();
    let mut body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let seconds = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if let Some(seconds) = seconds.filter(|_| body["details"]["retryAfterSeconds"].is_null()) {
        body["details"]["retryAfterSeconds"] = json!(seconds);
    }
    Ok(Reply { code: head.status.as_u16(), body })
}

/// A request as `who`, or as whom the connection is.
///
/// # Errors
/// The path is none.
pub(crate) fn request(
    method: Method,
    path: &str,
    body: Option<(&str, &Value)>,
    caller: Option<(&str, &Identity)>,
) -> Result<Request<Vec<u8>>, String> {
    let mut builder = Request::builder().method(method).uri(path);
    let mut bytes = Vec::new();
    if let Some((media, body)) = body {
        builder = builder.header(http::header::CONTENT_TYPE, media);
        bytes = serde_json::to_vec(body).map_err(|error| error.to_string())?;
    }
    let mut request = builder.body(bytes).map_err(|error| format!("{path}: {error}"))?;
    if let Some((agent, who)) = caller {
        speak_as(&mut request, agent, who);
    }
    Ok(request)
}

/// Has a request speak as a user: by impersonation, and not at all for who may do everything.
pub(crate) fn speak_as<B>(request: &mut Request<B>, agent: &str, who: &Identity) {
    let headers = request.headers_mut();
    if let Ok(agent) = HeaderValue::from_str(agent)
        && !headers.contains_key(USER_AGENT)
    {
        headers.insert(USER_AGENT, agent);
    }
    if who.is_privileged() {
        return;
    }
    if let Ok(user) = HeaderValue::from_str(&who.user) {
        headers.insert(HeaderName::from_static("impersonate-user"), user);
    }
    for group in who.all_groups() {
        if let Ok(group) = HeaderValue::from_str(group) {
            headers.append(HeaderName::from_static("impersonate-group"), group);
        }
    }
}

/// A refusal by its `metav1.Status`.
pub(crate) fn refusal(code: u16, status: &Value) -> Refusal {
    let text = |field: &str| status[field].as_str().unwrap_or_default().to_owned();
    let message = match text("message") {
        message if message.is_empty() => format!("the server answered {code}"),
        message => message,
    };
    Refusal { code, reason: text("reason"), message, details: status["details"].clone() }
}

/// Why nothing is asked any more once somebody wanted it all to stop.
const INTERRUPTED: &str = "the run was interrupted";

fn out_of_reach(why: &str) -> String {
    format!("the API server cannot be reached: {why}")
}

/// What stands for the answer that never came: clients ask again after a second.
fn unanswered(why: &str) -> Reply {
    given_up(&out_of_reach(why))
}

/// The same for a request that may have been done: nobody sends it again by itself.
fn unsettled(why: &str) -> Reply {
    let message = out_of_reach(why);
    Reply { code: 503, body: json!({ "reason": "ServiceUnavailable", "message": message }) }
}

/// What stands for the answer of a server that is not asked.
fn given_up(message: &str) -> Reply {
    let details = json!({ "retryAfterSeconds": 1 });
    Reply {
        code: 503,
        body: json!({ "reason": "ServiceUnavailable", "message": message, "details": details }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_do_everything_is_not_impersonated() {
        let of = |who: &Identity| {
            let request = request(Method::GET, "/x", None, Some(("kubelet", who))).unwrap();
            let all =
                request.headers().iter().map(|(name, value)| format!("{name}={}", value.to_str().unwrap()));
            all.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of(&Identity::admin()), "user-agent=kubelet");
        assert_eq!(
            of(&Identity::service_account("ns", "a")),
            "user-agent=kubelet impersonate-user=system:serviceaccount:ns:a impersonate-group=system:serviceaccounts \
             impersonate-group=system:serviceaccounts:ns impersonate-group=system:authenticated"
        );
    }
}
