//! Runs the packet scripts in `../scripts`; their README describes the language.

use std::collections::VecDeque;

use crate::cc::new_reno::Halving;
use crate::cc::{FlowContext, Params as Control, new_reno};
use crate::transport::tcp::segment::{ISS, expand};
use crate::transport::tcp::{Connection, Context, Flags, InitialWindow, Params, Segment, State, Timestamps};
use crate::units::{Duration, Time};

use super::flow_context;

/// Window of the scripted peer until a line says otherwise.
const PEER_WINDOW: u32 = 1 << 20;

struct Run {
    tcp: Params,
    cc: FlowContext,
    end: Connection,
    /// When the script's clock stands at zero.
    zero: Time,
    now: Time,
    sent: VecDeque<(Time, Segment)>,
    peer_ack: i64,
    peer_window: u32,
}

impl Run {
    fn drain(&mut self) {
        let cx = Context { tcp: &self.tcp, cc: &self.cc };
        while let Some(segment) = self.end.poll_transmit(cx, self.now) {
            self.sent.push_back((self.now, segment));
            assert!(self.sent.len() < 10_000, "sends without end");
        }
    }

    /// Lets time pass; what timers send goes to the list.
    fn advance(&mut self, to: Time) {
        while let Some(at) = self.end.next_timeout().filter(|at| *at <= to) {
            assert!(at > self.now || at == to, "a timer that does not move on");
            self.now = self.now.max(at);
            let cx = Context { tcp: &self.tcp, cc: &self.cc };
            self.end.on_timeout(cx, self.now);
            self.drain();
        }
        self.now = to;
    }

    fn arrive(&mut self, segment: &Segment) {
        let cx = Context { tcp: &self.tcp, cc: &self.cc };
        self.end.on_segment(cx, self.now, segment, &[]);
        self.drain();
    }

    fn ticks(&self, at: Time) -> u32 {
        Context { tcp: &self.tcp, cc: &self.cc }.ticks(at)
    }
}

fn on(value: &str) -> bool {
    match value {
        "on" => true,
        "off" => false,
        _ => panic!("on or off, not {value}"),
    }
}

fn time(text: &str) -> Duration {
    text.parse().unwrap_or_else(|e| panic!("{e}"))
}

/// The settings of a script, and a threshold to start from.
fn settings(line: &str) -> (Params, FlowContext, Option<u64>) {
    let mut p = Params { timestamps: false, prr: false, ..Params::rfc() };
    let (mut mss, mut reno, mut ssthresh) = (1000, new_reno::Params::default(), None);
    for word in line.split_whitespace() {
        let (key, v) = word.split_once('=').unwrap_or_else(|| panic!("key=value, not {word}"));
        let number = || v.parse::<u64>().unwrap_or_else(|_| panic!("a number, not {v}"));
        match key {
            "mss" => mss = number() as u32,
            "iw" => p.initial_window = InitialWindow::Segments(number() as u32),
            "abc" => reno.abc_limit = number() as u32,
            "window_in_segments" if on(v) => reno.halving = Halving::WindowInSegments,
            "ssthresh" => ssthresh = Some(number()),
            "sack" => p.sack = on(v),
            "ts" => p.timestamps = on(v),
            "ecn" => p.ecn = on(v),
            "ecn_recover" => p.freebsd_ecn = on(v),
            "limited_transmit" => p.limited_transmit = on(v),
            "freebsd_recovery" => p.freebsd_recovery = on(v),
            "idle_by_receipt" => p.idle_by_receipt = on(v),
            "rescue" => p.rescue = on(v),
            "prr" => p.prr = on(v),
            "auto_read" => p.auto_read = on(v),
            "delack" => p.delayed_ack.segments = number() as u32,
            "delack_timer" => p.delayed_ack.timer = time(v),
            "delack_push" => p.delayed_ack.push = on(v),
            "rto_initial" => p.rto.initial = time(v),
            "rto_min" => p.rto.min = time(v),
            "rto_max" => p.rto.max = time(v),
            "rto_slop" => p.rto.slop = time(v),
            "syn_flat" => p.rto.syn_flat = number() as u8,
            "persist_min" => p.rto.persist_min = time(v),
            "receive_buffer" => p.receive_buffer.initial = number(),
            "receive_buffer_max" => p.receive_buffer.max = number(),
            "reassembly_limit" => p.reassembly_limit = number() as u32,
            _ => panic!("unknown setting {key}"),
        }
    }
    (p, flow_context(mss, Control::NewReno(reno)), ssthresh)
}

