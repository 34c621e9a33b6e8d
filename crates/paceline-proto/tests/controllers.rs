//! What holds for every congestion controller, whatever a network tells it. The list is [`controllers`]: a new controller
//! gets these tests by being in it.

use paceline_proto::cc::{
    Ack, CongestionControl, Controller, FlowContext, Limits, Loss, Params, Runs, Telemetry, controllers, hpcc_pint,
};
use paceline_proto::telemetry::{IntHop, IntUnits, MAX_HOPS};
use paceline_proto::units::{NS, Time, US};
use proptest::prelude::*;

const GBPS: u64 = 1_000_000_000;
const RATES: [f64; 8] = [100e9, 400e9, 25e9, 1e9, 0.0, 0.0, 0.0, 0.0];

/// A NIC of 100 Gb/s in the HPCC paper's network: base RTT 12.24 us, one bandwidth-delay product of 153 kB.
fn context(params: Params) -> FlowContext {
    FlowContext {
        line_rate: 100 * GBPS,
        base_rtt_ns: 12_240,
        window: 153_000,
        mtu: 1000,
        rates: RATES,
        int_multiple: 4,
        utilisations: hpcc_pint::utilisations(&params),
        record_life: 58,
        paced: true,
        params,
    }
}

/// The lowest rate a controller promises, bit/s.
fn lowest_rate(ctx: &FlowContext) -> u64 {
    let lowest = ctx.params.clone().min_rate_mut().map_or(1, |rate| *rate);
    if ctx.paced { lowest.min(ctx.line_rate) } else { ctx.line_rate }
}

fn with_lowest_rate(mut params: Params, min_rate: u64) -> Params {
    if let Some(rate) = params.min_rate_mut() {
        *rate = min_rate;
    }
    params
}

/// Each kind of controller that RDMA drives is in the list, else nothing here is tested of it. Those that only TCP drives are
/// tested with it (`transport/tcp`).
#[test]
fn every_controller_is_in_the_list() {
    let there: Vec<_> = controllers().iter().map(|(_, params)| params.kind()).collect();
    for (kind, profile) in Params::KINDS {
        assert_eq!(there.contains(kind), profile.runs != Runs::Tcp, "{kind}");
    }
    let mut names: Vec<_> = controllers().iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), controllers().len());
}

/// Something that happens to a flow, after `after` ns.
#[derive(Clone, Debug)]
struct Event {
    after: u64,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    /// An ACK for `more` packets further, with `ahead` packets in flight then.
    Ack { more: u32, ahead: u32, ecn: bool, words: Vec<u64> },
    /// A loss; all that was in flight is sent again.
    Loss(Loss),
    /// The flow is looked at: its ticks are run.
    Look,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    // Any bits, but one of the four port rates there are; often two records in the same nanosecond.
    let time = prop_oneof![any::<u64>(), 0u64..3];
    let record = (any::<u64>(), time, 0u64..4)
        .prop_map(|(bits, time, code)| (bits & !(7 << 61) & !0xff_ffff) | (time & 0xff_ffff) | (code << 61));
    let ack = (0u32..300, 0u32..300, any::<bool>(), prop::collection::vec(record, 0..=MAX_HOPS))
        .prop_map(|(more, ahead, ecn, words)| What::Ack { more, ahead, ecn, words });
    let loss = any::<bool>().prop_map(|nack| What::Loss(if nack { Loss::Nack } else { Loss::Timeout }));
    let after = prop_oneof![4 => 0u64..20_000, 1 => 0u64..20_000_000];
    let what = prop_oneof![8 => ack, 1 => loss, 2 => Just(What::Look)];
    prop::collection::vec((after, what).prop_map(|(after, what)| Event { after, what }), 1..80)
}

/// A flow with its sequence numbers, as a transport would lead it.
struct Flow {
    ctx: FlowContext,
    cc: Controller,
    now: u64,
    una: u32,
    nxt: u32,
    /// Bytes the busiest port on its path has sent.
    port_sent: u64,
}

impl Flow {
    fn new(ctx: FlowContext) -> Self {
        let cc = Controller::new(&ctx);
        Self { ctx, cc, now: 10_000 * US, una: 0, nxt: 0, port_sent: 0 }
    }

    /// Runs the ticks up to `ns` later, looking `looks` times on the way.
    fn wait(&mut self, ns: u64, looks: u64) {
        for part in 1..=looks {
            self.cc.catch_up(&self.ctx, Time(self.now + ns * NS * part / looks));
        }
        self.now += ns * NS;
    }

    fn ack(&mut self, more: u32, ahead: u32, ecn: bool, words: &[IntHop]) {
        self.una += more;
        self.nxt = self.nxt.max(self.una).max(self.una + ahead);
        let ack = Ack { now: Time(self.now), ack: self.una, snd_nxt: self.nxt, ecn, switches: 5, int: words };
        self.cc.on_ack(&self.ctx, &ack);
    }

