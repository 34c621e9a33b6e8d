//! Behaviours of the HPCC reference simulator.

use serde::{Deserialize, Serialize};

use crate::error::InputError;

/// Behaviours of the HPCC reference simulator that Paceline does not share. All off except in `paceline hpcc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quirks {
    /// Clock of whole nanoseconds; serialisation times truncated by the reference's double arithmetic.
    pub clock_1ns: bool,
    /// Ties between events go to the one scheduled first.
    pub insertion_order: bool,
    /// The NIC's round robin index is not adjusted when finished flows are removed, and its pacing timer has gaps.
    pub nic_round_robin: bool,
    /// Marks and probabilistic telemetry draw the reference's random numbers, in global order of events.
    pub reference_random: bool,
    /// ACK priority ends at the host: there ACKs are never paused; switches queue them with data.
    pub ack_priority_at_hosts: bool,
    /// PINT measures with data packets only; others reset its clock without being counted.
    pub pint_data_only: bool,
    /// Data frames shorter than the smallest frame are not padded; ACKs are.
    pub unpadded_data: bool,
    /// Flows are paced at line rate; their rate only sets the window.
    pub line_rate_pacing: bool,
    /// Packets a failed link takes out of a switch's queue keep their place in its accounts, and senders do not notice a
    /// new path.
    pub link_down: bool,
    /// Routes lead from node to node: hosts have one address and nodes one link between them, whatever there is. Part of `nic_round_robin` in
    /// `paceline hpcc`, where that makes a difference.
    #[serde(skip)]
    pub routes_by_node: bool,
}

/// Port rates, bit/s, that the reference's INT has codes for; it takes all others for the first of these.
pub(crate) const INT_RATES: [u64; 5] =
    [25_000_000_000, 50_000_000_000, 100_000_000_000, 200_000_000_000, 400_000_000_000];

/// A quirk: its name and its place in [`Quirks`].
pub type NamedQuirk = (&'static str, fn(&mut Quirks) -> &mut bool);

impl Quirks {
    /// All that the reference always has; `line_rate_pacing` is an option of it (`RATE_BOUND 0`).
    pub const REFERENCE: Quirks = Quirks {
        clock_1ns: true,
        insertion_order: true,
        nic_round_robin: true,
        reference_random: true,
        ack_priority_at_hosts: true,
        pint_data_only: true,
        unpadded_data: true,
        line_rate_pacing: false,
        link_down: true,
        routes_by_node: false,
    };

    /// Those of [`Self::REFERENCE`] by name.
    pub const NAMED: [NamedQuirk; 8] = [
        ("clock_1ns", |q| &mut q.clock_1ns),
        ("insertion_order", |q| &mut q.insertion_order),
        ("nic_round_robin", |q| &mut q.nic_round_robin),
        ("reference_random", |q| &mut q.reference_random),
        ("ack_priority_at_hosts", |q| &mut q.ack_priority_at_hosts),
        ("pint_data_only", |q| &mut q.pint_data_only),
        ("unpadded_data", |q| &mut q.unpadded_data),
        ("link_down", |q| &mut q.link_down),
    ];

    /// Switches one of [`Self::NAMED`] on or off; an error names the field the user gave it in.
    pub fn switch(&mut self, field: &str, name: &str, on: bool) -> Result<(), InputError> {
        if let Some((_, place)) = Self::NAMED.iter().find(|(n, _)| *n == name) {
            *place(self) = on;
            return Ok(());
        }
        let names = Self::NAMED.map(|(n, _)| n).join(", ");
        Err(InputError::new("no such quirk").field(field).value(name).allowed(names))
    }
}
