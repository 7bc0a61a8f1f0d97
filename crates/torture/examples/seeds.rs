//! Writes the examples of all readers as seed corpora of their fuzz targets: a folder per reader in the folder that the
//! argument names.

use std::path::Path;
use std::{env, fs, io};

use windtunnel_torture::readers::READERS;

fn main() -> io::Result<()> {
    let folder = env::args_os().nth(1);
    let folder = folder.ok_or_else(|| io::Error::other("expected the folder of the corpora as argument"))?;
    for reader in READERS {
        let folder = Path::new(&folder).join(reader.name);
        fs::create_dir_all(&folder)?;
        for (index, example) in (reader.examples)().iter().enumerate() {
            fs::write(folder.join(format!("example-{index}")), example)?;
        }
    }
    Ok(())
}
