//! Settings of workloads.

use paceline_proto::units::Bytes;

use super::Seen;
use crate::mpi::MachineConfig;
use crate::spec::workload::{IncastMode, OnOff, OnOffMode, Rpc, RpcMode, Sizes, WorkloadKind};
use crate::workload::program::Kind;

/// All of them.
pub(super) fn notes(Seen { spec, net, .. }: Seen<'_>, note: &mut impl FnMut(&str, &str)) {
    let nics = net.graph.hosts().flat_map(|host| net.graph.ports_of(host));
    let fastest = nics.map(|nic| nic.rate.0).max().unwrap_or(0);
    for (i, workload) in spec.workloads.iter().enumerate() {
        if workload.rate_cap.limit() >= fastest {
            note(&format!("workloads.{i}.rate_cap"), "no NIC is faster");
        }
        once(i, &workload.kind, note);
        one_size(i, &workload.kind, note);
        if let WorkloadKind::Rpc(Rpc { connections: 1, mode: RpcMode::Open(_), .. }) = &workload.kind {
            note(&format!("workloads.{i}.pick"), &format!("workloads.{i}.connections is 1"));
        }
    }
    for program in net.scenario.programs.iter() {
        let Kind::Mpi(w) = &program.kind else { continue };
        if w.program.totals().largest <= w.config.eager {
            let number = program.workload;
            let fields = format!("workloads.{number}.control, workloads.{number}.sends_end");
            note(&fields, "no message is larger than eager");
        }
        let (usual, given) = (MachineConfig::default().eager, w.config.eager);
        let between = usual.min(given) + 1..=usual.max(given);
        if !w.program.sends().any(|send| between.contains(&send.bytes)) {
            let why = format!("no message is of a size between it and the default, {}", Bytes(usual));
            note(&format!("workloads.{}.eager", program.workload), &why);
        }
    }
}

/// Periods of what takes place once.
fn once(i: usize, kind: &WorkloadKind, note: &mut impl FnMut(&str, &str)) {
    let (field, times) = match kind {
        WorkloadKind::Incast(incast) => match &incast.mode {
            IncastMode::Synchronous(mode) => ("count", mode.count),
            IncastMode::Staggered(mode) => ("count", mode.count),
            IncastMode::Poisson(_) => return,
        },
        WorkloadKind::Permutation(w) => ("rounds", w.rounds),
        WorkloadKind::AllToAll(w) => ("rounds", w.rounds),
        _ => return,
    };
    if times == 1 {
        note(&format!("workloads.{i}.period"), &format!("workloads.{i}.{field} is 1"));
    }
}

/// Which mean the load is of, where all sizes are equal.
fn one_size(i: usize, kind: &WorkloadKind, note: &mut impl FnMut(&str, &str)) {
    let sizes = match kind {
        WorkloadKind::OnOff(OnOff { mode: OnOffMode::Cbr(_), .. }) => {
            note(&format!("workloads.{i}.load.mean"), &format!("workloads.{i}.mode is \"cbr\": there are no sizes"));
            return;
        }
        WorkloadKind::Poisson(w) => &w.sizes,
        WorkloadKind::Incast(w) if matches!(w.mode, IncastMode::Poisson(_)) => &w.sizes,
        WorkloadKind::Rpc(w) if matches!(w.mode, RpcMode::Open(_)) => &w.sizes,
        WorkloadKind::OnOff(OnOff { mode: OnOffMode::Flows(w), .. }) => &w.sizes,
        _ => return,
    };
    if matches!(sizes, Sizes::Fixed(_)) {
        note(&format!("workloads.{i}.load.mean"), &format!("workloads.{i}.sizes is one size"));
    }
}
