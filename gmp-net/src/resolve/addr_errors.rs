//! Errors of several addresses that all failed.
//!
//! An [`io::Error`] holds either an OS error number or an error of gmp, never both. Callers that
//! match on `raw_os_error` must find the number if there is a single answer. So the caller gets the
//! plain OS error, as with std, if there was one address or if all addresses gave the same number
//! (`localhost`, refused on IPv6 and on IPv4). If the errors differ, the caller gets a list of the
//! addresses with their errors.

use std::net::SocketAddr;
use std::{error, fmt, io};

/// The errors of several addresses, none of which worked.
///
/// It is inside an [`io::Error`] whose kind is that of the first address. Get it by `get_ref` and a
/// downcast. It is used if several addresses failed and not all with the same OS error number.
/// Otherwise the caller gets the plain error, with its `raw_os_error`.
///
/// # Examples
///
/// ```
/// # gmp_rt::block_on(async {
/// // The first address is in use, and the second is not of this machine.
/// let listener = gmp_net::TcpListener::bind("127.0.0.1:0").await.unwrap();
/// let addrs = [listener.local_addr().unwrap(), "192.0.2.1:80".parse().unwrap()];
/// let error = gmp_net::TcpListener::bind(&addrs[..]).await.unwrap_err();
/// assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
/// let errors = error.get_ref().unwrap().downcast_ref::<gmp_net::AddrErrors>().unwrap();
/// for (addr, error) in errors.iter() {
///     println!("{addr}: {error}, number {:?}", error.raw_os_error());
/// }
/// # assert!(errors.iter().map(|(addr, _)| addr).eq(addrs));
/// # });
/// ```
#[derive(Debug)]
pub struct AddrErrors {
    /// In the order in which they failed; never empty.
    failed: Vec<(SocketAddr, io::Error)>,
}

impl AddrErrors {
    /// Returns the addresses and their errors, in the order in which they failed.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (SocketAddr, &io::Error)> {
        self.failed.iter().map(|(addr, error)| (*addr, error))
    }
}

impl fmt::Display for AddrErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (addr, error)) in self.failed.iter().enumerate() {
            write!(f, "{}{addr}: {error}", if n == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

// No `source`: the text includes all errors, and `iter` returns them.
impl error::Error for AddrErrors {}

/// The errors of addresses that are tried in order or concurrently.
#[derive(Debug, Default)]
pub(crate) struct Failures(Vec<(SocketAddr, io::Error)>);

impl Failures {
    pub(crate) fn add(&mut self, addr: SocketAddr, error: io::Error) {
        self.0.push((addr, error));
    }

    /// Returns the error for the caller.
    ///
    /// # Panics
    ///
    /// If nothing has failed.
    pub(crate) fn into_error(mut self) -> io::Error {
        let first = &self.0.first().expect("no address has worked, so one has failed").1;
        let (kind, number) = (first.kind(), first.raw_os_error());
        let agree =
            number.is_some() && self.0.iter().all(|(_, error)| error.raw_os_error() == number);
        if agree || self.0.len() == 1 {
            return self.0.swap_remove(0).1;
        }
        io::Error::new(kind, AddrErrors { failed: self.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::{AddrErrors, Failures};
    use std::error::Error;
    use std::io;

    /// Returns the error of addresses that end in 1, 2 and so on.
    fn of(errors: impl IntoIterator<Item = io::Error>) -> io::Error {
        let mut failures = Failures::default();
        for (n, error) in (1u8..).zip(errors) {
            failures.add(([127, 0, 0, n], 1).into(), error);
        }
        failures.into_error()
    }

    fn os(number: i32) -> io::Error {
        io::Error::from_raw_os_error(number)
    }

    #[test]
    fn an_error_that_all_addresses_share_is_returned_as_it_is() {
        assert_eq!(of([os(111)]).raw_os_error(), Some(111));
        assert_eq!(of([os(111), os(111), os(111)]).raw_os_error(), Some(111));
        let ours = of([crate::Closed.into()]);
        assert!(ours.get_ref().unwrap().is::<crate::Closed>());
    }

    #[test]
    fn different_answers_are_listed() {
        let error = of([os(101), os(111)]);
        assert_eq!(error.kind(), os(101).kind());
        let text = error.to_string();
        assert_eq!(text, format!("127.0.0.1:1: {}; 127.0.0.2:1: {}", os(101), os(111)));
        assert!(error.source().is_none(), "the text shows all causes");
        let errors = error.get_ref().unwrap().downcast_ref::<AddrErrors>().unwrap();
        let numbers: Vec<_> = errors.iter().map(|(_, error)| error.raw_os_error()).collect();
        assert_eq!(numbers, [Some(101), Some(111)]);
    }

    /// Two errors of gmp have no number in common.
    #[test]
    fn errors_without_a_number_are_listed() {
        let error = of([crate::Closed.into(), crate::Closed.into()]);
        assert!(error.get_ref().unwrap().is::<AddrErrors>());
    }
}
