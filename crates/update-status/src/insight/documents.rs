//! A cache of parsed YAML documents. Expectations reread the published documents on every change and
//! timelines compare consecutive versions, and parsing YAML would be the slowest part of a run.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::Value;
use windtunnel_core::yaml;

/// Maximum number of cached documents. At the limit, the cache is cleared.
const MOST: usize = 4096;

type Documents = BTreeMap<String, Option<Rc<Value>>>;

thread_local! {
    /// The parsed content does not depend on the run, so all runs on a thread share the cache.
    static PARSED: RefCell<Documents> = const { RefCell::new(BTreeMap::new()) };
}

/// Returns the parsed document; `None` if it is not valid YAML.
pub fn parse_cached(document: &str) -> Option<Rc<Value>> {
    PARSED.with_borrow_mut(|known| {
        if let Some(parsed) = known.get(document) {
            return parsed.clone();
        }
        if known.len() == MOST {
            known.clear();
        }
        let parsed = yaml::from_str(document).ok().map(Rc::new);
        known.insert(document.to_owned(), parsed.clone());
        parsed
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_a_document_once_and_caches_failures() {
        let first = parse_cached("a: 1").unwrap();
        assert!(Rc::ptr_eq(&first, &parse_cached("a: 1").unwrap()));
        assert_eq!(first["a"], 1);
        for _ in 0..2 {
            assert_eq!(parse_cached("a: ["), None);
        }
        (0..MOST).for_each(|number| assert_eq!(parse_cached(&format!("b: {number}")).unwrap()["b"], number));
        assert_eq!(*parse_cached("a: 1").unwrap(), *first);
    }
}
