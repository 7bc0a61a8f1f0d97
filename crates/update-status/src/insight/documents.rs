//! Published documents as they were read. Expectations look at the same ones whenever anything changes, timelines compare each
//! with the one before it, and to read YAML takes longer than all else that a run does.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::Value;
use windtunnel_core::yaml;

/// How many are remembered; then all are forgotten.
const MOST: usize = 4096;

type Documents = BTreeMap<String, Option<Rc<Value>>>;

thread_local! {
    /// What the text of a document says does not depend on the run, so runs on a thread share it.
    static READ: RefCell<Documents> = const { RefCell::new(BTreeMap::new()) };
}

/// What a document says; `None` if it is no YAML.
pub fn read(document: &str) -> Option<Rc<Value>> {
    READ.with_borrow_mut(|known| {
        if let Some(read) = known.get(document) {
            return read.clone();
        }
        if known.len() == MOST {
            known.clear();
        }
        let read = yaml::from_str(document).ok().map(Rc::new);
        known.insert(document.to_owned(), read.clone());
        read
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_read_once_and_what_is_none_is_none_again() {
        let first = read("a: 1").unwrap();
        assert!(Rc::ptr_eq(&first, &read("a: 1").unwrap()));
        assert_eq!(first["a"], 1);
        for _ in 0..2 {
            assert_eq!(read("a: ["), None);
        }
        (0..MOST).for_each(|number| assert_eq!(read(&format!("b: {number}")).unwrap()["b"], number));
        assert_eq!(*read("a: 1").unwrap(), *first);
    }
}
