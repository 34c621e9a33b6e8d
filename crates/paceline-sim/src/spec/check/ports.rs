//! Rules between the fields of `[switch]`.

use paceline_proto::units::Bytes;

use super::{allowed, bad};
use crate::scenario::BufferModel;
use crate::spec::Spec;
use crate::spec::node::{Node, Read};
use crate::spec::scheme::Control;
use crate::spec::switch::{Accounting, NonEct, Threshold};

/// Most entries of `switch.ecn.by_rate`.
const MOST_RATES: usize = 64;

pub(super) fn buffers(spec: &Spec, root: &Node) -> Read<()> {
    let (switch, pfc) = (&spec.switch, &spec.switch.pfc);
    let thresholds = [("xoff", &pfc.xoff), ("xon", &pfc.xon)];
    if switch.model == BufferModel::Shared {
        if switch.accounting != Accounting::Auto {
            let error = bad(root, "switch.accounting", "a shared buffer counts neither at one port nor at the other");
            return Err(allowed(error, "\"auto\", or switch.model = \"per_port\""));
        }
        if let Some((name, _)) = thresholds.into_iter().find(|(_, t)| **t != Threshold::Auto) {
            let problem = "the thresholds of a shared buffer move with what is free (switch.pfc.alpha)";
            let error = bad(root, &format!("switch.pfc.{name}"), problem);
            return Err(allowed(error, "\"auto\", or switch.model = \"per_port\""));
        }
        return Ok(());
    }
    let by_output = matches!(switch.accounting, Accounting::Output | Accounting::Both);
    if pfc.enabled && by_output {
        let error =
            bad(root, "switch.accounting", "pauses hold back an ingress port, not what waits at an egress port");
        return Err(allowed(error, "\"auto\" or \"input\", or switch.pfc.enabled = false"));
    }
    if let Threshold::Bytes(xoff) = pfc.xoff {
        if xoff > switch.buffer {
            let problem = format!("above the buffer of a port ({})", switch.buffer);
            return Err(allowed(
                bad(root, "switch.pfc.xoff", &problem),
                "at most switch.buffer, less what comes after a pause",
            ));
        }
        if let Threshold::Bytes(xon) = pfc.xon
            && xon > xoff
        {
            let problem = format!("above xoff ({xoff})");
            return Err(allowed(bad(root, "switch.pfc.xon", &problem), "at most xoff"));
        }
    }
    Ok(())
}

pub(super) fn red(spec: &Spec, root: &Node) -> Read<()> {
    let red = &spec.switch.red;
    if !red.enabled {
        return Ok(());
    }
    let no = |problem: &str, needed: &str| Err(allowed(bad(root, "switch.red.enabled", problem), needed));
    if spec.switch.ecn.enabled {
        return no("two rules for marks", "one of switch.red.enabled and switch.ecn.enabled, which is true unless set");
    }
    if spec.switch.trimming.enabled {
        return no("a port that trims has no RED", "one of switch.red.enabled and switch.trimming.enabled");
    }
    if spec.schemes.iter().any(|(_, s)| matches!(s.cc, Control::ExpressPass(_))) {
        return no("a port that shapes credits has no RED", "false with cc = \"express_pass\"");
    }
    if red.min >= red.max {
        let problem = format!("min ({}) is not below max ({})", red.min, red.max);
        return Err(allowed(bad(root, "switch.red.min", &problem), "min below max"));
    }
    if red.non_ect == NonEct::Drop && spec.switch.pfc.enabled {
        let error = bad(root, "switch.red.non_ect", "with PFC nothing is dropped");
        return Err(allowed(error, "\"pass\", or switch.pfc.enabled = false"));
    }
    Ok(())
}

pub(super) fn ecn(spec: &Spec, root: &Node) -> Read<()> {
    let ecn = &spec.switch.ecn;
    let order = |field: String, k_min: Bytes, k_max: Bytes| {
        if k_min <= k_max {
            return Ok(());
        }
        let problem = format!("k_min ({k_min}) is above k_max ({k_max})");
        Err(allowed(bad(root, &field, &problem), "k_min at most k_max"))
    };
    let given = |key: &str| root.get("switch").and_then(|s| s.get("ecn")).is_some_and(|e| e.get(key).is_some());
    let field = if given("k_min") || !given("k_max") { "switch.ecn.k_min" } else { "switch.ecn.k_max" };
    order(field.to_string(), ecn.k_min, ecn.k_max)?;
    if ecn.by_rate.len() > MOST_RATES {
        let error = bad(root, "switch.ecn.by_rate", "too many entries");
        return Err(allowed(error, format!("at most {MOST_RATES}")));
    }
    for (i, row) in ecn.by_rate.iter().enumerate() {
        order(format!("switch.ecn.by_rate.{i}.k_min"), row.k_min, row.k_max)?;
        if ecn.by_rate[..i].iter().any(|other| other.rate == row.rate) {
            let field = format!("switch.ecn.by_rate.{i}.rate");
            return Err(allowed(bad(root, &field, "rate given twice"), "one entry per rate"));
        }
    }
    Ok(())
}
