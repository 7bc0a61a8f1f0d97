//! The admission plug-ins of kube-apiserver: their names, and which of them are on.

use windtunnel_core::text::did_you_mean;

use super::builtin::{self, settings::Settings};

/// A plug-in of kube-apiserver.
#[derive(Debug, Clone, Copy)]
struct Known {
    name: &'static str,
    /// The first minor that has it. All that are older than 1.23 have 0.
    since: u32,
    /// The first minor that no longer has it.
    until: u32,
    is_on: bool,
}

const fn on(name: &'static str) -> Known {
    Known { name, since: 0, until: u32::MAX, is_on: true }
}

const fn off(name: &'static str) -> Known {
    Known { is_on: false, ..on(name) }
}

impl Known {
    const fn since(self, since: u32) -> Self {
        Self { since, ..self }
    }

    const fn until(self, until: u32) -> Self {
        Self { until, ..self }
    }
}

/// All plug-ins (`AllOrderedPlugins`), in alphabetical order. Read.
const KNOWN: [Known; 44] = [
    off("AlwaysAdmit"),
    off("AlwaysDeny"),
    off("AlwaysPullImages"),
    on("CertificateApproval"),
    on("CertificateSigning"),
    on("CertificateSubjectRestriction"),
    on("ClusterTrustBundleAttest").since(27),
    on("DefaultIngressClass"),
    on("DefaultStorageClass"),
    on("DefaultTolerationSeconds"),
    off("DenyServiceExternalIPs"),
    off("EventRateLimit"),
    off("ExtendedResourceToleration"),
    off("ImagePolicyWebhook"),
    on("JobValidation").since(36),
    off("LimitPodHardAntiAffinityTopology"),
    on("LimitRanger"),
    on("MutatingAdmissionPolicy").since(32),
    on("MutatingAdmissionWebhook"),
    off("NamespaceAutoProvision"),
    off("NamespaceExists"),
    on("NamespaceLifecycle"),
    on("NodeDeclaredFeatureValidator").since(35),
    off("NodeRestriction"),
    off("OwnerReferencesPermissionEnforcement"),
    on("PersistentVolumeClaimResize"),
    off("PersistentVolumeLabel").until(31),
    on("PodGroupProtection").since(36),
    on("PodGroupWorkloadExists").since(36),
    off("PodNodeSelector"),
    on("PodResizeValidator").since(36),
    on("PodSecurity"),
    off("PodSecurityPolicy").until(25),
    off("PodTolerationRestriction"),
    on("PodTopologyLabels").since(33),
    on("Priority"),
    on("ResourceQuota"),
    on("RuntimeClass"),
    off("SecurityContextDeny").until(30),
    on("ServiceAccount"),
    on("StorageObjectInUseProtection"),
    on("TaintNodesByCondition"),
    on("ValidatingAdmissionPolicy").since(26),
    on("ValidatingAdmissionWebhook"),
];

fn known(minor: u32) -> impl Iterator<Item = &'static Known> {
    KNOWN.iter().filter(move |known| (known.since..known.until).contains(&minor))
}

/// Which admission plug-ins a server has: those that are on by default, and changes to them
/// (`--enable-admission-plugins`, `--disable-admission-plugins`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AdmissionPlugins {
    enabled: Vec<String>,
    disabled: Vec<String>,
    settings: Settings,
}

impl AdmissionPlugins {
    /// Changes the default of Kubernetes 1.`minor`. Both lists have names separated by commas.
    ///
    /// # Errors
    /// A name is unknown, or in both lists.
    pub fn parse(enabled: &str, disabled: &str, minor: u32) -> Result<Self, String> {
        let names = |list: &str| -> Vec<String> {
            list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
        };
        let plugins = Self { enabled: names(enabled), disabled: names(disabled), ..Self::default() };
        let unknown = |flag: &str, names: &[String]| -> Vec<String> {
            let unknown = names.iter().filter(|name| known(minor).all(|known| known.name != **name));
            let error = |name: &String| {
                let hint = did_you_mean(name, known(minor).map(|known| known.name));
                format!("{flag} plugin {name:?} is unknown{hint}")
            };
            unknown.map(error).collect()
        };
        let mut errors = unknown("enable-admission-plugins", &plugins.enabled);
        errors.extend(unknown("disable-admission-plugins", &plugins.disabled));
        let mut both: Vec<&str> = plugins.enabled.iter().map(String::as_str).collect();
        both.retain(|name| plugins.disabled.iter().any(|other| other == name));
        both.sort_unstable();
        both.dedup();
        if !both.is_empty() {
            let both = both.join(" ");
            errors.push(format!(
                "[{both}] in enable-admission-plugins and disable-admission-plugins overlapped"
            ));
        }
        if errors.is_empty() { Ok(plugins) } else { Err(errors.join(", ")) }
    }

