//! The Redis protocol: parses requests and writes replies.
//!
//! A request is an array of bulk strings (`*2\r\n$3\r\nGET\r\n$1\r\nk\r\n`) or a line of words, as
//! typed by a person. It is not copied: its words are ranges of the input buffer. An incomplete
//! request is parsed again with more bytes. Input that can never become a request is an error,
//! which ends the connection.

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

/// Parses the request at the start of `buf` and puts the ranges of its words into `words`.
pub(crate) fn parse(buf: &[u8], words: &mut Vec<Range<usize>>) -> Parsed {
    words.clear();
    match buf.first() {
        None => Parsed::Incomplete,
        Some(b'*') => parse_array(buf, words),
        Some(_) => parse_line(buf, words),
    }
}

/// Returns the end of the line at `from` and the start of the next line.
fn line(buf: &[u8], from: usize) -> Result<Option<(usize, usize)>, &'static str> {
    let rest = &buf[from..];
    match rest.iter().take(LONGEST_LINE).position(|byte| *byte == b'\n') {
        Some(at) => {
            let end = if at > 0 && rest[at - 1] == b'\r' { at - 1 } else { at };
            Ok(Some((from + end, from + at + 1)))
        }
        None if rest.len() >= LONGEST_LINE => Err("too big inline request"),
        None => Ok(None),
    }
}

fn parse_array(buf: &[u8], words: &mut Vec<Range<usize>>) -> Parsed {
    let (count, mut at) = match number(buf, 0) {
        Ok(Some((count, at))) if count <= MOST_WORDS as i64 => (count, at),
        Ok(None) => return Parsed::Incomplete,
        Ok(Some(_)) | Err(_) => return Parsed::Broken("invalid multibulk length"),
    };
    for _ in 0..count {
        match buf.get(at) {
            None => return Parsed::Incomplete,
            Some(b'$') => {}
            Some(_) => return Parsed::Broken("expected '$'"),
        }
        let (start, end) = match number(buf, at) {
            Ok(Some((len @ 0.., start))) if len <= LONGEST_WORD as i64 => {
                (start, start + len as usize)
            }
            Ok(None) => return Parsed::Incomplete,
            Ok(Some(_)) | Err(_) => return Parsed::Broken("invalid bulk length"),
        };
        match buf.get(end..end + 2) {
            None => return Parsed::Incomplete,
            Some(b"\r\n") => words.push(start..end),
            Some(_) => return Parsed::Broken("a bulk string without its end"),
        }
        at = end + 2;
    }
    Parsed::Request(at)
}

/// Returns the number after the sign at `from` and the start of the next line.
fn number(buf: &[u8], from: usize) -> Result<Option<(i64, usize)>, &'static str> {
    let Some((end, next)) = line(buf, from)? else { return Ok(None) };
    let digits = buf.get(from + 1..end).unwrap_or_default();
    parse_int(digits).map(|number| Some((number, next))).ok_or("not a number")
}

fn parse_line(buf: &[u8], words: &mut Vec<Range<usize>>) -> Parsed {
    let (end, next) = match line(buf, 0) {
        Ok(Some(ends)) => ends,
        Ok(None) => return Parsed::Incomplete,
        Err(why) => return Parsed::Broken(why),
    };
    let mut at = 0;
    for word in buf[..end].split(u8::is_ascii_whitespace) {
        if !word.is_empty() {
            words.push(at..at + word.len());
        }
        at += word.len() + 1;
    }
    Parsed::Request(next)
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
