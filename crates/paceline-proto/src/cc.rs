//! Congestion control: what a controller is told and what it answers.
//!
//! A controller is a small value per flow. What all flows of a scheme share (line rate, base RTT, parameters) is passed
//! in, so that a flow's state stays within two cache lines. To add one: a file beside these, which says what it is
//! ([`Algorithm`]) and does ([`CongestionControl`]); a line in each of the three lists below ([`Params`], [`Controller`], `new`), and
//! one in [`controllers`], which gives it, where it is RDMA's, the tests that those share.

pub mod cubic;
pub mod cubic_freebsd;
pub mod dcqcn;
pub mod dctcp;
pub mod fixed;
pub mod hpcc;
pub mod hpcc_multi_rate;
pub mod hpcc_pint;
mod list;
pub mod new_reno;
mod profile;
pub mod timely;
pub mod vegas;
pub mod window;

pub use list::controllers;
pub use profile::{Algorithm, Profile, Runs, Telemetry};

use crate::telemetry::{IntHop, MAX_RATES};
use crate::units::{Duration, Time};

/// Periodic timers a controller may have.
pub const TIMERS: usize = 3;

/// What the flows of one scheme on one kind of host have in common.
#[derive(Clone, Debug)]
pub struct FlowContext {
    /// Rate of the sending NIC, bit/s.
    pub line_rate: u64,
    /// Base round-trip time, nanoseconds.
    pub base_rtt_ns: u64,
    /// Window at line rate, bytes; 0 means no window, which not every scheme allows ([`Profile::needs_window`]).
    pub window: u64,
    /// Payload of a full packet, bytes.
    pub mtu: u32,
    /// Port rates of the network by INT rate code, bit/s: doubles, since they are divided by.
    pub rates: [f64; MAX_RATES],
    /// Scale of the INT units (see [`crate::telemetry::IntUnits`]).
    pub int_multiple: u64,
    /// What each power that PINT's switches send stands for; empty for schemes without (see [`hpcc_pint::utilisations`]).
    pub utilisations: Box<[f64]>,
    /// Between ACKs further apart than so many [ticks](crate::telemetry::TICK_BITS) INT's counters may have wrapped (see
    /// [`crate::telemetry::record_life`]); `u16::MAX`: whatever they say is believed, as the HPCC reference simulator does.
    pub record_life: u16,
    /// Packets are paced at the flow's rate; without, at line rate, and the rate only sets the window.
    pub paced: bool,
    /// The scheme's parameters.
    pub params: Params,
}

impl FlowContext {
    /// Whether INT's records are read as the HPCC reference simulator reads them.
    #[inline(always)]
    pub fn believes_records(&self) -> bool {
        self.record_life == u16::MAX
    }
}

/// Declares [`Params`].
macro_rules! params {
    ($($(#[doc = $doc:literal])+ $kind:ident($params:ty),)+) => {
        /// Parameters of a scheme, by controller.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Params {
            $($(#[doc = $doc])+ $kind($params),)+
        }

        impl Params {
            /// The kinds of controllers: names, and what holds for each.
            pub const KINDS: &'static [(&'static str, Profile)] =
                &[$((stringify!($kind), <$params as Algorithm>::PROFILE)),+];

            /// Which of [`Params::KINDS`] it is.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Params::$kind(_) => stringify!($kind),)+
                }
            }

            /// What holds for its flows.
            #[inline]
            pub fn profile(&self) -> Profile {
                match self {
                    $(Params::$kind(_) => <$params as Algorithm>::PROFILE,)+
                }
            }

            /// The lowest rate it goes down to, bit/s; `None` where nothing changes a rate.
            pub fn min_rate_mut(&mut self) -> Option<&mut u64> {
                match self {
                    $(Params::$kind(p) => p.min_rate_mut(),)+
                }
            }
        }
    };
}

params! {
    /// Fixed window and rate.
    Fixed(fixed::Params),
    /// HPCC with INT.
    Hpcc(hpcc::Params),
    /// HPCC with PINT.
    HpccPint(hpcc_pint::Params),
    /// DCQCN.
    Dcqcn(dcqcn::Params),
    /// TIMELY.
    Timely(timely::Params),
    /// DCTCP.
    Dctcp(dctcp::Params),
    /// `NewReno`, over TCP only.
    NewReno(new_reno::Params),
    /// CUBIC, over TCP only.
    Cubic(cubic::Params),
    /// Vegas, over TCP only.
    Vegas(vegas::Params),
}

