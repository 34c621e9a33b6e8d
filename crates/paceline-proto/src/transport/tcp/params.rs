//! Settings of a TCP stack, each with unit, range, default and source.
//!
//! [`Params::rfc`] is a present-day stack by the RFCs, [`Params::freebsd`] the FreeBSD of 2010/11 with the settings of the
//! `HotI` 2011 study (stock values in the comments), [`Params::user_space`] the storage stack of the buffer-sizing study.
//!
//! *Deviations from FreeBSD:* a timeout halves the controller's window. The kernel takes the smaller of that window, inflated by duplicate ACKs
//! where there was a fast recovery, and the peer's. An idle time begins with what was sent last; there with what was received last
//! (`t_rcvtime`). Entries of the cache are kept for good; there for an hour.

use crate::units::Duration;

/// Retransmission timeout and clock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rto {
    /// Timeout before any sample, above 0. RFC 6298, section 2.1: 1 s; FreeBSD's base: 3 s, 10 ms in the study.
    pub initial: Duration,
    /// Lowest `SRTT + 4 RTTVAR`, 0 and up. RFC 6298, section 2.4: 1 s; FreeBSD: 30 ms, 2 ms in the study; Linux: 200 ms.
    pub min: Duration,
    /// Highest timeout, at least `min`. RFC 6298, section 2.5: 60 s or more; FreeBSD: 64 s.
    pub max: Duration,
    /// Added to every timeout after the back-off. RFC: none; FreeBSD: 200 ms, 20 ms in the study.
    pub slop: Duration,
    /// Tick of the stack's clock (RFC 6298's G): samples are whole ticks, timers run on ticks. Above 0. FreeBSD: 1 ms, 1 us in
    /// the study.
    pub quantum: Duration,
    /// Repetitions of a SYN before its timeout doubles. RFC 6298: 0; FreeBSD: 4.
    pub syn_flat: u8,
    /// Doublings of a timeout at most: of data, of a SYN. RFC 6298: no bound but `max`; FreeBSD: 9 and 6.
    pub doublings: u8,
    /// See `doublings`.
    pub syn_doublings: u8,
    /// Timeout when data begin after a repeated SYN. RFC 6298, section 5.7: 3 s.
    pub after_lost_syn: Duration,
    /// Timeouts in a row after which the average is forgotten; 0 for never. FreeBSD: 3.
    pub forget_after: u32,
    /// Timeouts in a row after which the connection fails, 1 to 255. FreeBSD: 12.
    pub tries: u8,
    /// Shortest and longest wait between probes of a closed window. FreeBSD: 5 s and 60 s; RFC 9293: from one RTO on.
    pub persist_min: Duration,
    /// See `persist_min`.
    pub persist_max: Duration,
}

impl Rto {
    /// RFC 6298.
    pub fn rfc() -> Self {
        Self {
            initial: Duration::from_us(1_000_000),
            min: Duration::from_us(1_000_000),
            max: Duration::from_us(60_000_000),
            slop: Duration(0),
            quantum: Duration::from_us(1),
            syn_flat: 0,
            doublings: u8::MAX,
            syn_doublings: u8::MAX,
            after_lost_syn: Duration::from_us(3_000_000),
            forget_after: 0,
            tries: 15,
            persist_min: Duration::from_us(1_000),
            persist_max: Duration::from_us(60_000_000),
        }
    }

    /// FreeBSD with the study's values.
    pub fn freebsd() -> Self {
        Self {
            initial: Duration::from_us(10_000),
            min: Duration::from_us(2_000),
            max: Duration::from_us(64_000_000),
            slop: Duration::from_us(20_000),
            quantum: Duration::from_us(1),
            syn_flat: 4,
            doublings: 9,
            syn_doublings: 6,
            after_lost_syn: Duration::from_us(30_000),
            forget_after: 3,
            tries: 12,
            persist_min: Duration::from_us(5_000_000),
            persist_max: Duration::from_us(60_000_000),
        }
    }
}

/// When a receiver acknowledges (RFC 5681, section 4.2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DelayedAck {
    /// Segments in order per acknowledgement, 1 (none is held back) and up. RFC 5681: 2; the storage stack: 5 to 10.
    pub segments: u32,
    /// How long one may be held back. RFC 1122: below 500 ms; FreeBSD: 100 ms, 10 ms with the study's short timeouts.
    pub timer: Duration,
    /// The end of a message is acknowledged at once.
    pub push: bool,
}

/// The window a connection starts with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InitialWindow {
    /// `min(4 MSS, max(2 MSS, 4380))` bytes (RFC 3390).
    Rfc3390,
    /// So many segments, 1 and up (RFC 6928: 10).
    Segments(u32),
}

