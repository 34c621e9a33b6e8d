//! From an offered load to a rate of flows.

use serde::{Deserialize, Serialize};

use crate::InputError;
use crate::framing::{Added, Framing};
use crate::workload::{Cdf, SizeLaw};

/// Which bytes a load counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadBytes {
    /// Payload of the flows (the HPCC evaluation).
    Payload,
    /// Everything data packets put on the wire: headers, telemetry, padding, preamble and gap. ACKs and credits do not count.
    Wire,
}

/// Which mean flow size turns a load into a rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadMean {
    /// That of the sizes drawn: the offered load is the one asked for.
    Sampled,
    /// The one the distribution's source names, as its scripts use it (their load is then a few per cent higher than
    /// stated).
    Nominal,
}

/// What a load is a share of.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LoadReference {
    /// Capacity of all the links meant, added up, one direction, in bit/s: the host links, the uplinks of all top-of-rack
    /// switches, or one link.
    pub capacity_bps: f64,
    /// Share of the workload's bytes that crosses those links, above 0 to 1; 1 for the host links.
    pub crossing: f64,
}

impl LoadReference {
    /// The links of `hosts` hosts of the same rate in bit/s.
    pub fn host_links(hosts: u32, rate_bps: f64) -> Self {
        Self { capacity_bps: f64::from(hosts) * rate_bps, crossing: 1.0 }
    }
}

/// Share of uniform traffic that leaves its rack, for `hosts` in racks of `per_rack`.
pub fn uniform_crossing(hosts: u32, per_rack: u32) -> f64 {
    f64::from(hosts.saturating_sub(per_rack)) / f64::from(hosts.saturating_sub(1).max(1))
}

/// Flows per second at each of `sources` hosts (or incast episodes per second in all, with `sources = 1` and the bytes
/// of an episode) that load the reference to `load`.
///
/// # Errors
/// A load outside above 0 to 10 (a percentage, perhaps), no bytes, no capacity, a crossing share outside above 0 to 1, no hosts.
pub fn rate_for_load(load: f64, mean_bytes: f64, of: LoadReference, sources: u32) -> Result<f64, InputError> {
    let within = |field: &str, value: f64, most: f64, allowed: &str| {
        if value > 0.0 && value <= most {
            return Ok(());
        }
        Err(InputError::new("out of range").field(field).value(value).allowed(allowed))
    };
    within("load", load, 10.0, "above 0 to 10, as a fraction (0.7 for 70 %)")?;
    within("mean size", mean_bytes, f64::MAX, "bytes above 0")?;
    within("capacity", of.capacity_bps, f64::MAX, "bit/s above 0")?;
    within("crossing share", of.crossing, 1.0, "above 0 to 1")?;
    within("hosts", f64::from(sources), f64::MAX, "1 or more")?;
    Ok(load * of.capacity_bps / (8.0 * mean_bytes * of.crossing * f64::from(sources)))
}

/// Mean bytes per flow as a load counts them.
///
/// On the wire with a nominal mean: the nominal payload times the ratio of wire to payload bytes of the sizes drawn.
///
/// # Errors
/// `nominal` for a distribution whose source names no mean.
pub fn mean_bytes(
    sizes: &SizeLaw,
    bytes: LoadBytes,
    mean: LoadMean,
    framing: &Framing,
    added: Added,
) -> Result<f64, InputError> {
    let counted = match (bytes, sizes) {
        (LoadBytes::Payload, _) => sizes.mean(),
        (LoadBytes::Wire, SizeLaw::Fixed(size)) => Wire::of(framing, added).flow(*size) as f64,
        (LoadBytes::Wire, SizeLaw::Drawn(cdf)) => mean_wire(cdf, framing, added),
    };
    match (mean, sizes) {
        (LoadMean::Nominal, SizeLaw::Drawn(cdf)) => {
            cdf.nominal_mean().map(|n| n * (counted / cdf.mean())).ok_or_else(|| {
                let problem = "the source of this size distribution names no mean";
                InputError::new(problem).field("mean").value("\"nominal\"").allowed("sampled")
            })
        }
        _ => Ok(counted),
    }
}

