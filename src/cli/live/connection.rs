//! The connection flags that every `oc` command has.

use std::path::{Path, PathBuf};

use clap::Parser;
use kube::Config;
use kube::config::{
    AuthInfo, Cluster, Context, KubeConfigOptions, Kubeconfig, NamedAuthInfo, NamedCluster, NamedContext,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use windtunnel_core::text::error_chain;
use windtunnel_openshift::oc::CommandOutput;

use super::client_error;

/// The name of kubeconfig entries that come from flags alone.
const ENTRY_NAME: &str = "windtunnel";

/// Flags at any place among the arguments of a command.
#[derive(Debug, Default, Parser)]
#[command(name = "windtunnel adm upgrade", disable_help_flag = true, no_binary_name = true)]
pub(in crate::cli) struct Connection {
    /// Kubeconfig of the cluster [default: KUBECONFIG, or the one in the home folder].
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: the current one].
    #[arg(long)]
    context: Option<String>,
    /// URL of the API server.
    #[arg(long, short)]
    server: Option<String>,
    /// Bearer token.
    #[arg(long)]
    token: Option<String>,
    /// Certificate authorities of the server.
    #[arg(long)]
    certificate_authority: Option<PathBuf>,
    /// Accept any certificate.
    #[arg(long)]
    insecure_skip_tls_verify: bool,
}

/// The flags above, and whether they take a value.
const FLAGS: [(&str, bool); 7] = [
    ("--kubeconfig", true),
    ("--context", true),
    ("--server", true),
    ("-s", true),
    ("--token", true),
    ("--certificate-authority", true),
    ("--insecure-skip-tls-verify", false),
];

/// Splits arguments into connection flags and all others.
pub(in crate::cli) fn split_flags(words: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut connection_flags, mut others) = (Vec::new(), Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        let Some((_, takes_value)) = FLAGS.iter().find(|(flag, _)| *flag == name) else {
            others.push(word.clone());
            continue;
        };
        if *takes_value {
            connection_flags.push(word.clone());
            connection_flags.extend(words.next().filter(|_| !word.contains('=')).cloned());
        } else if !word.ends_with("=false") {
            connection_flags.push(name.to_owned());
        }
    }
    (connection_flags, others)
}

impl Connection {
    /// Returns a connection from a kubeconfig, with its current context or another one.
    pub(in crate::cli) fn from_kubeconfig(kubeconfig: &Path, context: Option<&str>) -> Self {
        Self::new(Some(kubeconfig), context)
    }

    /// Returns a connection from a kubeconfig, or from the default ones.
    pub(in crate::cli) fn new(kubeconfig: Option<&Path>, context: Option<&str>) -> Self {
        let (kubeconfig, context) = (kubeconfig.map(Path::to_owned), context.map(str::to_owned));
        Self { kubeconfig, context, ..Self::default() }
    }

    /// Returns the names of all contexts.
    ///
    /// # Errors
    /// The kubeconfig cannot be read.
    pub(in crate::cli) fn contexts(&self) -> Result<Vec<String>, CommandOutput> {
        let kubeconfig = self.kubeconfig.as_ref().map_or_else(Kubeconfig::read, Kubeconfig::read_from);
        let kubeconfig = kubeconfig.map_err(|error| client_error(&error_chain(&error)))?;
        Ok(kubeconfig.contexts.into_iter().map(|context| context.name).collect())
    }

    /// Returns the settings to connect to the cluster.
    ///
    /// # Errors
    /// The kubeconfig cannot be read, or does not contain the context.
    pub(in crate::cli) async fn config(&self) -> Result<Config, CommandOutput> {
        let mut kubeconfig = match (&self.kubeconfig, &self.server) {
            (Some(path), _) => Kubeconfig::read_from(path),
            (None, None) => Kubeconfig::read(),
            (None, Some(_)) => Ok(Kubeconfig::read().unwrap_or_default()),
        }
        .map_err(|error| client_error(&error_chain(&error)))?;
        self.apply_flags(&mut kubeconfig);
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        Config::from_custom_kubeconfig(kubeconfig, &options)
            .await
            .map_err(|error| client_error(&error_chain(&error)))
    }

    /// Applies the flags to the kubeconfig.
    fn apply_flags(&self, kubeconfig: &mut Kubeconfig) {
        let chosen = self.context.clone().or_else(|| kubeconfig.current_context.clone());
        let known = |context: &&NamedContext| Some(&context.name) == chosen.as_ref();
        let context = kubeconfig.contexts.iter().find(known).and_then(|named| named.context.clone());
        let context = context.unwrap_or_else(|| {
            kubeconfig.current_context = Some(ENTRY_NAME.to_owned());
            let context = Context {
                cluster: ENTRY_NAME.to_owned(),
                user: Some(ENTRY_NAME.to_owned()),
                ..Context::default()
            };
            let named = NamedContext {
                name: ENTRY_NAME.to_owned(),
                context: Some(context.clone()),
                ..NamedContext::default()
            };
            kubeconfig.contexts.push(named);
            kubeconfig.clusters.push(NamedCluster { name: ENTRY_NAME.to_owned(), ..NamedCluster::default() });
            kubeconfig
                .auth_infos
                .push(NamedAuthInfo { name: ENTRY_NAME.to_owned(), ..NamedAuthInfo::default() });
            context
        });
        for named in kubeconfig.clusters.iter_mut().filter(|named| named.name == context.cluster) {
            let cluster = named.cluster.get_or_insert_with(Cluster::default);
            cluster.server = self.server.clone().or_else(|| cluster.server.take());
            if let Some(path) = &self.certificate_authority {
                cluster.certificate_authority = Some(path.display().to_string());
                cluster.certificate_authority_data = None;
            }
            if self.insecure_skip_tls_verify {
                cluster.insecure_skip_tls_verify = Some(true);
            }
        }
        if let Some(token) = &self.token {
            let users = kubeconfig.auth_infos.iter_mut();
            for named in users.filter(|named| Some(&named.name) == context.user.as_ref()) {
                named.auth_info = from_json::<AuthInfo>(json!({ "token": token }));
            }
        }
    }
}

/// Builds types whose secret fields only serde can set.
fn from_json<T: DeserializeOwned>(value: Value) -> Option<T> {
    serde_json::from_value(value).ok()
}
