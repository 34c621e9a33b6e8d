//! Settings of transports that answer, grant, pull or credit, of which nothing came.

use paceline_proto::cc::Params;
use paceline_proto::transport::message::Counters;
use paceline_proto::units::Duration;

use super::{PLAIN, those};
use crate::net::Net;
use crate::scenario::{Scheme, Transport};
use crate::spec::parse;
use crate::spec::scheme::Control;
use crate::spec::scheme::proactive::FirstRtt;
use crate::spec::tcp::{Tcp, TcpPacing};
use crate::spec::value::Value as _;

/// Of one scheme, by its name.
pub(super) fn unused(name: &str, cc: &Control, net: &Net, completed: bool, note: &mut impl FnMut(&str, &str)) {
    let Some(counted) = net.message_counters() else { return };
    other_first_rtt(name, cc, note);
    repair(name, cc, net, &counted, completed, note);
    if matches!(cc, Control::ExpressPass(_)) && counted.blind_stops == 0 {
        note(&of(name, &["credit_stop_timeout"]), "no credit stop was sent before the round trip was known");
    }
}

fn of(name: &str, fields: &[&str]) -> String {
    fields.iter().map(|field| format!("schemes.{name}.{field}")).collect::<Vec<_>>().join(", ")
}

/// Settings that mean something only with another `first_rtt`.
fn other_first_rtt(name: &str, cc: &Control, note: &mut impl FnMut(&str, &str)) {
    let Some(first) = cc.first_rtt() else { return };
    let fields: &[&str] = match (cc, first) {
        (Control::ExpressPass(_), FirstRtt::Wait) => &[
            "first_bytes",
            "stop",
            "repair",
            "resend_open",
            "request_in_probe",
            "rto_unscheduled",
            "rto_scheduled",
            "late_repair",
        ],
        (Control::ExpressPass(_), FirstRtt::Aeolus) => &["rto_unscheduled", "rto_scheduled", "late_repair"],
        (Control::ExpressPass(_), FirstRtt::Burst) => &["request_in_probe"],
        (Control::Ndp(_), FirstRtt::Burst) => &["verdict_delay", "pull_missing"],
        // There is no burst to end, nor any packet of unknown fate.
        (Control::Ndp(_), FirstRtt::Wait) => &["stop", "resend_open", "verdict_delay", "pull_missing"],
        (Control::Homa(_), FirstRtt::Wait) => &["stop", "resend_open"],
        (Control::Homa(_), FirstRtt::Burst) => &["resend_open"],
        _ => return,
    };
    note(&of(name, fields), &format!("schemes.{name}.first_rtt is {}", first.text().unwrap_or_default()));
}

/// Timeouts that did not run out, and what is done about losses that there were not.
fn repair(name: &str, cc: &Control, net: &Net, counted: &Counters, completed: bool, note: &mut impl FnMut(&str, &str)) {
    let c = &net.counters;
    let lost = c.drops_buffer + c.drops_wire + c.drops_link_down + c.data_trimmed + c.returned;
    let whole = completed && lost + counted.again + counted.timeouts == 0;
    // A timer no longer than the default did not run out, so neither would the default have.
    let Some(usual) = with_defaults(cc) else { return };
    let quiet = |pairs: &[(&str, Duration, Duration)]| {
        let fields: Vec<_> = pairs.iter().map(|(field, given, usual)| (of(name, &[field]), given <= usual)).collect();
        those(&fields.iter().map(|(field, named)| (field.as_str(), *named)).collect::<Vec<_>>())
    };
    let (timers, of_losses) = match (cc, &usual) {
        (Control::Homa(given), Control::Homa(usual)) => (
            quiet(&[
                ("resend_timeout", given.resend_timeout, usual.resend_timeout),
                ("sender_timeout", given.sender_timeout, usual.sender_timeout),
                ("done_timeout", given.done_timeout, usual.done_timeout),
            ]),
            of(name, &["resend_packets", "one_resend_per_peer", "repair"]),
        ),
        (Control::Ndp(given), Control::Ndp(usual)) => (quiet(&[("rto", given.rto, usual.rto)]), of(name, &["repair"])),
        (Control::ExpressPass(given), Control::ExpressPass(usual)) => (
            quiet(&[
                ("credit_timeout", given.credit_timeout, usual.credit_timeout),
                ("rto_unscheduled", given.rto_unscheduled, usual.rto_unscheduled),
                ("rto_scheduled", given.rto_scheduled, usual.rto_scheduled),
            ]),
            of(
                name,
                match given.first_rtt {
                    FirstRtt::Wait => &[],
                    FirstRtt::Aeolus => &["repair"],
                    FirstRtt::Burst => &["repair", "late_repair"],
                },
            ),
        ),
        _ => return,
    };
    if counted.timeouts == 0 {
        note(&timers, "no timeout ran out");
    }
    if whole {
        note(&of_losses, "nothing was lost");
    }
    if matches!(cc, Control::Ndp(_)) && c.returned == 0 {
        note(&of(name, &["returned_ack_share"]), "no header came back");
    }
}

