//! Writes the files of bombs.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

/// The zeros in one member of a compressed file, in bytes.
const MEMBER: usize = 1 << 20;

/// A file of this text, repeated until it has at least this number of bytes.
pub(super) fn repeat(at: &Path, head: &str, part: &str, bytes: usize, tail: &str) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(at)?);
    file.write_all(head.as_bytes())?;
    for _ in 0..bytes.div_ceil(part.len().max(1)) {
        file.write_all(part.as_bytes())?;
    }
    file.write_all(tail.as_bytes())?;
    file.flush()
}

/// A compressed file of zeros.
pub(super) fn gzip_zeros(at: &Path, bytes: u64) -> io::Result<()> {
    write_zeros(&mut BufWriter::new(File::create(at)?), bytes)
}

/// A compressed archive with one file of zeros.
pub(super) fn tar_zeros(at: &Path, bytes: u64) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(at)?);
    file.write_all(&gzip(tar_head("must-gather/version.yaml", bytes)?.as_bytes())?)?;
    write_zeros(&mut file, bytes)
}

/// Writes compressed zeros: a gzip file may have any number of members, and these are all the same.
fn write_zeros(to: &mut impl Write, bytes: u64) -> io::Result<()> {
    let member = gzip(&vec![0; MEMBER])?;
    (0..bytes.div_ceil(MEMBER as u64)).try_for_each(|_| to.write_all(&member))?;
    to.flush()
}

fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes)?;
    packed.finish()
}

/// An archive whose header says that its file has more bytes than there are.
pub(super) fn tar_that_lies(at: &Path, bytes: u64) -> io::Result<()> {
    let mut file = File::create(at)?;
    file.write_all(tar_head("must-gather/version.yaml", bytes)?.as_bytes())?;
    file.write_all(b"kind: ClusterVersion\n")
}

/// An archive with many small files.
pub(super) fn tar_of_many(at: &Path, files: usize) -> io::Result<()> {
    let mut file = GzEncoder::new(File::create(at)?, Compression::fast());
    let content = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n";
    for number in 0..files {
        file.write_all(tar_head(&format!("must-gather/{number}.yaml"), content.len() as u64)?.as_bytes())?;
        file.write_all(content)?;
        file.write_all(&[0; 512][content.len()..])?;
    }
    file.write_all(&[0; 1024])?;
    file.finish()?;
    Ok(())
}

fn tar_head(name: &str, size: u64) -> io::Result<tar::Header> {
    let mut header = tar::Header::new_gnu();
    header.set_path(name)?;
    header.set_size(size);
    header.set_mode(0o644);
    header.set_cksum();
    Ok(header)
}

/// YAML whose aliases multiply their values by nine at each level.
pub(super) fn aliases(at: &Path, levels: usize) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(at)?);
    writeln!(file, "name: aliases\na0: &a0 [x, x, x, x, x, x, x, x, x]")?;
    for level in 1..levels {
        let inner = format!("*a{}, ", level - 1).repeat(9);
        writeln!(file, "a{level}: &a{level} [{}]", inner.trim_end_matches(", "))?;
    }
    file.flush()
}

/// Writes the same line until its reader closes the pipe.
pub(super) fn write_forever(mut to: impl Write) {
    while to.write_all(b"{\"kind\": \"List\", \"items\": []}\n").is_ok() {}
}
