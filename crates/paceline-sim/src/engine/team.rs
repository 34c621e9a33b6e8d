//! What the threads of a run share: a barrier, at which they wait for each other, and mailboxes.
//!
//! A meeting is the same for all: a thread leaves in the mailboxes what its part has sent to others and
//! how things stand with it, waits at the barrier, and then reads its letters and all standings. So all know the same and
//! come to the same conclusion about what is next, mostly several windows; nobody gives orders. Between these there are letters alone: a
//! thread counts itself in when it has left them, goes on with what needs none (`driver`), and waits for the others only then. Boxes and
//! standings exist twice, used in turn: a thread that is one window ahead writes into the other copy, and it cannot be two ahead, since
//! the barrier holds it until everybody has read.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::ahead::Ahead;
use super::cut::Post;
use crate::diagnosis::Symptoms;
use crate::record::News;

/// Looks at the barrier before a thread goes to sleep: for some 5 us with more threads than cores, else for some 0.2 ms, which is
/// what windows mostly take. (It does not let others run in between: where other programs use the cores, it would come back only
/// after they have had their whole turns, and runs would take ten times as long; whoever slept is let in at once.)
const SPINS: [u32; 2] = [100, 4000];
/// One wait in so many is as patient as can be, whatever came of those before.
const TRIES: u32 = 32;

/// How things stand with a part at the end of a window.
#[derive(Clone, Debug, Default)]
pub(super) struct Standing {
    /// Where it has something to do, letters it has sent included.
    pub(super) ahead: Ahead,
    pub(super) started: u64,
    pub(super) ended: u64,
    /// Packets it holds or has sent.
    pub(super) packets: u64,
    /// Datagrams sent there less those that ended there, modulo 2^64.
    pub(super) datagrams: u64,
    /// Flows it knows of that have not started.
    pub(super) pending: u64,
    pub(super) progress: u64,
    pub(super) hops: u64,
    /// Steps of programs that are over; now and then.
    pub(super) steps: u64,
    /// What programs here still have to do.
    pub(super) working: u64,
    /// For the observer.
    pub(super) news: News,
    /// Something is wrong, or the observer wants no more.
    pub(super) quit: bool,
    /// The observer wants to hear no more of packets.
    pub(super) enough_packets: bool,
    /// Some server may have given answers up that its client still waits for.
    pub(super) given_up: bool,
    /// Window of the first flow not drawn yet; set by the one that draws them.
    pub(super) next_flow: Option<u64>,
    /// Asked for only when nothing has moved for long, or may ever move again.
    pub(super) symptoms: Symptoms,
}

/// The threads' meeting point.
pub(super) struct Team {
    parts: usize,
    barrier: Barrier,
    /// By turn, sender and receiver.
    boxes: Vec<Mutex<Post>>,
    /// By turn and part.
    standings: Vec<Mutex<Standing>>,
}

impl Team {
    pub(super) fn new(parts: usize) -> Self {
        Self {
            parts,
            barrier: Barrier::new(parts),
            boxes: (0..2 * parts * parts).map(|_| Mutex::default()).collect(),
            standings: (0..2 * parts).map(|_| Mutex::default()).collect(),
        }
    }

    /// The box for letters from one part to another in a turn.
    pub(super) fn letters(&self, turn: usize, from: usize, to: usize) -> MutexGuard<'_, Post> {
        locked(&self.boxes[(turn % 2 * self.parts + from) * self.parts + to])
    }

    /// A part's standing in a turn.
    pub(super) fn standing(&self, turn: usize, part: usize) -> MutexGuard<'_, Standing> {
        locked(&self.standings[turn % 2 * self.parts + part])
    }

    /// Waits for the others. False when one of them has died.
    pub(super) fn meet(&self, patience: &mut Patience) -> bool {
        self.await_all(self.come(), patience)
    }

    /// Tells the others that this thread has left its letters, and goes on. Returns what [`await_all`](Self::await_all) is to be asked
    /// with before it comes again.
    pub(super) fn come(&self) -> Round {
        self.barrier.come()
    }

    /// Waits until all have come. False when one of them has died.
    pub(super) fn await_all(&self, round: Round, patience: &mut Patience) -> bool {
        self.barrier.await_all(round, patience)
    }

    /// Lets everybody through for good: a thread has died.
    pub(super) fn disband(&self) {
        self.barrier.open();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A round of the barrier that a thread has come to and not yet waited for.
#[must_use]
#[derive(Clone, Copy, Debug)]
pub(super) struct Round(usize);

/// How long a thread looks at the barrier before it sleeps. Where looking is in vain, as when another program has the core that the last
/// thread needs, or the thread that waits has it itself, it takes the core from who could end the wait.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Patience {
    /// The last waits in a row that ended in sleep, three at most.
    in_vain: u32,
    waits: u32,
}