    /// Sets the configuration of a plug-in, as `plugins` of an `AdmissionConfiguration` has it
    /// (`--admission-control-config-file`).
    ///
    /// # Errors
    /// The plug-in has no settings here, or they are invalid.
    pub fn configure(&mut self, plugin: &str, configuration: &serde_json::Value) -> Result<(), String> {
        self.settings.configure(plugin, configuration)
    }

    pub(crate) fn settings(&self) -> Settings {
        self.settings.clone()
    }

    /// The enabled plug-ins that windtunnel does not have.
    pub fn unsupported(&self) -> Vec<&str> {
        let supported: Vec<&str> = builtin::stages(Vec::new(), Settings::default(), |_| true)
            .iter()
            .map(super::chain::Stage::name)
            .collect();
        self.enabled.iter().map(String::as_str).filter(|name| !supported.contains(name)).collect()
    }

    /// Whether a server of this minor has a plug-in.
    pub(crate) fn has(&self, name: &str, minor: u32) -> bool {
        if self.enabled.iter().any(|enabled| enabled == name) {
            return true;
        }
        let is_default = known(minor).any(|known| known.name == name && known.is_on);
        is_default && self.disabled.iter().all(|disabled| disabled != name)
    }

    /// The same plug-ins without one of the default.
    pub(crate) fn without(mut self, name: &str) -> Self {
        if self.enabled.iter().all(|enabled| enabled != name) {
            self.disabled.push(name.to_owned());
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(enabled: &str, disabled: &str) -> Result<AdmissionPlugins, String> {
        AdmissionPlugins::parse(enabled, disabled, 36)
    }

    #[test]
    fn flags_change_the_default() {
        let plugins = parse("AlwaysPullImages, NamespaceExists", "ServiceAccount,AlwaysDeny").unwrap();
        let has = |name| plugins.has(name, 36);
        assert!(has("AlwaysPullImages") && has("NamespaceExists") && has("PodSecurity"));
        assert!(!has("ServiceAccount") && !has("AlwaysDeny") && !has("NodeRestriction"));
        assert!(!plugins.has("ValidatingAdmissionPolicy", 25));
        let plugins = plugins.without("NamespaceExists").without("PodSecurity");
        assert!(plugins.has("NamespaceExists", 36) && !plugins.has("PodSecurity", 36));
    }

    #[test]
    fn unknown_and_contradictory_names_are_errors() {
        let error = parse("PodSecurty", "X").unwrap_err();
        let expected = "enable-admission-plugins plugin \"PodSecurty\" is unknown; did you mean `PodSecurity`?, \
                        disable-admission-plugins plugin \"X\" is unknown";
        assert_eq!(error, expected);
        let error = parse("PodSecurity,AlwaysDeny", "AlwaysDeny,PodSecurity").unwrap_err();
        let expected =
            "[AlwaysDeny PodSecurity] in enable-admission-plugins and disable-admission-plugins overlapped";
        assert_eq!(error, expected);
        assert!(AdmissionPlugins::parse("PodSecurityPolicy", "", 24).is_ok());
        assert!(parse("PodSecurityPolicy", "").is_err());
    }

    #[test]
    fn all_plug_ins_of_the_list_are_known() {
        for stage in builtin::stages(Vec::new(), Settings::default(), |_| true) {
            assert!(KNOWN.iter().any(|known| known.name == stage.name()), "{}", stage.name());
        }
        assert!(KNOWN.is_sorted_by(|one, next| one.name < next.name));
        assert_eq!(parse("EventRateLimit,AlwaysAdmit", "").unwrap().unsupported(), ["EventRateLimit"]);
    }
}
