//! Every short story of one channel, told to the end and judged.
//!
//! A story is a sequence of events on one thread: an operation is begun (and polled once), polled
//! again, dropped; a try; the close. The operations are a receive, a send, selects of all kinds, a
//! stream, a sink. Some events happen *during* another: while a select polls its other future, or
//! while it evaluates the value of its send case. All stories up to a length are told, one by one,
//! from an empty channel, with two endings: everybody who was woken is polled until all is quiet, or
//! everything is dropped as it is.
//!
//! Not a second implementation to compare with, but what must hold whatever the implementation:
//!
//! - conservation: what was sent is received once, or still there at the end; what was not sent is
//!   not received; every value is dropped once;
//! - agreement: no operation returns "empty", "full", "closed" or "timeout", or takes its default,
//!   while the operation was possible; without a buffer a select has sent only if a receiver was
//!   there;
//! - order: of two values, the one that was sent first is received first, unless another receiver may
//!   have held it at that time;
//! - progress: when all is quiet nobody waits who could go on;
//! - no reservation is left behind.

mod hook;
mod world;

use self::world::{Act, Event, Kind, World};
use Kind::{
    AwayRecv, AwaySend, DefBoth, DefRecv, DefSend, Now, Recv, SelBoth, SelRecv, SelSend, Send,
    StaleStream,
};
use std::cell::RefCell;

/// What may happen in the stories of a family, and how long they are.
struct Family {
    kinds: &'static [Kind],
    acts: &'static [Act],
    /// What may happen during an event, besides what happens to other operations.
    meanwhile: &'static [&'static [Act]],
    operations: usize,
    length: usize,
}

