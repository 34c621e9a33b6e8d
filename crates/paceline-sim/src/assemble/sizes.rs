//! Flow sizes, and what transports derive their defaults from.

use std::sync::Arc;

use paceline_proto::transport::homa::cutoffs::Lengths;
use paceline_proto::transport::tcp;
use paceline_proto::units::{BitsPerSec, Duration};

use super::{Build, read_text};
use crate::error::InputError;
use crate::spec::scheme::proactive::Facts;
use crate::spec::workload::{Sampling, Sizes};
use crate::workload::cdf::MAX_FILE;
use crate::workload::{self as w, SizeLaw};

impl Build<'_> {
    pub(super) fn sizes(&self, field: &str, sizes: &Sizes) -> Result<SizeLaw, InputError> {
        let law = match sizes {
            Sizes::Fixed(bytes) => SizeLaw::Fixed(bytes.0),
            Sizes::Builtin(name) => {
                let found = w::builtin(&name.0)
                    .map_err(|e| self.inside(&format!("{field}."), InputError { field: None, ..e }))?;
                SizeLaw::Drawn(Arc::new(found.cdf))
            }
            Sizes::File(file) => {
                let sampling = match file.sampling {
                    Sampling::Interpolated => w::Sampling::Interpolated,
                    Sampling::Step => w::Sampling::Step,
                };
                let text = read_text(self.spec, field, &file.file.0, MAX_FILE)?;
                SizeLaw::Drawn(Arc::new(w::Cdf::parse(&text, &file.file.0, sampling)?))
            }
        };
        self.fits(field, law.largest())?;
        Ok(law)
    }

    /// Refuses a flow of so many bytes where it is too large.
    pub(super) fn fits(&self, field: &str, bytes: u64) -> Result<(), InputError> {
        self.scenario.framing.fits(bytes).map_err(|e| self.inside(field, e))
    }

    /// What transports derive their defaults from, where messages will be of these `lengths`.
    pub(super) fn facts(&self, host_rate: u64, base_rtt: Duration, lengths: Vec<Lengths>) -> Facts {
        Facts {
            host_rate: BitsPerSec(host_rate),
            base_rtt,
            framing: self.scenario.framing,
            lengths,
            tcp: Arc::new(tcp::Params { probe: Some(Duration(2 * base_rtt.0)), ..self.spec.host.tcp.params() }),
        }
    }
}
