//! The controller as a program. With `BUGGY` in its environment it has the bug that `restore.yaml` finds.
//!
//! ```sh
//! cargo run --example volume_keeper
//! ```

mod controller;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = kube::Client::try_default().await?;
    controller::run(client, std::env::var_os("BUGGY").is_some()).await;
    Ok(())
}
