//! Executes requests on the store and writes the replies.

use super::resp;
use super::store::{Condition, Life, Store};
use std::time::{Duration, Instant};

/// What happens to the connection after a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Serve,
    HangUp,
}

const SYNTAX: &str = "ERR syntax error";
const NO_INTEGER: &str = "ERR value is not an integer or out of range";

/// Executes a request and appends the reply to `out`.
pub(crate) fn execute(store: &Store, words: &[&[u8]], out: &mut Vec<u8>) -> Next {
    let Some((name, args)) = words.split_first() else { return Next::Serve };
    let mut upper = [0; 16];
    let upper = &mut upper[..name.len().min(16)];
    upper.copy_from_slice(&name[..upper.len()]);
    upper.make_ascii_uppercase();
    match (&*upper, args) {
        (b"PING", []) => resp::simple(out, "PONG"),
        (b"PING" | b"ECHO", [text]) => resp::bulk(out, text),
        (b"GET", [key]) => store.get(key, |value| match value {
            Some(value) => resp::bulk(out, value),
            None => resp::nil(out),
        }),
        (b"SET", [key, value, options @ ..]) => set(store, key, value, options, out),
        (b"DEL" | b"UNLINK", [_, ..]) => count(out, args, |key| store.remove(key)),
        (b"EXISTS", [_, ..]) => count(out, args, |key| store.life(key) != Life::Gone),
        (b"EXPIRE", [key, time]) => expire(store, key, time, 1000, out),
        (b"PEXPIRE", [key, time]) => expire(store, key, time, 1, out),
        (b"PERSIST", [key]) => {
            let had_end = matches!(store.life(key), Life::Left(_));
            resp::integer(out, i64::from(had_end && store.set_end(key, None)));
        }
        (b"TTL", [key]) => life(store, key, 1000, out),
        (b"PTTL", [key]) => life(store, key, 1, out),
        (b"DBSIZE", []) => resp::integer(out, store.len() as i64),
        (b"FLUSHALL" | b"FLUSHDB", _) => {
            store.clear();
            resp::simple(out, "OK");
        }
        // Clients send these at the start. There is no configuration and no list of commands.
        (b"CONFIG", [_, name]) => resp::array(out, &[name, b""]),
        (b"COMMAND", _) => resp::array(out, &[]),
        (b"QUIT", _) => {
            resp::simple(out, "OK");
            return Next::HangUp;
        }
        _ => unknown(&String::from_utf8_lossy(upper), out),
    }
    Next::Serve
}

fn unknown(name: &str, out: &mut Vec<u8>) {
    const KNOWN: &str =
        "PING ECHO GET SET DEL UNLINK EXISTS EXPIRE PEXPIRE PERSIST TTL PTTL DBSIZE";
    if KNOWN.split(' ').any(|known| known == name) {
        let name = name.to_lowercase();
        resp::error(out, &format!("ERR wrong number of arguments for '{name}' command"));
    } else {
        resp::error(out, &format!("ERR unknown command '{name}'"));
    }
}

fn count(out: &mut Vec<u8>, keys: &[&[u8]], is_one: impl Fn(&[u8]) -> bool) {
    resp::integer(out, keys.iter().filter(|key| is_one(key)).count() as i64);
}

/// `SET key value [NX | XX] [EX seconds | PX milliseconds]`.
fn set(store: &Store, key: &[u8], value: &[u8], options: &[&[u8]], out: &mut Vec<u8>) {
    let (mut when, mut ends, mut rest) = (Condition::Always, None, options);
    while let [option, after @ ..] = rest {
        rest = after;
        if option.eq_ignore_ascii_case(b"NX") && when == Condition::Always {
            when = Condition::IfAbsent;
        } else if option.eq_ignore_ascii_case(b"XX") && when == Condition::Always {
            when = Condition::IfPresent;
        } else if let Some(unit) = unit(option)
            && let [number, after @ ..] = rest
            && ends.is_none()
        {
            rest = after;
            match resp::parse_int(number) {
                None => return resp::error(out, NO_INTEGER),
                Some(number) => ends = instant(number, unit).filter(|_| number > 0),
            }
            if ends.is_none() {
                return resp::error(out, "ERR invalid expire time in 'set' command");
            }
        } else {
            return resp::error(out, SYNTAX);
        }
    }
    match store.set(key, value, ends, when) {
        true => resp::simple(out, "OK"),
        false => resp::nil(out),
    }
}

/// Returns the unit of the option in milliseconds.
fn unit(option: &[u8]) -> Option<u64> {
    match option {
        _ if option.eq_ignore_ascii_case(b"EX") => Some(1000),
        _ if option.eq_ignore_ascii_case(b"PX") => Some(1),
        _ => None,
    }
}

/// Returns the instant `number` units from now. A negative number counts as 0. Returns `None` if
/// the instant is beyond the range of the clock.
fn instant(number: i64, millis: u64) -> Option<Instant> {
    let span = Duration::from_millis(u64::try_from(number).unwrap_or(0).checked_mul(millis)?);
    Instant::now().checked_add(span)
}

fn expire(store: &Store, key: &[u8], time: &[u8], millis: u64, out: &mut Vec<u8>) {
    match resp::parse_int(time).and_then(|number| instant(number, millis)) {
        None => resp::error(out, NO_INTEGER),
        Some(ends) => resp::integer(out, i64::from(store.set_end(key, Some(ends)))),
    }
}

/// Replies with the remaining time, rounded as in Redis, -1 if the key does not expire, -2 if there
/// is no such key.
fn life(store: &Store, key: &[u8], millis: u128, out: &mut Vec<u8>) {
    let left = match store.life(key) {
        Life::Gone => -2,
        Life::Forever => -1,
        Life::Left(left) => ((left.as_millis() + millis / 2) / millis) as i64,
    };
    resp::integer(out, left);
}
