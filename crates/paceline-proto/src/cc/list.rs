//! The controllers there are, each in the forms that papers compare.

use crate::units::Duration;

use super::{Params, dcqcn, dctcp, fixed, hpcc, hpcc_pint, timely};

/// Every controller that RDMA drives by name, with its defaults; where one has forms of its own (timers, variants), each of them. A name
/// is the `cc` of scenarios, with the form after a colon.
///
/// The tests that all controllers share (`tests/controllers.rs` here and in the simulator) run over this list: a
/// controller gets them by being in it.
pub fn controllers() -> Vec<(&'static str, Params)> {
    let hpcc = hpcc::Params::default;
    vec![
        ("none", Params::Fixed(fixed::Params::default())),
        ("hpcc", Params::Hpcc(hpcc())),
        ("hpcc:max_stage 5", Params::Hpcc(hpcc::Params { max_stage: 5, ..hpcc() })),
        ("hpcc:per RTT", Params::Hpcc(hpcc::Params { fast_reaction: false, ..hpcc() })),
        ("hpcc:sample_feedback", Params::Hpcc(hpcc::Params { sample_feedback: true, ..hpcc() })),
        ("hpcc:multi_rate", Params::Hpcc(hpcc::Params { multi_rate: true, ..hpcc() })),
        ("hpcc_pint", Params::HpccPint(hpcc_pint::Params::default())),
        ("dcqcn", Params::Dcqcn(dcqcn::Params::vendor())),
        ("dcqcn:paper", Params::Dcqcn(dcqcn::Params::paper())),
        (
            "dcqcn:cnp_interval",
            Params::Dcqcn(dcqcn::Params { cnp_interval: Duration::from_us(50), ..dcqcn::Params::paper() }),
        ),
        ("timely", Params::Timely(timely::Params::default())),
        ("dctcp", Params::Dctcp(dctcp::Params::default())),
    ]
}
