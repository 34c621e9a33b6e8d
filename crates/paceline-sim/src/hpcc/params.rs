//! The congestion controller a configuration describes.

use paceline_proto::cc::{Params, dcqcn, dctcp, hpcc, hpcc_pint, timely};
use paceline_proto::units::Duration;

use crate::hpcc_format::config::{CcMode, HpccConfig};

/// The parameters of `CC_MODE`.
pub(super) fn params(config: &HpccConfig) -> Params {
    let (min_rate, variable_window) = (config.min_rate.0, config.var_win);
    match config.cc_mode {
        CcMode::Hpcc => Params::Hpcc(hpcc::Params {
            eta: config.u_target,
            max_stage: config.mi_thresh,
            w_ai_rate: config.rate_ai.0,
            min_rate,
            fast_reaction: config.fast_react,
            variable_window,
            multi_rate: config.multi_rate,
            start: 1.0,
            sample_feedback: config.sample_feedback,
        }),
        CcMode::HpccPint => Params::HpccPint(hpcc_pint::Params {
            eta: config.u_target,
            max_stage: config.mi_thresh,
            w_ai_rate: config.rate_ai.0,
            min_rate,
            log_base: config.pint_log_base,
            probability: config.pint_prob,
            variable_window,
        }),
        CcMode::Dcqcn => Params::Dcqcn(dcqcn::Params {
            g: config.ewma_gain,
            alpha_interval: Duration::from_us(config.alpha_resume_interval_us),
            decrease_interval: Duration::from_us(config.rate_decrease_interval_us),
            increase_interval: Duration::from_us(config.rp_timer_us),
            fast_recovery: config.fast_recovery_times,
            ai_rate: config.rate_ai.0,
            hai_rate: config.rate_hai.0,
            min_rate,
            clamp_target_rate: config.clamp_target_rate,
            cnp_interval: Duration(0),
            variable_window,
        }),
        // The reference's other TIMELY parameters are fixed in its code; ours have them as defaults.
        CcMode::Timely => Params::Timely(timely::Params {
            ai_rate: config.rate_ai.0,
            hai_rate: config.rate_hai.0,
            min_rate,
            variable_window,
            ..timely::Params::default()
        }),
        CcMode::Dctcp => Params::Dctcp(dctcp::Params {
            g: config.ewma_gain,
            ai_rate: config.dctcp_rate_ai.0,
            min_rate,
            variable_window,
        }),
    }
}
