//! The connection to an API server. It has its own threads, so that callers can live in virtual time or
//! block.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::time::Duration;

use http::header::{HeaderName, HeaderValue, USER_AGENT};
use http::{Method, Request, Response};
use kube::client::Body;
use kube::{Client, Config};
use serde_json::Value;
use tokio::runtime::{Handle, Runtime};
use tokio::time::Instant;
use windtunnel_core::Identity;
use windtunnel_core::text::error_chain;

use super::rate_limit::RateLimit;
use super::reply::{self, Reply, given_up, out_of_reach, unanswered, unanswered_write};
use super::{concessions, retry};
use crate::backends::{BackendError, INTERRUPTED, Stop};

/// The time limit of a request other than a watch.
const REQUEST_MAX: Duration = Duration::from_secs(60);

const PROBE_MAX: Duration = Duration::from_secs(5);
/// The time without a connection after which the run gives up the server: longer than a restart takes.
const LOST_AFTER: Duration = Duration::from_secs(30);
/// The pause before a request is retried.
const RETRY_PAUSE: Duration = Duration::from_millis(200);

pub(crate) struct Wire {
    /// `None` once it is closed.
    runtime: Mutex<Option<Runtime>>,
    handle: Handle,
    client: Client,
    rate_limit: Arc<RateLimit>,
    /// Why the server was given up.
    lost: Arc<OnceLock<String>>,
    /// Stops all requests when it is set.
    stop: Stop,
}

impl Wire {
    /// Starts the threads of a connection.
    ///
    /// # Errors
    /// No threads can be started.
    pub(crate) fn threads() -> Result<Runtime, BackendError> {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("windtunnel-wire")
            .enable_all()
            .build()
            .map_err(|error| BackendError::Failed(format!("cannot start threads: {error}")))
    }

    /// Creates a connection; sends no request yet. It sends at most `writes_per_second` writes per second,
    /// and no request once `stop` is set.
    ///
    /// # Errors
    /// The settings are invalid.
    pub(crate) fn new(
        runtime: Runtime,
        mut config: Config,
        writes_per_second: Option<u32>,
        stop: Stop,
    ) -> Result<Self, BackendError> {
        // The engine and its actors handle rejections, not a layer below them.
        config.default_retry = false;
        let guard = runtime.enter();
        let client = Client::try_from(config);
        drop(guard);
        let client = client
            .map_err(|error| BackendError::Failed(format!("cannot connect to the API server: {error}")))?;
        let handle = runtime.handle().clone();
        Ok(Self {
            runtime: Mutex::new(Some(runtime)),
            handle,
            client,
            rate_limit: Arc::new(RateLimit::new(writes_per_second)),
            lost: Arc::default(),
            stop,
        })
    }

    /// Returns the same connection for cleanup work after a stop. It ends with this one.
    pub(crate) fn unstopped(&self) -> Arc<Self> {
        Arc::new(Self {
            runtime: Mutex::default(),
            handle: self.handle.clone(),
            client: self.client.clone(),
            rate_limit: Arc::clone(&self.rate_limit),
            lost: Arc::clone(&self.lost),
            stop: Stop::default(),
        })
    }

    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Returns why the server was given up; no request is sent any more.
    pub(crate) fn lost(&self) -> Option<&str> {
        let interrupted = self.stop.is_requested().then_some(INTERRUPTED);
        self.lost.get().map(String::as_str).or(interrupted)
    }

    /// Gives up the server: sends no further request.
    pub(crate) fn give_up(&self, why: &str) {
        self.lost.get_or_init(|| why.to_owned());
    }

