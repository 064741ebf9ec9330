//! Name resolution.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

/// Resolves a host name and port to addresses by the OS (`getaddrinfo`).
///
/// The call of the OS blocks. Other goroutines run during the call.
///
/// # Errors
///
/// The error of the OS. If it has no error number, its text contains the name. `NotFound` if there
/// is no address.
///
/// # Cancel safety
///
/// The call runs within one poll and cannot be interrupted.
///
/// # Examples
///
/// ```
/// let addresses = gmp_rt::block_on(gmp_net::resolve("127.0.0.1:80")).unwrap();
/// assert_eq!(addresses, ["127.0.0.1:80".parse().unwrap()]);
/// ```
pub async fn resolve(host: &str) -> io::Result<Vec<SocketAddr>> {
    // An error number of the OS (no descriptor left) is more useful than the name.
    let named = |error: io::Error| match error.raw_os_error() {
        Some(_) => error,
        None => io::Error::new(error.kind(), format!("{host}: {error}")),
    };
    let addresses: Vec<_> =
        gmp_rt::blocking(|| host.to_socket_addrs().map(Iterator::collect)).map_err(named)?;
    if addresses.is_empty() {
        return Err(named(io::Error::new(io::ErrorKind::NotFound, "no address")));
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::resolve;

    #[test]
    fn names_and_numbers() {
        gmp_rt::block_on(async {
            let local = resolve("localhost:8080").await.unwrap();
            assert!(local.iter().all(|a| a.ip().is_loopback() && a.port() == 8080), "{local:?}");
            let error = resolve("no port").await.unwrap_err();
            assert!(error.to_string().contains("no port"), "{error}");
        });
    }

    /// With one P, another goroutine runs during the call.
    #[test]
    fn others_go_on_meanwhile() {
        let runtime = gmp_rt::Builder::new().max_procs(1).build().unwrap();
        let handle = runtime.spawn(async {
            let other = gmp_rt::spawn(async { 1 });
            resolve("localhost:1").await.unwrap();
            other.await.unwrap()
        });
        assert_eq!(gmp_rt::block_on(handle).unwrap(), 1);
    }
}
