//! What the engine makes of a scheme.

use paceline_proto::cc::{Params, Runs, dcqcn, dctcp, fixed, hpcc, hpcc_pint, timely};
use paceline_proto::units::{BitsPerSec, Duration};

use std::sync::Arc;

use super::proactive::{Facts, FirstRtt};
use super::{Control, Dcqcn, Dctcp, Hpcc, HpccPint, HpccWindow, NoControl, Scheme, SendRate, Timely, Window};
use crate::framing::Added;
use crate::scenario::{self, Transport};
use crate::spec::section::Variants as _;

impl Scheme {
    /// The engine's form, under the scheme's name. The transport is RDMA until [`Control::transport`] says otherwise.
    pub fn config(&self, name: &str) -> scenario::Scheme {
        let window = match self.cc.window() {
            Window::Bdp => scenario::Window::Bdp,
            Window::Off => scenario::Window::Off,
            Window::Bytes(bytes) => scenario::Window::Fixed(bytes),
        };
        scenario::Scheme { name: name.to_string(), params: self.cc.params(), window, transport: Transport::Rdma }
    }
}

/// What moves the bytes of a scheme.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Over {
    /// RDMA.
    Rdma,
    /// TCP, below its controller.
    Tcp,
    /// Nothing but datagrams.
    Udp,
    /// A transport with priorities of its own instead of a controller.
    Message,
}

/// What the engine asks of the settings of every scheme. The answers that are here are those of a controller without.
pub(super) trait Settings {
    /// The controller's parameters.
    fn params(&self) -> Params;

    /// What moves its bytes.
    fn over(&self) -> Over {
        if self.params().profile().runs == Runs::Tcp { Over::Tcp } else { Over::Rdma }
    }

    /// The transport in a network of which `facts` are known.
    fn transport(&self, facts: &Facts) -> Transport {
        if self.over() == Over::Tcp { Transport::Tcp(Arc::clone(&facts.tcp)) } else { Transport::Rdma }
    }

    /// Its window.
    fn window(&self) -> Window {
        Window::Off
    }

    /// Whether the window follows the rate; `None` where nothing changes the rate.
    fn variable_window(&self) -> Option<bool> {
        None
    }

    /// Its additive increase and the field that sets it; `None` where nothing changes the rate.
    fn additive_increase(&self) -> Option<(&'static str, BitsPerSec)> {
        None
    }

    /// What its senders do before their receivers have answered, where there is a choice.
    fn first_rtt(&self) -> Option<FirstRtt> {
        None
    }

    /// Whether its senders may send, unasked, what fills a base round trip.
    fn fills_round_trip(&self) -> bool {
        false
    }

    /// Whether the last packet of a message is as long as a full one, whatever it carries.
    fn pads_last(&self) -> bool {
        false
    }
}

impl Control {
    /// What `cc` says.
    pub fn name(&self) -> &'static str {
        self.word()
    }

    /// Names of its settings.
    pub fn fields(&self) -> Vec<&'static str> {
        let mut values = Vec::new();
        self.values(&mut values);
        values.into_iter().map(|(field, _)| field).collect()
    }

    /// The controller's parameters.
    pub fn params(&self) -> Params {
        self.chosen().params()
    }

    /// What moves its bytes, in a network of which `facts` are known.
    pub fn transport(&self, facts: &Facts) -> Transport {
        self.chosen().transport(facts)
    }

    /// Of a message transport, whether its senders may send, unasked, what fills a base round trip.
    pub fn fills_round_trip(&self) -> bool {
        self.chosen().fills_round_trip()
    }

    /// What it adds to the payload of its data packets.
    pub fn added(&self) -> Added {
        let telemetry = if self.is_tcp() { 0 } else { self.params().profile().telemetry.bytes() };
        Added { telemetry, full_last: self.chosen().pads_last() }
    }

    /// Whether it runs over TCP.
    pub fn is_tcp(&self) -> bool {
        self.chosen().over() == Over::Tcp
    }

    /// Whether it is a controller of RDMA.
    pub fn is_rdma(&self) -> bool {
        self.chosen().over() == Over::Rdma
    }

    /// Whether it is UDP.
    pub fn is_udp(&self) -> bool {
        self.chosen().over() == Over::Udp
    }

    /// Whether it is a transport with priorities of its own instead of a controller of RDMA or TCP.
    pub fn is_message_transport(&self) -> bool {
        self.chosen().over() == Over::Message
    }

    /// What its senders do before their receivers have answered, where there is a choice.
    pub fn first_rtt(&self) -> Option<FirstRtt> {
        self.chosen().first_rtt()
    }

    /// Its window.
    pub fn window(&self) -> Window {
        self.chosen().window()
    }

    /// Whether the window follows the rate; `None` where nothing changes the rate.
    pub fn variable_window(&self) -> Option<bool> {
        self.chosen().variable_window()
    }

    /// The lowest rate it goes down to; `None` where nothing changes the rate.
    pub fn min_rate(&self) -> Option<BitsPerSec> {
        self.params().min_rate_mut().map(|rate| BitsPerSec(*rate))
    }

    /// Its additive increase and the field that sets it; `None` where nothing changes the rate.
    pub fn additive_increase(&self) -> Option<(&'static str, BitsPerSec)> {
        self.chosen().additive_increase()
    }

    /// Whether it slows down for congestion marks of single packets, and for nothing else.
    pub fn needs_marks(&self) -> bool {
        self.params().profile().needs_marks
    }
}

