//! The Redis protocol: parses requests and writes replies.
//!
//! A request is an array of bulk strings (`*2\r\n$3\r\nGET\r\n$1\r\nk\r\n`) or a line of words, as
//! typed by a person. It is not copied: its words are ranges of the input buffer. The parser keeps
//! its place in an incomplete request, so a request that arrives in many pieces costs no more than
//! one that arrives whole. Input that can never become a request is an error, which ends the
//! connection.

use std::ops::Range;

/// Maximum number of words in a request, as in Redis.
const MOST_WORDS: usize = 1024 * 1024;
/// Maximum length of a word, as in Redis.
const LONGEST_WORD: usize = 512 * 1024 * 1024;
/// Maximum length of a line, as in Redis.
const LONGEST_LINE: usize = 64 * 1024;

/// What the input begins with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    /// A request of this many bytes. Its words are in the list.
    Request(usize),
    /// The beginning of a request.
    Incomplete,
    /// Bytes that can never become a request.
    Broken(&'static str),
}

/// Parses requests, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    words: Vec<Range<usize>>,
    /// The words that the array still needs; `None` before its first line is complete.
    missing: Option<usize>,
    /// Bytes of the request that are parsed.
    at: usize,
    /// Bytes after them that contain no end of a line.
    searched: usize,
}

impl Parser {
    /// Parses the request at the start of `buf`. After [`Parsed::Incomplete`] the next `buf` begins
    /// with the same bytes.
    pub(crate) fn parse(&mut self, buf: &[u8]) -> Parsed {
        if self.missing.is_none() {
            self.words.clear();
        }
        let parsed = match buf.first() {
            None => Ok(None),
            Some(b'*') => self.array(buf),
            Some(_) => self.plain_line(buf),
        };
        match parsed {
            Ok(None) => Parsed::Incomplete,
            Ok(Some(())) => {
                self.missing = None;
                Parsed::Request(std::mem::take(&mut self.at))
            }
            Err(why) => Parsed::Broken(why),
        }
    }

    /// Returns the words of the request that was parsed last.
    pub(crate) fn words(&self) -> &[Range<usize>] {
        &self.words
    }

    fn array(&mut self, buf: &[u8]) -> Result<Option<()>, &'static str> {
        if self.missing.is_none() {
            let number = self.number(buf).map_err(|_| "invalid multibulk length")?;
            let Some((count, next)) = number else { return Ok(None) };
            if count > MOST_WORDS as i64 {
                return Err("invalid multibulk length");
            }
            (self.missing, self.at) = (Some(usize::try_from(count).unwrap_or(0)), next);
        }
        while let Some(missing @ 1..) = self.missing {
            match buf.get(self.at) {
                None => return Ok(None),
                Some(b'$') => {}
                Some(_) => return Err("expected '$'"),
            }
            let number = self.number(buf).map_err(|_| "invalid bulk length")?;
            let Some((len, start)) = number else { return Ok(None) };
            let Some(len) = usize::try_from(len).ok().filter(|len| *len <= LONGEST_WORD) else {
                return Err("invalid bulk length");
            };
            let end = start + len;
            match buf.get(end..end + 2) {
                None => return Ok(None),
                Some(b"\r\n") => self.words.push(start..end),
                Some(_) => return Err("a bulk string without its end"),
            }
            (self.missing, self.at) = (Some(missing - 1), end + 2);
        }
        Ok(Some(()))
    }

    fn plain_line(&mut self, buf: &[u8]) -> Result<Option<()>, &'static str> {
        let Some((end, next)) = self.line(buf)? else { return Ok(None) };
        let mut at = 0;
        for word in buf[..end].split(u8::is_ascii_whitespace) {
            if !word.is_empty() {
                self.words.push(at..at + word.len());
            }
            at += word.len() + 1;
        }
        self.at = next;
        Ok(Some(()))
    }

    /// Returns the number after the sign at the present place, and the start of the next line.
    fn number(&mut self, buf: &[u8]) -> Result<Option<(i64, usize)>, &'static str> {
        let from = self.at;
        let Some((end, next)) = self.line(buf)? else { return Ok(None) };
        let digits = buf.get(from + 1..end).unwrap_or_default();
        parse_int(digits).map(|number| Some((number, next))).ok_or("not a number")
    }

    /// Returns the end of the line at the present place and the start of the next line.
    fn line(&mut self, buf: &[u8]) -> Result<Option<(usize, usize)>, &'static str> {
        let rest = &buf[self.at..];
        let longest = rest.len().min(LONGEST_LINE);
        match rest[self.searched..longest].iter().position(|byte| *byte == b'\n') {
            Some(more) => {
                let at = std::mem::take(&mut self.searched) + more;
                let end = if at > 0 && rest[at - 1] == b'\r' { at - 1 } else { at };
                Ok(Some((self.at + end, self.at + at + 1)))
            }
            None if rest.len() >= LONGEST_LINE => Err("too big inline request"),
            None => {
                self.searched = rest.len();
                Ok(None)
            }
        }
    }
}