    pub(crate) fn end(&self) {
        // The caller may be on another runtime, which must not block until these threads end.
        if let Some(runtime) = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).take() {
            runtime.shutdown_background();
        }
    }

    /// Sends a request and returns the answer as a stream.
    ///
    /// # Errors
    /// There is no answer.
    pub(crate) async fn send(&self, request: Request<Body>) -> Result<Response<Body>, String> {
        if request.method() != Method::GET {
            self.rate_limit.take().await;
        }
        self.client.send(request).await.map_err(|error| error_chain(&error))
    }

    /// Sends a request and reads the whole answer. Retries while there is no connection.
    pub(crate) async fn ask(&self, request: Request<Vec<u8>>) -> Reply {
        if let Some(why) = self.lost() {
            return given_up(why);
        }
        let began = Instant::now();
        let work = async {
            // Whether an earlier attempt may have been processed.
            let mut unsure = false;
            let reply = loop {
                match self.attempt(&request).await {
                    Ok(reply) => break reply,
                    Err(why) if !retry::should_retry(request.method(), &why) => return Err(why),
                    Err(why) if self.stop.is_requested() => return Err(why),
                    // A retry would create an object with another name: the client must check for the first
                    // one.
                    Err(why) if retry::is_broken(&why) && retry::has_generated_name(&request) => {
                        return Ok(unanswered_write(&why));
                    }
                    Err(why) if began.elapsed() > LOST_AFTER => {
                        let why = format!("{why}, for {} s", LOST_AFTER.as_secs());
                        self.give_up(&out_of_reach(&why));
                        return Err(why);
                    }
                    Err(why) => {
                        unsure |= retry::is_broken(&why);
                        tokio::time::sleep(RETRY_PAUSE).await;
                    }
                }
            };
            let reply = if unsure { self.settled(&request, reply).await } else { reply };
            Ok(match concessions::replacement_request(&request, &reply) {
                Some(instead) => Box::pin(self.ask(instead)).await,
                None => reply,
            })
        };
        match tokio::time::timeout(REQUEST_MAX, work).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(why)) => unanswered(&why),
            Err(_) => {
                let why = format!("no answer within {} s", REQUEST_MAX.as_secs());
                if *request.method() == Method::GET { unanswered(&why) } else { unanswered_write(&why) }
            }
        }
    }

    /// Sends a request once and reads its answer.
    async fn attempt(&self, request: &Request<Vec<u8>>) -> Result<Reply, String> {
        let response = self.send(request.clone().map(Body::from)).await?;
        reply::read(response).await.map_err(|why| format!("{}: {why}", retry::CUT_OFF))
    }

    /// Interprets the answer to a request that an earlier attempt may have processed.
    async fn settled(&self, request: &Request<Vec<u8>>, reply: Reply) -> Reply {
        if *request.method() == Method::DELETE && reply.code == 404 {
            return retry::deleted();
        }
        let Some(path) = retry::path_to_check(request, &reply) else { return reply };
        // This read may retry as well.
        let live = Box::pin(self.read(&path)).await.checked().ok();
        live.and_then(|live| retry::lost_answer(request, live)).unwrap_or(reply)
    }

    pub(crate) async fn read(&self, path: &str) -> Reply {
        match request(Method::GET, path, None, None) {
            Ok(request) => self.ask(request).await,
            Err(why) => unanswered(&why),
        }
    }

    /// Runs work on the connection's threads while the caller blocks.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (sender, receiver) = mpsc::channel();
        self.handle().spawn(async move {
            // The result is dropped if the caller has stopped waiting.
            let _ = sender.send(work.await);
        });
        receiver.recv().ok()
    }

    /// Sends one request with a short time limit, to check that the server is reachable.
    pub(crate) fn probe(self: &Arc<Self>, path: &str) -> Reply {
        let request = match request(Method::GET, path, None, None) {
            Ok(request) => request,
            Err(why) => return unanswered(&why),
        };
        let wire = Arc::clone(self);
        let asked = async move {
            let answer = async { reply::read(wire.send(request.map(Body::from)).await?).await };
            match tokio::time::timeout(PROBE_MAX, answer).await {
                Ok(Ok(reply)) => reply,
                Ok(Err(why)) => unanswered(&why),
                Err(_) => unanswered(&format!("no answer within {} s", PROBE_MAX.as_secs())),
            }
        };
        self.wait(asked).unwrap_or_else(|| unanswered("the connection is closed"))
    }

    /// Sends a request and blocks until the answer.
    pub(crate) fn call(self: &Arc<Self>, request: Request<Vec<u8>>) -> Reply {
        let wire = Arc::clone(self);
        let reply = self.wait(async move { wire.ask(request).await });
        reply.unwrap_or_else(|| unanswered("the connection is closed"))
    }

    /// Reads an object or a list and blocks until the answer.
    pub(crate) fn get(self: &Arc<Self>, path: &str) -> Reply {
        match request(Method::GET, path, None, None) {
            Ok(request) => self.call(request),
            Err(why) => unanswered(&why),
        }
    }

    /// Sends a write and blocks until the answer.
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

/// Returns a request as `who`, or as the user of the connection.
///
/// # Errors
/// The path is invalid.
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

/// Makes a request impersonate a user, except for a user with all permissions.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn does_not_impersonate_a_user_with_all_permissions() {
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