/// The words of a segment, as far as they were given.
#[derive(Default, Debug)]
struct Words {
    offset: Option<i64>,
    len: u32,
    ack: Option<i64>,
    window: Option<u32>,
    flags: Flags,
    not_ect: bool,
    ts: Option<u32>,
    ecr: Option<u32>,
    echo: Option<Duration>,
    sack: Vec<(i64, i64)>,
}

fn words(text: &str) -> Words {
    let mut w = Words::default();
    let mut it = text.split_whitespace();
    while let Some(word) = it.next() {
        let mut next = || it.next().unwrap_or_else(|| panic!("a value after {word}"));
        match word {
            "data" => {
                let (offset, len) = next().split_once('+').expect("offset+length");
                (w.offset, w.len) = (Some(offset.parse().unwrap()), len.parse().unwrap());
            }
            "ack" => w.ack = Some(next().parse().unwrap()),
            "win" => w.window = Some(next().parse().unwrap()),
            "syn" => w.flags |= Flags::SYN,
            "fin" => w.flags |= Flags::FIN,
            "psh" => w.flags |= Flags::PSH,
            "ece" => w.flags |= Flags::ECE,
            "cwr" => w.flags |= Flags::CWR,
            "ect" => w.flags |= Flags::ECT,
            "nect" => w.not_ect = true,
            "ce" => w.flags |= Flags::CE,
            "ts" => w.ts = Some(next().parse().unwrap()),
            "ecr" => w.ecr = Some(next().parse().unwrap()),
            "echo" => w.echo = Some(time(next())),
            "sack" => {
                w.sack = it
                    .by_ref()
                    .map(|block| {
                        let (a, b) = block.split_once('-').expect("start-end");
                        (a.parse().unwrap(), b.parse().unwrap())
                    })
                    .collect();
            }
            _ => panic!("unknown word {word}"),
        }
    }
    w
}

fn position(offset: i64) -> u64 {
    (ISS + 1).wrapping_add(offset as u64)
}

fn offset(low: u32) -> i64 {
    expand(low, ISS + 1) as i64 - (ISS + 1) as i64
}

/// What a script says must have left, and what did, in the same words.
fn described(s: &Segment) -> String {
    let mut text = format!("data {}+{} ack {} win {}", offset(s.seq), s.len, offset(s.ack), s.window);
    let names = [(Flags::SYN, "syn"), (Flags::FIN, "fin"), (Flags::PSH, "psh"), (Flags::ECE, "ece")];
    for (flag, name) in names.into_iter().chain([(Flags::CWR, "cwr"), (Flags::ECT, "ect")]) {
        if s.flags.has(flag) {
            text.extend([" ", name]);
        }
    }
    if let Some(t) = s.timestamps {
        text.extend([" ts ", &t.value.to_string(), " ecr ", &t.echo.to_string()]);
    }
    for (a, b) in s.sack.as_slice() {
        text.extend([" sack ", &offset(*a).to_string(), "-", &offset(*b).to_string()]);
    }
    text
}

fn matches(w: &Words, s: &Segment) -> bool {
    let exact = [Flags::SYN, Flags::FIN, Flags::ECE, Flags::CWR];
    let stated = |stated: Option<i64>, found: i64| stated.is_none_or(|x| x == found);
    let sack: Vec<_> = s.sack.as_slice().iter().map(|(a, b)| (offset(*a), offset(*b))).collect();
    exact.into_iter().all(|f| w.flags.has(f) == s.flags.has(f))
        && (!w.flags.has(Flags::PSH) || s.flags.has(Flags::PSH))
        && (!w.flags.has(Flags::ECT) || s.flags.has(Flags::ECT))
        && !(w.not_ect && s.flags.has(Flags::ECT))
        && w.len == s.len
        && (w.offset.is_some() || s.len == 0)
        && stated(w.offset, offset(s.seq))
        && stated(w.ack, offset(s.ack))
        && w.window.is_none_or(|x| x == s.window)
        && w.ts.is_none_or(|x| s.timestamps.is_some_and(|t| t.value == x))
        && w.ecr.is_none_or(|x| s.timestamps.is_some_and(|t| t.echo == x))
        && w.sack == sack
}

