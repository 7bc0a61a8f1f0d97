//! The Gherkin vocabulary.
