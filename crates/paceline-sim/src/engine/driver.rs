//! What a thread of a windowed run does between windows: it draws flows, exchanges letters with the other parts and concludes what is
//! next. All threads read the same and conclude the same, so that nobody gives orders (`team`).

use std::sync::Arc;

use super::ahead::{Ahead, SIDES};
use super::lanes::Start;
use super::part::Part;
use super::team::{Patience, Standing, Team};
use super::{NEVER, Observer, Progress};
use crate::diagnosis::{Standstill, Symptoms};
use crate::error::InputError;
use crate::net::Net;
use crate::record::News;
use crate::workload::{FlowSource, FlowSpec};

/// Windows for which flows are drawn ahead.
const DRAWN_AHEAD: u64 = 64;
/// Windows between two reports to the observer.
const REPORT: usize = 64;
/// Windows between two meetings, at most: until the next the observer hears of nothing, and cannot stop the run.
const MOST_AT_ONCE: u64 = 16;
/// Ended flows that are reported without waiting for that: with tiny flows they would take most of the memory.
const MANY: usize = 4096;

/// Draws flows and tells the parts.
pub(super) struct Feeder {
    source: Box<dyn FlowSource>,
    next: Option<FlowSpec>,
    id: u64,
    part_of: Arc<[u8]>,
}

impl Feeder {
    /// Of all flows of a source; `part_of`: by node, empty where there is one part.
    pub(super) fn new(mut source: Box<dyn FlowSource>, part_of: Arc<[u8]>) -> Self {
        let next = source.next_flow();
        Self { source, next, id: 0, part_of }
    }

    /// Draws the flows that start before `until`; `net` gives NICs and source ports, in the order of the stream.
    fn draw(&mut self, net: &mut Net, until: u64, mut give: impl FnMut(u8, Start)) {
        while let Some(spec) = self.next.filter(|f| f.start.0 < until) {
            // A host with several NICs: which one the flow will use follows from its id.
            let port = net.nic_port(&spec, self.id);
            let sport = net.take_sport(&spec, self.id);
            let part = self.part_of.get(spec.src as usize).copied().unwrap_or(0);
            give(part, Start { id: self.id, spec, sport, port });
            self.id += 1;
            self.next = self.source.next_flow();
        }
    }
}

/// What all threads conclude from the standings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// A window, as far as it lies before an instant.
    Window(u64, u64),
    /// So many whole windows from one on.
    Windows(u64, u64),
    /// Links change: no node has anything to do before.
    Links,
    /// Flows must be drawn first.
    Draw,
    Stopped,
    Completed,
    /// At an instant.
    Stalled(u64),
    /// Programs wait, and nothing will ever happen again.
    Stuck,
    Interrupted,
}

/// What one thread knows and does between windows.
pub(super) struct Driver<'a> {
    part: &'a mut Part,
    me: usize,
    parts: usize,
    pub(super) team: &'a Team,
    width: u64,
    pub(super) stop: u64,
    patience: Patience,
    turn: usize,
    /// The turn of the next report.
    report_at: usize,
    /// Flows are drawn for windows before this.
    drawn: u64,
    pub(super) now: u64,
    /// Up to when each side has been run.
    fronts: [u64; SIDES],
    /// Before this nothing happens any more.
    done: u64,
    standstill: Standstill,
    pub(super) windows: u64,
    /// Sums over all parts at the last meeting.
    seen: Progress,
}

/// The others have died.
struct Abandoned;

impl<'a> Driver<'a> {
    pub(super) fn new(part: &'a mut Part, me: usize, parts: usize, team: &'a Team, width: u64) -> Self {
        let scenario = &part.net.scenario;
        let stop = scenario.stop.instant();
        let standstill = Standstill::new(scenario.stall);
        Self {
            part,
            me,
            parts,
            team,
            width,
            stop,
            patience: Patience::default(),
            turn: 0,
            report_at: 0,
            drawn: DRAWN_AHEAD,
            now: 0,
            fronts: [0; SIDES],
            done: 0,
            standstill,
            windows: 0,
            seen: Progress::default(),
        }
    }

