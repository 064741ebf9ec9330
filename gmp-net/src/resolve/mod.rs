//! Name resolution.

#[cfg(unix)]
pub(crate) mod addr;
#[cfg(unix)]
pub(crate) mod addr_errors;
mod lookups;

use crate::resolve::lookups::{Failure, Lookups};
use std::io;
use std::net::{IpAddr, SocketAddr};

/// Resolves `"host:port"` to addresses by the OS (`getaddrinfo`).
///
/// The call of the OS blocks a thread of the runtime, not the goroutine: a
/// [`timeout`](gmp_rt::timeout) ends the wait. At most `Builder::max_lookups` calls run at a time,
/// and concurrent lookups of the same host share one. They are additional to
/// `Builder::max_blocking_threads`. A literal address needs no call.
///
/// # Errors
///
/// The error of the OS. If it has no error number, its text contains the name. `NotFound` if there
/// is no address. `InvalidInput` if there is no port.
///
/// # Cancel safety
///
/// Cancel-safe. If it is dropped, a call that has started ends in the background and counts against
/// `Builder::max_lookups` until then. A later lookup of the same host joins it. At the end of the
/// runtime its thread is left behind, as that of a [`spawn_blocking`](gmp_rt::spawn_blocking).
///
/// # Examples
///
/// ```
/// let addresses = gmp_rt::block_on(gmp_net::resolve("127.0.0.1:80")).unwrap();
/// assert_eq!(addresses, ["127.0.0.1:80".parse().unwrap()]);
/// ```
#[doc(alias("lookup_host", "LookupHost", "getaddrinfo"))]
pub async fn resolve(addr: &str) -> io::Result<Vec<SocketAddr>> {
    if let Ok(literal) = addr.parse() {
        return Ok(vec![literal]);
    }
    let (name, port) = split(addr).map_err(|failure| failure.into_error(addr))?;
    if let Ok(ip) = name.parse::<IpAddr>() {
        return Ok(vec![(ip, port).into()]);
    }
    let mut found = match Lookups::of_runtime().join(name)?.await {
        Ok(found) => found,
        Err(failure) => return Err(failure.into_error(addr)),
    };
    found.iter_mut().for_each(|found| found.set_port(port));
    Ok(found)
}

/// Splits `"host:port"`, with the error texts of std.
fn split(addr: &str) -> Result<(&str, u16), Failure> {
    let invalid = |text: &str| Failure::Answer(io::ErrorKind::InvalidInput, text.to_owned());
    let (name, port) = addr.rsplit_once(':').ok_or_else(|| invalid("invalid socket address"))?;
    Ok((name, port.parse().map_err(|_| invalid("invalid port value"))?))
}

#[cfg(test)]
mod tests {
    use super::resolve;
    use std::io::ErrorKind;

    #[test]
    fn resolve_takes_names_and_addresses_and_refuses_missing_ports() {
        gmp_rt::block_on(async {
            let local = resolve("localhost:8080").await.unwrap();
            assert!(local.iter().all(|a| a.ip().is_loopback() && a.port() == 8080), "{local:?}");
            for wrong in ["no port", "localhost:", "localhost:65536", "localhost:http"] {
                let error = resolve(wrong).await.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidInput);
                assert!(error.to_string().contains(wrong), "{error}");
            }
            for (text, addr) in [("::1:80", "[::1]:80"), ("[::1]:80", "[::1]:80")] {
                assert_eq!(resolve(text).await.unwrap(), [addr.parse().unwrap()]);
            }
        });
    }

    /// With one P, another goroutine runs during the call.
    #[test]
    fn goroutines_run_during_a_lookup() {
        let runtime = gmp_rt::runtime::Builder::new().max_procs(1).build().unwrap();
        let handle = runtime.spawn(async {
            let other = gmp_rt::spawn(async { 1 });
            resolve("localhost:1").await.unwrap();
            other.await.unwrap()
        });
        assert_eq!(gmp_rt::block_on(handle).unwrap(), 1);
    }
}
