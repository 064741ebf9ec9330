//! Runs every short sequence of events on one channel and checks the result.
//!
//! All events of a sequence happen on one thread: an operation begins (and is polled once), is
//! polled again or is dropped, a `try_` call, the close. The operations are a receive, a send,
//! selects of all kinds, a stream and a sink, a reservation whose permit is held for some events,
//! and a receive of several values. Some events happen *during* another one: while a
//! select polls its other future, or while it evaluates the value of its send case. All sequences
//! up to a given length are run, one by one, from an empty channel. Each one is run with two
//! endings. In the quiet one all woken operations are polled until none is woken. In the abrupt one
//! everything is dropped.
//!
//! There is no second implementation to compare with. The checks are properties that hold for every
//! implementation:
//!
//! - conservation: a value that was sent is received once or is still in the channel at the end; a
//!   value that was not sent is not received; every value is dropped once;
//! - agreement: no operation returns "empty", "full", "closed" or "timeout", or takes its default,
//!   while the operation was possible; without a buffer a select sends only if a receiver is there;
//! - order: of two values, the one that was sent first is received first, unless another receiver
//!   may have held it at that time;
//! - progress: when no operation is woken, no operation waits that could complete;
//! - no reservation remains.

mod hook;
mod world;

use self::world::{Act, Event, Kind, World};
use Kind::{
    AwayRecv, AwaySend, DefBoth, DefRecv, DefSend, Now, Recv, SelBoth, SelRecv, SelSend, Send,
    StaleStream,
};
use std::cell::RefCell;

/// The possible events of a family of sequences, and the length of the sequences.
struct Family {
    kinds: &'static [Kind],
    acts: &'static [Act],
    /// Events that may happen during another one, besides polls and drops of other operations.
    meanwhile: &'static [&'static [Act]],
    operations: usize,
    length: usize,
}

impl Family {
    /// Returns the events that are possible now.
    fn events(&self, world: &World) -> Vec<Event> {
        let slots = world.slots.borrow();
        let mut acts: Vec<Act> = Vec::new();
        if slots.len() < self.operations {
            acts.extend(self.kinds.iter().copied().map(Act::Begin));
        }
        for (index, slot) in slots.iter().enumerate().filter(|(_, slot)| slot.waits()) {
            // A poll without a wake-up is useful only if events can happen during it.
            if slot.woken() || (slot.kind.is_open() && !self.meanwhile.is_empty()) {
                acts.push(Act::Poll(index));
            }
            acts.push(Act::Drop(index));
        }
        acts.extend(self.acts.iter().copied().filter(|a| *a != Act::Close || !world.closed.get()));
        let mut events: Vec<Event> = Vec::new();
        for act in acts {
            events.push((act, Vec::new()));
            let open = match act {
                Act::Begin(kind) => kind.is_open().then_some(usize::MAX),
                Act::Poll(index) => slots[index].kind.is_open().then_some(index),
                _ => None,
            };
            if let Some(open) = open.filter(|_| !self.meanwhile.is_empty()) {
                events.extend(self.meanwhile.iter().map(|inner| (act, inner.to_vec())));
                for (index, slot) in slots.iter().enumerate() {
                    if index != open && slot.waits() {
                        events.push((act, vec![Act::Drop(index)]));
                        events.push((act, vec![Act::Poll(index)]));
                    }
                }
            }
        }
        events
    }

    /// Runs all sequences of this family on a channel of capacity `cap`. Returns their number.
    fn explore(&self, cap: usize, deeper: usize) -> usize {
        let mut explored = 0;
        for length in 1..=self.length + deeper {
            // For each step of the current sequence the choice and the number of choices. The last
            // step advances first, like the last digit of a counter.
            let mut choices: Vec<(usize, usize)> = Vec::new();
            loop {
                self.run_one(cap, length, &mut choices, Ending::Abrupt);
                self.run_one(cap, length, &mut choices, Ending::Quiet);
                explored += 1;
                while let Some((choice, of)) = choices.pop() {
                    if choice + 1 < of {
                        choices.push((choice + 1, of));
                        break;
                    }
                }
                if choices.is_empty() {
                    break;
                }
            }
        }
        explored
    }