    fn happens(&mut self, event: &Event, looks: u64) {
        self.wait(event.after, looks);
        match &event.what {
            What::Ack { more, ahead, ecn, words } => {
                // One word is a time stamp of TIMELY or a power of PINT: made plausible half the time.
                let words: Vec<_> = match (self.ctx.params.profile().telemetry, words.first()) {
                    (Telemetry::Int, _) => words.iter().map(|w| IntHop(*w)).collect(),
                    (Telemetry::None, _) | (_, None) => Vec::new(),
                    (Telemetry::Pint | Telemetry::SendTime, Some(w)) if w % 2 == 0 => vec![IntHop(*w)],
                    (Telemetry::Pint, Some(w)) => vec![IntHop(w & 0xff)],
                    (Telemetry::SendTime, Some(w)) => vec![IntHop(self.now.saturating_sub(w % (2000 * US)))],
                };
                self.ack(*more, *ahead, *ecn, &words);
            }
            What::Loss(loss) => {
                self.cc.on_loss(&self.ctx, Time(self.now), *loss, 0);
                self.nxt = self.una;
            }
            What::Look => {}
        }
    }

    fn limits(&self) -> Limits {
        self.cc.limits(&self.ctx)
    }

    /// What the flow can reach on an empty path, bit/s: a controller may answer with a rate, a window or both.
    fn speed(&self) -> u64 {
        let Limits { rate, cwnd } = self.limits();
        rate.min((u128::from(cwnd) * 8_000_000_000 / u128::from(self.ctx.base_rtt_ns)).min(u64::MAX.into()) as u64)
    }

    fn state(&self) -> String {
        format!("{:?}", self.cc)
    }

    /// One round of 50 us: what a path tells at that utilisation, queue (bytes) and RTT (us).
    fn round(&mut self, ecn: bool, utilisation: f64, queue: u64, rtt_us: u64) {
        self.wait(50_000, 1);
        self.port_sent += (utilisation * 50.0 * 12_500.0) as u64;
        // The switch adds the queue, in bandwidth-delay products.
        let power = ((utilisation + queue as f64 / 153_000.0) * 512.0).ln() / 1.05f64.ln();
        let words = match self.ctx.params.profile().telemetry {
            Telemetry::None => vec![],
            Telemetry::Int => vec![IntUnits::new(4).pack(Time(self.now), self.port_sent, queue, 0)],
            Telemetry::Pint => vec![IntHop(power.max(0.0) as u64)],
            Telemetry::SendTime => vec![IntHop(self.now - rtt_us * US)],
        };
        // The flow has ACKs for all it had sent, and sends 100 packets more.
        let more = self.nxt - self.una + 1;
        self.ack(more, 100, ecn, &words);
    }
}

