//! tokio-util's codecs over sockets of gmp and of Tokio.

use crate::server::Server;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

#[test]
fn lines_are_answered_on_sockets_of_either() {
    for sockets in ["gmp", "tokio"] {
        let server = Server::start(env!("CARGO_BIN_EXE_codec"), &[sockets]);
        let mut streams: Vec<_> =
            (0..20).map(|_| TcpStream::connect(server.addr()).unwrap()).collect();
        for stream in &mut streams {
            // A line in two parts, and two lines in one.
            stream.write_all(b"hel").unwrap();
            stream.write_all(b"lo\na\nbc").unwrap();
        }
        for stream in &mut streams {
            stream.write_all(b"\n").unwrap();
            let lines = BufReader::new(stream).lines().take(3);
            let lines: Vec<_> = lines.map(Result::unwrap).collect();
            assert_eq!(lines, ["5 HELLO", "1 A", "2 BC"]);
        }
    }
}

#[test]
fn a_line_that_is_too_long_ends_its_connection_only() {
    for sockets in ["gmp", "tokio"] {
        let server = Server::start(env!("CARGO_BIN_EXE_codec"), &[sockets]);
        let mut long = TcpStream::connect(server.addr()).unwrap();
        long.write_all(&[b'x'; 2000]).unwrap();
        let mut answer = Vec::new();
        // A reset is an end too: the server has not read everything.
        let _ = long.read_to_end(&mut answer);
        assert!(answer.is_empty());
        let mut other = TcpStream::connect(server.addr()).unwrap();
        other.write_all(b"ok\n").unwrap();
        let line = BufReader::new(other).lines().next().unwrap().unwrap();
        assert_eq!(line, "2 OK");
    }
}