/// Brings the end to where the script begins.
fn begin(line: &str, (tcp, cc, ssthresh): (Params, FlowContext, Option<u64>)) -> Run {
    let rtt = line.split_once("rtt=").map_or(Duration(0), |(_, t)| time(t));
    let cx = Context { tcp: &tcp, cc: &cc };
    let passive = ["accept", "listen"].iter().any(|w| line.starts_with(w));
    let mut end = if passive { Connection::listen(cx) } else { Connection::connect(cx) };
    // A threshold to start from is what the cache is for.
    end.recall(ssthresh.map(|bytes| super::super::CacheEntry {
        srtt: Duration(0),
        rttvar: Duration(0),
        ssthresh: Some(bytes),
        cwnd: 0,
    }));
    let zero = Time(0);
    let mut run = Run { tcp, cc, end, zero, now: zero, sent: VecDeque::new(), peer_ack: 0, peer_window: PEER_WINDOW };
    if line.starts_with("connect") || line.starts_with("listen") {
        run.drain();
        return run;
    }
    let (tcp, window) = (run.tcp.clone(), PEER_WINDOW);
    let permitted = Flags::SACK_PERMITTED.when(tcp.sack);
    let stamps = |value, echo| tcp.timestamps.then_some(Timestamps { value, echo });
    let syn = Segment { seq: ISS as u32, window, flags: Flags::SYN | permitted, ..Segment::default() };
    let asks = (Flags::ECE | Flags::CWR).when(tcp.ecn);
    if line.starts_with("accept") {
        run.arrive(&Segment { flags: syn.flags | asks, timestamps: stamps(1, 0), ..syn });
        run.now = Time(rtt.0);
        let (seq, ack) = (position(0) as u32, position(0) as u32);
        let timestamps = stamps(1, run.ticks(Time(0)));
        run.arrive(&Segment { seq, ack, window, flags: Flags::ACK, timestamps, ..Segment::default() });
    } else {
        run.drain();
        run.now = Time(rtt.0);
        let flags = syn.flags | Flags::ACK | Flags::ECE.when(tcp.ecn);
        let timestamps = stamps(1, run.ticks(Time(0)));
        run.arrive(&Segment { ack: position(0) as u32, flags, timestamps, ..syn });
    }
    assert_eq!(run.end.state(), State::Open, "{line}");
    assert_eq!(run.sent.len(), if line.starts_with("accept") { 1 } else { 2 }, "the handshake's own segments");
    run.sent.clear();
    run.zero = run.now;
    run
}

fn play(name: &str, text: &str) {
    let (mut settings_line, mut run) = ("", None::<Run>);
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        let place = format!("{name}:{}: {line}", number + 1);
        if let Some(rest) = line.strip_prefix("params") {
            settings_line = rest;
        } else if ["open", "accept", "connect", "listen"].iter().any(|w| line.starts_with(w)) {
            run = Some(begin(line, settings(settings_line)));
        } else if !line.is_empty() {
            step(
                run.as_mut().unwrap_or_else(|| panic!("{place}: no open, accept, connect or listen before")),
                line,
                &place,
            );
        }
    }
    let run = run.unwrap_or_else(|| panic!("{name}: empty"));
    assert!(run.sent.is_empty(), "{name}: left at the end: {}", described(&run.sent[0].1));
}

