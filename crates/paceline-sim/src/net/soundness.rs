//! What only an error of ours can bring about: a flow or a query faster than its ideal, or books that do not balance. The run goes on to
//! its end, so that there is something to look at, and then says that its results cannot be trusted.

use crate::net::Net;
use crate::record::{FlowRecord, QueryRecord, Status};

impl Net {
    /// Whether nothing can beat the ideals: rerouted flows may come to shorter ways, and two of the reference's quirks make frames shorter
    /// than they are.
    fn keeps_ideals(&self) -> bool {
        let quirks = &self.scenario.quirks;
        self.failures.is_none() && !quirks.clock_1ns && !quirks.unpadded_data
    }

    /// Looks at a flow that ended at `now`. What did not end, or came to nobody, has no completion time.
    pub(crate) fn judge_flow(&mut self, record: &FlowRecord, now: u64) {
        let faster = record.fct_sender < record.ideal_sender
            || (record.fct_receiver != 0 && record.fct_receiver < record.ideal_receiver);
        if faster && record.status == Status::Finished && self.keeps_ideals() {
            self.note_impossible(
                now,
                record.id,
                &format!("flow {} finished faster than its ideal: {record:?}", record.id),
            );
        }
    }

    /// Looks at a query that was answered at `now`.
    pub(crate) fn judge_query(&mut self, record: &QueryRecord, now: u64) {
        if record.qct < record.ideal && self.keeps_ideals() {
            self.note_impossible(
                now,
                u64::from(record.connection) << 32 | u64::from(record.number),
                &format!("a query was answered faster than its ideal: {record:?}"),
            );
        }
    }

    /// Remembers the first: by when, and among flows or queries by number, so that threads tell the same one.
    #[cold]
    fn note_impossible(&mut self, now: u64, number: u64, what: &str) {
        let this = (now, number, what.to_owned());
        if self.first_impossible.as_ref().is_none_or(|first| this < *first) {
            self.first_impossible = Some(this);
        }
    }

    /// What to tell where the results of a run cannot be trusted. Takes a look at every packet, so that it is for the end of a run.
    pub fn unsound(&self) -> Option<String> {
        self.first_impossible.as_ref().map(|(_, _, what)| what.clone()).or_else(|| self.imbalance())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::assemble;
    use crate::engine::sequential::Sequential;
    use crate::spec::parse;

    /// A flow faster than light is told at the end of its run, the earliest of several; what was never received is no such flow.
    #[test]
    fn results_that_cannot_be_are_told() {
        let text = "run.stop = '30us'\n[topology]\nkind = 'star'\nhosts = 2\n[schemes.x]\ncc = 'none'
            [[workloads]]\nkind = 'incast'\nsenders = 1\nreceiver = 1\nsizes = '1MB'\n";
        let a = assemble(&parse(text, "test", &[]).unwrap()).unwrap();
        let mut engine = Sequential::new(a.scenario, a.source, None).unwrap();
        engine.run(&mut ()).unwrap();
        let net = engine.net_mut();
        let flow = |id, fct_sender, fct_receiver| FlowRecord {
            id,
            fct_sender,
            fct_receiver,
            ..net.record_of(0, 30, Status::Finished)
        };
        let (line, ideal) = (flow(0, 0, 0).ideal_sender, flow(0, 0, 0).ideal_receiver);
        let [exact, lost, late, early] =
            [flow(1, line, ideal), flow(2, line, 0), flow(3, line, ideal - 1), flow(4, line - 1, 0)];
        net.judge_flow(&exact, 10);
        net.judge_flow(&lost, 10);
        assert_eq!(net.unsound(), None);
        net.judge_flow(&late, 30);
        net.judge_flow(&early, 20);
        let why = net.unsound().unwrap();
        assert!(why.starts_with("flow 4 finished faster than its ideal: "), "{why}");
    }
}
