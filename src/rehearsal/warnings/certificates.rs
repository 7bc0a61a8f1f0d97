//! Certificates that end soon after a dump was made.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::SignedDuration;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use windtunnel_core::Object;
use windtunnel_core::clock::{Time, parse_rfc3339, rfc3339};
use windtunnel_core::resources::{CERTIFICATE_SIGNING_REQUESTS, CONFIG_MAPS, SECRETS};

use super::{Evidence, Warning};
use crate::dump::made_at;
use crate::rehearsal::cause::Blamed;

/// How soon a certificate ends that a finding is made of. An update with all pools rarely takes longer.
const SOON: SignedDuration = SignedDuration::from_hours(24);
/// The annotation with the end of a certificate or of a bundle that operators rotate (`pkg/operator/certrotation` in library-go).
const NOT_AFTER: &str = "auth.openshift.io/certificate-not-after";

/// The end of the certificate in a Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateEnd {
    namespace: String,
    name: String,
    at: Time,
}

impl CertificateEnd {
    /// Returns the end of the certificate in a Secret, whose value is needed only for that.
    pub fn of_secret(secret: &Object) -> Option<Self> {
        let encoded = secret["data"]["tls.crt"].as_str().filter(|_| SECRETS.is_kind_of(secret))?;
        let at = end_of_encoded(encoded)?;
        Some(Self { namespace: secret.namespace().to_owned(), name: secret.name().to_owned(), at })
    }
}

/// Finds certificates that have ended, or end soon.
pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Warning> {
    let Some(now) = made_at(evidence.objects.iter().copied()) else { return Vec::new() };
    let secrets = evidence
        .certificates
        .iter()
        .map(|end| (Blamed::new(&SECRETS.kind, &end.namespace, &end.name), end.at));
    let annotated =
        evidence.objects.iter().filter(|object| CONFIG_MAPS.is_kind_of(object) || SECRETS.is_kind_of(object));
    let annotated = annotated
        .filter_map(|object| Some((Blamed::object(object), parse_rfc3339(object.annotation(NOT_AFTER)?)?)));
    let mut all: Vec<(Blamed, Time)> =
        secrets.chain(annotated).chain(newest_issued(evidence.objects)).collect();
    all.retain(|(_, at)| *at < now.saturating_add(SOON).unwrap_or(*at));
    all.sort();
    all.dedup_by(|one, other| one.0 == other.0);
    let text = |at: Time| {
        let ends = if at < now { "ended" } else { "ends" };
        format!(
            "its certificate {ends} at {}, and the dump was made at {}: renew it before the update",
            rfc3339(at),
            rfc3339(now)
        )
    };
    all.into_iter().map(|(cause, at)| Warning { cause, text: text(at) }).collect()
}

/// The newest certificate of each user and signer.
fn newest_issued(objects: &[&Object]) -> Vec<(Blamed, Time)> {
    let mut newest = BTreeMap::new();
    for request in objects.iter().filter(|object| CERTIFICATE_SIGNING_REQUESTS.is_kind_of(object)) {
        let Some(at) = end_of_encoded(request.text("/status/certificate")) else { continue };
        let of = (request.text("/spec/username"), request.text("/spec/signerName"));
        let (cause, end) = newest.entry(of).or_insert_with(|| (Blamed::object(request), at));
        if *end < at {
            (*cause, *end) = (Blamed::object(request), at);
        }
    }
    newest.into_values().collect()
}

/// The end of the first certificate in PEM in base64.
fn end_of_encoded(text: &str) -> Option<Time> {
    let pem = String::from_utf8(BASE64_STANDARD.decode(text.trim()).ok()?).ok()?;
    let (_, rest) = pem.split_once("-----BEGIN CERTIFICATE-----")?;
    let (body, _) = rest.split_once("-----END CERTIFICATE-----")?;
    let body: String = body.chars().filter(|char| !char.is_whitespace()).collect();
    end_of(&BASE64_STANDARD.decode(body).ok()?)
}