impl Params {
    /// Whether switches write INT records into this scheme's packets.
    pub fn uses_int(&self) -> bool {
        self.profile().telemetry == Telemetry::Int
    }

    /// TCP: whether round trips are timed as FreeBSD does for its Vegas, segments that are sent again among them.
    #[inline]
    pub fn marks_segments(&self) -> bool {
        matches!(self, Params::Vegas(p) if p.gamma.is_none())
    }
}

/// An acknowledgement (positive or negative) as a controller sees it.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// When it arrived.
    pub now: Time,
    /// Everything below this sequence number (packets) has arrived.
    pub ack: u32,
    /// The next sequence number the sender will send.
    pub snd_nxt: u32,
    /// The acknowledged packet carried a congestion mark.
    pub ecn: bool,
    /// Switches on the way of the flow's packets; 0 over TCP, which is not told.
    pub switches: u8,
    /// Telemetry of the acknowledged packet: one INT record per switch, or the single word of [`Telemetry::Pint`] and
    /// [`Telemetry::SendTime`].
    pub int: &'a [IntHop],
}

impl Ack<'_> {
    /// Time from handing the acknowledged packet to the wire to the arrival of this; for [`Telemetry::SendTime`].
    pub fn rtt(&self) -> Option<Duration> {
        self.int.first().map(|word| Duration(self.now.0.saturating_sub(word.0)))
    }

    /// The utilisation as a power; for [`Telemetry::Pint`].
    pub fn power(&self) -> Option<u16> {
        self.int.first().map(|word| word.0 as u16)
    }
}

/// A byte stream begins (TCP): the handshake is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamStart {
    /// When.
    pub now: Time,
    /// Initial window, bytes.
    pub cwnd: u64,
    /// Slow-start threshold taken from earlier connections, bytes.
    pub ssthresh: Option<u64>,
}

/// What timing one segment has told, as FreeBSD times them if [`Params::marks_segments`]. Timestamps tell less: theirs is the
/// round-trip time of the first of several segments that one ACK covers (RFC 7323, section 4.3), which may have left long before the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Bytes sent since it left, itself included.
    pub sent: u64,
    /// Its round-trip time, in whole ticks.
    pub rtt: Duration,
    /// That of the one after it if the same ACK covers it, else `rtt`: without what the first one waited for the second. As FreeBSD times: the
    /// lowest so far.
    pub lowest: Duration,
    /// Tick of the stack's clock.
    pub tick: Duration,
}

/// Progress of a byte stream (TCP) as a controller sees it: bytes newly acknowledged, outside of loss recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamAck {
    /// When the ACK arrived.
    pub now: Time,
    /// Bytes it acknowledges for the first time.
    pub bytes: u64,
    /// Everything below this position has arrived.
    pub una: u64,
    /// Once per round trip, when the ACK covers the segment that was timed.
    pub timed: Option<Timing>,
    /// A round-trip time measured with this ACK.
    pub rtt: Option<Duration>,
    /// The smoothed round-trip time; 0 before the first sample.
    pub srtt: Duration,
    /// It echoes a mark; in FreeBSD, one was answered in this window of data.
    pub marked: bool,
    /// The window may grow: it is what limits the sender (by the stack's rule), and not `marked`.
    pub may_grow: bool,
    /// What a timeout gave up is still being sent again.
    pub resending: bool,
}

/// A loss as a controller sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// The receiver reported a gap.
    Nack,
    /// Duplicate acknowledgements, or as much selectively acknowledged (TCP's fast retransmit).
    DupAcks,
    /// The retransmission timer ran out.
    Timeout,
}

/// What a flow may do now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of payload that may be in flight, 1 to [`FlowContext::window`]; `u64::MAX` where that is 0: no window. Over RDMA a packet may go
    /// while less than this is in flight, so that 1.5 packets let two go, and 1 byte one at a time: slower than that only a rate makes it.
    pub cwnd: u64,
    /// Pacing rate, bit/s of frames without what the wire adds between them, up to [`FlowContext::line_rate`]. A controller of windows
    /// answers the line rate.
    pub rate: u64,
}

