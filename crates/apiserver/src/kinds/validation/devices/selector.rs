//! Selectors of devices: expressions in CEL about the variable `device` (`k8s.io/dynamic-resource-allocation/cel`).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::collections::each;
use super::names::{LONGEST_DOMAIN, LONGEST_ID};
use crate::cel::decl::{Decl, Shape};
use crate::cel::estimate::{Paths, estimate};
use crate::cel::types::Type;
use crate::cel::{Environment, Program};
use crate::kinds::validation::{Errors, Path, text};
use crate::profile::since;

const MOST_SELECTORS: usize = 32;
/// Maximum length of an expression, in bytes.
const LONGEST_EXPRESSION: usize = 10 << 10;
/// Maximum estimated cost of an expression.
const MOST_COST: u64 = 1_000_000;
/// Maximum number of attributes and of capacities of a device.
const MOST_ATTRIBUTES: u64 = 32;
/// Maximum length of the value of an attribute.
const LONGEST_VALUE: u64 = 64;
/// The minor of stored expressions, which may use functions of any minor.
const ANY_MINOR: u32 = u32::MAX;

/// Validates selectors. Stored ones may use functions of later minors (`validateSelectorSlice`).
pub(super) fn selectors(list: &Value, stored: bool, at: Path<'_>, errors: &mut Errors<'_>) {
    each(list, MOST_SELECTORS, at, errors, |selector, at, errors| {
        let at = at.child("cel");
        if selector["cel"].is_null() {
            errors.required(at, "");
        } else {
            expression(text(&selector["cel"]["expression"]), stored, at.child("expression"), errors);
        }
    });
}

/// Requires an expression that compiles and is cheap enough (`validateCELSelector`).
fn expression(source: &str, stored: bool, at: Path<'_>, errors: &mut Errors<'_>) {
    if source.len() > LONGEST_EXPRESSION {
        errors.too_long(at, LONGEST_EXPRESSION as u64);
        return;
    }
    let minor = errors.profile.minor;
    let device = device(minor >= since::CONSUMABLE_CAPACITY);
    let environment = Environment {
        variables: [("device", device.as_type())].into(),
        minor: if stored { ANY_MINOR } else { minor },
        makes_objects: false,
    };
    let program = match Program::compile(source, &environment) {
        Ok(program) => program,
        Err(why) => return errors.invalid(at, source, why.to_string()),
    };
    if !matches!(program.result(), Type::Bool | Type::Any) {
        let why = format!("must evaluate to bool or the unknown type, not {}", program.result().full_name());
        errors.invalid(at, source, why);
    } else if estimate(&program, &[&device], Paths::Checked) > MOST_COST {
        errors.forbidden(at, "too complex, exceeds cost limit");
    }
}

/// The declaration of a device. Attributes and capacities are maps by domain of maps by name.
fn device(shared: bool) -> Arc<Decl> {
    let by_name = |values: Decl| {
        let map = |values, longest: usize| {
            let shape = Shape::Map { values: Arc::new(values), longest_key: longest as u64 };
            Decl::new(shape, MOST_ATTRIBUTES, 2)
        };
        map(map(values, LONGEST_ID), LONGEST_DOMAIN)
    };
    let mut fields = BTreeMap::from([
        ("driver", Decl::new(Shape::String, LONGEST_DOMAIN as u64, 2)),
        ("attributes", by_name(Decl::new(Shape::Any, LONGEST_VALUE, 1))),
        ("capacity", by_name(Decl::new(Shape::Quantity, 0, 8))),
    ]);
    if shared {
        fields.insert("allowMultipleAllocations", Decl::new(Shape::Bool, 1, 4));
    }
    let fields = fields.into_iter().map(|(name, decl)| (name.to_owned(), Arc::new(decl))).collect();
    let mut device = Decl::new(Shape::Object(fields), 0, 2);
    "kubernetes.DRADevice".clone_into(&mut device.name);
    Arc::new(device)
}