/// Bytes the data packets of one flow put on the wire.
pub fn wire_bytes(bytes: u64, framing: &Framing, added: Added) -> u64 {
    Wire::of(framing, added).flow(bytes)
}

/// Mean of [`wire_bytes`] over the sizes drawn, exact but for the rounding of doubles.
pub fn mean_wire(cdf: &Cdf, framing: &Framing, added: Added) -> f64 {
    let wire = Wire::of(framing, added);
    cdf.expect(|b| wire.flow(b) as f64, |n| wire.flows_below(n))
}

/// Packet sizes on the wire.
#[derive(Clone, Copy)]
struct Wire {
    payload: u64,
    header: u64,
    min_frame: u64,
    overhead: u64,
    full_last: bool,
}

impl Wire {
    fn of(framing: &Framing, added: Added) -> Self {
        Self {
            payload: u64::from(framing.payload).max(1),
            header: u64::from(framing.header) + u64::from(added.telemetry),
            min_frame: u64::from(framing.min_frame),
            overhead: u64::from(framing.wire_overhead),
            full_last: added.full_last,
        }
    }

    /// A packet with `payload` bytes; none for no bytes.
    fn packet(self, payload: u64) -> u64 {
        if payload == 0 { 0 } else { (payload + self.header).max(self.min_frame) + self.overhead }
    }

    fn flow(self, bytes: u64) -> u64 {
        if self.full_last {
            return bytes.div_ceil(self.payload) * self.packet(self.payload);
        }
        bytes / self.payload * self.packet(self.payload) + self.packet(bytes % self.payload)
    }

    /// Sum of `packet(r)` for r from 0 to `n - 1`.
    fn packets_below(self, n: u64) -> u128 {
        let last = u128::from(n.saturating_sub(1));
        // Payloads 1 to `padded` fill up to the smallest frame; each byte above adds one.
        let padded = u128::from(self.min_frame.saturating_sub(self.header)).min(last);
        let longer = (last * (last + 1) - padded * (padded + 1)) / 2 + (last - padded) * u128::from(self.header);
        padded * u128::from(self.min_frame) + longer + last * u128::from(self.overhead)
    }

