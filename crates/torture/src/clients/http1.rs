//! Clients that break TCP, TLS and HTTP/1.1.

use std::io;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::wire::{Protocol, head, open};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A way to harm a server.
#[derive(Debug, Clone, Copy)]
pub(super) enum Attack {
    /// Opens a connection and sends nothing.
    Silent,
    /// Begins a TLS handshake.
    HalfHandshake,
    /// Sends random bytes without TLS.
    Garbage,
    /// Sends random bytes over TLS.
    GarbageRequest,
    /// Sends a byte of the headers now and then.
    SlowHeaders,
    /// Sends a header of 4 MiB.
    HugeHeader,
    /// Sends headers without end.
    EndlessHeaders,
    /// Asks with wrong credentials.
    WrongToken,
    /// Opens watches and reads none.
    DeafWatch,
    /// Lists again and again, and reads nothing.
    DeafLists,
    /// Sends less than the length of the body says.
    ShortBody,
    /// Says a length that is no number, or two lengths.
    WrongLength,
    /// Sends chunks with wrong sizes.
    WrongChunks,
    /// Sends a body that is larger than any limit.
    EndlessBody,
    /// Sends a compressed body that has 256 MiB when it is unpacked.
    GzipBody,
    /// Sends JSON with 500,000 levels.
    DeepBody,
}

impl Attack {
    pub(super) const ALL: [Self; 16] = [
        Self::Silent,
        Self::HalfHandshake,
        Self::Garbage,
        Self::GarbageRequest,
        Self::SlowHeaders,
        Self::HugeHeader,
        Self::EndlessHeaders,
        Self::WrongToken,
        Self::DeafWatch,
        Self::DeafLists,
        Self::ShortBody,
        Self::WrongLength,
        Self::WrongChunks,
        Self::EndlessBody,
        Self::GzipBody,
        Self::DeepBody,
    ];

    /// Attacks once. The client ignores errors: the server may reject it.
    pub(super) async fn run(self, authority: &str, draws: &mut fastrand::Rng) -> io::Result<()> {
        match self {
            Self::Silent => wait(TcpStream::connect(authority).await?).await,
            Self::HalfHandshake => {
                let mut stream = TcpStream::connect(authority).await?;
                // The head of a record with a ClientHello, and not all of it.
                let mut hello = vec![0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3];
                hello.extend(random(draws, 100));
                stream.write_all(&hello).await?;
                wait(stream).await
            }
            Self::Garbage => {
                let mut stream = TcpStream::connect(authority).await?;
                stream.write_all(&random(draws, 5000)).await?;
                drain(stream).await
            }
            _ => self.over_tls(authority, draws).await,
        }
    }

    async fn over_tls(self, authority: &str, draws: &mut fastrand::Rng) -> io::Result<()> {
        let mut stream = open(authority, Protocol::Http1).await?;
        match self {
            Self::SlowHeaders => {
                for byte in head("GET", MAPS, &"X-Slow: 1\r\n".repeat(100)).bytes() {
                    stream.write_all(&[byte]).await?;
                    stream.flush().await?;
                    sleep(Duration::from_millis(100)).await;
                }
            }
            Self::EndlessHeaders => {
                stream.write_all(format!("GET {MAPS} HTTP/1.1\r\n").as_bytes()).await?;
                loop {
                    stream.write_all(&b"X-More: 12345678\r\n".repeat(500)).await?;
                }
            }
            Self::DeafWatch | Self::DeafLists => {
                let path = if matches!(self, Self::DeafWatch) {
                    format!("{MAPS}?watch=true")
                } else {
                    MAPS.to_owned()
                };
                let requests = if matches!(self, Self::DeafWatch) { 1 } else { 2000 };
                stream.write_all(head("GET", &path, "").repeat(requests).as_bytes()).await?;
                return wait(stream).await;
            }
            Self::EndlessBody => {
                let lines = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n";
                stream.write_all(head("POST", MAPS, lines).as_bytes()).await?;
                let chunk = [b"10000\r\n", &vec![b' '; 0x10000][..], b"\r\n"].concat();
                loop {
                    stream.write_all(&chunk).await?;
                }
            }
            _ => stream.write_all(&self.request(draws)?).await?,
        }
        stream.flush().await?;
        if matches!(self, Self::ShortBody) {
            return wait(stream).await;
        }
        drain(stream).await
    }

    /// The bytes of an attack that sends them at once.
    fn request(self, draws: &mut fastrand::Rng) -> io::Result<Vec<u8>> {
        let json = "Content-Type: application/json\r\n";
        let post = |lines: &str, body: &[u8]| {
            [head("POST", MAPS, &format!("{json}{lines}")).into_bytes(), body.to_vec()].concat()
        };
        let sized =
            |lines: &str, body: &[u8]| post(&format!("{lines}Content-Length: {}\r\n", body.len()), body);
        Ok(match self {
            Self::GarbageRequest => random(draws, 3000),
            Self::HugeHeader => {
                head("GET", MAPS, &format!("X-Huge: {}\r\n", "x".repeat(4 << 20))).into_bytes()
            }
            Self::WrongToken => {
                let token: String = (0..draws.usize(1..3000)).map(|_| draws.alphanumeric()).collect();
                format!("GET {MAPS} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n\r\n")
                    .into_bytes()
            }
            Self::ShortBody => post("Content-Length: 3000000\r\n", b"{\"metadata\":"),
            Self::WrongLength => {
                let wrong = ["-1", "1, 2", "99999999999999999999", "0x10", "1\r\nContent-Length: 2"];
                post(&format!("Content-Length: {}\r\n", wrong[draws.usize(..wrong.len())]), b"{}")
            }
            Self::WrongChunks => {
                let wrong =
                    ["-1\r\n{}", "FFFFFFFFFFFFFFFFFF\r\n{}", "2\r\n{}{}{}\r\n", "zz\r\n", "2;\n{}\r\n0"];
                post("Transfer-Encoding: chunked\r\n", wrong[draws.usize(..wrong.len())].as_bytes())
            }
            Self::GzipBody => {
                let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
                io::Write::write_all(&mut packed, &vec![b' '; 1 << 20])?;
                sized("Content-Encoding: gzip\r\n", &packed.finish()?.repeat(256))
            }
            _ => sized("", &b"{\"a\":".repeat(500_000)),
        })
    }
}

fn random(draws: &mut fastrand::Rng, most: usize) -> Vec<u8> {
    (0..draws.usize(1..most)).map(|_| draws.u8(..)).collect()
}

/// Keeps a connection open and reads nothing.
async fn wait<T>(stream: T) -> io::Result<()> {
    sleep(Duration::from_secs(60)).await;
    drop(stream);
    Ok(())
}

/// Reads until the server closes the connection.
async fn drain(mut stream: impl tokio::io::AsyncRead + Unpin) -> io::Result<()> {
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer).await? > 0 {}
    Ok(())
}
