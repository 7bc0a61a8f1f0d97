//! The verification of a certificate up to one that the client trusts (`Certificate.Verify`).

use jiff::Timestamp;
use tokio_rustls::rustls::crypto::WebPkiSupportedAlgorithms;

use super::{Certificate, host, signature};
use crate::gotext::quote;

/// The most signatures that one verification checks.
const SIGNATURES_MAX: usize = 100;
/// OID 1.3.6.1.5.5.7.3.1.
const SERVER: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 1];
/// OID 2.5.29.37.0.
const ANY: &[u8] = &[0x55, 0x1d, 37, 0];

/// The certificates from which chains are built, and when.
struct Search<'a> {
    roots: &'a [Certificate],
    intermediates: &'a [Certificate],
    now: Timestamp,
    algorithms: &'a WebPkiSupportedAlgorithms,
    /// The number of signatures that were checked.
    checked: usize,
}

/// Certificates, each of which the next one signed.
type Chain<'a> = Vec<&'a Certificate>;

/// Verifies the first certificate of a server: that it is valid now and for this host, and that `roots` has it, or an
/// authority that it leads to.
///
/// # Errors
/// Go's message.
pub(in crate::https) fn verify(
    certificates: &[Certificate],
    roots: &[Certificate],
    host: &str,
    now: Timestamp,
    algorithms: &WebPkiSupportedAlgorithms,
) -> Result<(), String> {
    let Some((leaf, intermediates)) = certificates.split_first() else {
        return Err("x509: certificate signed by unknown authority".to_owned());
    };
    check_validity(leaf, now)?;
    host::check(leaf, host)?;
    let mut search = Search { roots, intermediates, now, algorithms, checked: 0 };
    // A certificate that the client trusts itself needs no authority.
    let chains = if roots.iter().any(|root| root.der == leaf.der) {
        vec![vec![leaf]]
    } else {
        search.chains(&vec![leaf])?
    };
    if chains.iter().any(|chain| allows_servers(chain)) {
        return Ok(());
    }
    Err("x509: certificate specifies an incompatible key usage".to_owned())
}

impl<'a> Search<'a> {
    /// All chains that begin with `chain` and end with a root.
    fn chains(&mut self, chain: &Chain<'a>) -> Result<Vec<Chain<'a>>, String> {
        let (mut found, mut error, mut hint) = (Vec::new(), None, None);
        let Some(last) = chain.last() else { return Ok(found) };
        for (candidates, is_root) in [(self.roots, true), (self.intermediates, false)] {
            for candidate in issuers(last, candidates) {
                self.checked += 1;
                if self.checked > SIGNATURES_MAX {
                    return Err(
                        "x509: signature check attempts limit reached while verifying certificate chain"
                            .to_owned(),
                    );
                }
                if is_in(chain, candidate) {
                    continue;
                }
                let signed = signature::check(last, candidate, self.algorithms);
                let valid = signed.is_ok().then(|| check_authority(candidate, chain, is_root, self.now));
                if let Err(why) = signed.and(valid.clone().unwrap_or(Ok(()))) {
                    hint.get_or_insert((why.clone(), candidate));
                    // Go reports an invalid authority itself, unless it tries another one after it.
                    error = valid.map(|_| why).or(error);
                    continue;
                }
                let next: Chain<'a> = chain.iter().copied().chain([candidate]).collect();
                error = None;
                if is_root {
                    found.push(next);
                } else {
                    match self.chains(&next) {
                        Ok(chains) => found.extend(chains),
                        Err(why) => error = Some(why),
                    }
                }
            }
        }
        match error {
            _ if !found.is_empty() => Ok(found),
            Some(error) => Err(error),
            None => Err(unknown_authority(hint)),
        }
    }
}

fn unknown_authority(hint: Option<(String, &Certificate)>) -> String {
    let text = "x509: certificate signed by unknown authority";
    let Some((why, authority)) = hint else { return text.to_owned() };
    let (why, name) = (quote(&why), quote(&authority.display_name()));
    format!(
        "{text} (possibly because of {why} while trying to verify candidate authority certificate {name})"
    )
}

/// The certificates with the name of a certificate's issuer, those with the right key first.
fn issuers<'a>(certificate: &Certificate, candidates: &'a [Certificate]) -> Vec<&'a Certificate> {
    let wanted = &certificate.extensions.authority_key_id;
    let distance = |candidate: &&Certificate| {
        let id = &candidate.extensions.subject_key_id;
        if id == wanted { 0 } else { 1 + u8::from(id.is_empty() == wanted.is_empty()) }
    };
    let named = candidates.iter().filter(|candidate| candidate.subject == certificate.issuer);
    let mut named: Vec<&Certificate> = named.collect();
    named.sort_by_key(distance);
    named
}

/// Whether a chain has a certificate with the subject, key and names of `candidate`.
fn is_in(chain: &[&Certificate], candidate: &Certificate) -> bool {
    chain.iter().any(|certificate| {
        let (a, b) = (&certificate.extensions, &candidate.extensions);
        certificate.subject == candidate.subject
            && certificate.key == candidate.key
            && (&a.dns_names, &a.addresses) == (&b.dns_names, &b.addresses)
    })
}

/// Checks that a certificate may be an authority at the end of a chain.
fn check_authority(
    authority: &Certificate,
    chain: &[&Certificate],
    is_root: bool,
    now: Timestamp,
) -> Result<(), String> {
    check_validity(authority, now)?;
    if !is_root && authority.extensions.is_authority != Some(true) {
        return Err("x509: certificate is not authorized to sign other certificates".to_owned());
    }
    if authority.extensions.max_path.is_some_and(|max| chain.len() - 1 > max) {
        return Err("x509: too many intermediates for path length constraint".to_owned());
    }
    Ok(())
}

fn check_validity(certificate: &Certificate, now: Timestamp) -> Result<(), String> {
    if certificate.extensions.has_unknown_critical {
        return Err("x509: unhandled critical extension".to_owned());
    }
    let outside = |relation: &str, limit: Timestamp| {
        let when = format!("current time {now} is {relation} {limit}");
        Err(format!("x509: certificate has expired or is not yet valid: {when}"))
    };
    if now < certificate.not_before {
        return outside("before", certificate.not_before);
    }
    if now > certificate.not_after {
        return outside("after", certificate.not_after);
    }
    Ok(())
}

/// Whether all certificates of a chain may be used for servers.
fn allows_servers(chain: &[&Certificate]) -> bool {
    chain.iter().all(|certificate| {
        let usages = &certificate.extensions.usages;
        usages.is_empty() || usages.iter().any(|usage| [SERVER, ANY].contains(&&**usage))
    })
}
