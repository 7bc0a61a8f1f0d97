//! Builds again when a file comes to `manifests/`: `include_dir!` by itself notices only changes of files it has seen.

fn main() {
    println!("cargo::rerun-if-changed=manifests");
}