impl InitialWindow {
    /// In bytes.
    pub fn bytes(self, mss: u32) -> u64 {
        let mss = u64::from(mss);
        match self {
            InitialWindow::Rfc3390 => (4 * mss).min((2 * mss).max(4380)),
            InitialWindow::Segments(n) => u64::from(n.max(1)) * mss,
        }
    }
}

/// A socket buffer that grows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Buffer {
    /// Bytes at first, at least one segment.
    pub initial: u64,
    /// Bytes at most, below 2^30 (RFC 7323, section 2.3). FreeBSD: 256 KiB in both studies.
    pub max: u64,
    /// Bytes per growth step, at most one a round trip; that of receiving is measured by timestamps, and without them the buffer
    /// stays. FreeBSD: 16 KiB for receiving, 8 KiB for sending.
    pub step: u64,
}

/// How data leave between one ACK and the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pacing {
    /// At once, as far as window and NIC let them.
    Off,
    /// At the controller's rate.
    Rate,
    /// At a share of `cwnd / SRTT`, in percent. Linux: 200 up to half of ssthresh, 120 after.
    Window {
        /// Percent up to half of ssthresh, 100 and up.
        slow_start: u32,
        /// Percent from there on, 100 and up.
        avoidance: u32,
    },
}

/// What a new connection takes from the last ones to the same host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InheritCwnd {
    /// No window (FreeBSD as shipped): only round-trip time and ssthresh.
    Off,
    /// Half of it.
    Half,
    /// All of it.
    Full,
}

/// A TCP stack. What differs per controller (growth, reductions) is in the controller's parameters; the maximum segment
/// size is the flow context's `mtu`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Params {
    /// Retransmission timeout and clock.
    pub rto: Rto,
    /// When a receiver acknowledges.
    pub delayed_ack: DelayedAck,
    /// Window at first. RFC 6928: 10 segments; 2011: RFC 3390.
    pub initial_window: InitialWindow,
    /// Window never below, segments, 1 and up. For controllers that could ask for less than a message: 3 (one 4 KB query) for
    /// HPCC over TCP.
    pub min_window: u32,
    /// Selective acknowledgements (RFC 2018, RFC 6675). Off in both studies (inferred).
    pub sack: bool,
    /// With SACK, proportional rate reduction (RFC 9937): data leave a recovery evenly. Linux: since 3.2.
    pub prr: bool,
    /// Timestamps (RFC 7323): a sample per ACK instead of one segment timed per round trip (RFC 6298, section 3).
    pub timestamps: bool,
    /// ECN (RFC 3168).
    pub ecn: bool,
    /// SYNs sent again that still ask for ECN. FreeBSD: 1.
    pub ecn_syn_retries: u8,
    /// Marks are answered as by FreeBSD without SACK. A reduction moves `NewReno`'s "recover", so that losses of the same window wait
    /// for the timer; by RFC 6582 only losses and timeouts move it. The window stays as it is until that window of data is
    /// acknowledged. A timeout is told to nobody, and an echo that goes on after it reduces once more; by RFC 3168 a window of data
    /// reduces once. CWR leaves with the next segment, whatever it is; by RFC 3168 with new data.
    pub freebsd_ecn: bool,
    /// Duplicate ACKs that mean a loss, 1 and up. RFC 5681: 3.
    pub dup_thresh: u32,
    /// New segments for the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// `NewReno`'s retransmission timer restarts at the first partial ACK only ("impatient", RFC 6582, section 4), not at each.
    pub impatient: bool,
    /// `NewReno`'s fast recovery as in FreeBSD: what limited transmit has sent is taken off the first three segments of inflation, and
    /// where everything is acknowledged at its end one segment is left of the window (RFC 6582, section 3.2: two).
    pub freebsd_recovery: bool,
    /// A fast retransmission restarts the timer (RFC 6675, section 6; FreeBSD).
    pub rearm_on_retransmit: bool,
    /// SACK's rescue retransmission (RFC 6675, `NextSeg` rule 4).
    pub rescue: bool,
    /// A first timeout is undone when its ACK comes within half an SRTT (FreeBSD).
    pub undo_early_ack: bool,
    /// After an RTO without sending start again from the initial window (RFC 5681, section 4.1).
    pub idle_restart: bool,
    /// Idle is who has received nothing for an RTO, not who has sent nothing (FreeBSD of 2011): an answer goes in the whole window
    /// however long ago the last one was, since the question has just come.
    pub idle_by_receipt: bool,
    /// The window grows only while it is what limits the sender: not when the application has nothing more to send, or a buffer is smaller
    /// (RFC 9438, section 5.8; RFC 7661; Linux). Without, FreeBSD's rule: while it is not above the peer's.
    pub grow_used: bool,
    /// Small segments wait while data are unacknowledged (Nagle, RFC 9293, section 3.7.4).
    pub nagle: bool,
    /// Segments a sender likes to release at a time (segmentation offload), 1 and up: it waits for window for so many, unless
    /// a third of the window or all data can go. Linux: up to 45.
    pub burst: u32,
    /// Pacing.
    pub pacing: Pacing,
    /// Sending socket buffer: what may be unacknowledged.
    pub send_buffer: Buffer,
    /// Receiving socket buffer: what is announced as window.
    pub receive_buffer: Buffer,
    /// The application takes data as they arrive. Without, it calls `read`.
    pub auto_read: bool,
    /// Segments kept above a gap, 0 and up; more are dropped. So many ranges at most a sender has to remember as selectively
    /// acknowledged. FreeBSD: 200 in the study.
    pub reassembly_limit: u32,
    /// One telemetry probe per round trip, given up after this; `None` for none. HPCC over TCP: 2 base RTTs.
    pub probe: Option<Duration>,
    /// How long the end that closed first answers repeated FINs. Chosen here: RFC 9293's two maximum segment lifetimes
    /// (minutes) would only hold memory here.
    pub time_wait: Duration,
    /// A connection takes over what earlier ones to the same host have learnt: round-trip time, ssthresh, and `inherit_cwnd`. FreeBSD:
    /// on. The RFCs know no such thing (RFC 5681, section 3.1: ssthresh arbitrarily high at first).
    pub host_cache: bool,
    /// What of the window a connection inherits through the cache. The study: half (inferred).
    pub inherit_cwnd: InheritCwnd,
}

