//! The authorizer library (`k8s.io/apiserver/pkg/cel/library/authz.go`): checks what the user of a request,
//! or a ServiceAccount, may do. Only expressions of admission can use it.

use std::rc::Rc;

use crate::cel::library::{Row, text};
use crate::cel::value::authorization::{Account, AuthorizationCheck, CheckAttributes, Stage};
use crate::cel::value::{EvalError, Outcome, Value};
use crate::names;

pub(in crate::cel::library) const ROWS: &[Row] = &[
    (27, "kubernetes.authorization.Authorizer: path(string) -> kubernetes.authorization.PathCheck", path),
    (27, "kubernetes.authorization.Authorizer: group(string) -> kubernetes.authorization.GroupCheck", group),
    (
        27,
        "kubernetes.authorization.Authorizer: serviceAccount(string, string) -> kubernetes.authorization.Authorizer",
        service_account,
    ),
    (27, "kubernetes.authorization.PathCheck: check(string) -> kubernetes.authorization.Decision", check),
    (
        27,
        "kubernetes.authorization.GroupCheck: resource(string) -> kubernetes.authorization.ResourceCheck",
        resource,
    ),
    (
        27,
        "kubernetes.authorization.ResourceCheck: subresource(string) -> kubernetes.authorization.ResourceCheck",
        subresource,
    ),
    (
        27,
        "kubernetes.authorization.ResourceCheck: namespace(string) -> kubernetes.authorization.ResourceCheck",
        namespace,
    ),
    (
        27,
        "kubernetes.authorization.ResourceCheck: name(string) -> kubernetes.authorization.ResourceCheck",
        name,
    ),
    (
        31,
        "kubernetes.authorization.ResourceCheck: fieldSelector(string) -> kubernetes.authorization.ResourceCheck",
        selector,
    ),
    (
        31,
        "kubernetes.authorization.ResourceCheck: labelSelector(string) -> kubernetes.authorization.ResourceCheck",
        selector,
    ),
    (27, "kubernetes.authorization.ResourceCheck: check(string) -> kubernetes.authorization.Decision", check),
    (27, "kubernetes.authorization.Decision: allowed() -> bool", allowed),
    (27, "kubernetes.authorization.Decision: reason() -> string", reason),
    (28, "kubernetes.authorization.Decision: errored() -> bool", errored),
    (28, "kubernetes.authorization.Decision: error() -> string", error),
];

fn receiver_check<'v, 'a>(args: &'v [Value<'a>]) -> Result<&'v AuthorizationCheck<'a>, EvalError> {
    match args.first() {
        Some(Value::AuthorizationCheck(inquiry)) => Ok(inquiry),
        _ => Err(EvalError::no_overload()),
    }
}

fn path<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let path = text(args, 1);
    if path.is_empty() {
        return Err(EvalError::new("path must not be empty"));
    }
    Ok(receiver_check(args)?.with_stage(Stage::Path(CheckAttributes {
        path: Some(path.to_owned()),
        ..CheckAttributes::default()
    })))
}

fn group<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let group = text(args, 1).to_owned();
    Ok(receiver_check(args)?
        .with_stage(Stage::Group(CheckAttributes { group, ..CheckAttributes::default() })))
}

fn service_account<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let (namespace, name) = (text(args, 1), text(args, 2));
    if !names::subdomain(name).is_empty() {
        return Err(EvalError::new("Invalid service account name"));
    }
    if !names::label(namespace).is_empty() {
        return Err(EvalError::new("Invalid service account namespace"));
    }
    let groups = vec![
        "system:serviceaccounts".to_owned(),
        format!("system:serviceaccounts:{namespace}"),
        "system:authenticated".to_owned(),
    ];
    let who = Account { user: format!("system:serviceaccount:{namespace}:{name}"), groups };
    Ok(Value::AuthorizationCheck(Rc::new(AuthorizationCheck {
        who: Rc::new(who),
        ..receiver_check(args)?.clone()
    })))
}

fn resource<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let resource = text(args, 1);
    if resource.is_empty() {
        return Err(EvalError::new("resource must not be empty"));
    }
    let inquiry = receiver_check(args)?;
    let Stage::Group(asked) = &inquiry.stage else { return Err(EvalError::no_overload()) };
    Ok(inquiry
        .with_stage(Stage::Resource(CheckAttributes { resource: resource.to_owned(), ..asked.clone() })))
}

/// Returns the resource check with one attribute changed by `set`.
fn with_attribute<'a>(args: &[Value<'a>], set: impl FnOnce(&mut CheckAttributes, String)) -> Outcome<'a> {
    let inquiry = receiver_check(args)?;
    let Stage::Resource(asked) = &inquiry.stage else { return Err(EvalError::no_overload()) };
    let mut asked = asked.clone();
    set(&mut asked, text(args, 1).to_owned());
    Ok(inquiry.with_stage(Stage::Resource(asked)))
}

fn subresource<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    with_attribute(args, |asked, text| asked.subresource = text)
}

fn namespace<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    with_attribute(args, |asked, text| asked.namespace = text)
}

fn name<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    with_attribute(args, |asked, text| asked.name = text)
}

/// Selectors have no influence on RBAC decisions.
fn selector<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    with_attribute(args, |_, _| {})
}

fn check<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let inquiry = receiver_check(args)?;
    let (Stage::Path(asked) | Stage::Resource(asked)) = &inquiry.stage else {
        return Err(EvalError::no_overload());
    };
    let asked = CheckAttributes { verb: text(args, 1).to_owned(), ..asked.clone() };
    let (allowed, reason) = inquiry.authorizer.decide(&inquiry.who, &asked);
    Ok(inquiry.with_stage(Stage::Decision(allowed, reason)))
}

fn allowed<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match &receiver_check(args)?.stage {
        Stage::Decision(allowed, _) => Ok(Value::Bool(*allowed)),
        _ => Err(EvalError::no_overload()),
    }
}

fn reason<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match &receiver_check(args)?.stage {
        Stage::Decision(_, reason) => Ok(Value::text(reason.clone())),
        _ => Err(EvalError::no_overload()),
    }
}

/// RBAC decisions never fail.
fn errored<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    receiver_check(args).map(|_| Value::Bool(false))
}

fn error<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    receiver_check(args).map(|_| Value::text(""))
}