/// `notAfter` of a certificate in DER (RFC 5280, 4.1): the sequence `Certificate` begins with the sequence `tbsCertificate`, whose
/// fields are the version (tagged `[0]`, optional), the serial number, the algorithm, the issuer and the validity.
fn end_of(certificate: &[u8]) -> Option<Time> {
    let (_, content, _) = element(certificate)?;
    let (_, mut fields, _) = element(content)?;
    if fields.first() == Some(&0xa0) {
        (_, _, fields) = element(fields)?;
    }
    for _ in 0..3 {
        (_, _, fields) = element(fields)?;
    }
    let (_, validity, _) = element(fields)?;
    let (_, _, rest) = element(validity)?;
    let (tag, time, _) = element(rest)?;
    time_of(tag, std::str::from_utf8(time).ok()?)
}

/// The tag, the content and the rest after the first element of DER.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let count = usize::from(first & 0x7f);
        let length = rest.get(..count).filter(|_| (1..=4).contains(&count))?;
        (length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), &rest[count..])
    };
    Some((tag, rest.get(..length)?, &rest[length..]))
}

/// A UTCTime `YYMMDDHHMMSSZ` (tag 23; years from 50 on are of the last century), or a GeneralizedTime `YYYYMMDDHHMMSSZ` (tag 24).
fn time_of(tag: u8, text: &str) -> Option<Time> {
    let digits = text.strip_suffix('Z')?;
    let full = match tag {
        23 if digits < "50" => format!("20{digits}"),
        23 => format!("19{digits}"),
        24 => digits.to_owned(),
        _ => return None,
    };
    let time = DateTime::strptime("%Y%m%d%H%M%S", &full).ok()?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A certificate with these fields before its validity, and the validity.
    fn certificate(tag: u8, end: &str) -> Vec<u8> {
        let element = |tag: u8, content: &[u8]| {
            let length = u8::try_from(content.len()).unwrap();
            let length = if length < 0x80 { vec![length] } else { vec![0x81, length] };
            [&[tag], &length[..], content].concat()
        };
        let validity = [element(23, b"240101000000Z"), element(tag, end.as_bytes())].concat();
        let issuer = vec![1; 130];
        let fields = [
            element(0xa0, &element(2, &[2])),
            element(2, &[7]),
            element(0x30, &[]),
            element(0x30, &issuer),
            element(0x30, &validity),
        ];
        element(0x30, &element(0x30, &fields.concat()))
    }

    fn encoded(certificate: &[u8]) -> String {
        let body = BASE64_STANDARD.encode(certificate);
        BASE64_STANDARD.encode(format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n"))
    }

    #[test]
    fn the_end_of_a_certificate_is_read() {
        let end = |tag, text| end_of(&certificate(tag, text)).map(rfc3339);
        assert_eq!(end(23, "250102030405Z").as_deref(), Some("2025-01-02T03:04:05Z"));
        assert_eq!(end(24, "20500102030405Z").as_deref(), Some("2050-01-02T03:04:05Z"));
        assert_eq!(end(23, "soon").as_deref(), None);
        assert_eq!(end_of(&certificate(23, "250102030405Z")[..40]), None);
    }

    #[test]
    fn certificates_that_end_within_a_day_are_found() {
        let secret = |name: &str, end: &str| {
            let data = json!({ "tls.crt": encoded(&certificate(23, end)) });
            Object::new(json!({
                "apiVersion": "v1", "kind": "Secret", "data": data,
                "metadata": { "namespace": "shop", "name": name, "creationTimestamp": "2025-01-01T00:00:00Z" },
            }))
        };
        let request = |name: &str, end: &str| {
            Object::new(json!({
                "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
                "metadata": { "name": name },
                "spec": { "username": "system:node:a", "signerName": "kubernetes.io/kubelet-serving" },
                "status": { "certificate": encoded(&certificate(23, end)) },
            }))
        };
        let all = [
            secret("soon", "250101120000Z"),
            secret("later", "260101120000Z"),
            request("old", "250101060000Z"),
            request("new", "250201060000Z"),
        ];
        let ends: Vec<CertificateEnd> = all.iter().filter_map(CertificateEnd::of_secret).collect();
        assert_eq!(ends.len(), 2);
        let objects: Vec<&Object> = all.iter().collect();
        let found = find(&Evidence { objects: &objects, alerts: None, certificates: &ends });
        let causes: Vec<String> = found.iter().map(|found| found.cause.to_string()).collect();
        assert_eq!(causes, ["Secret shop/soon"]);
        assert!(found[0].text.starts_with("its certificate ends at 2025-01-01T12:00:00Z"), "{found:?}");
    }
}
