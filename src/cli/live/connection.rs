//! The connection flags that every `oc` command has.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::Parser;
use kube::Config;
use kube::config::{
    AuthInfo, Cluster, Context, ExecConfig, KubeConfigOptions, Kubeconfig, NamedAuthInfo, NamedCluster,
    NamedContext,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use windtunnel_core::text::error_chain;
use windtunnel_openshift::oc::CommandOutput;

use super::client_error;
use crate::cli::consent::shown;
use crate::cli::files::input;
use crate::cli::output::Shown as _;
use crate::cli::print_notice;

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
        Ok(self.read()?.contexts.into_iter().map(|context| context.name).collect())
    }

    /// Returns the settings to connect to the cluster.
    ///
    /// # Errors
    /// The kubeconfig cannot be read, or does not contain the context.
    pub(in crate::cli) async fn config(&self) -> Result<Config, CommandOutput> {
        let mut kubeconfig = match (&self.kubeconfig, &self.server) {
            (None, Some(_)) => self.read().unwrap_or_default(),
            _ => self.read()?,
        };
        self.apply_flags(&mut kubeconfig);
        for file in self.files(&kubeconfig) {
            check(Path::new(file))?;
        }
        self.check_user(&kubeconfig)?;
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        Config::from_custom_kubeconfig(kubeconfig, &options)
            .await
            .map_err(|error| client_error(&error_chain(&error)))
    }

    /// The context to connect to.
    fn chosen<'k>(&self, kubeconfig: &'k Kubeconfig) -> Option<&'k Context> {
        let chosen = self.context.as_ref().or(kubeconfig.current_context.as_ref());
        kubeconfig.contexts.iter().find(|named| Some(&named.name) == chosen)?.context.as_ref()
    }

    /// The users of a context.
    fn users<'k>(
        kubeconfig: &'k Kubeconfig,
        context: &'k Context,
    ) -> impl Iterator<Item = (&'k str, &'k AuthInfo)> {
        let users = kubeconfig.auth_infos.iter().filter(|named| Some(&named.name) == context.user.as_ref());
        users.filter_map(|named| Some((&*named.name, named.auth_info.as_ref()?)))
    }

    /// Names the program that the client runs for credentials, as it does for `kubectl`.
    ///
    /// # Errors
    /// The user has an `auth-provider`, which kubectl has removed: the client would run the command in it.
    fn check_user(&self, kubeconfig: &Kubeconfig) -> Result<(), CommandOutput> {
        let Some(context) = self.chosen(kubeconfig) else { return Ok(()) };
        for (name, user) in Self::users(kubeconfig, context) {
            if user.auth_provider.is_some() {
                return Err(client_error(&format!(
                    "the user {name:?} of the kubeconfig has an `auth-provider`, which kubectl has removed in 1.26; use an \
                     `exec` plug-in, a token or a client certificate instead"
                )));
            }
            if let Some(ExecConfig { command: Some(command), args, .. }) = &user.exec {
                let words: Vec<String> =
                    std::iter::once(command).chain(args.iter().flatten()).map(|word| shown(word)).collect();
                print_notice(&format!("the kubeconfig starts for credentials: `{}`", words.join(" ")));
            }
        }
        Ok(())
    }

    /// Reads the kubeconfig, or the default ones.
    fn read(&self) -> Result<Kubeconfig, CommandOutput> {
        let paths = match &self.kubeconfig {
            Some(path) => vec![path.clone()],
            None => default_paths()?,
        };
        paths.iter().try_for_each(|path| check(path))?;
        let merged = paths.iter().try_fold(Kubeconfig::default(), |merged, path| {
            Kubeconfig::read_from(path).and_then(|next| merged.merge(next))
        });
        merged.map_err(|error| client_error(&error_chain(&error)))
    }

    /// The files that the client reads for the cluster and the user of the context.
    fn files<'k>(&self, kubeconfig: &'k Kubeconfig) -> Vec<&'k String> {
        let Some(context) = self.chosen(kubeconfig) else { return Vec::new() };
        let clusters = kubeconfig.clusters.iter().filter(|named| named.name == context.cluster);
        let authorities = clusters.filter_map(|named| named.cluster.as_ref()?.certificate_authority.as_ref());
        let users = Self::users(kubeconfig, context);
        let credentials =
            users.flat_map(|(_, user)| [&user.client_certificate, &user.client_key, &user.token_file]);
        authorities.chain(credentials.flatten()).collect()
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

/// Rejects a device or a pipe, which may have no end. Other problems are left to the client, which has a message for them.
/// `/dev/null` is the usual way to name no kubeconfig.
fn check(path: &Path) -> Result<(), CommandOutput> {
    match input::check(path) {
        Err(error) if error.kind() == ErrorKind::InvalidInput && path != Path::new("/dev/null") => {
            Err(client_error(&format!("{}: {error}", path.shown())))
        }
        _ => Ok(()),
    }
}

/// The kubeconfigs that the client reads without a flag. As for `kubectl`, files of KUBECONFIG may be missing.
///
/// # Errors
/// All of them are missing.
fn default_paths() -> Result<Vec<PathBuf>, CommandOutput> {
    let named = std::env::var_os("KUBECONFIG").unwrap_or_default();
    let named: Vec<_> = std::env::split_paths(&named).filter(|path| !path.as_os_str().is_empty()).collect();
    if named.is_empty() {
        return Ok(std::env::home_dir().map(|home| home.join(".kube").join("config")).into_iter().collect());
    }
    let (present, missing): (Vec<_>, Vec<_>) = named.into_iter().partition(|path| !is_missing(path));
    if present.is_empty() {
        let missing: Vec<String> = missing.iter().map(|path| path.shown()).collect();
        let problem = format!(
            "KUBECONFIG: expected a kubeconfig, found no file at {}; set it to an existing file",
            missing.join(", ")
        );
        return Err(client_error(&problem));
    }
    Ok(present)
}

fn is_missing(path: &Path) -> bool {
    fs::metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// Builds types whose secret fields only serde can set.
fn from_json<T: DeserializeOwned>(value: Value) -> Option<T> {
    serde_json::from_value(value).ok()
}