impl Params {
    /// By the RFCs in force.
    pub fn rfc() -> Self {
        Self {
            rto: Rto::rfc(),
            delayed_ack: DelayedAck { segments: 2, timer: Duration::from_us(40_000), push: false },
            initial_window: InitialWindow::Segments(10),
            min_window: 1,
            sack: true,
            prr: true,
            timestamps: true,
            ecn: false,
            ecn_syn_retries: 1,
            freebsd_ecn: false,
            dup_thresh: 3,
            limited_transmit: true,
            impatient: true,
            freebsd_recovery: false,
            rearm_on_retransmit: false,
            rescue: true,
            undo_early_ack: false,
            idle_restart: true,
            idle_by_receipt: false,
            grow_used: true,
            nagle: false,
            burst: 1,
            pacing: Pacing::Off,
            send_buffer: Buffer { initial: 4 << 20, max: 4 << 20, step: 8 << 10 },
            receive_buffer: Buffer { initial: 4 << 20, max: 4 << 20, step: 16 << 10 },
            auto_read: true,
            reassembly_limit: 10_000,
            probe: None,
            time_wait: Duration::from_us(1_000_000),
            host_cache: false,
            inherit_cwnd: InheritCwnd::Off,
        }
    }

    /// FreeBSD of 2010/11 with the `HotI` 2011 study's settings.
    pub fn freebsd() -> Self {
        Self {
            rto: Rto::freebsd(),
            delayed_ack: DelayedAck { segments: 2, timer: Duration::from_us(10_000), push: false },
            initial_window: InitialWindow::Rfc3390,
            sack: false,
            prr: false,
            freebsd_ecn: true,
            impatient: false,
            freebsd_recovery: true,
            idle_by_receipt: true,
            rearm_on_retransmit: true,
            undo_early_ack: true,
            grow_used: false,
            send_buffer: Buffer { initial: 128 << 10, max: 256 << 10, step: 8 << 10 },
            receive_buffer: Buffer { initial: 128 << 10, max: 256 << 10, step: 16 << 10 },
            reassembly_limit: 200,
            host_cache: true,
            inherit_cwnd: InheritCwnd::Half,
            ..Self::rfc()
        }
    }

    /// The user-space stack of the buffer-sizing study: `NewReno` or HPCC, ACKs per eight segments, message or 50 us.
    pub fn user_space() -> Self {
        Self {
            rto: Rto {
                initial: Duration::from_us(10_000),
                min: Duration::from_us(2_000),
                after_lost_syn: Duration::from_us(10_000),
                ..Rto::rfc()
            },
            delayed_ack: DelayedAck { segments: 8, timer: Duration::from_us(50), push: true },
            sack: false,
            prr: false,
            ..Self::rfc()
        }
    }
}