/// A congestion controller.
pub trait CongestionControl {
    /// An ACK or NACK arrived (over TCP: a reflected probe, numbered instead of counted in packets). Ticks due before have
    /// been run.
    fn on_ack(&mut self, _ctx: &FlowContext, _ack: &Ack<'_>) {}
    /// Whether [`on_ack`](Self::on_ack) would set a rate now and thereby look at when the next packet may go; asked only by the
    /// reference simulator's NIC (`paceline hpcc`).
    fn sets_rate(&self, _ctx: &FlowContext, _ack: &Ack<'_>) -> bool {
        false
    }
    /// A loss was found, with `flight` bytes in flight (none over RDMA, which has gone back by then). Most RDMA controllers
    /// leave this to the transport. Over TCP: once per recovery, and at every timeout.
    fn on_loss(&mut self, _ctx: &FlowContext, _now: Time, _loss: Loss, _flight: u64) {}
    /// TCP: the stream begins.
    fn start_stream(&mut self, _ctx: &FlowContext, _start: StreamStart) {}
    /// TCP: new bytes were acknowledged, outside of loss recovery.
    fn on_stream_ack(&mut self, _ctx: &FlowContext, _ack: &StreamAck) {}
    /// TCP: the receiver echoed a congestion mark; once per window of data (RFC 3168).
    fn on_ecn(&mut self, _ctx: &FlowContext, _now: Time, _flight: u64) {}
    /// TCP: all that was in flight at the loss is acknowledged. The window should not exceed `limit` bytes, so that no burst
    /// follows (RFC 6582, section 3.2, step 3).
    fn on_recovered(&mut self, _ctx: &FlowContext, _now: Time, _limit: u64) {}
    /// TCP: nothing was sent for so long that the window means nothing; at most `limit` bytes (RFC 5681, section 4.1).
    fn on_idle(&mut self, _ctx: &FlowContext, _limit: u64) {}
    /// TCP: the last timeout was a mistake.
    fn undo_timeout(&mut self) {}
    /// TCP: the slow-start threshold, bytes; `u64::MAX` for none.
    fn ssthresh(&self) -> u64 {
        u64::MAX
    }
    /// What the flow may do, as of the last thing it was told.
    fn limits(&self, ctx: &FlowContext) -> Limits;
    /// When its periodic timers run out next. Only with [`Profile::ticks`].
    fn timers(&self) -> [Time; TIMERS] {
        [Time::NEVER; TIMERS]
    }
    /// A timer runs out: the way to run ticks as events, in an order the caller decides.
    fn on_timer(&mut self, _ctx: &FlowContext, _timer: usize, _now: Time) {}
    /// Runs every tick due by `now`, in order: the way to run ticks without events.
    fn catch_up(&mut self, _ctx: &FlowContext, _now: Time) {}
    /// The stream goes on as a new flow from packet `seq` on, nothing of it being in flight (`host.idle_restart`): a controller that counts
    /// acknowledged packets counts from there.
    fn begin_at(&mut self, _seq: u32) {}
    /// The packets acknowledged from here on took another path: what is known of single hops no longer holds.
    fn on_new_path(&mut self) {}
    /// Which settings have moved something so far, where that depends on the run: bits that the controller names.
    fn used(&self) -> u8 {
        0
    }
}

/// Declares [`Controller`] and `dispatch!`, which calls the controller behind it. `$d` is a dollar sign: what `dispatch!` repeats.
macro_rules! states {
    ($d:tt $($(#[doc = $doc:literal])+ $kind:ident($state:ty),)+) => {
        /// The controllers, dispatched statically.
        #[derive(Clone, Debug)]
        pub enum Controller {
            $($(#[doc = $doc])+ $kind($state),)+
        }

        macro_rules! dispatch {
            ($d self:ident, $d c:ident => $d call:expr) => {
                match $d self {
                    $(Controller::$kind($d c) => $d call,)+
                }
            };
        }
    };
}

states! { $
    /// Fixed window and rate.
    Fixed(fixed::Fixed),
    /// HPCC with INT.
    Hpcc(hpcc::Hpcc),
    /// HPCC with INT and a rate per hop.
    HpccMultiRate(Box<hpcc_multi_rate::HpccMultiRate>),
    /// HPCC with PINT.
    HpccPint(hpcc_pint::HpccPint),
    /// DCQCN.
    Dcqcn(dcqcn::Dcqcn),
    /// TIMELY.
    Timely(timely::Timely),
    /// DCTCP.
    Dctcp(dctcp::Dctcp),
    /// `NewReno`.
    NewReno(new_reno::NewReno),
    /// CUBIC; apart, since it would make every flow larger.
    Cubic(Box<cubic::Cubic>),
    /// That of FreeBSD.
    CubicFreebsd(Box<cubic_freebsd::CubicFreebsd>),
    /// Vegas.
    Vegas(vegas::Vegas),
}

impl Controller {
    /// The rate it asks for, whatever the flow is paced at.
    pub fn own_rate(&self, ctx: &FlowContext) -> u64 {
        dispatch!(self, c => c.limits(ctx)).rate
    }

    /// A fresh controller for a flow.
    pub fn new(ctx: &FlowContext) -> Self {
        match &ctx.params {
            Params::Fixed(p) => Controller::Fixed(fixed::Fixed::new(ctx, p)),
            Params::Hpcc(p) if p.multi_rate => {
                Controller::HpccMultiRate(Box::new(hpcc_multi_rate::HpccMultiRate::new(ctx)))
            }
            Params::Hpcc(_) => Controller::Hpcc(hpcc::Hpcc::new(ctx)),
            Params::HpccPint(_) => Controller::HpccPint(hpcc_pint::HpccPint::new(ctx)),
            Params::Dcqcn(_) => Controller::Dcqcn(dcqcn::Dcqcn::new(ctx)),
            Params::Timely(_) => Controller::Timely(timely::Timely::new(ctx)),
            Params::Dctcp(_) => Controller::Dctcp(dctcp::Dctcp::new(ctx)),
            Params::NewReno(_) => Controller::NewReno(new_reno::NewReno::new(ctx)),
            Params::Cubic(p) if p.form != cubic::Form::Rfc9438 => {
                Controller::CubicFreebsd(Box::new(cubic_freebsd::CubicFreebsd::new(ctx)))
            }
            Params::Cubic(_) => Controller::Cubic(Box::new(cubic::Cubic::new(ctx))),
            Params::Vegas(_) => Controller::Vegas(vegas::Vegas::new(ctx)),
        }
    }
}

impl CongestionControl for Controller {
    #[inline]
    fn on_ack(&mut self, ctx: &FlowContext, ack: &Ack<'_>) {
        dispatch!(self, c => c.on_ack(ctx, ack));
    }

    fn sets_rate(&self, ctx: &FlowContext, ack: &Ack<'_>) -> bool {
        dispatch!(self, c => c.sets_rate(ctx, ack))
    }

    fn on_loss(&mut self, ctx: &FlowContext, now: Time, loss: Loss, flight: u64) {
        dispatch!(self, c => c.on_loss(ctx, now, loss, flight));
    }

    fn start_stream(&mut self, ctx: &FlowContext, start: StreamStart) {
        dispatch!(self, c => c.start_stream(ctx, start));
    }

    #[inline]
    fn on_stream_ack(&mut self, ctx: &FlowContext, ack: &StreamAck) {
        dispatch!(self, c => c.on_stream_ack(ctx, ack));
    }

    fn on_ecn(&mut self, ctx: &FlowContext, now: Time, flight: u64) {
        dispatch!(self, c => c.on_ecn(ctx, now, flight));
    }

    fn on_recovered(&mut self, ctx: &FlowContext, now: Time, limit: u64) {
        dispatch!(self, c => c.on_recovered(ctx, now, limit));
    }

    fn on_idle(&mut self, ctx: &FlowContext, limit: u64) {
        dispatch!(self, c => c.on_idle(ctx, limit));
    }

    fn undo_timeout(&mut self) {
        dispatch!(self, c => c.undo_timeout());
    }

    fn ssthresh(&self) -> u64 {
        dispatch!(self, c => c.ssthresh())
    }

    // Always: asked after every ACK, and with this many controllers no longer inlined by itself.
    #[inline(always)]
    fn limits(&self, ctx: &FlowContext) -> Limits {
        let limits = dispatch!(self, c => c.limits(ctx));
        if ctx.paced { limits } else { Limits { rate: ctx.line_rate, ..limits } }
    }

    fn timers(&self) -> [Time; TIMERS] {
        dispatch!(self, c => c.timers())
    }

    fn on_timer(&mut self, ctx: &FlowContext, timer: usize, now: Time) {
        dispatch!(self, c => c.on_timer(ctx, timer, now));
    }

    fn catch_up(&mut self, ctx: &FlowContext, now: Time) {
        dispatch!(self, c => c.catch_up(ctx, now));
    }

    fn begin_at(&mut self, seq: u32) {
        dispatch!(self, c => c.begin_at(seq));
    }

    fn on_new_path(&mut self) {
        dispatch!(self, c => c.on_new_path());
    }

    fn used(&self) -> u8 {
        dispatch!(self, c => c.used())
    }
}

/// A count below 2^63 as a double: one instruction, where the conversion of the full unsigned range takes eight.
#[inline(always)]
pub(crate) fn float(count: u64) -> f64 {
    count as i64 as f64
}

/// The whole part of a number from 0 up; what is 2^63 or more counts as one less than that. The conversion to the full unsigned
/// range takes three times as many instructions.
#[inline(always)]
pub(crate) fn whole(number: f64) -> u64 {
    number as i64 as u64
}

/// The window that goes with a rate: `window * rate / line_rate`, at least one byte; `u64::MAX` when there is no window.
#[inline(always)]
pub(crate) fn scaled_window(ctx: &FlowContext, rate: u64, variable: bool) -> u64 {
    if ctx.window == 0 || !variable {
        return if ctx.window == 0 { u64::MAX } else { ctx.window };
    }
    // Most flows are at line rate most of the time. That is what the branch predictor learns, so that what follows need not wait for the rate.
    if rate == ctx.line_rate {
        return ctx.window;
    }
    let scaled = match ctx.window.checked_mul(rate) {
        Some(product) => product / ctx.line_rate,
        None => divided_product(ctx, rate),
    };
    scaled.max(1)
}

/// `window * rate / line_rate` where the product needs more than 64 bits. The reference simulator lets it wrap around.
#[cold]
#[inline(never)]
fn divided_product(ctx: &FlowContext, rate: u64) -> u64 {
    if ctx.believes_records() {
        return ctx.window.wrapping_mul(rate) / ctx.line_rate;
    }
    (u128::from(ctx.window) * u128::from(rate) / u128::from(ctx.line_rate)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `W R / line rate`, truncated, at least one byte (hpcc-ns3 facts, section 4.5), also where the product needs more
    /// than 64 bits: 2^40 * 10^13 / 10^13.
    #[test]
    fn windows_follow_rates() {
        let ctx = |window, line_rate| FlowContext {
            line_rate,
            window,
            ..testing::context(Params::Fixed(fixed::Params::default()))
        };
        let gbps = 1_000_000_000;
        // 153,000 * 0.13607968750 = 20,820.19.
        assert_eq!(scaled_window(&ctx(153_000, 100 * gbps), 13_607_968_750, true), 20_820);
        assert_eq!(scaled_window(&ctx(153_000, 100 * gbps), 13_607_968_750, false), 153_000);
        assert_eq!(scaled_window(&ctx(0, 100 * gbps), gbps, true), u64::MAX);
        assert_eq!(scaled_window(&ctx(5, 100 * gbps), gbps, true), 1);
        assert_eq!(scaled_window(&ctx(1 << 40, 10_000 * gbps), 10_000 * gbps, true), 1 << 40);
        assert_eq!(scaled_window(&ctx(1 << 40, 10_000 * gbps), 5_000 * gbps, true), 1 << 39);
    }
}

/// What the controllers' tests share: one NIC of 100 Gb/s in the HPCC paper's network.
#[cfg(test)]
pub(crate) mod testing {
    use super::hpcc_pint;
    use super::{Ack, FlowContext, Params};
    use crate::units::Time;

    pub(crate) fn context(params: Params) -> FlowContext {
        FlowContext {
            line_rate: 100_000_000_000,
            base_rtt_ns: 12_240,
            window: 153_000,
            mtu: 1000,
            rates: [100e9, 400e9, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            int_multiple: 4,
            utilisations: hpcc_pint::utilisations(&params),
            record_life: 58,
            paced: true,
            params,
        }
    }

    pub(crate) fn ack(ack: u32, snd_nxt: u32, ecn: bool) -> Ack<'static> {
        Ack { now: Time(0), ack, snd_nxt, ecn, switches: 5, int: &[] }
    }
}