fn step(run: &mut Run, line: &str, place: &str) {
    let (at, rest) = line.split_once(' ').unwrap_or_else(|| panic!("{place}: time and statement"));
    let (verb, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let at = run.zero + time(at);
    assert!(at >= run.now, "{place}: time goes back");
    run.advance(at);
    if verb == "send" {
        let (left_at, segment) = run.sent.pop_front().unwrap_or_else(|| panic!("{place}\nnothing left"));
        let found = format!("at {} {}", Duration(left_at.0 - run.zero.0), described(&segment));
        assert!(left_at == at && matches(&words(rest), &segment), "{place}\nfound: {found}");
        return;
    }
    if !["cwnd", "ssthresh", "rto", "flight", "state"].contains(&verb)
        && let Some((left_at, segment)) = run.sent.front()
    {
        panic!("{place}\nnot expected: at {} {}", Duration(left_at.0 - run.zero.0), described(segment));
    }
    let number = || rest.parse::<u64>().unwrap_or_else(|_| panic!("{place}: a number"));
    let cx = Context { tcp: &run.tcp, cc: &run.cc };
    match verb {
        "idle" => {}
        "write" => run.end.write(number()),
        "read" => run.end.read(cx, number()),
        "close" => run.end.close(),
        "recv" => {
            let segment = received(run, &words(rest));
            run.arrive(&segment);
        }
        "cwnd" => assert_eq!(run.end.cwnd(), number(), "{place}"),
        "ssthresh" => assert_eq!(run.end.ssthresh(), number(), "{place}"),
        "rto" => assert_eq!(run.end.rto(cx), time(rest), "{place}"),
        "flight" => assert_eq!(run.end.in_flight(), number(), "{place}"),
        "state" => {
            let state = match rest {
                "time_wait" => State::TimeWait,
                "closed" => State::Closed,
                _ => panic!("{place}: unknown state"),
            };
            assert_eq!(run.end.state(), state, "{place}");
        }
        _ => panic!("{place}: unknown statement"),
    }
    run.drain();
}

fn received(run: &mut Run, w: &Words) -> Segment {
    run.peer_ack = w.ack.unwrap_or(run.peer_ack);
    run.peer_window = w.window.unwrap_or(run.peer_window);
    let echo = w.echo.map(|t| run.ticks(run.zero + t)).or(w.ecr);
    // A SYN to an end that waits for one acknowledges nothing yet.
    let opens = w.flags.has(Flags::SYN) && matches!(run.end.state(), State::Listen | State::SynReceived);
    let mut segment = Segment {
        seq: position(w.offset.unwrap_or(0)) as u32,
        len: w.len,
        ack: position(run.peer_ack) as u32,
        window: run.peer_window,
        flags: w.flags | Flags::ACK.when(!opens),
        timestamps: (w.ts.is_some() || echo.is_some())
            .then(|| Timestamps { value: w.ts.unwrap_or(1), echo: echo.unwrap_or(0) }),
        ..Segment::default()
    };
    for (a, b) in &w.sack {
        segment.sack.push(position(*a), position(*b));
    }
    segment
}

macro_rules! scripts {
    ($($name:ident),* $(,)?) => {$(
        #[test]
        fn $name() {
            play(stringify!($name), include_str!(concat!("../scripts/", stringify!($name), ".txt")));
        }
    )*
        /// A script that no test runs proves nothing.
        #[test]
        fn every_script_is_run() {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/transport/tcp/scripts");
            let mut found: Vec<String> = std::fs::read_dir(folder)
                .unwrap()
                .filter_map(|f| f.unwrap().file_name().into_string().unwrap().strip_suffix(".txt").map(String::from))
                .collect();
            found.sort();
            assert_eq!(found, [$(stringify!($name)),*]);
        }
    };
}

scripts!(
    appropriate_byte_counting,
    byte_counting_after_timeout,
    close_active,
    close_passive,
    delayed_ack,
    delayed_ack_push,
    ecn_handshake,
    ecn_loss_then_mark,
    ecn_receiver,
    ecn_sender,
    ecn_then_loss,
    ecn_then_loss_freebsd,
    ecn_then_loss_sack,
    ecn_timeout_then_mark,
    ecn_timeout_then_mark_freebsd,
    idle_restart,
    idle_restart_freebsd,
    limited_transmit,
    newreno_dupacks_after_timeout,
    newreno_freebsd,
    newreno_one_loss,
    newreno_partial_ack,
    reassembly_limit,
    receiver_window,
    rto_freebsd,
    rto_restart,
    rto_rfc6298,
    sack_duplicate_with_new_ack,
    sack_lost_retransmission,
    sack_prr,
    sack_receiver_blocks,
    sack_recovery_with_new_ack,
    sack_rescue,
    sack_rescue_of_new_data,
    sack_timeout_in_recovery,
    sack_two_losses,
    slow_start,
    syn_again,
    syn_freebsd,
    syn_rfc6298,
    timestamps,
    timestamps_rto,
    zero_window,
);
