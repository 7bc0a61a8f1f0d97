//! Bodies of deliveries. `tests/it/update_status/deliveries.rs` has the rest, with an API server.

use super::*;

fn error(body: &str) -> (u16, String) {
    let Err(error) = parse(body.as_bytes()) else { panic!("{body} is accepted") };
    (error.code, error.message)
}

#[test]
fn a_body_has_all_insights_of_an_informer() {
    assert_eq!(parse(br#"{"insights": []}"#).ok().map(|insights| insights.len()), Some(0));
    let one = parse(br#"{"insights": [{"uid": "a", "health": {}}]}"#).ok().unwrap();
    assert_eq!((one.len(), one[0].uid.as_str()), (1, "a"));
}

#[test]
fn a_broken_body_is_rejected_with_its_place() {
    for (body, code, expected) in [
        ("{", 400, "the body is no JSON: EOF"),
        ("[]", 422, r#"expected {"insights": "#),
        (r#"{"insights": [{"uid": "a"}]}"#, 422, r#"expected {"insights": "#),
        (r#"{"insights": [], "informer": "b"}"#, 422, r#"expected {"insights": "#),
        (
            r#"{"insights": [{"uid": "a", "health": {}}, {"uid": "a", "health": {}}]}"#,
            422,
            "insights[1].uid: \"a\" occurs twice",
        ),
    ] {
        let (found, message) = error(body);
        assert!(found == code && message.starts_with(expected), "{body}: {found} {message}");
    }
}