/// Parses a decimal number, with nothing before or after it, as Redis does.
pub(crate) fn parse_int(digits: &[u8]) -> Option<i64> {
    std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))?.parse().ok()
}

/// `+OK`.
pub(crate) fn simple(out: &mut Vec<u8>, text: &str) {
    out.push(b'+');
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// `-ERR …`.
pub(crate) fn error(out: &mut Vec<u8>, text: &str) {
    out.push(b'-');
    // A reply is one line, even if it quotes input of the client.
    out.extend(text.bytes().map(|byte| if byte < b' ' { b' ' } else { byte }));
    out.extend_from_slice(b"\r\n");
}

/// `:n`.
pub(crate) fn integer(out: &mut Vec<u8>, number: i64) {
    length(out, b':', number);
}

/// `$n` and the bytes.
pub(crate) fn bulk(out: &mut Vec<u8>, bytes: &[u8]) {
    length(out, b'$', bytes.len() as i64);
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// `$-1`, no value.
pub(crate) fn nil(out: &mut Vec<u8>) {
    out.extend_from_slice(b"$-1\r\n");
}

/// `*n` and the elements.
pub(crate) fn array(out: &mut Vec<u8>, elements: &[&[u8]]) {
    length(out, b'*', elements.len() as i64);
    elements.iter().for_each(|element| bulk(out, element));
}

fn length(out: &mut Vec<u8>, sign: u8, number: i64) {
    use std::io::Write;
    out.push(sign);
    write!(out, "{number}\r\n").expect("a vector takes everything");
}

#[cfg(test)]
mod tests {
    use super::{Parsed, Parser};

    #[test]
    fn an_incomplete_request_is_not_parsed_again() {
        let mut input = b"*3\r\n$3\r\nGET\r\n$1\r\nk\r\n".to_vec();
        let mut parser = Parser::default();
        assert_eq!(parser.parse(&input), Parsed::Incomplete);
        // The parser does not read these bytes again, so they may be anything.
        input[1..].fill(b'x');
        let parsed = input.len();
        input.extend_from_slice(b"$2\r\nab\r\n");
        assert_eq!(parser.parse(&input), Parsed::Request(input.len()));
        let words: Vec<_> = parser.words().to_vec();
        assert_eq!(words, [8..11, 17..18, parsed + 4..parsed + 6]);
    }

    #[test]
    fn the_end_of_a_line_is_searched_once() {
        let mut parser = Parser::default();
        assert_eq!(parser.parse(b"PING he"), Parsed::Incomplete);
        assert_eq!(parser.parse(b"P\n\n\n\n\n\nllo\r\n"), Parsed::Request(12));
    }

    #[test]
    fn pieces_of_any_size_give_the_same_requests() {
        let input =
            b"*2\r\n$4\r\nPING\r\n$0\r\n\r\nset a b\r\n*0\r\n*-1\r\n\r\n*1\r\n$2\r\n\r\n\r\n";
        let requests = |piece: usize| {
            let (mut parser, mut from, mut to) = (Parser::default(), 0, 0);
            let mut requests = Vec::new();
            while from < input.len() {
                match parser.parse(&input[from..to]) {
                    Parsed::Request(len) => {
                        requests.push((len, parser.words().to_vec()));
                        from += len;
                    }
                    Parsed::Incomplete => {
                        assert!(to < input.len());
                        to = (to + piece).min(input.len());
                    }
                    Parsed::Broken(why) => panic!("{why}"),
                }
            }
            requests
        };
        let whole = requests(input.len());
        assert_eq!(whole.len(), 6);
        for piece in 1..input.len() {
            assert_eq!(requests(piece), whole, "in pieces of {piece}");
        }
    }
}
