//! Speed, as ratios within one run.

fn main() {}