    /// Sum of `flow(b)` for b from 0 to `n - 1`: whole blocks of one payload's length, then the rest.
    fn flows_below(self, n: u64) -> u128 {
        let (blocks, rest) = (u128::from(n / self.payload), n % self.payload);
        let full = u128::from(self.packet(self.payload));
        if self.full_last {
            // Of a block's flows all but the first, which is of whole packets, have one more.
            let (payload, more) = (u128::from(self.payload), |flows: u128| flows.saturating_sub(1));
            let before = payload * (blocks * blocks.saturating_sub(1) / 2) + blocks * more(payload);
            return full * (before + u128::from(rest) * blocks + more(u128::from(rest)));
        }
        let in_full_packets =
            full * (u128::from(self.payload) * (blocks * blocks.saturating_sub(1) / 2) + u128::from(rest) * blocks);
        in_full_packets + blocks * self.packets_below(self.payload) + self.packets_below(rest)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::workload::{Sampling, builtin};

    const WITH_INT: Added = Added { telemetry: 42, full_last: false };
    const SHORT: Added = Added { telemetry: 8, full_last: false };

    /// Full packets: 1048 and 1090 bytes per 1000 without and with 42 bytes of telemetry.
    #[test]
    fn worked_packet_sizes() {
        assert_eq!(wire_bytes(2_000, &Framing::HPCC, Added::default()), 2_096);
        assert_eq!(wire_bytes(2_001, &Framing::HPCC, WITH_INT), 2_180 + 91);
        assert_eq!(wire_bytes(1, &Framing::HPCC, Added::default()), 60);
        let padded = Added { full_last: true, ..WITH_INT };
        assert_eq!([1, 1000, 1001].map(|b| wire_bytes(b, &Framing::HPCC, padded)), [1_090, 1_090, 2_180]);
        assert_eq!([1, 1460].map(|b| wire_bytes(b, &Framing::ETHERNET, Added::default())), [84, 1538]);
    }

    /// 320 hosts at 100 Gb/s, half loaded with web search: 3652 flows per second and host; and the rate of `ns2-xpass`.
    #[test]
    fn worked_rates() {
        let web = SizeLaw::Drawn(Arc::new(builtin("websearch").unwrap().cdf));
        let mean = mean_bytes(&web, LoadBytes::Payload, LoadMean::Sampled, &Framing::HPCC, Added::default()).unwrap();
        let rate = rate_for_load(0.5, mean, LoadReference::host_links(320, 1e11), 320).unwrap();
        assert!((rate - 0.5 * 1e11 / 8.0 / 1_711_249.5).abs() < 1e-3, "{rate}");
        // 192 hosts, three-to-one oversubscribed: mean gap of all = 3 / lambda, headers by full packets.
        let cache = SizeLaw::Drawn(Arc::new(builtin("cachefollower").unwrap().cdf));
        let wire =
            mean_bytes(&cache, LoadBytes::Wire, LoadMean::Nominal, &Framing::ETHERNET, Added::default()).unwrap();
        let lambda = 192.0 * 1e11 * 0.6 / (701_490.0 * 8.0 * 1538.0 / 1460.0);
        let rate = rate_for_load(0.6, wire, LoadReference { capacity_bps: 64.0 * 1e11, crossing: 1.0 }, 192).unwrap();
        assert!((rate * 192.0 / (lambda / 3.0) - 1.0).abs() < 2e-3, "{}", rate * 192.0 * 3.0 / lambda);
        assert!((uniform_crossing(192, 6) - 186.0 / 191.0).abs() < 1e-12);
    }

    #[test]
    fn impossible_loads_are_refused() {
        let of = LoadReference::host_links(4, 1e11);
        for (load, mean, of, hosts) in [
            (70.0, 1e3, of, 4),
            (0.0, 1e3, of, 4),
            (f64::NAN, 1e3, of, 4),
            (0.5, 0.0, of, 4),
            (0.5, f64::INFINITY, of, 4),
            (0.5, 1e3, LoadReference { crossing: 1.5, ..of }, 4),
            (0.5, 1e3, LoadReference { capacity_bps: -1.0, ..of }, 4),
            (0.5, 1e3, of, 0),
        ] {
            assert!(rate_for_load(load, mean, of, hosts).unwrap_err().allowed.is_some());
        }
        let web = SizeLaw::Drawn(Arc::new(builtin("websearch@hpcc").unwrap().cdf));
        let error =
            mean_bytes(&web, LoadBytes::Payload, LoadMean::Nominal, &Framing::HPCC, Added::default()).unwrap_err();
        assert_eq!(error.allowed.as_deref(), Some("sampled"));
    }

    proptest! {
        #[test]
        fn closed_form_equals_the_sum(n in 0u64..400, payload in 1u32..90, header in 0u32..80, telemetry in 0u32..9, full_last: bool) {
            let framing = Framing { payload, header, ..Framing::ETHERNET };
            let wire = Wire::of(&framing, Added { telemetry, full_last });
            let sum: u128 = (0..n).map(|b| u128::from(wire.flow(b))).sum();
            prop_assert_eq!(wire.flows_below(n), sum);
        }

        #[test]
        fn mean_on_the_wire_is_that_of_the_samples(low in 0u64..3000, span in 1u64..5000, step: bool) {
            let sampling = if step { Sampling::Step } else { Sampling::Interpolated };
            let cdf = Cdf::new(vec![(low, 0.25), (low + span, 1.0)], sampling, None).unwrap();
            let sum: u64 = (0..10_000).map(|k| wire_bytes(cdf.quantile((f64::from(k) + 0.5) / 1e4), &Framing::HPCC, SHORT)).sum();
            let mean = mean_wire(&cdf, &Framing::HPCC, SHORT);
            prop_assert!((sum as f64 / 1e4 / mean - 1.0).abs() < 2e-3, "{} {mean}", sum as f64 / 1e4);
        }
    }
}
