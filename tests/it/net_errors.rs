//! Errors for addresses that cannot be used: the errors of std, and each address if several fail.

use super::support::net::own_loopback;
use gmp::net::{AddrErrors, TcpListener, TcpStream, UdpSocket, UnixListener, UnixStream};
use rustix::io::Errno;
use std::io;
use std::net::SocketAddr;

/// TCP has no multicast, so every OS refuses this address, whatever its routes are.
const MULTICAST: &str = "224.0.0.1:1";

/// Returns an address at which no listener is left.
async fn refused() -> SocketAddr {
    TcpListener::bind((own_loopback(), 0)).await.unwrap().local_addr().unwrap()
}

fn assert_is(error: &io::Error, expected: Errno) {
    let expected = io::Error::from(expected);
    assert_eq!(error.raw_os_error(), expected.raw_os_error(), "{error}");
    assert_eq!(error.kind(), expected.kind());
}

fn listed(error: &io::Error) -> &AddrErrors {
    error.get_ref().expect("not a bare number").downcast_ref().expect("a list")
}

#[gmp::test]
async fn a_refused_connect_has_the_number_of_the_os() {
    let addr = refused().await;
    assert_is(&TcpStream::connect(addr).await.unwrap_err(), Errno::CONNREFUSED);
    // As a string, and as a list of two.
    assert_is(&TcpStream::connect(addr.to_string()).await.unwrap_err(), Errno::CONNREFUSED);
    assert_is(&TcpStream::connect(&[addr, addr][..]).await.unwrap_err(), Errno::CONNREFUSED);
    let limit = std::time::Duration::from_secs(60);
    let error = TcpStream::connect_timeout(addr, limit).await.unwrap_err();
    assert_is(&error, Errno::CONNREFUSED);
}

/// Each address is in the error with std's message, whether the OS answers at once or later, and in
/// whatever order.
#[gmp::test]
async fn different_errors_of_addresses_are_all_listed() {
    let addr = refused().await;
    let multicast: SocketAddr = MULTICAST.parse().unwrap();
    for addrs in [[addr, multicast], [multicast, addr]] {
        let error = TcpStream::connect(&addrs[..]).await.unwrap_err();
        let mut seen = 0;
        for ((addr, error), tried) in listed(&error).iter().zip(addrs) {
            let expected = std::net::TcpStream::connect(tried).unwrap_err();
            assert_eq!((addr, error.raw_os_error()), (tried, expected.raw_os_error()));
            seen += 1;
        }
        assert_eq!(seen, addrs.len());
        let first = listed(&error).iter().next().map(|(_, error)| error.kind());
        assert_eq!(Some(error.kind()), first);
        assert!(addrs.iter().all(|addr| error.to_string().contains(&addr.to_string())), "{error}");
    }
}

#[gmp::test]
async fn a_taken_address_has_the_number_of_the_os() {
    let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = tcp.local_addr().unwrap();
    assert_is(&TcpListener::bind(addr).await.unwrap_err(), Errno::ADDRINUSE);
    let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let addr = udp.local_addr().unwrap();
    assert_is(&UdpSocket::bind(&[addr, addr][..]).await.unwrap_err(), Errno::ADDRINUSE);
}

#[gmp::test]
async fn a_udp_connect_to_the_other_family_is_an_error() {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let other: SocketAddr = "[::1]:1".parse().unwrap();
    let expected = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().connect(other).unwrap_err();
    let error = socket.connect(other).await.unwrap_err();
    assert!(expected.raw_os_error().is_some());
    assert_eq!(error.raw_os_error(), expected.raw_os_error(), "{error}");
}

#[gmp::test]
async fn errors_of_unix_sockets_have_the_number_of_the_os() {
    let dir = std::env::temp_dir().join(format!("gmp-net-errors-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("socket");
    assert_is(&UnixStream::connect(&path).await.unwrap_err(), Errno::NOENT);
    let listener = UnixListener::bind(&path).unwrap();
    assert_is(&UnixListener::bind(&path).unwrap_err(), Errno::ADDRINUSE);
    drop(listener);
    assert_is(&UnixStream::connect(&path).await.unwrap_err(), Errno::CONNREFUSED);
    std::fs::remove_dir_all(&dir).unwrap();
}
