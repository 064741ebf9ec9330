//! `SingleFlight`.
//!
//! A map from keys to calls in flight, under one lock, and a lock for each [call]. Go runs the
//! call in the goroutine of the first caller, and so do we: nothing need be `Send` or `'static`. But
//! here a caller can be dropped. Since each caller brings a function of its own, the lead then
//! passes to another caller, who runs his; the same goes for a call that panics. Go lets the panic
//! hit all callers: here it hits the one whose function panicked, and the next tries.
//!
//! Lock order: the map, then a call.

#[expect(unsafe_code, reason = "is the home of waiters")]
mod call;
mod ticket;

use self::call::{Call, Role};
use self::ticket::Ticket;
use gmp_rt::prim::Mutex;
use std::borrow::Borrow;
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

/// Lets many who want the same do it once (Go: `x/sync/singleflight`).
///
/// While a call for a key is in flight, others that come with the same key wait for its result.
/// Nothing is kept after that: the next call runs again. Clones are the same group.
///
/// The value is cloned for each caller; an error is a value as any, such as
/// `Result<Arc<Page>, Arc<Error>>`.
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
///     let pages: Vec<_> = (0..100)
///         .map(|_| {
///             let calls = calls.clone();
///             flights.spawn_call("/index", move || async move {
///                 gmp_rt::yield_now().await; // stands for the network
///                 calls.fetch_add(1, Ordering::Relaxed);
///                 "hello"
///             })
///         })
///         .collect();
///     for page in pages {
///         assert_eq!(page.await.unwrap().value, "hello");
///     }
///     assert!(calls.load(Ordering::Relaxed) < 100);
/// });
/// ```
pub struct SingleFlight<K, V> {
    shared: Arc<Shared<K, V>>,
}

struct Shared<K, V>(Mutex<HashMap<K, Arc<Call<V>>>>);

/// What a call gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallResult<V> {
    /// The value.
    pub value: V,
    /// Whether it was given to several callers.
    pub shared: bool,
}

impl<K, V> Clone for SingleFlight<K, V> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<K, V> Default for SingleFlight<K, V> {
    fn default() -> Self {
        Self { shared: Arc::new(Shared(Mutex::new(HashMap::new()))) }
    }
}

impl<K, V> Shared<K, V> {
    fn with<R>(&self, f: impl FnOnce(&mut HashMap<K, Arc<Call<V>>>) -> R) -> R {
        f(&mut self.0.lock())
    }
}

impl<K: Hash + Eq, V> Shared<K, V> {
    /// Takes `call` out, if it is what new callers would find.
    fn remove(&self, key: &K, call: &Arc<Call<V>>) {
        // Dropped after the lock is released.
        let _removed = self.with(|calls| {
            let ours = calls.get(key).is_some_and(|found| Arc::ptr_eq(found, call));
            ours.then(|| calls.remove_entry(key))
        });
    }
}

impl<K: Hash + Eq + Clone, V: Clone> SingleFlight<K, V> {
    /// A group without calls.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of the call for `key`: of the one in flight, or of `f`, run here.
    ///
    /// A caller that waits runs its own `f` if the one that ran the call is dropped or panics
    /// before it has a value, in the order in which they came. A call must not wait for one of
    /// the same key: it would wait for itself.
    ///
    /// # Panics
    ///
    /// If `f` or its future does.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost for others: who waits just leaves, and one that ran the call passes it on.
    /// What `f` had done by then is dropped with its future.
    pub async fn do_call<F, R>(&self, key: K, f: F) -> CallResult<V>
    where
        F: FnOnce() -> R,
        R: Future<Output = V>,
    {
        self.join(key).fly(f).await
    }

    /// [`do_call`](Self::do_call) that blocks the thread.
    ///
    /// # Panics
    ///
    /// If `f` or its future does.
    pub fn do_call_blocking<F, R>(&self, key: K, f: F) -> CallResult<V>
    where
        F: FnOnce() -> R,
        R: Future<Output = V>,
    {
        gmp_rt::block_on(self.do_call(key, f))
    }

    /// [`do_call`](Self::do_call) in a goroutine of its own, beginning now: it has its part in the
    /// call when this returns (Go: `DoChan`).
    ///
    /// # Cancel safety
    ///
    /// Dropping the handle does not end the call. Aborting it is as dropping a `do_call`.
    #[doc(alias = "do_chan")]
    #[track_caller]
    pub fn spawn_call<F, R>(&self, key: K, f: F) -> gmp_rt::JoinHandle<CallResult<V>>
    where
        K: Send + 'static,
        V: Send + Sync + 'static,
        F: FnOnce() -> R + Send + 'static,
        R: Future<Output = V> + Send + 'static,
    {
        gmp_rt::spawn(self.join(key).fly(f))
    }

    /// Lets the next call for `key` begin anew, whether one is in flight or not. Those who follow
    /// that one still get its value.
    pub fn forget<Q>(&self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        // Dropped after the lock is released.
        let _forgotten = self.shared.with(|calls| calls.remove_entry(key));
    }

    /// Takes part in the call for `key`.
    fn join(&self, key: K) -> Ticket<K, V> {
        let (call, role) = self.shared.with(|calls| match calls.get(&key) {
            Some(call) => (call.clone(), call.join()),
            None => {
                let call = Call::new();
                calls.insert(key.clone(), call.clone());
                (call, Role::Leader)
            }
        });
        Ticket { shared: self.shared.clone(), key, call, role }
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