/// The same transport with the defaults for its `first_rtt`.
fn with_defaults(cc: &Control) -> Option<Control> {
    let first = cc.first_rtt()?.text()?;
    let scheme = format!("schemes.s={{ cc = '{}', first_rtt = {first} }}", cc.name());
    let spec = parse(PLAIN, "defaults", &[scheme, "switch.pfc.enabled=false".to_string()]).ok()?;
    spec.schemes.first().map(|(_, scheme)| scheme.cc.clone())
}

/// Of the TCP stack: buffers that no window came near, timers that did not run out, timestamps that nobody asked for times, and a cache that
/// nobody found anything in. `stays_open`: some connections stay open; `in_order`: nothing was lost or overtaken.
pub(super) fn tcp(
    (given, usual): (&Tcp, &Tcp),
    schemes: &[&Scheme],
    counted: &Counters,
    (stays_open, in_order): (bool, bool),
    note: &mut impl FnMut(&str, &str),
) {
    // Half a buffer is what slow-start thresholds are kept from (`host.tcp.host_cache`).
    let roomy = |given: u64, usual: u64| counted.largest_window.saturating_mul(2) <= given.min(usual);
    let receives = roomy(given.receive_buffer.0, usual.receive_buffer.0);
    // Connections that stay open compare their pauses with the timeout; receive buffers grow by round trips.
    let takes = |s: &Scheme| !matches!(s.params, Params::NewReno(_)) || given.pacing == TcpPacing::Window;
    let asks_for_times = counted.timeouts > 0 || stays_open || !receives || schemes.iter().copied().any(takes);
    // They only tell more round-trip times; without them the timeout is another one, but none that would have run out where the shortest
    // there can be would not have. Two instants are known to a tick; without timestamps the longest round trip is not known. What
    // connections leave to others they leave with four samples.
    let longest = counted.longest_rtt.0.saturating_add(given.clock.0);
    let times_needless = in_order && counted.inherited == 0 && !asks_for_times && longest < given.rto_min.0;
    if given.timestamps && times_needless {
        note("host.tcp.timestamps", "no timer ran out, and NewReno asks for no round-trip times");
    }
    let settings = those(&[
        ("host.tcp.send_buffer, host.tcp.send_buffer_max", roomy(given.send_buffer.0, usual.send_buffer.0)),
        ("host.tcp.receive_buffer, host.tcp.receive_buffer_max", receives),
    ]);
    note(&settings, "no window came near it");
    if !given.timestamps && !receives {
        note("host.tcp.receive_buffer_max", "host.tcp.timestamps is false, and by them it is measured when to grow");
    }
    if counted.late_acks == 0 {
        note(&those(&[("host.tcp.ack_delay", given.ack_delay <= usual.ack_delay)]), "no ACK waited for it");
        if !asks_for_times && given.clock <= usual.clock {
            note("host.tcp.clock", "no timer ran out, and NewReno asks for no other times");
        }
    }
    if !counted.lifted && given.min_window >= usual.min_window {
        note("host.tcp.min_window", "no window was to fall below it");
    }
    let caches = |s: &Scheme| matches!(&s.transport, Transport::Tcp(p) if p.host_cache);
    if schemes.iter().copied().any(caches) && counted.inherited == 0 {
        note(
            "host.tcp.host_cache, host.tcp.inherit_cwnd",
            "no connection found what an earlier one to the same host had left",
        );
    }
}
