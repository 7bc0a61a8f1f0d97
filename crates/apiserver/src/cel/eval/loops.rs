//! Evaluates macros over lists and maps. Each step costs as much as its expansion in cel-go.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::cost::all_pairs;
use super::{Eval, LIST_COST, MAP_COST, elements};
use crate::cel::library::{operators, sort_by_keys};
use crate::cel::syntax::{Loop, LoopKind, Node};
use crate::cel::value::{EvalError, Key, Map, Outcome, Value};

impl<'a> Eval<'a, '_> {
    pub(super) fn run_loop(&mut self, inner: &'a Loop) -> Outcome<'a> {
        let range = self.node(&inner.range)?;
        match inner.kind {
            LoopKind::OptionalMap | LoopKind::OptionalFlatMap => self.optional(inner, range),
            LoopKind::All => self.quantifier(inner, &range, false, 2),
            LoopKind::Exists => self.quantifier(inner, &range, true, 3),
            LoopKind::ExistsOne => self.exists_one(inner, &range),
            LoopKind::List => self.collect_list(inner, &range),
            LoopKind::Values | LoopKind::Entries => self.collect_map(inner, &range),
            LoopKind::Sort => self.sort(inner, &range),
        }
    }

    fn optional(&mut self, inner: &'a Loop, range: Value<'a>) -> Outcome<'a> {
        let Value::Optional(found) = range else { return Err(EvalError::no_overload()) };
        self.charge(1)?;
        let Some(found) = found else { return Ok(Value::Optional(None)) };
        self.locals.push((*found).clone());
        let result = self.node(&inner.body);
        self.locals.pop();
        let result = result?;
        if inner.kind == LoopKind::OptionalMap { Ok(Value::some(result)) } else { Ok(result) }
    }

    /// Calls `step` for each element, with its variables set, until it returns false.
    fn each(
        &mut self,
        inner: &'a Loop,
        range: &Value<'a>,
        mut step: impl FnMut(&mut Self, &Value<'a>) -> Result<bool, EvalError>,
    ) -> Result<(), EvalError> {
        let depth = self.locals.len();
        let items = elements(range)?;
        for (index, item) in items.iter().enumerate() {
            let item = item?;
            let position = Value::Int(i64::try_from(index).unwrap_or(i64::MAX));
            match (inner.vars.len(), range) {
                (2, Value::Map(map)) => {
                    let value = map.get(&item).transpose()?.unwrap_or(Value::Null);
                    self.locals.push(item.clone());
                    self.locals.push(value);
                }
                (2, _) => {
                    self.locals.push(position.clone());
                    self.locals.push(item.clone());
                }
                _ => self.locals.push(item.clone()),
            }
            let place = if matches!(range, Value::Map(_)) { &item } else { &position };
            let goes_on = step(self, place);
            self.locals.truncate(depth);
            if !goes_on? {
                break;
            }
        }
        Ok(())
    }

    /// `all` and `exists`: an error counts only if no element decides the result.
    fn quantifier(&mut self, inner: &'a Loop, range: &Value<'a>, decides: bool, check: u64) -> Outcome<'a> {
        let mut error = None;
        let mut decided = false;
        self.each(inner, range, |eval, _| {
            eval.charge(check + 1)?;
            match eval.truth(&inner.body) {
                Ok(found) if found == decides => {
                    decided = true;
                    Ok(false)
                }
                Ok(_) => Ok(true),
                Err(EvalError::Cost) => Err(EvalError::Cost),
                Err(fault) => {
                    error = error.take().or(Some(fault));
                    Ok(true)
                }
            }
        })?;
        self.charge(1)?;
        match error {
            Some(fault) if !decided => Err(fault),
            _ => Ok(Value::Bool(decides == decided)),
        }
    }

    fn exists_one(&mut self, inner: &'a Loop, range: &Value<'a>) -> Outcome<'a> {
        let mut count = 0;
        self.each(inner, range, |eval, _| {
            if eval.truth(&inner.body)? {
                count += 1;
                eval.charge(1)?;
            }
            eval.charge(1)?;
            Ok(true)
        })?;
        self.charge(2)?;
        Ok(Value::Bool(count == 1))
    }

    fn passes(&mut self, filter: Option<&'a Node>) -> Result<bool, EvalError> {
        filter.map_or(Ok(true), |filter| self.truth(filter))
    }

    fn collect_list(&mut self, inner: &'a Loop, range: &Value<'a>) -> Outcome<'a> {
        let mut values = Vec::new();
        self.charge(LIST_COST)?;
        self.each(inner, range, |eval, _| {
            eval.charge(1)?;
            if eval.passes(inner.filter.as_ref())? {
                values.push(eval.node(&inner.body)?);
                eval.charge(LIST_COST + 1)?;
            }
            Ok(true)
        })?;
        self.charge(1)?;
        Ok(Value::list(values))
    }

    fn collect_map(&mut self, inner: &'a Loop, range: &Value<'a>) -> Outcome<'a> {
        let mut values: BTreeMap<Key, Value<'a>> = BTreeMap::new();
        self.charge(MAP_COST)?;
        self.each(inner, range, |eval, place| {
            eval.charge(1)?;
            if !eval.passes(inner.filter.as_ref())? {
                return Ok(true);
            }
            let made = eval.node(&inner.body)?;
            eval.charge(1)?;
            if inner.kind == LoopKind::Values {
                // The expansion refers to the key by name.
                eval.charge(1)?;
                let key = place.as_key().ok_or_else(|| EvalError::new("unsupported key type"))?;
                values.insert(key, made);
                return Ok(true);
            }
            let Value::Map(entry) = &made else { return Err(EvalError::no_overload()) };
            for key in entry.keys() {
                let value = entry.get(&key).transpose()?.unwrap_or(Value::Null);
                let place = key.as_key().ok_or_else(|| EvalError::new("unsupported key type"))?;
                if values.insert(place, value).is_some() {
                    let key = operators::show_key(&key);
                    return Err(EvalError::new(format!("insert failed: key {key} already exists")));
                }
            }
            Ok(true)
        })?;
        self.charge(1)?;
        Ok(Value::Map(Map::Made(Rc::new(values))))
    }

    fn sort(&mut self, inner: &'a Loop, range: &Value<'a>) -> Outcome<'a> {
        let mut keyed = Vec::new();
        // The list that the binding iterates over, the name of the list, the name of the list of keys, and
        // that list.
        self.charge(2 * LIST_COST + 3)?;
        self.each(inner, range, |eval, _| {
            let key = eval.node(&inner.body)?;
            let item = eval.locals.last().cloned().unwrap_or(Value::Null);
            keyed.push((key, item));
            eval.charge(LIST_COST + 2)?;
            Ok(true)
        })?;
        let keys = keyed.iter().map(|(key, _)| key.clone()).collect();
        self.charge(all_pairs(&Value::list(keys)))?;
        sort_by_keys(keyed)
    }
}
