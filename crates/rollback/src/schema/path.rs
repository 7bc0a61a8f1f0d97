//! Paths in schemas (`spec.items[].name`) and places in objects (`spec.items[0].name`).

use std::fmt;

use serde_json::{Map, Value};

/// A step down a schema.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// A named field.
    Field(String),
    /// The elements of a list.
    Item,
    /// The values of a map.
    Entry,
}

/// A path in a schema.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Path(Vec<Step>);

/// The key of the map entry that a witness uses.
pub(crate) const ENTRY: &str = "key";

impl Path {
    /// The steps from the root.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.0
    }

    /// The path of a named field below this one.
    pub(crate) fn field(&self, name: &str) -> Self {
        self.then(Step::Field(name.to_owned()))
    }

    /// The path one step below.
    pub(crate) fn then(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// The first field, such as `spec`; empty at the root.
    pub(crate) fn section(&self) -> &str {
        match self.0.first() {
            Some(Step::Field(name)) => name,
            _ => "",
        }
    }

    /// The place that a witness uses: the first element of each list, and the entry [`ENTRY`] of each map.
    pub(crate) fn first_place(&self) -> Place {
        let spot = |step: &Step| match step {
            Step::Field(name) => Spot::Field(name.clone()),
            Step::Item => Spot::Index(0),
            Step::Entry => Spot::Field(ENTRY.to_owned()),
        };
        Place(self.0.iter().map(spot).collect())
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.0.iter().enumerate() {
            match step {
                Step::Field(name) if index == 0 => write!(f, "{name}")?,
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Item => write!(f, "[]")?,
                Step::Entry => write!(f, "{{}}")?,
            }
        }
        Ok(())
    }
}

/// A step down an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Spot {
    Field(String),
    Index(usize),
}

/// The place of a value in an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place(pub(crate) Vec<Spot>);

impl Place {
    /// Parses the field of an error, such as `spec.list[0].map[key].name`. An error of the whole object has no path.
    pub(crate) fn parse(field: &str) -> Self {
        let mut spots = Vec::new();
        if field == "<nil>" {
            return Self(spots);
        }
        let mut rest = field;
        while !rest.is_empty() {
            if let Some(inner) = rest.strip_prefix('[') {
                let (index, after) = inner.split_once(']').unwrap_or((inner, ""));
                spots.push(match index.parse() {
                    Ok(index) => Spot::Index(index),
                    Err(_) => Spot::Field(index.to_owned()),
                });
                rest = after;
            } else {
                rest = rest.strip_prefix('.').unwrap_or(rest);
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                if end > 0 {
                    spots.push(Spot::Field(rest[..end].to_owned()));
                }
                rest = &rest[end..];
            }
        }
        Self(spots)
    }

    /// The place of a named field below this one.
    pub(crate) fn field(&self, name: &str) -> Self {
        let mut spots = self.0.clone();
        spots.push(Spot::Field(name.to_owned()));
        Self(spots)
    }

    /// The place of an element of this list.
    pub(crate) fn index(&self, index: usize) -> Self {
        let mut spots = self.0.clone();
        spots.push(Spot::Index(index));
        Self(spots)
    }

    /// Whether this place is that one or below it.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }

    /// The place `height` steps above, at most the root.
    pub(crate) fn above(&self, height: usize) -> Self {
        Self(self.0[..self.0.len().saturating_sub(height)].to_vec())
    }

    /// The path in the schema, where `is_map` returns whether the fields at a path are entries of a map.
    pub(crate) fn path(&self, is_entry: impl Fn(&Path, &str) -> bool) -> Path {
        self.0.iter().fold(Path::default(), |path, spot| match spot {
            Spot::Index(_) => path.then(Step::Item),
            Spot::Field(name) if is_entry(&path, name) => path.then(Step::Entry),
            Spot::Field(name) => path.field(name),
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, spot) in self.0.iter().enumerate() {
            match spot {
                Spot::Field(name) if index == 0 => write!(f, "{name}")?,
                Spot::Field(name) => write!(f, ".{name}")?,
                Spot::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// The value at a place.
pub(crate) fn get<'v>(value: &'v Value, place: &Place) -> Option<&'v Value> {
    place.0.iter().try_fold(value, |value, spot| match spot {
        Spot::Field(name) => value.get(name),
        Spot::Index(index) => value.get(index),
    })
}

/// Sets the value at a place. Missing objects are created, missing elements of lists are not.
pub(crate) fn put(value: &mut Value, place: &Place, new: Value) {
    let mut at = value;
    for spot in &place.0 {
        match spot {
            Spot::Field(name) => {
                if !at.is_object() {
                    *at = Value::Object(Map::new());
                }
                at = &mut at[name.as_str()];
            }
            Spot::Index(index) => match at.get_mut(index) {
                Some(inner) => at = inner,
                None => return,
            },
        }
    }
    *at = new;
}
