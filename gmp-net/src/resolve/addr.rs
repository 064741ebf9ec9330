//! Values that name the addresses of a peer.

use crate::resolve::addr_errors::Failures;
use crate::resolve::resolve;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// A value that can be turned into addresses: one address, several, or a name to resolve.
///
/// It is `"host:port"`, `("host", port)`, an address with a port, or a list of these. The trait is
/// sealed. The OS resolves names, while other goroutines run.
///
/// # Examples
///
/// ```
/// # gmp_rt::block_on(async {
/// let listener = gmp_net::TcpListener::bind(("localhost", 0)).await.unwrap();
/// assert!(listener.local_addr().unwrap().ip().is_loopback());
/// # });
/// ```
pub trait ToSocketAddrs: sealed::Sealed {}

impl<T: sealed::Sealed + ?Sized> ToSocketAddrs for T {}

/// Returns the addresses of `addrs`, at least one.
pub(crate) async fn all(addrs: impl ToSocketAddrs) -> io::Result<Vec<SocketAddr>> {
    let found = match addrs.wanted() {
        sealed::Wanted::Known(found) => found,
        sealed::Wanted::Named(name) => resolve(&name).await?,
    };
    if found.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no address was given"));
    }
    Ok(found)
}

/// Calls `f` with each address in order. Returns the first success, or the error of [`Failures`].
pub(crate) async fn each<T>(
    addrs: impl ToSocketAddrs,
    f: impl Fn(SocketAddr) -> io::Result<T>,
) -> io::Result<T> {
    let mut failures = Failures::default();
    for addr in all(addrs).await? {
        match f(addr) {
            Ok(made) => return Ok(made),
            Err(error) => failures.add(addr, error),
        }
    }
    Err(failures.into_error())
}

#[expect(unnameable_types, reason = "the set of what names addresses is closed")]
mod sealed {
    use super::*;

    /// Addresses, or a name to resolve.
    #[derive(Debug)]
    pub enum Wanted {
        Known(Vec<SocketAddr>),
        Named(String),
    }

    pub trait Sealed {
        fn wanted(&self) -> Wanted;
    }

    macro_rules! known {
        ($($type:ty),*) => {$(
            impl Sealed for $type {
                fn wanted(&self) -> Wanted {
                    Wanted::Known(vec![SocketAddr::from(*self)])
                }
            }
        )*};
    }
    known!(SocketAddr, SocketAddrV4, SocketAddrV6, (IpAddr, u16), (Ipv4Addr, u16), (Ipv6Addr, u16));

    impl Sealed for str {
        fn wanted(&self) -> Wanted {
            // A literal address needs no resolution.
            match self.parse() {
                Ok(addr) => Wanted::Known(vec![addr]),
                Err(_) => Wanted::Named(self.to_owned()),
            }
        }
    }

    impl Sealed for String {
        fn wanted(&self) -> Wanted {
            self.as_str().wanted()
        }
    }

    impl Sealed for (&str, u16) {
        fn wanted(&self) -> Wanted {
            let (host, port) = *self;
            match host.parse::<IpAddr>() {
                Ok(ip) => Wanted::Known(vec![SocketAddr::from((ip, port))]),
                Err(_) => Wanted::Named(format!("{host}:{port}")),
            }
        }
    }

    impl Sealed for (String, u16) {
        fn wanted(&self) -> Wanted {
            (self.0.as_str(), self.1).wanted()
        }
    }

    impl Sealed for [SocketAddr] {
        fn wanted(&self) -> Wanted {
            Wanted::Known(self.to_vec())
        }
    }

    impl Sealed for Vec<SocketAddr> {
        fn wanted(&self) -> Wanted {
            Wanted::Known(self.clone())
        }
    }

    impl<T: Sealed + ?Sized> Sealed for &T {
        fn wanted(&self) -> Wanted {
            (**self).wanted()
        }
    }
}