    fn run_one(
        &self,
        cap: usize,
        length: usize,
        choices: &mut Vec<(usize, usize)>,
        ending: Ending,
    ) {
        let world = World::new(cap);
        let telling = Telling { cap, events: RefCell::default() };
        for step in 0..length {
            let events = self.events(&world);
            if events.is_empty() {
                break;
            }
            if step == choices.len() {
                choices.push((0, events.len()));
            }
            // The number differs from the previous run if a select has chosen another case.
            choices[step].1 = choices[step].1.max(events.len());
            let choice = choices[step].0;
            if choice >= events.len() {
                choices.truncate(step + 1);
                break;
            }
            let (act, meanwhile) = events[choice].clone();
            telling.events.borrow_mut().push(events[choice].clone());
            world.meanwhile.set(meanwhile);
            world.act(act);
            world.meanwhile.take();
        }
        if ending == Ending::Quiet {
            world.quiesce();
            world.judge_progress();
        }
        world.judge_conservation();
    }
}

/// The end of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// Woken operations are polled until none is woken.
    Quiet,
    /// Everything is dropped.
    Abrupt,
}

/// Prints the sequence if a check fails.
struct Telling {
    cap: usize,
    events: RefCell<Vec<Event>>,
}

impl Drop for Telling {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("capacity {}: {:?}", self.cap, self.events.borrow());
        }
    }
}

/// Runs all sequences of a family without a buffer, with a small one and with a larger one.
/// `GMP_EXPLORE_DEEPER=1` makes the sequences one event longer.
fn explore(family: &Family) {
    let deeper = std::env::var("GMP_EXPLORE_DEEPER").map_or(0, |n| n.parse().expect("a number"));
    let explored: usize = [0, 1, 2].into_iter().map(|cap| family.explore(cap, deeper)).sum();
    println!("{explored} sequences");
    assert!(explored > 1000, "only {explored} sequences");
}

const TRIES: &[Act] = &[Act::TrySend, Act::TryRecv];
const TRIES_AND_CLOSE: &[Act] = &[Act::TrySend, Act::TryRecv, Act::Close];
const NOTHING: &[Act] = &[];
const NEVER: &[&[Act]] = &[];

#[test]
fn sends_and_receives_agree_with_the_model() {
    let kinds = &[Recv, Send];
    explore(&Family { kinds, acts: TRIES_AND_CLOSE, meanwhile: NEVER, operations: 4, length: 5 });
}

/// Four receivers that were handed values are dropped in any order.
#[test]
fn values_of_dropped_receives_agree_with_the_model() {
    let kinds = &[Recv];
    explore(&Family { kinds, acts: &[Act::TrySend], meanwhile: NEVER, operations: 4, length: 7 });
}

#[test]
fn selects_vs_plain_operations_agree_with_the_model() {
    let kinds = &[Recv, Send, SelRecv, SelSend];
    explore(&Family { kinds, acts: TRIES, meanwhile: NEVER, operations: 4, length: 4 });
}

#[test]
fn selects_with_a_send_and_a_receive_agree_with_the_model() {
    let kinds = &[SelBoth, Recv, Send];
    explore(&Family { kinds, acts: &[Act::Close], meanwhile: NEVER, operations: 4, length: 5 });
}

/// Other operations act while the value of a send case is evaluated.
#[test]
fn operations_during_the_evaluation_of_a_value_agree_with_the_model() {
    let meanwhile: &[&[Act]] =
        &[&[Act::TrySend], &[Act::TryRecv], &[Act::Close], &[Act::Begin(SelSend)]];
    let kinds = &[Recv, SelSend];
    explore(&Family { kinds, acts: &[Act::TrySend], meanwhile, operations: 3, length: 3 });
}

/// While a receiver waits for a permit, a send does not overtake values that were returned or went
/// into the buffer.
#[test]
fn the_order_during_the_evaluation_of_a_value_agrees_with_the_model() {
    let meanwhile: &[&[Act]] = &[&[Act::TrySend], &[Act::TrySend, Act::Begin(SelSend)]];
    let kinds = &[Recv, SelSend];
    explore(&Family { kinds, acts: &[Act::TrySend], meanwhile, operations: 3, length: 4 });
}

/// Other operations act while a select polls its other future.
#[test]
fn operations_while_a_select_polls_a_future_agree_with_the_model() {
    let meanwhile: &[&[Act]] = &[
        &[Act::TrySend],
        &[Act::TryRecv],
        &[Act::Close],
        &[Act::Begin(Recv)],
        &[Act::Begin(Send)],
    ];
    let kinds = &[AwayRecv, AwaySend];
    explore(&Family { kinds, acts: NOTHING, meanwhile, operations: 3, length: 3 });
}

#[test]
fn streams_and_sinks_agree_with_the_model() {
    let kinds = &[Kind::Stream, StaleStream, Kind::Sink, Recv, Send];
    explore(&Family { kinds, acts: NOTHING, meanwhile: NEVER, operations: 4, length: 4 });
}

