//! Warnings about too little headroom.

use super::{paused_link, per_port};
use crate::scenario::{BufferModel, Headroom, PausedLink, Scenario};

/// The switch port that lacks most headroom for what may arrive after a pause, told; `None` where all have enough.
pub fn lack_of_headroom(scenario: &Scenario) -> Option<String> {
    let (graph, switch) = (&scenario.graph, &scenario.switch);
    let pfc = switch.pfc.as_ref()?;
    let frames = [scenario.max_frame(), scenario.framing.pfc_frame];
    let ports = graph.ports.iter().filter(|p| !graph.is_host(p.node));
    let links = ports.map(|p| (p, paused_link(graph, p, switch, pfc, frames)));
    let fixed = switch.model == BufferModel::PerPort;
    // Of a port's buffer, each class has the same part.
    let share = switch.buffer.0 / u64::from(pfc.classes.max(1));
    let xoff = |link: &PausedLink| u64::from(per_port::thresholds(switch.buffer, pfc, link).0);
    let aside = |link: &PausedLink| if fixed { share.saturating_sub(xoff(link)) } else { pfc.headroom.bytes(link) };
    let lack = |link: &PausedLink| link.in_flight().saturating_sub(aside(link));
    let (port, link) = links.filter(|(_, link)| lack(link) > 0).rev().max_by_key(|(_, link)| lack(link))?;
    let [from, to] = [port.peer, port.node].map(|n| scenario.node_name(n));
    let [frame, pause] = frames;
    let (setting, cure) = if fixed && pfc.xoff.is_some() {
        let cure = match share.saturating_sub(link.in_flight()) {
            0 => format!("no xoff is enough where a class has {share} bytes of a port's buffer"),
            enough => format!("enough is xoff = \"{enough}B\""),
        };
        ("xoff", cure)
    } else {
        // As a multiple it may be out of the range of the setting.
        let multiple = link.in_flight().checked_div(Headroom::RateDelay(1).bytes(&link)).filter(|n| *n < 1000);
        let multiple = multiple.map(|n| format!(" or \"{}x\"", n + 1)).unwrap_or_default();
        ("headroom", format!("enough is headroom = \"auto\"{multiple}"))
    };
    let number = |n: u32| ["no", "one", "two", "three", "four", "five", "six", "seven", "eight"][n.min(8) as usize];
    let plural = |n: u32| if n == 1 { "" } else { "s" };
    let [whole, pauses] = link.count;
    let slow = if link.out < link.rate { format!(", the pause at {}", link.out) } else { String::new() };
    Some(format!(
        "switch.pfc.{setting} sets {} bytes aside for the link {from}->{to}, over which {} may arrive after a pause \
         ({} and back in {}, {} frame{} of {frame} bytes, {} pause frame{} of {pause}{slow}): packets may be lost; {cure}",
        aside(&link),
        link.in_flight(),
        link.rate,
        link.round_trip,
        number(whole),
        plural(whole),
        number(pauses),
        plural(pauses),
    ))
}