impl From<HpccWindow> for Window {
    fn from(window: HpccWindow) -> Self {
        match window {
            HpccWindow::Bdp => Window::Bdp,
            HpccWindow::Bytes(bytes) => Window::Bytes(bytes),
        }
    }
}

/// The answers of a controller that has a rate, where the settings have their usual names; the additive increase is the one given.
macro_rules! rate_settings {
    ($increase:ident) => {
        fn window(&self) -> Window {
            self.window.clone().into()
        }

        fn variable_window(&self) -> Option<bool> {
            Some(self.variable_window)
        }

        fn additive_increase(&self) -> Option<(&'static str, BitsPerSec)> {
            Some((stringify!($increase), self.$increase))
        }
    };
}

impl Settings for NoControl {
    fn params(&self) -> Params {
        Params::Fixed(fixed::Params { rate: if let SendRate::Rate(rate) = self.rate { rate.0 } else { 0 } })
    }

    fn window(&self) -> Window {
        self.window.clone()
    }
}

impl Settings for Hpcc {
    fn params(&self) -> Params {
        Params::Hpcc(hpcc::Params {
            eta: self.eta,
            max_stage: self.max_stage,
            w_ai_rate: self.w_ai_rate.0,
            min_rate: self.min_rate.0,
            fast_reaction: self.fast_reaction,
            variable_window: self.variable_window,
            multi_rate: self.multi_rate,
            start: self.start,
            sample_feedback: self.sample_feedback,
        })
    }

    rate_settings!(w_ai_rate);
}

impl Settings for HpccPint {
    fn params(&self) -> Params {
        Params::HpccPint(hpcc_pint::Params {
            eta: self.eta,
            max_stage: self.max_stage,
            w_ai_rate: self.w_ai_rate.0,
            min_rate: self.min_rate.0,
            log_base: self.log_base,
            probability: self.probability,
            variable_window: self.variable_window,
        })
    }

    rate_settings!(w_ai_rate);
}

impl Settings for Dcqcn {
    fn params(&self) -> Params {
        Params::Dcqcn(dcqcn::Params {
            g: self.g,
            alpha_interval: self.alpha_interval,
            decrease_interval: self.decrease_interval,
            increase_interval: self.increase_interval,
            fast_recovery: self.fast_recovery,
            ai_rate: self.ai_rate.0,
            hai_rate: self.hai_rate.0,
            min_rate: self.min_rate.0,
            clamp_target_rate: self.clamp_target_rate,
            cnp_interval: self.cnp_interval,
            variable_window: self.variable_window,
        })
    }

    rate_settings!(ai_rate);
}

impl Settings for Timely {
    fn params(&self) -> Params {
        let ns = |d: Duration| d.0 as f64 / 1000.0;
        Params::Timely(timely::Params {
            t_low_ns: ns(self.t_low),
            t_high_ns: ns(self.t_high),
            min_rtt_ns: ns(self.min_rtt),
            ewma: self.ewma,
            beta: self.beta,
            hai_after: self.hai_after,
            ai_rate: self.ai_rate.0,
            hai_rate: self.hai_rate.0,
            min_rate: self.min_rate.0,
            variable_window: self.variable_window,
        })
    }

    rate_settings!(ai_rate);
}

impl Settings for Dctcp {
    fn params(&self) -> Params {
        Params::Dctcp(dctcp::Params {
            g: self.g,
            ai_rate: self.ai_rate.0,
            min_rate: self.min_rate.0,
            variable_window: self.variable_window,
        })
    }

    rate_settings!(ai_rate);
}
