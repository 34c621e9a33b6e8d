//! What goes out while a run goes on: records to disk, progress to who watches.

use std::time::Instant;

use paceline_proto::units::Duration;

use crate::engine::{Observer, Progress};
use crate::error::RunError;
use crate::machine::memory_ends;
use crate::record::{FlowName, FlowRecord, PacketRecord, QueryRecord};
use crate::results::flow_file::FlowFile;
use crate::results::packet_file::PacketFile;
use crate::results::query_file::QueryFile;

/// How far a run is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Snapshot {
    /// The engine's own view.
    pub engine: Progress,
    /// Simulated time at which the run ends or the arrivals end, ps, where known.
    pub end: Option<u64>,
    /// Flows there will be, where known.
    pub flows_total: Option<u64>,
    /// Steps of programs there will be, where that is known and there is nothing else to wait for.
    pub steps_total: Option<u64>,
    /// Wall seconds since the event loop began.
    pub wall_s: f64,
}

/// Streams ended flows to disk and passes progress on.
pub(super) struct Watcher<'a> {
    pub(super) flows: FlowFile,
    pub(super) queries: Option<QueryFile>,
    pub(super) packets: Option<PacketFile>,
    pub(super) watch: &'a mut dyn FnMut(&Snapshot) -> bool,
    pub(super) began: Instant,
    pub(super) flushed: Instant,
    pub(super) looked: Instant,
    pub(super) end: Option<u64>,
    pub(super) flows_total: Option<u64>,
    pub(super) steps_total: Option<u64>,
    pub(super) error: Option<RunError>,
}

impl Observer for Watcher<'_> {
    fn flow_records(&mut self, records: &[FlowRecord]) {
        self.flows.add(records);
    }

    fn queries_answered(&mut self, records: &[QueryRecord]) {
        self.queries.iter_mut().for_each(|file| file.add(records));
    }

    fn packets(&mut self, packets: &mut Vec<PacketRecord>, names: &[FlowName], before: u64) -> bool {
        self.packets.as_mut().is_some_and(|file| file.add(packets, names, before))
    }

    #[allow(clippy::disallowed_methods, reason = "paces writing and the display; no result depends on it")]
    fn progress(&mut self, progress: &Progress) -> bool {
        let now = Instant::now();
        if now.duration_since(self.flushed).as_millis() >= 200 {
            self.flushed = now;
            let queries = self.queries.as_mut().map_or(Ok(()), QueryFile::flush);
            let packets = self.packets.as_mut().map_or(Ok(()), PacketFile::flush);
            if let Err(e) = self.flows.flush().and(queries).and(packets) {
                self.error = Some(e.into());
                return false;
            }
        }
        // More often: a run may take half a gigabyte a second.
        if now.duration_since(self.looked).as_millis() >= 40 {
            self.looked = now;
            if let Some(why) = memory_ends() {
                let at = Duration(progress.now);
                self.error =
                    Some(RunError::Memory(format!("{why}; the run ends at {at:#}, what it has written stays")));
                return false;
            }
        }
        let wall_s = now.duration_since(self.began).as_secs_f64();
        let Self { end, flows_total, steps_total, .. } = *self;
        (self.watch)(&Snapshot { engine: *progress, end, flows_total, steps_total, wall_s })
    }
}
