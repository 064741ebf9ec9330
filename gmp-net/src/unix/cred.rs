//! The credentials of the peer process.

use super::UnixStream;
use rustix::net::sockopt::socket_peercred;
use std::io;

/// The process at the other end of a [`UnixStream`], as it was when it connected or listened.
///
/// # Examples
///
/// ```
/// # gmp_rt::block_on(async {
/// let (a, _b) = gmp_net::UnixStream::pair()?;
/// assert_eq!(a.peer_cred()?.pid(), Some(std::process::id()));
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UCred {
    pid: Option<u32>,
    uid: u32,
    gid: u32,
}

impl UCred {
    /// Returns the process id, if this process can see it.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// Returns the effective user id.
    #[must_use]
    pub fn uid(&self) -> u32 {
        self.uid
    }

    /// Returns the effective group id.
    #[must_use]
    pub fn gid(&self) -> u32 {
        self.gid
    }
}

impl UnixStream {
    /// Returns the credentials of the process at the other end (`SO_PEERCRED`).
    pub fn peer_cred(&self) -> io::Result<UCred> {
        let cred = socket_peercred(self)?;
        let pid = u32::try_from(cred.pid.as_raw_nonzero().get()).ok();
        Ok(UCred { pid, uid: cred.uid.as_raw(), gid: cred.gid.as_raw() })
    }
}
