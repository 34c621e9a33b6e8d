//! `[host.tcp]`: the stack of hosts whose schemes are TCP's.

use paceline_proto::transport::tcp;
use paceline_proto::units::{Bytes, Duration};

use super::declare::section;
use super::value::{choice, either};

choice! {
    /// A stack to start from; it also decides what has no field of its own.
    pub enum Stack {
        /// The RFCs in force.
        Rfc = "rfc",
        /// FreeBSD of 2010/11 as set in the converged-Ethernet study: no SACK, short timers, impatient recovery off.
        Freebsd = "freebsd",
        /// A storage system's stack in user space, as in the buffer-sizing study.
        UserSpace = "user_space",
    }
}

either! {
    /// Window at first.
    pub enum FirstWindow {
        /// Two to four segments.
        Rfc3390 = "rfc3390",
        ;
        /// So many segments.
        Segments(u32),
    }
}

choice! {
    /// How data leave between one ACK and the next.
    pub enum TcpPacing {
        /// At once, as far as the window lets them.
        Off = "off",
        /// At the controller's rate: with HPCC the window per base RTT, elsewhere that of the NIC.
        Rate = "rate",
        /// At 200 % of window over round-trip time up to half of ssthresh, at 120 % from there on.
        Window = "window",
    }
}

choice! {
    /// What a connection takes over from earlier ones to the same host.
    pub enum Inherit {
        /// No window.
        Off = "off",
        /// Half of the window.
        Half = "half",
        /// The window.
        Full = "full",
    }
}

section! {
    /// That of every host: for schemes with `cc = "new_reno"`, `"cubic"`, `"vegas"` or `"hpcc_tcp"`. Options take no bytes on the
    /// wire: with Ethernet's framing goodput is 1460/1538 of the link, with the 12 B of timestamps 1448/1538: `framing.payload =
    /// "1448B"`, `framing.header = "70B"`.
    pub struct Tcp {
        /// The stack that gives the defaults below.
        stack: Stack = "rfc", from "Paceline";
        /// Timeout before there is any sample of the round-trip time.
        rto_initial: Duration => stack { "rfc" => "1s", "freebsd" => "10ms", "user_space" => "10ms" }, in "[1us, 100s]", from "RFC 6298, sec. 2.1; converged-Ethernet study";
        /// Shortest timeout.
        rto_min: Duration => stack { "rfc" => "1s", "freebsd" => "2ms", "user_space" => "2ms" }, in "[0s, 100s]", from "RFC 6298, sec. 2.4; converged-Ethernet study; Linux: 200 ms";
        /// Longest timeout.
        rto_max: Duration => stack { "rfc" => "60s", "freebsd" => "64s", "user_space" => "60s" }, in "[1us, 1000s]", from "RFC 6298, sec. 2.5; FreeBSD";
        /// Added to every timeout.
        rto_slop: Duration => stack { "rfc" => "0s", "freebsd" => "20ms", "user_space" => "0s" }, in "[0s, 100s]", from "FreeBSD: 200 ms, 20 ms in the study";
        /// Tick of the stack's clock.
        clock: Duration = "1us", in "[1ns, 1s]", from "FreeBSD: 1 ms, 1 us in the study";
        /// Timeouts in a row at which a segment is sent again; at the next a flow is given up.
        tries: u32 => stack { "rfc" => 15, "freebsd" => 12, "user_space" => 15 }, in "[1, 255]", from "FreeBSD: 12; Linux: 15";
        /// Segments in order for one ACK.
        ack_segments: u32 => stack { "rfc" => 2, "freebsd" => 2, "user_space" => 8 }, in "[1, 1000]", from "RFC 5681, sec. 4.2; buffer-sizing study: 5 to 10";
        /// Longest time an ACK is held back.
        ack_delay: Duration => stack { "rfc" => "40ms", "freebsd" => "10ms", "user_space" => "50us" }, in "[0s, 1s]", from "RFC 1122; converged-Ethernet study";
        /// The end of a message is acknowledged at once.
        ack_push: bool => stack { "rfc" => false, "freebsd" => false, "user_space" => true }, from "buffer-sizing study";
        /// Window at first: a number of segments, or RFC 3390's two to four.
        initial_window: FirstWindow => stack { "rfc" => 10, "freebsd" => "rfc3390", "user_space" => 10 }, in "[1, 1000000]", from "RFC 6928: 10; RFC 3390";
        /// Segments below which the window never falls.
        min_window: u32 = 1, in "[1, 1000000]", from "Paceline";
        /// Selective acknowledgements.
        sack: bool => stack { "rfc" => true, "freebsd" => false, "user_space" => false }, from "RFC 2018, RFC 6675";
        /// Proportional rate reduction: with SACK, data leave a loss recovery evenly instead of after a silence and in a burst.
        prr: bool => stack { "rfc" => true, "freebsd" => false, "user_space" => false }, from "RFC 9937; Linux since 3.2";
        /// Timestamps: a sample of the round-trip time with every ACK.
        timestamps: bool = true, from "RFC 7323";
        /// Explicit congestion notification; switches mark where `switch.ecn` says so.
        ecn: bool = false, from "RFC 3168";
        /// New segments for the first two duplicate ACKs.
        limited_transmit: bool = true, from "RFC 3042";
        /// Duplicate ACKs that mean a loss.
        dup_thresh: u32 = 3, in "[1, 1000]", from "RFC 5681";
        /// Start again from the initial window after a timeout without sending; `stack = "freebsd"`: without receiving.
        idle_restart: bool = true, from "RFC 5681, sec. 4.1";
        /// Segments released at a time, where the window has room for them (segmentation offload).
        burst: u32 = 1, in "[1, 1000]", from "Linux: up to 45";
        /// How data leave between one ACK and the next.
        pacing: TcpPacing = "off", from "Linux: 200 and 120 %";
        /// Sending buffer: what may be unacknowledged, first and at most.
        send_buffer: Bytes => stack { "rfc" => "4MiB", "freebsd" => "128KiB", "user_space" => "4MiB" }, in "[1KB, 1000MiB]", from "FreeBSD: 128 KiB growing to 256 KiB";
        /// See `send_buffer`.
        send_buffer_max: Bytes => stack { "rfc" => "4MiB", "freebsd" => "256KiB", "user_space" => "4MiB" }, in "[1KB, 1000MiB]", from "FreeBSD";
        /// Receiving buffer, announced as window, first and at most.
        receive_buffer: Bytes => stack { "rfc" => "4MiB", "freebsd" => "128KiB", "user_space" => "4MiB" }, in "[1KB, 1000MiB]", from "FreeBSD: 128 KiB growing to 256 KiB";
        /// See `receive_buffer`.
        receive_buffer_max: Bytes => stack { "rfc" => "4MiB", "freebsd" => "256KiB", "user_space" => "4MiB" }, in "[1KB, 1000MiB]", from "FreeBSD";
        /// Segments kept above a gap.
        reassembly_limit: u32 => stack { "rfc" => 10000, "freebsd" => 200, "user_space" => 10000 }, in "[0, 1000000]", from "converged-Ethernet study: 200";
        /// A connection takes over the round-trip time and slow-start threshold that earlier ones to the same host have left, and `inherit_cwnd`.
        host_cache: bool => stack { "rfc" => false, "freebsd" => true, "user_space" => false }, from "FreeBSD's host cache; RFC 5681, sec. 3.1: none";
        /// What a connection takes over of the window of earlier ones to the same host, with `host_cache`.
        inherit_cwnd: Inherit => stack { "rfc" => "off", "freebsd" => "half", "user_space" => "off" }, from "FreeBSD's host cache";
    }
}

