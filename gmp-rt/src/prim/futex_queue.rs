//! Sleep and wake-up of threads that wait for a [lock](super::raw_lock), without a futex.
//!
//! One queue per process holds all sleeping threads, by the address of their word. Only threads
//! that sleep and threads that wake another one use it. The models run this file in place of
//! Linux's futex.
//!
//! A wake-up cannot be lost. `sleep_while_held` reads the word under the lock of the queue.
//! `wake_one` takes the same lock after its caller removed the mark. So either `sleep_while_held`
//! finds no mark, or `wake_one` finds the thread in the queue.

use super::Ordering::SeqCst;
use super::raw_lock::Word;
use super::{SleepMutex, Thread, current_thread, fence, park_thread, process_wide};
use std::collections::VecDeque;

process_wide! {
    static QUEUE: SleepMutex<Queue> = SleepMutex::new(Queue::default());
}

/// The sleeping threads, in arrival order.
#[derive(Default)]
struct Queue {
    sleepers: VecDeque<Sleeper>,
    /// The ticket of the next sleeper.
    next_ticket: u64,
}

struct Sleeper {
    ticket: u64,
    /// The address of the word on which the thread sleeps.
    address: usize,
    thread: Thread,
}

impl Queue {
    /// Appends the calling thread. Returns its ticket.
    fn push(&mut self, address: usize) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.sleepers.push_back(Sleeper { ticket, address, thread: current_thread() });
        ticket
    }

    /// Removes the first thread that sleeps on the word at `address`.
    fn pop(&mut self, address: usize) -> Option<Thread> {
        let first = self.sleepers.iter().position(|sleeper| sleeper.address == address)?;
        Some(self.sleepers.remove(first)?.thread)
    }

    fn contains(&self, ticket: u64) -> bool {
        self.sleepers.iter().any(|sleeper| sleeper.ticket == ticket)
    }
}

fn address(word: &Word) -> usize {
    std::ptr::from_ref(word).addr()
}

/// Runs the barrier of an unlock, which pairs with the one in [`sleep_while_held`].
#[inline(always)]
pub(super) fn light_barrier() {
    fence(SeqCst);
}

/// Sleeps until [`wake_one`] selects this thread. Returns whether it did. The caller set the mark.
///
/// Returns `false` at once if the lock is free or its mark is gone.
pub(super) fn sleep_while_held(word: &Word) -> bool {
    fence(SeqCst);
    let ticket = {
        let mut queue = QUEUE.lock();
        if !word.is_held() || !word.has_sleepers() {
            return false;
        }
        queue.push(address(word))
    };
    while QUEUE.lock().contains(ticket) {
        park_thread();
    }
    // User code may park this thread too. The loop may have consumed an unpark for that code, so it
    // passes one on. The contract of `park` allows a needless one.
    current_thread().unpark();
    true
}

/// Wakes the thread that has slept on `word` for the longest time, if there is one.
pub(super) fn wake_one(word: &Word) {
    let first = QUEUE.lock().pop(address(word));
    if let Some(thread) = first {
        thread.unpark();
    }
}

#[cfg(all(test, not(gmp_loom)))]
mod tests {
    use super::*;
    use crate::prim::AtomicU16;
    use crate::prim::raw_lock::{FREE, HELD, NO_SLEEPERS, SLEEPERS};
    use std::time::Duration;

    fn word(state: u16, mark: u16) -> Word {
        Word::new(AtomicU16::new(state), AtomicU16::new(mark))
    }

    fn taken() -> Word {
        word(HELD, SLEEPERS)
    }

    fn sleepers(word: &Word) -> usize {
        let at = address(word);
        QUEUE.lock().sleepers.iter().filter(|sleeper| sleeper.address == at).count()
    }

    /// Waits until `n` threads sleep on `word`.
    fn await_sleepers(word: &Word, n: usize) {
        while sleepers(word) != n {
            std::thread::yield_now();
        }
    }

    #[test]
    fn no_thread_sleeps_for_a_free_lock_or_without_the_mark() {
        assert!(!sleep_while_held(&word(FREE, SLEEPERS)));
        assert!(!sleep_while_held(&word(HELD, NO_SLEEPERS)));
    }

    #[test]
    fn wake_one_wakes_the_first_sleeper_of_its_word_only() {
        let words = [taken(), taken()];
        std::thread::scope(|scope| {
            let other = scope.spawn(|| sleep_while_held(&words[1]));
            await_sleepers(&words[1], 1);
            let first = scope.spawn(|| sleep_while_held(&words[0]));
            await_sleepers(&words[0], 1);
            let second = scope.spawn(|| sleep_while_held(&words[0]));
            await_sleepers(&words[0], 2);
            wake_one(&words[0]);
            assert!(first.join().unwrap());
            assert_eq!((sleepers(&words[0]), sleepers(&words[1])), (1, 1));
            wake_one(&words[0]);
            assert!(second.join().unwrap());
            wake_one(&words[1]);
            assert!(other.join().unwrap());
        });
    }

    #[test]
    fn wake_one_without_a_sleeper_does_nothing() {
        wake_one(&taken());
    }

    #[test]
    fn an_unpark_during_a_wait_ends_a_later_park() {
        let word = taken();
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| {
                assert!(sleep_while_held(&word));
                std::thread::park();
            });
            await_sleepers(&word, 1);
            sleeper.thread().unpark();
            // Lets the sleeper consume the unpark. The test passes in any case.
            std::thread::sleep(Duration::from_millis(1));
            wake_one(&word);
        });
    }
}