impl Family {
    /// What can happen now.
    fn events(&self, world: &World) -> Vec<Event> {
        let slots = world.slots.borrow();
        let mut acts: Vec<Act> = Vec::new();
        if slots.len() < self.operations {
            acts.extend(self.kinds.iter().copied().map(Act::Begin));
        }
        for (index, slot) in slots.iter().enumerate().filter(|(_, slot)| slot.waits()) {
            // Polled for nothing only if something can happen meanwhile.
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

    /// Tells all stories of this family on a channel of this capacity; returns how many.
    fn tell(&self, cap: usize, deeper: usize) -> usize {
        let mut told = 0;
        for length in 1..=self.length + deeper {
            // The choices of the story that is told, and of how many: counted up like an odometer.
            let mut choices: Vec<(usize, usize)> = Vec::new();
            loop {
                self.tell_one(cap, length, &mut choices, Ending::Abrupt);
                self.tell_one(cap, length, &mut choices, Ending::Quiet);
                told += 1;
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
        told
    }

    fn tell_one(
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
            // Another number than last time if a select has chosen differently.
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

/// How a story ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// Whoever was woken is polled until all is quiet.
    Quiet,
    /// All is dropped as it is.
    Abrupt,
}

/// Prints the story if it ends badly.
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

/// Tells all stories of a family, for no buffer, a small one and a larger one.
/// `GMP_EXPLORE_DEEPER=1` makes them one event longer.
fn tell(family: &Family) {
    let deeper = std::env::var("GMP_EXPLORE_DEEPER").map_or(0, |n| n.parse().expect("a number"));
    let told: usize = [0, 1, 2].into_iter().map(|cap| family.tell(cap, deeper)).sum();
    println!("{told} stories");
    assert!(told > 1000, "only {told} stories");
}

const TRIES: &[Act] = &[Act::TrySend, Act::TryRecv];
const TRIES_AND_CLOSE: &[Act] = &[Act::TrySend, Act::TryRecv, Act::Close];
const NOTHING: &[Act] = &[];
const NEVER: &[&[Act]] = &[];

#[test]
fn plain_sends_and_receives() {
    let kinds = &[Recv, Send];
    tell(&Family { kinds, acts: TRIES_AND_CLOSE, meanwhile: NEVER, operations: 4, length: 5 });
}

/// Four receivers that are given values, dropped in any order.
#[test]
fn values_that_come_back() {
    let kinds = &[Recv];
    tell(&Family { kinds, acts: &[Act::TrySend], meanwhile: NEVER, operations: 4, length: 7 });
}

#[test]
fn selects_against_plain() {
    let kinds = &[Recv, Send, SelRecv, SelSend];
    tell(&Family { kinds, acts: TRIES, meanwhile: NEVER, operations: 4, length: 4 });
}

#[test]
fn selects_both_ways() {
    let kinds = &[SelBoth, Recv, Send];
    tell(&Family { kinds, acts: &[Act::Close], meanwhile: NEVER, operations: 4, length: 5 });
}

/// Others act while the value of a send case is evaluated.
#[test]
fn while_the_value_is_evaluated() {
    let meanwhile: &[&[Act]] =
        &[&[Act::TrySend], &[Act::TryRecv], &[Act::Close], &[Act::Begin(SelSend)]];
    let kinds = &[Recv, SelSend];
    tell(&Family { kinds, acts: &[Act::TrySend], meanwhile, operations: 3, length: 3 });
}

/// Sends overtake none that came back, or went into the buffer, while a receiver waited for a
/// permit.
#[test]
fn order_while_the_value_is_evaluated() {
    let meanwhile: &[&[Act]] = &[&[Act::TrySend], &[Act::TrySend, Act::Begin(SelSend)]];
    let kinds = &[Recv, SelSend];
    tell(&Family { kinds, acts: &[Act::TrySend], meanwhile, operations: 3, length: 4 });
}

/// Others act while a select polls its other future.
#[test]
fn while_a_select_is_away() {
    let meanwhile: &[&[Act]] = &[
        &[Act::TrySend],
        &[Act::TryRecv],
        &[Act::Close],
        &[Act::Begin(Recv)],
        &[Act::Begin(Send)],
    ];
    let kinds = &[AwayRecv, AwaySend];
    tell(&Family { kinds, acts: NOTHING, meanwhile, operations: 3, length: 3 });
}

#[test]
fn streams_and_sinks() {
    let kinds = &[Kind::Stream, StaleStream, Kind::Sink, Recv, Send];
    tell(&Family { kinds, acts: NOTHING, meanwhile: NEVER, operations: 4, length: 4 });
}

/// A stream summons a select that sends; others wait behind it.
#[test]
fn streams_and_permits() {
    let kinds = &[Kind::Stream, SelSend, Send];
    tell(&Family { kinds, acts: NOTHING, meanwhile: NEVER, operations: 4, length: 5 });
}

/// Streams and sinks while a select is away, or evaluates its value.
#[test]
fn streams_and_sinks_in_the_middle() {
    let meanwhile: &[&[Act]] =
        &[&[Act::Begin(Kind::Stream)], &[Act::Begin(Kind::Sink)], &[Act::TryRecv]];
    let kinds = &[AwayRecv, AwaySend, Kind::Stream, Kind::Sink];
    tell(&Family { kinds, acts: NOTHING, meanwhile, operations: 3, length: 3 });
}

/// Values are sent, and the channel is closed, in the last moment of a receive with a time limit.
#[test]
fn receives_with_a_time_limit() {
    let meanwhile: &[&[Act]] = &[
        &[Act::TrySend],
        &[Act::TrySend, Act::TrySend, Act::TryRecv],
        &[Act::TrySend, Act::Close, Act::TryRecv],
        &[Act::Begin(Recv)],
    ];
    let kinds = &[Now, Recv, Send];
    tell(&Family { kinds, acts: TRIES, meanwhile, operations: 3, length: 4 });
}

/// Others act between the tries of the cases on one channel.
#[test]
fn defaults_of_selects() {
    let meanwhile: &[&[Act]] = &[&[Act::TrySend], &[Act::TryRecv], &[Act::TrySend, Act::TrySend]];
    let kinds = &[DefBoth, Recv, Send];
    tell(&Family { kinds, acts: TRIES, meanwhile, operations: 3, length: 4 });
}

/// A default against senders and receivers that are in a select themselves.
#[test]
fn defaults_against_selects() {
    let kinds = &[DefRecv, DefSend, SelRecv, SelSend, Kind::Stream];
    let acts = &[Act::TrySend, Act::TryRecvMeet];
    tell(&Family { kinds, acts, meanwhile: NEVER, operations: 4, length: 4 });
}

/// Receivers that do not wait, and some that are dropped, against senders in a select.
#[test]
fn receivers_that_leave_senders_in_selects() {
    let kinds = &[SelSend, AwaySend, Recv, SelRecv, StaleStream];
    let acts = &[Act::TryRecvMeet];
    tell(&Family { kinds, acts, meanwhile: NEVER, operations: 4, length: 4 });
}

/// Everything against everything.
#[test]
fn everything() {
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
    ];
    let acts = &[Act::TrySend, Act::TryRecvMeet, Act::Close];
    tell(&Family { kinds, acts, meanwhile: NEVER, operations: 3, length: 3 });
}
