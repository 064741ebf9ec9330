//! `SingleFlight`: shares one call among concurrent callers with the same key.
//!
//! One lock guards the [calls] in flight, and each [call] has a lock. As in Go, the call runs in
//! the goroutine of the first caller, so nothing need be `Send` or `'static`. But here a caller can
//! be dropped. Each caller has a function of its own. So if the leading caller is dropped, another
//! caller takes the lead and runs its own function. The same happens if a call panics. In Go the
//! panic reaches all callers. Here it reaches only the caller whose function panicked, and the next
//! one tries.
//!
//! Keys are hashed and compared without a lock, because that is user code, which may panic or use
//! the same group. A caller clones the calls with the same hash under the lock and compares their
//! keys without it. Then it checks under the lock that no other call with this hash was added
//! meanwhile.
//!
//! Lock order: the calls, then a call.

#[expect(unsafe_code, reason = "implements `WaitList`")]
mod call;
mod calls;
mod ticket;

use self::call::{Call, Role};
use self::calls::Calls;
use self::ticket::Ticket;
use gmp_rt::prim::Mutex;
use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Arc;

/// Merges concurrent calls with the same key into one (Go: `x/sync/singleflight`).
///
/// While a call for a key is in flight, other callers with the same key wait for its result. The
/// result is not kept after that: the next call runs again. Clones are the same group.
///
/// The value is cloned for each caller. To share errors, use a value such as `Result<Arc<Page>,
/// Arc<Error>>`.
///
/// # Examples
///
/// ```
/// # use gmp_sync as sync;
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use sync::SingleFlight;
///
/// gmp_rt::block_on(async {
///     let (flights, calls) = (SingleFlight::new(), Arc::new(AtomicU32::new(0)));
///     let (server, response) = sync::chan(0); // stands for the network
///     let pages: Vec<_> = (0..100)
///         .map(|_| {
///             let (calls, response) = (calls.clone(), response.clone());
///             flights.spawn("/index", move || async move {
///                 calls.fetch_add(1, Ordering::Relaxed);
///                 response.recv().await.unwrap()
///             })
///         })
///         .collect();
///     server.send("hello").await.unwrap();
///     for page in pages {
///         assert_eq!(page.await.unwrap().value, "hello");
///     }
///     assert_eq!(calls.load(Ordering::Relaxed), 1);
/// });
/// ```
#[doc(alias("singleflight", "Group"))]
pub struct SingleFlight<K, V> {
    shared: Arc<FlightShared<K, V>>,
}

struct FlightShared<K, V> {
    hasher: RandomState,
    calls: Mutex<Calls<K, V>>,
}

/// The result of a call through a [`SingleFlight`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlightResult<V> {
    /// The value.
    pub value: V,
    /// Whether several callers got the value.
    pub shared: bool,
}

impl<K, V> Clone for SingleFlight<K, V> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<K, V> Default for SingleFlight<K, V> {
    fn default() -> Self {
        let (hasher, calls) = (RandomState::new(), Mutex::new(Calls::default()));
        Self { shared: Arc::new(FlightShared { hasher, calls }) }
    }
}

impl<K, V> FlightShared<K, V> {
    /// Runs `f` under the lock.
    fn with<R>(&self, f: impl FnOnce(&mut Calls<K, V>) -> R) -> R {
        f(&mut self.calls.lock())
    }

    /// Removes `call`, so that new callers do not find it.
    fn remove(&self, call: &Arc<Call<K, V>>) {
        // Dropped after the lock is released.
        let _removed = self.with(|calls| calls.remove(call));
    }

    /// Returns the call for `key`, if one is in flight. `different` collects the calls that have
    /// the same hash and another key.
    fn find<Q>(
        &self,
        (hash, key): (u64, &Q),
        different: &mut Vec<Arc<Call<K, V>>>,
    ) -> Option<Arc<Call<K, V>>>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let mut others = self.with(|calls| calls.others(hash, different));
        match others.iter().position(|call| call.key().borrow() == key) {
            Some(at) => Some(others.swap_remove(at)),
            None => {
                different.append(&mut others);
                None
            }
        }
    }
}

impl<K: Hash + Eq, V: Clone> SingleFlight<K, V> {
    /// Creates a group without calls.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the value of the call for `key`: of the one in flight, or of `f`, which runs here.
    ///
    /// If the caller that runs the call is dropped or panics before it has a value, the next
    /// waiting caller runs its own `f`, in arrival order. A call must not wait for a call with the
    /// same key: it would wait for itself.
    ///
    /// # Panics
    ///
    /// If `f` or its future panics.
    ///
    /// # Cancel safety
    ///
    /// Other callers are not affected. A waiting caller just leaves, and the caller that runs the
    /// call passes the lead on. The progress of its `f` is lost with its future.
    pub async fn call<F, R>(&self, key: K, f: F) -> FlightResult<V>
    where
        F: FnOnce() -> R,
        R: Future<Output = V>,
    {
        self.join(key).fly(f).await
    }

    /// As [`call`](Self::call), but blocks the thread.
    ///
    /// # Panics
    ///
    /// If `f` or its future panics.
    #[doc(alias = "blocking_call")]
    pub fn call_blocking<F, R>(&self, key: K, f: F) -> FlightResult<V>
    where
        F: FnOnce() -> R,
        R: Future<Output = V>,
    {
        gmp_rt::block_on(self.call(key, f))
    }

    /// As [`call`](Self::call), in a new goroutine (Go: `DoChan`).
    ///
    /// It takes part in the call at once, before this function returns.
    ///
    /// # Cancel safety
    ///
    /// Dropping the handle does not end the call. Aborting it has the effect of dropping a
    /// `call`.
    #[doc(alias = "do_chan")]
    #[track_caller]
    pub fn spawn<F, R>(&self, key: K, f: F) -> gmp_rt::JoinHandle<FlightResult<V>>
    where
        K: Send + Sync + 'static,
        V: Send + Sync + 'static,
        F: FnOnce() -> R + Send + 'static,
        R: Future<Output = V> + Send + 'static,
    {
        gmp_rt::spawn(self.join(key).fly(f))
    }

    /// Lets the next call for `key` run again, whether one is in flight or not.
    ///
    /// Callers that wait for the one in flight still get its value.
    pub fn forget<Q>(&self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.shared.hasher.hash_one(key);
        if let Some(call) = self.shared.find((hash, key), &mut Vec::new()) {
            self.shared.remove(&call);
        }
    }

    /// Joins the call for `key`, or begins one.
    fn join(&self, key: K) -> Ticket<K, V> {
        let shared = &self.shared;
        let own = Call::new(shared.hasher.hash_one(&key), key);
        let mut different = Vec::new();
        loop {
            let found = shared.find((own.hash(), own.key()), &mut different);
            let role = shared.with(|calls| match &found {
                // It may have been removed meanwhile.
                Some(call) => calls.contains(call).then(|| call.join()),
                // Another caller with this key may have begun a call meanwhile.
                None => calls.insert(&own, &different).then_some(Role::Leader),
            });
            if let Some(role) = role {
                return Ticket { shared: shared.clone(), call: found.unwrap_or(own), role };
            }
        }
    }
}

impl<K, V> fmt::Debug for SingleFlight<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let in_flight = self.shared.with(|calls| calls.len());
        f.debug_struct("SingleFlight").field("in_flight", &in_flight).finish()
    }
}

#[cfg(all(test, gmp_loom))]
mod loom;
#[cfg(all(test, not(gmp_loom)))]
mod tests;