/// Contexts of all controllers with line rates, RTTs, windows and lowest rates of all sorts. Where a scheme divides by the
/// window there is one.
fn contexts() -> impl Strategy<Value = (&'static str, FlowContext)> {
    let line = prop_oneof![Just(GBPS), Just(25 * GBPS), Just(100 * GBPS), Just(10_000 * GBPS), 1_000u64..=400 * GBPS];
    let window = prop_oneof![Just(0u64), 1u64..2_000, 1u64..2_000_000, Just(1 << 40)];
    let lowest = prop_oneof![Just(GBPS), 1_000u64..10 * GBPS];
    (0..controllers().len(), line, 1u64..1_000_000, window, lowest, any::<bool>()).prop_map(
        |(i, line_rate, base_rtt_ns, window, min_rate, paced)| {
            let (name, params) = controllers().swap_remove(i);
            let window = if params.profile().needs_window { window.max(1) } else { window };
            let params = with_lowest_rate(params, min_rate);
            (name, FlowContext { line_rate, base_rtt_ns, window, paced, ..context(params) })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever arrives, a flow may send at a rate between the lowest and the line's, and has a window above 0 where there is
    /// one at all; no tick stays due.
    #[test]
    fn limits_hold((name, ctx) in contexts(), events in events()) {
        let mut flow = Flow::new(ctx);
        for event in &events {
            flow.happens(event, 1);
            let Limits { rate, cwnd } = flow.limits();
            prop_assert!((lowest_rate(&flow.ctx)..=flow.ctx.line_rate).contains(&rate), "{name}: rate {rate}");
            if flow.ctx.window == 0 {
                prop_assert_eq!(cwnd, u64::MAX, "{}", name);
            } else {
                prop_assert!((1..=flow.ctx.window).contains(&cwnd), "{name}: window {cwnd}");
            }
            prop_assert!(!flow.state().contains("NaN") && !flow.state().contains("inf"), "{name}: {}", flow.state());
            flow.cc.catch_up(&flow.ctx, Time(flow.now));
            prop_assert!(flow.cc.timers().iter().all(|t| *t > Time(flow.now)), "{name}");
            prop_assert!(flow.ctx.params.profile().ticks || flow.cc.timers() == [Time::NEVER; 3], "{name}: ticks are not declared");
        }
    }

    /// It does not matter when and how often a flow is looked at: catching up in steps, at once, and twice give the same
    /// state. Results would otherwise depend on the engine.
    #[test]
    fn looking_changes_nothing((name, ctx) in contexts(), events in events(), looks in 2u64..6) {
        let (mut seldom, mut often) = (Flow::new(ctx.clone()), Flow::new(ctx));
        for event in &events {
            seldom.happens(event, 1);
            often.happens(event, looks);
            often.cc.catch_up(&often.ctx, Time(often.now));
            seldom.cc.catch_up(&seldom.ctx, Time(seldom.now));
            prop_assert_eq!(seldom.state(), often.state(), "{}", name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// A connection that was idle goes on as a new flow, from the packet at which it is: whoever counts packets from 0 would
    /// take all that was ever sent for one window.
    #[test]
    fn a_new_beginning_is_as_a_first_one((name, ctx) in contexts(), events in events(), first in 1u32..1 << 30) {
        let (mut fresh, mut anew) = (Flow::new(ctx.clone()), Flow::new(ctx));
        anew.cc.begin_at(first);
        (anew.una, anew.nxt) = (first, first);
        for flow in [&mut fresh, &mut anew] {
            // An ACK acknowledges something.
            flow.ack(1, 10, false, &[]);
        }
        for event in &events {
            fresh.happens(event, 1);
            anew.happens(event, 1);
            prop_assert_eq!(fresh.limits(), anew.limits(), "{}: {} and {}", name, fresh.state(), anew.state());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// No history is a trap: once the network is idle again, a flow gets back to the line rate.
    #[test]
    fn an_idle_network_is_used_again((name, ctx) in contexts(), events in events()) {
        let ctx = FlowContext { line_rate: 100 * GBPS, base_rtt_ns: 12_240, ..ctx };
        let mut flow = Flow::new(ctx);
        for event in &events {
            flow.happens(event, 1);
        }
        // Hyper increase of DCQCN takes 300 us for each 200 Mb/s: 150 ms from the lowest rate.
        for _ in 0..4_000 {
            flow.round(false, 0.05, 0, 13);
        }
        // In packets per round trip a window of a terabyte takes longer than this to open: the path's own is enough.
        let Limits { rate, cwnd } = flow.limits();
        prop_assert!(rate > 95 * GBPS, "{name}: {rate}, {}", flow.state());
        let enough = flow.ctx.window.min(153_000) * 95 / 100;
        prop_assert!(cwnd >= enough, "{name}: window {cwnd} of {enough}, {}", flow.state());
    }
}

/// Congestion slows every controller that has one, paced or not, and its end lets it recover. One that ignores what the network tells
/// fails here, by its name. There is time for controllers that go down once per round trip, which congestion makes long.
#[test]
fn congestion_slows_and_its_end_lets_recover() {
    for (name, params) in controllers() {
        if matches!(params, Params::Fixed(_)) {
            continue;
        }
        for paced in [true, false] {
            let mut flow = Flow::new(FlowContext { paced, ..context(params.clone()) });
            for i in 0..400u64 {
                flow.round(true, 1.0, 2_000_000, 100 + 30 * i.min(30));
            }
            let low = flow.speed();
            assert!(low < 20 * GBPS, "{name}, paced {paced}: goes on at {low} under congestion, {}", flow.state());
            for _ in 0..4_000 {
                flow.round(false, 0.3, 0, 13);
            }
            assert!(flow.speed() > 94 * GBPS, "{name}, paced {paced}: stays at {}", flow.speed());
        }
    }
}

/// More congestion never means more speed: for every controller, of two flows with the same past the one that hears of
/// congestion is not the faster one.
#[test]
fn the_flow_that_hears_of_congestion_is_not_faster() {
    for (name, params) in controllers() {
        let (mut calm, mut jammed) = (Flow::new(context(params.clone())), Flow::new(context(params)));
        for _ in 0..30 {
            calm.round(false, 0.8, 0, 60);
            jammed.round(false, 0.8, 0, 60);
        }
        for i in 0..5 {
            calm.round(false, 0.8, 0, 60);
            jammed.round(true, 1.0, 300_000, 80 + 20 * i);
            assert!(jammed.speed() <= calm.speed(), "{name}, round {i}");
        }
    }
}

/// Without pacing only the window is left to control: the rate is the line's.
#[test]
fn unpaced_flows_send_at_line_rate() {
    for (name, params) in controllers() {
        let mut flow = Flow::new(FlowContext { paced: false, ..context(params) });
        for i in 0..40u64 {
            flow.round(true, 1.0, 2_000_000, 100 + 30 * i.min(30));
        }
        assert_eq!(flow.limits().rate, 100 * GBPS, "{name}");
    }
}

/// Who has ticks says so, else no engine would run them; the first mark arms them, for later.
#[test]
fn only_declared_ticks_are_due() {
    for (name, params) in controllers() {
        let mut flow = Flow::new(context(params));
        flow.ack(1, 10, true, &[]);
        let due = flow.cc.timers().iter().any(|t| *t != Time::NEVER);
        assert_eq!(due, flow.ctx.params.profile().ticks, "{name}");
        assert!(flow.cc.timers().iter().all(|t| *t > Time(flow.now)), "{name}: a tick at once");
    }
}
