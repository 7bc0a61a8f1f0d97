//! Nodes in, insights out.