/// A stream wakes a select that sends. Other operations wait behind it.
#[test]
fn streams_that_summon_selects_agree_with_the_model() {
    let kinds = &[Kind::Stream, SelSend, Send];
    explore(&Family { kinds, acts: NOTHING, meanwhile: NEVER, operations: 4, length: 5 });
}

/// Streams and sinks act while a select polls its other future or evaluates its value.
#[test]
fn streams_and_sinks_within_a_select_agree_with_the_model() {
    let meanwhile: &[&[Act]] =
        &[&[Act::Begin(Kind::Stream)], &[Act::Begin(Kind::Sink)], &[Act::TryRecv]];
    let kinds = &[AwayRecv, AwaySend, Kind::Stream, Kind::Sink];
    explore(&Family { kinds, acts: NOTHING, meanwhile, operations: 3, length: 3 });
}

/// Values are sent, or the channel is closed, just before a receive with a time limit gives up.
#[test]
fn receives_with_a_time_limit_agree_with_the_model() {
    let meanwhile: &[&[Act]] = &[
        &[Act::TrySend],
        &[Act::TrySend, Act::TrySend, Act::TryRecv],
        &[Act::TrySend, Act::Close, Act::TryRecv],
        &[Act::Begin(Recv)],
    ];
    let kinds = &[Now, Recv, Send];
    explore(&Family { kinds, acts: TRIES, meanwhile, operations: 3, length: 4 });
}

/// Other operations act between the attempts of the cases on one channel.
#[test]
fn operations_between_attempts_of_a_default_agree_with_the_model() {
    let meanwhile: &[&[Act]] = &[&[Act::TrySend], &[Act::TryRecv], &[Act::TrySend, Act::TrySend]];
    let kinds = &[DefBoth, Recv, Send];
    explore(&Family { kinds, acts: TRIES, meanwhile, operations: 3, length: 4 });
}

/// A default against senders and receivers that are in a select themselves.
#[test]
fn defaults_vs_selects_agree_with_the_model() {
    let kinds = &[DefRecv, DefSend, SelRecv, SelSend, Kind::Stream];
    let acts = &[Act::TrySend, Act::TryRecvMeet];
    explore(&Family { kinds, acts, meanwhile: NEVER, operations: 4, length: 4 });
}

/// Receivers that do not wait, or are dropped, against senders in a select.
#[test]
fn dropped_receivers_vs_senders_in_selects_agree_with_the_model() {
    let kinds = &[SelSend, AwaySend, Recv, SelRecv, StaleStream];
    let acts = &[Act::TryRecvMeet];
    explore(&Family { kinds, acts, meanwhile: NEVER, operations: 4, length: 4 });
}

/// Permits are held while the channel is used and closed.
#[test]
fn permits_against_plain() {
    let kinds = &[Kind::Reserve, Recv, Send];
    let acts = &[Act::TrySend, Act::TryReserve, Act::TryRecvMeet, Act::Close];
    explore(&Family { kinds, acts, meanwhile: NEVER, operations: 4, length: 4 });
}

/// Receivers that a permit has waited for are dropped, and streams take their place.
#[test]
fn permits_against_streams_and_selects() {
    let kinds = &[Kind::Reserve, Recv, SelRecv, SelSend, Kind::Stream, Kind::Sink];
    explore(&Family { kinds, acts: NOTHING, meanwhile: NEVER, operations: 4, length: 4 });
}

/// Only reservations and receives, for longer sequences.
#[test]
fn permits_in_long_sequences() {
    let kinds = &[Kind::Reserve, Recv];
    explore(&Family { kinds, acts: NOTHING, meanwhile: NEVER, operations: 4, length: 6 });
}

#[test]
fn several_values_at_once() {
    let kinds = &[Kind::RecvMany, Recv, Send, SelSend];
    let acts = &[Act::TrySend, Act::Drain, Act::Close];
    explore(&Family { kinds, acts, meanwhile: NEVER, operations: 4, length: 4 });
}

/// All operations against each other.
#[test]
fn all_operations_agree_with_the_model() {
    let kinds = &[
        Recv,
        Send,
        SelRecv,
        SelSend,
        SelBoth,
        AwayRecv,
        AwaySend,
        Kind::Stream,
        StaleStream,
        Kind::Sink,
        Now,
        DefRecv,
        DefSend,
        DefBoth,
        Kind::Reserve,
        Kind::RecvMany,
    ];
    let acts = &[Act::TrySend, Act::TryReserve, Act::TryRecvMeet, Act::Drain, Act::Close];
    explore(&Family { kinds, acts, meanwhile: NEVER, operations: 3, length: 3 });
}
