//! What the engine makes of a scheme.

use paceline_proto::cc::{Params, dcqcn, dctcp, fixed, hpcc, hpcc_pint, timely};
use paceline_proto::units::{BitsPerSec, Duration};

use std::sync::Arc;

use super::proactive::{Facts, FirstRtt};
use super::stream::HpccTcp;
use super::{Control, Dcqcn, Dctcp, Hpcc, HpccPint, HpccWindow, NoControl, Scheme, SendRate, Timely, Window};
use crate::scenario::{self, Transport};

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

impl Control {
    /// The controller's parameters.
    pub fn params(&self) -> Params {
        match self {
            Control::Fixed(c) => Params::Fixed(c.params()),
            Control::Hpcc(c) => Params::Hpcc(c.params()),
            Control::HpccPint(c) => Params::HpccPint(c.params()),
            Control::Dcqcn(c) => Params::Dcqcn(c.params()),
            Control::Timely(c) => Params::Timely(c.params()),
            Control::Dctcp(c) => Params::Dctcp(c.params()),
            Control::NewReno(c) => Params::NewReno(c.params()),
            Control::Cubic(c) => Params::Cubic(c.params()),
            Control::Vegas(c) => Params::Vegas(c.params()),
            Control::HpccTcp(c) => Params::Hpcc(c.params()),
            Control::Udp(c) => Params::Fixed(c.params()),
            Control::Homa(_) | Control::Ndp(_) | Control::ExpressPass(_) => Params::Fixed(fixed::Params::default()),
        }
    }

    /// What moves its bytes, in a network of which `facts` are known.
    pub fn transport(&self, facts: &Facts) -> Transport {
        match self {
            Control::Homa(c) => c.transport(facts),
            Control::Ndp(c) => c.transport(facts),
            Control::ExpressPass(c) => c.transport(facts),
            Control::Udp(_) => Transport::Udp(Arc::clone(&facts.tcp)),
            _ if self.is_tcp() => Transport::Tcp(Arc::clone(&facts.tcp)),
            _ => Transport::Rdma,
        }
    }

    /// Telemetry bytes in each of its data packets.
    pub fn telemetry_bytes(&self) -> u32 {
        if self.is_tcp() { 0 } else { self.params().telemetry_bytes() }
    }

    /// Whether it runs over TCP.
    pub fn is_tcp(&self) -> bool {
        matches!(self, Control::NewReno(_) | Control::Cubic(_) | Control::Vegas(_) | Control::HpccTcp(_))
    }

    /// Whether it is UDP.
    pub fn is_udp(&self) -> bool {
        matches!(self, Control::Udp(_))
    }

    /// Whether it is a transport with priorities of its own instead of a controller of RDMA or TCP.
    pub fn is_message_transport(&self) -> bool {
        matches!(self, Control::Homa(_) | Control::Ndp(_) | Control::ExpressPass(_))
    }

    /// What its senders do before their receivers have answered, where there is a choice.
    pub fn first_rtt(&self) -> Option<FirstRtt> {
        match self {
            Control::Homa(p) => Some(p.first_rtt),
            Control::Ndp(p) => Some(p.first_rtt),
            Control::ExpressPass(p) => Some(p.first_rtt),
            _ => None,
        }
    }

    /// Its window.
    pub fn window(&self) -> Window {
        match self {
            Control::Fixed(c) => c.window.clone(),
            Control::Hpcc(Hpcc { window, .. }) | Control::HpccTcp(HpccTcp { window, .. }) => match *window {
                HpccWindow::Bdp => Window::Bdp,
                HpccWindow::Bytes(bytes) => Window::Bytes(bytes),
            },
            Control::HpccPint(c) => c.window.clone(),
            Control::Dcqcn(c) => c.window.clone(),
            Control::Timely(c) => c.window.clone(),
            Control::Dctcp(c) => c.window.clone(),
            _ => Window::Off,
        }
    }

    /// Whether the window follows the rate; `None` where nothing changes the rate.
    pub fn variable_window(&self) -> Option<bool> {
        match self {
            Control::Hpcc(c) => Some(c.variable_window),
            Control::HpccPint(c) => Some(c.variable_window),
            Control::Dcqcn(c) => Some(c.variable_window),
            Control::Timely(c) => Some(c.variable_window),
            Control::Dctcp(c) => Some(c.variable_window),
            _ => None,
        }
    }

    /// The lowest rate it goes down to; `None` where nothing changes the rate.
    pub fn min_rate(&self) -> Option<BitsPerSec> {
        match self {
            Control::Hpcc(c) => Some(c.min_rate),
            Control::HpccTcp(c) => Some(c.min_rate),
            Control::HpccPint(c) => Some(c.min_rate),
            Control::Dcqcn(c) => Some(c.min_rate),
            Control::Timely(c) => Some(c.min_rate),
            Control::Dctcp(c) => Some(c.min_rate),
            _ => None,
        }
    }

    /// Its additive increase and the field that sets it; `None` where nothing changes the rate.
    pub fn additive_increase(&self) -> Option<(&'static str, BitsPerSec)> {
        match self {
            Control::Hpcc(c) => Some(("w_ai_rate", c.w_ai_rate)),
            Control::HpccTcp(c) => Some(("w_ai_rate", c.w_ai_rate)),
            Control::HpccPint(c) => Some(("w_ai_rate", c.w_ai_rate)),
            Control::Dcqcn(c) => Some(("ai_rate", c.ai_rate)),
            Control::Timely(c) => Some(("ai_rate", c.ai_rate)),
            Control::Dctcp(c) => Some(("ai_rate", c.ai_rate)),
            _ => None,
        }
    }

    /// Whether it slows down for congestion marks, and for nothing else.
    pub fn needs_marks(&self) -> bool {
        matches!(self, Control::Dcqcn(_) | Control::Dctcp(_))
    }
}

impl NoControl {
    fn params(&self) -> fixed::Params {
        fixed::Params { rate: if let SendRate::Rate(rate) = self.rate { rate.0 } else { 0 } }
    }
}

impl Hpcc {
    fn params(&self) -> hpcc::Params {
        hpcc::Params {
            eta: self.eta,
            max_stage: self.max_stage,
            w_ai_rate: self.w_ai_rate.0,
            min_rate: self.min_rate.0,
            fast_reaction: self.fast_reaction,
            variable_window: self.variable_window,
            multi_rate: self.multi_rate,
            start: self.start,
            sample_feedback: self.sample_feedback,
        }
    }
}

impl HpccPint {
    fn params(&self) -> hpcc_pint::Params {
        hpcc_pint::Params {
            eta: self.eta,
            max_stage: self.max_stage,
            w_ai_rate: self.w_ai_rate.0,
            min_rate: self.min_rate.0,
            log_base: self.log_base,
            probability: self.probability,
            variable_window: self.variable_window,
        }
    }
}

impl Dcqcn {
    fn params(&self) -> dcqcn::Params {
        dcqcn::Params {
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
        }
    }
}

impl Timely {
    fn params(&self) -> timely::Params {
        let ns = |d: Duration| d.0 as f64 / 1000.0;
        timely::Params {
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
        }
    }
}

impl Dctcp {
    fn params(&self) -> dctcp::Params {
        dctcp::Params {
            g: self.g,
            ai_rate: self.ai_rate.0,
            min_rate: self.min_rate.0,
            variable_window: self.variable_window,
        }
    }
}