impl Tcp {
    /// The engine's form.
    pub fn params(&self) -> tcp::Params {
        let base = match self.stack {
            Stack::Rfc => tcp::Params::rfc(),
            Stack::Freebsd => tcp::Params::freebsd(),
            Stack::UserSpace => tcp::Params::user_space(),
        };
        let buffer = |first: Bytes, most: Bytes, like: &tcp::Buffer| tcp::Buffer {
            initial: first.0,
            max: most.0,
            step: like.step,
        };
        tcp::Params {
            rto: tcp::Rto {
                initial: self.rto_initial,
                min: self.rto_min,
                max: self.rto_max,
                slop: self.rto_slop,
                quantum: self.clock,
                tries: self.tries as u8,
                ..base.rto.clone()
            },
            delayed_ack: tcp::DelayedAck { segments: self.ack_segments, timer: self.ack_delay, push: self.ack_push },
            initial_window: match self.initial_window {
                FirstWindow::Rfc3390 => tcp::InitialWindow::Rfc3390,
                FirstWindow::Segments(n) => tcp::InitialWindow::Segments(n),
            },
            min_window: self.min_window,
            sack: self.sack,
            prr: self.prr,
            timestamps: self.timestamps,
            ecn: self.ecn,
            limited_transmit: self.limited_transmit,
            dup_thresh: self.dup_thresh,
            idle_restart: self.idle_restart,
            burst: self.burst,
            pacing: match self.pacing {
                TcpPacing::Off => tcp::Pacing::Off,
                TcpPacing::Rate => tcp::Pacing::Rate,
                TcpPacing::Window => tcp::Pacing::Window { slow_start: 200, avoidance: 120 },
            },
            send_buffer: buffer(self.send_buffer, self.send_buffer_max, &base.send_buffer),
            receive_buffer: buffer(self.receive_buffer, self.receive_buffer_max, &base.receive_buffer),
            reassembly_limit: self.reassembly_limit,
            host_cache: self.host_cache,
            inherit_cwnd: match self.inherit_cwnd {
                Inherit::Off => tcp::InheritCwnd::Off,
                Inherit::Half => tcp::InheritCwnd::Half,
                Inherit::Full => tcp::InheritCwnd::Full,
            },
            ..base
        }
    }
}
