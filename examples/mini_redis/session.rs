//! The state of one client, independent of the transport.
//!
//! All requests that have arrived are answered together. So a client that sends many at once (a
//! pipeline) costs one read and one write for all of them. [`Session::answer`] stops at
//! [`OUT_ENOUGH`]. So a client that sends and never reads cannot make the server hold all its
//! replies.

use super::command::{Next, execute};
use super::resp::{Parsed, Parser, error};
use super::store::Store;
use std::ops::Range;

/// Bytes of replies that are sent before more requests are executed.
const OUT_ENOUGH: usize = 64 * 1024;
/// Minimum room for a read.
const READ_ROOM: usize = 16 * 1024;
/// Maximum size of an input buffer that is kept after a large request.
const KEEP: usize = 1024 * 1024;

/// Bytes that were read and not yet answered, and the replies.
#[derive(Debug, Default)]
pub(crate) struct Session {
    input: Vec<u8>,
    filled: usize,
    parser: Parser,
    pub(crate) out: Vec<u8>,
}

/// What to do after the replies have been sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// Read: there is no complete request.
    Read,
    /// Answer more requests.
    Answer,
    /// End the connection.
    HangUp,
}

impl Session {
    /// Returns the free part of the input buffer.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        if self.input.len() - self.filled < READ_ROOM {
            let len = (self.filled + READ_ROOM).max(self.filled * 2);
            self.input.resize(len, 0);
        }
        &mut self.input[self.filled..]
    }

    /// Records that `n` bytes were read.
    pub(crate) fn advance(&mut self, n: usize) {
        self.filled += n;
    }

    /// Answers the complete requests into `out`.
    pub(crate) fn answer(&mut self, store: &Store) -> Then {
        self.out.clear();
        let mut at = 0;
        let then = loop {
            if self.out.len() >= OUT_ENOUGH {
                break Then::Answer;
            }
            let rest = &self.input[at..self.filled];
            match self.parser.parse(rest) {
                Parsed::Incomplete => break Then::Read,
                Parsed::Broken(why) => {
                    error(&mut self.out, &format!("ERR Protocol error: {why}"));
                    break Then::HangUp;
                }
                Parsed::Request(len) => {
                    let next = with_words(rest, self.parser.words(), |words| {
                        execute(store, words, &mut self.out)
                    });
                    at += len;
                    if next == Next::HangUp {
                        break Then::HangUp;
                    }
                }
            }
        };
        self.input.copy_within(at..self.filled, 0);
        self.filled -= at;
        if self.filled == 0 && self.input.len() > KEEP {
            self.input = Vec::new();
        }
        then
    }
}

/// Calls `f` with the words as slices. Needs no allocation for up to 8 words.
fn with_words<R>(buf: &[u8], words: &[Range<usize>], f: impl FnOnce(&[&[u8]]) -> R) -> R {
    let mut few = [&[][..]; 8];
    if let Some(few) = few.get_mut(..words.len()) {
        few.iter_mut().zip(words).for_each(|(slot, word)| *slot = &buf[word.clone()]);
        return f(few);
    }
    let many: Vec<&[u8]> = words.iter().map(|word| &buf[word.clone()]).collect();
    f(&many)
}