    /// Runs to the end. The leader draws the flows and reports to the observer.
    pub(super) fn run(&mut self, mut leader: Option<(&mut Feeder, &mut dyn Observer)>) -> Result<Verdict, InputError> {
        let mut news = News::default();
        let mut failure = None;
        let mut enough_packets = false;
        loop {
            let mut standing = Standing { quit: failure.is_some(), enough_packets, ..Standing::default() };
            let report = self.turn >= self.report_at;
            if report {
                self.report_at = self.turn + REPORT;
            }
            if let Some((feeder, _)) = &mut leader {
                let until = self.drawn.saturating_mul(self.width);
                let mut first = NEVER;
                feeder.draw(&mut self.part.net, until, |part, start| {
                    first = first.min(start.spec.start.0);
                    standing.pending += 1;
                    self.team.letters(self.turn, self.me, usize::from(part)).starts.push(start);
                });
                if first != NEVER {
                    standing.ahead.add(0, self.part.window_of(0, first), first);
                }
                standing.next_flow = feeder.next.map(|f| f.start.0 / self.width);
            }
            if let Some((_, observer)) = &mut leader
                && report
            {
                news.tell(*observer);
                standing.quit |= !observer.progress(&Progress { now: self.now, ..self.seen });
            }
            if self.exchange(standing, report).is_err() {
                return Ok(Verdict::Interrupted);
            }
            if let Some((_, observer)) = &mut leader {
                for part in 0..self.parts {
                    news.append(&mut self.team.standing(self.turn, part).news);
                }
                if news.flows.len() >= MANY {
                    news.tell(*observer);
                }
            }
            let verdict = self.conclude();
            if let Some((_, observer)) = &mut leader {
                enough_packets |= !news.tell_packets(*observer, self.done);
            }
            self.turn += 1;
            if let Some(error) = failure {
                return Err(error);
            }
            match verdict {
                Verdict::Draw => {}
                Verdict::Links => self.now = self.now.max(self.part.change_links()),
                Verdict::Window(w, limit) => {
                    failure = self.part.run_window(w, limit).err();
                    self.ran(w, ((w + 1) * self.width).min(limit));
                }
                Verdict::Windows(first, count) => match self.run_windows(first, count) {
                    Ok(done) => failure = done.err(),
                    Err(Abandoned) => return Ok(Verdict::Interrupted),
                },
                _ => {
                    if let Some((_, observer)) = &mut leader {
                        news.tell(*observer);
                        observer.packets(&mut news.packets, &[], NEVER);
                    }
                    return Ok(verdict);
                }
            }
        }
    }

    /// A window has been run up to its end, or an instant before that.
    fn ran(&mut self, window: u64, end: u64) {
        self.drawn = self.drawn.max(window + DRAWN_AHEAD);
        self.fronts[self.part.side(window)] = end;
        (self.now, self.windows) = (end, self.windows + 1);
    }

    /// Runs windows in which all that parts need of each other is letters, so that nobody need wait for those of the last window before the
    /// nodes that they are for: a part that is behind in one window can be ahead in the next. What hosts tell each other beside packets is
    /// heard in the other side's window, before that of hosts comes again. Only of datagrams lost at the second side they hear later: then
    /// a record is written, of which no host takes notice.
    fn run_windows(&mut self, first: u64, count: u64) -> Result<Result<(), InputError>, Abandoned> {
        let (me, team, last) = (self.me, self.team, first + count - 1);
        let others = (0..self.parts).filter(|part| *part != me);
        let mut done = Ok(());
        let mut came = None;
        for window in first..=last {
            if done.is_ok() {
                done = self.part.run_inner(window);
            }
            if let Some(round) = came.take() {
                if !team.await_all(round, &mut self.patience) {
                    return Err(Abandoned);
                }
                for from in others.clone() {
                    self.part.accept(&mut team.letters(self.turn, from, me));
                }
                self.turn += 1;
            }
            if done.is_ok() {
                done = self.part.run_rest(window);
            }
            self.ran(window, (window + 1) * self.width);
            // Those of the last one are exchanged with all else.
            if window < last {
                for part in others.clone() {
                    self.part.hand_over(part, &mut team.letters(self.turn, me, part), &mut Ahead::default());
                }
                came = Some(team.come());
            }
        }
        Ok(done)
    }

    /// Leaves letters and standing, meets the others, and reads the letters. `report`: says, too, what only the observer asks for.
    fn exchange(&mut self, mut standing: Standing, report: bool) -> Result<(), Abandoned> {
        let (turn, me, team) = (self.turn, self.me, self.team);
        let mut sent = 0;
        for part in (0..self.parts).filter(|part| *part != me) {
            let mut post = team.letters(turn, me, part);
            self.part.hand_over(part, &mut post, &mut standing.ahead);
            sent += post.keys.len() as u64;
        }
        standing.ahead = standing.ahead.and(self.part.next_windows());
        let net = &mut self.part.net;
        let c = net.counters();
        (standing.started, standing.ended) = (c.started, c.finished + c.failed);
        standing.packets = u64::from(net.arena.live()) + sent;
        standing.datagrams = net.datagrams;
        standing.pending += self.part.pending.len() as u64 + net.unsettled();
        standing.progress = net.progress;
        standing.working = net.programs.as_ref().map_or(0, |p| p.working());
        standing.given_up = net.has_given_up_answers();
        if report {
            let (data, control) = net.hops();
            standing.hops = data + control;
            standing.steps = net.programs.as_ref().map_or(0, |p| p.steps_done());
        }
        std::mem::swap(&mut standing.news, &mut net.news);
        *team.standing(turn, me) = standing;
        if !team.meet(&mut self.patience) {
            return Err(Abandoned);
        }
        for from in 0..self.parts {
            self.part.accept(&mut team.letters(turn, from, me));
        }
        Ok(())
    }