impl Patience {
    /// How often to look in the next wait, where `most` is the most.
    fn looks(&mut self, most: u32) -> u32 {
        self.waits = self.waits.wrapping_add(1);
        if self.waits.is_multiple_of(TRIES) { most } else { (most >> (2 * self.in_vain)).max(SPINS[0].min(most)) }
    }

    /// How the wait ended.
    fn learn(&mut self, slept: bool) {
        self.in_vain = if slept { (self.in_vain + 1).min(3) } else { 0 };
    }
}

/// A barrier at which who waits for long sleeps, and which can be opened for good.
///
/// Why it is right: a round ends by one store to `round` (release), made after all have counted themselves in
/// (acquire-release), so whoever sees the new round sees all that was written before any of the others arrived. The count
/// is reset before that store, hence before anybody can count in the next round. A sleeper takes `asleep` before it looks
/// at `round` for the last time, and the store is made under it, so it is counted by then, or
/// sees the new round: no wake-up is lost.
struct Barrier {
    parties: usize,
    arrived: AtomicUsize,
    spins: u32,
    round: AtomicUsize,
    broken: AtomicBool,
    /// How many sleep.
    asleep: Mutex<usize>,
    wake: Condvar,
}

impl Barrier {
    fn new(parties: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self {
            parties,
            arrived: AtomicUsize::new(0),
            spins: SPINS[usize::from(parties <= cores)],
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            asleep: Mutex::new(0),
            wake: Condvar::new(),
        }
    }

    /// Counts a thread in, which has waited for the round before.
    fn come(&self) -> Round {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.parties {
            self.arrived.store(0, Ordering::Relaxed);
            let asleep = locked(&self.asleep);
            self.round.store(round.wrapping_add(1), Ordering::Release);
            let somebody = *asleep > 0;
            drop(asleep);
            // Calling when nobody sleeps costs as much.
            if somebody {
                self.wake.notify_all();
            }
        }
        Round(round)
    }

    /// Waits until all have come in a round. False once the barrier has been opened for good.
    fn await_all(&self, Round(round): Round, patience: &mut Patience) -> bool {
        let waiting = || self.round.load(Ordering::Acquire) == round && !self.broken.load(Ordering::Acquire);
        if !waiting() {
            return !self.broken.load(Ordering::Acquire);
        }
        for _ in 0..patience.looks(self.spins) {
            std::hint::spin_loop();
            if !waiting() {
                patience.learn(false);
                return !self.broken.load(Ordering::Acquire);
            }
        }
        patience.learn(true);
        let mut asleep = locked(&self.asleep);
        *asleep += 1;
        while waiting() {
            asleep = self.wake.wait(asleep).unwrap_or_else(PoisonError::into_inner);
        }
        *asleep -= 1;
        drop(asleep);
        !self.broken.load(Ordering::Acquire)
    }

    fn open(&self) {
        let guard = locked(&self.asleep);
        self.broken.store(true, Ordering::Release);
        drop(guard);
        self.wake.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    /// Nobody enters a round before everybody has left the one before: else a part would run on letters still being
    /// written.
    #[test]
    fn all_pass_together() {
        let (barrier, counts) = (Barrier::new(4), [const { AtomicU64::new(0) }; 4]);
        std::thread::scope(|scope| {
            for me in 0..4 {
                let (barrier, counts) = (&barrier, &counts);
                scope.spawn(move || {
                    let mut patience = Patience::default();
                    for round in 1..=2000 {
                        counts[me].store(round, Ordering::Relaxed);
                        let came = barrier.come();
                        assert!(barrier.await_all(came, &mut patience));
                        assert!(counts.iter().all(|c| c.load(Ordering::Relaxed) >= round));
                        assert!(barrier.await_all(barrier.come(), &mut patience));
                        assert!(counts.iter().all(|c| c.load(Ordering::Relaxed) <= round + 1));
                    }
                });
            }
        });
    }

    /// A thread that shares its core with the one it waits for gives it up soon, and finds out when that is over: beside other programs two
    /// threads took longer than one.
    #[test]
    fn a_thread_looks_less_where_looking_was_in_vain() {
        let mut patience = Patience::default();
        let most = SPINS[1];
        assert_eq!(patience.looks(most), most);
        (0..10).for_each(|_| patience.learn(true));
        let looks: Vec<u32> = (0..2 * TRIES).map(|_| patience.looks(most)).collect();
        assert_eq!((looks.iter().min(), looks.iter().filter(|n| **n == most).count()), (Some(&SPINS[0]), 2));
        patience.learn(false);
        assert_eq!(patience.looks(most), most);
    }

    /// A thread that dies does not leave the others waiting for ever.
    #[test]
    fn an_open_barrier_holds_nobody() {
        let barrier = Barrier::new(2);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| barrier.await_all(barrier.come(), &mut Patience::default()));
            barrier.open();
            assert!(!waiting.join().unwrap());
        });
        assert!(!barrier.await_all(barrier.come(), &mut Patience::default()));
    }
}
