//! One client: bytes in, bytes out, whatever carries them.
//!
//! All requests that have arrived are answered in one go, so a client that sends many at once (a pipeline)
//! costs one read and one write for all of them. [`Session::answer`] stops at [`OUT_ENOUGH`], so that
//! a client that sends and never reads cannot make the server hold all its replies.

use super::command::{Next, execute};
use super::resp::{Parsed, error, parse};
use super::store::Store;
use std::ops::Range;

/// As many bytes of replies are sent before more requests are looked at.
const OUT_ENOUGH: usize = 64 * 1024;
/// What a read may fill at least.
const READ_ROOM: usize = 16 * 1024;
/// What is kept of a buffer that had to grow for one large request.
const KEEP: usize = 1024 * 1024;

/// What has been read and not answered yet, and the replies.
#[derive(Debug, Default)]
pub(crate) struct Session {
    input: Vec<u8>,
    filled: usize,
    words: Vec<Range<usize>>,
    pub(crate) out: Vec<u8>,
}

/// What to do after the replies have been sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// Read: no whole request is left.
    Read,
    /// Answer more.
    Answer,
    /// End the connection.
    HangUp,
}

impl Session {
    /// Where to read to.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        if self.input.len() - self.filled < READ_ROOM {
            let len = (self.filled + READ_ROOM).max(self.filled * 2);
            self.input.resize(len, 0);
        }
        &mut self.input[self.filled..]
    }

    /// That many bytes have been read.
    pub(crate) fn advance(&mut self, n: usize) {
        self.filled += n;
    }

    /// Answers the requests that are there, into `out`.
    pub(crate) fn answer(&mut self, store: &Store) -> Then {
        self.out.clear();
        let mut at = 0;
        let then = loop {
            if self.out.len() >= OUT_ENOUGH {
                break Then::Answer;
            }
            let rest = &self.input[at..self.filled];
            match parse(rest, &mut self.words) {
                Parsed::Incomplete => break Then::Read,
                Parsed::Broken(why) => {
                    error(&mut self.out, &format!("ERR Protocol error: {why}"));
                    break Then::HangUp;
                }
                Parsed::Request(len) => {
                    let next =
                        with_words(rest, &self.words, |words| execute(store, words, &mut self.out));
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

/// The words as slices; without an allocation for the few of an ordinary request.
fn with_words<R>(buf: &[u8], words: &[Range<usize>], f: impl FnOnce(&[&[u8]]) -> R) -> R {
    let mut few = [&[][..]; 8];
    if let Some(few) = few.get_mut(..words.len()) {
        few.iter_mut().zip(words).for_each(|(slot, word)| *slot = &buf[word.clone()]);
        return f(few);
    }
    let many: Vec<&[u8]> = words.iter().map(|word| &buf[word.clone()]).collect();
    f(&many)
}