    /// What is next; the same for all threads. Takes the samples that are due before.
    fn conclude(&mut self) -> Verdict {
        let (mut ahead, mut next_flow, mut quit, mut enough_packets) = (Ahead::default(), None, false, false);
        let mut given_up = false;
        let (mut started, mut ended, mut packets, mut pending, mut progress, mut hops) = (0, 0, 0, 0, 0, 0);
        let (mut working, mut steps, mut datagrams) = (0, 0, 0u64);
        for part in 0..self.parts {
            let s = self.team.standing(self.turn, part);
            ahead = ahead.and(s.ahead);
            next_flow = next_flow.or(s.next_flow);
            quit |= s.quit;
            enough_packets |= s.enough_packets;
            given_up |= s.given_up;
            started += s.started;
            ended += s.ended;
            packets += s.packets;
            datagrams = datagrams.wrapping_add(s.datagrams);
            pending += s.pending;
            progress += s.progress;
            hops += s.hops;
            working += s.working;
            steps += s.steps;
        }
        let (hops, steps) = (self.seen.hops.max(hops), self.seen.steps.max(steps));
        self.seen = Progress { now: self.now, started, ended, hops, steps };
        if quit {
            return Verdict::Interrupted;
        }
        if enough_packets {
            self.part.net.trace = None;
        }
        // And one more for datagrams, whose flows may be over for the senders.
        let active = started - ended + u64::from(datagrams != 0);
        // Whatever idle timers remain, also in a window that the stop cuts short.
        if next_flow.is_none() && pending + active + packets + working == 0 {
            return Verdict::Completed;
        }
        if given_up && next_flow.is_none() && pending + packets + working == 0 && self.symptoms().in_vain() == active {
            return Verdict::Completed;
        }
        let first = ahead.sides().map(|(_, w, _)| w).min();
        // Those that start after the stop are never drawn; what is under way goes on until then.
        let drawable = next_flow.filter(|f| f.saturating_mul(self.width) < self.stop);
        if let Some(f) = drawable.filter(|f| first.is_none_or(|w| *f <= w)) {
            self.drawn = f + DRAWN_AHEAD;
            return Verdict::Draw;
        }
        let fronts = self.fronts;
        let begins = |(side, _, at): (usize, u64, u64)| at.max(fronts[side]);
        let links = self.part.next_link_change();
        let now = ahead.sides().map(begins).min().unwrap_or(NEVER).min(links);
        self.done = now;
        if now == NEVER && next_flow.is_none() {
            let over = if working == 0 { Verdict::Completed } else { Verdict::Stuck };
            if active == 0 {
                return over;
            }
            let symptoms = self.symptoms();
            if symptoms.in_vain() == active {
                return over;
            }
            if symptoms.sends_at_stop() {
                return Verdict::Stopped;
            }
            return Verdict::Stalled(self.standstill.end(progress, active, &symptoms).min(self.stop));
        }
        if let Some(suspicion) = self.standstill.look(now.min(self.stop.saturating_sub(1)), progress, active) {
            let symptoms = self.symptoms();
            if let Some(at) = self.standstill.confirm(suspicion, &symptoms, active) {
                return Verdict::Stalled(at);
            }
        }
        // What is still on links then belongs to no flow any more.
        let is_over = next_flow.is_none() && pending + active + working == 0;
        let stopped = if is_over { Verdict::Completed } else { Verdict::Stopped };
        if now >= self.stop {
            return stopped;
        }
        let limit = self.part.sample_until(now).min(self.standstill.next).min(self.stop);
        if links == now {
            return Verdict::Links;
        }
        // What is left of a window that was cut short at the limit waits until the other side is there too.
        let next = ahead.sides().filter(|next| begins(*next) < limit).map(|(_, w, _)| w).min();
        let Some(w) = next else { return stopped };
        let whole = (limit / self.width).saturating_sub(w);
        let count = whole.min(next_flow.map_or(u64::MAX, |f| f.saturating_sub(w))).min(MOST_AT_ONCE);
        if count > 1 && packets > 0 && self.part.has_inner() {
            Verdict::Windows(w, count)
        } else {
            Verdict::Window(w, limit)
        }
    }

    /// Asks all parts for what speaks for a standstill.
    #[cold]
    fn symptoms(&mut self) -> Symptoms {
        self.turn += 1;
        *self.team.standing(self.turn, self.me) =
            Standing { symptoms: Symptoms::of(&self.part.net), ..Standing::default() };
        let mut all = Symptoms::default();
        if !self.team.meet(&mut self.patience) {
            // The next meeting says so again.
            return all;
        }
        for part in 0..self.parts {
            all.add(&self.team.standing(self.turn, part).symptoms);
        }
        all
    }
}
