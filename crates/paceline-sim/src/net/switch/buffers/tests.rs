use proptest::prelude::*;

use super::*;
use crate::assemble::assemble;
use crate::spec::parse;

/// The buffer of a switch with four hosts.
fn buffers(switch: &str) -> Buffers {
    let text = format!(
        "[topology]\nkind = 'star'\nhosts = 4\n[switch]\n{switch}\n[schemes.x]\ncc = 'none'\n[[workloads]]\nkind = 'permutation'\nsizes = '1KB'"
    );
    let scenario = assemble(&parse(&text, "test", &[]).unwrap()).unwrap().scenario;
    Buffers::new(&scenario.graph, &scenario.switch, 100_000_000_000, 1500, 64)
}

proptest! {
    /// Where a packet is let through, admitting it and releasing it at once would have kept it, paused and resumed nothing, and left
    /// all accounts as they were. Else pauses would be missed near a threshold, or packets be kept that have no room.
    #[test]
    fn what_is_let_through_leaves_no_trace(
        switch in prop::sample::select(vec![
            "buffer = '150KB'\npfc.headroom = '1KB'\npfc.reserve = '1KB'",
            "buffer = '300KB'\npfc.headroom = '4KB'\npfc.reserve = '4KB'\npfc.alpha = 0.5",
            "buffer = '30KB'\npfc.enabled = false",
            "buffer = '30KB'\npfc.enabled = false\nmodel = 'per_port'\naccounting = 'both'",
            "buffer = '150KB'\nmodel = 'per_port'",
        ]),
        steps in prop::collection::vec((0u32..2, 3u8..5, 64u32..1500, 0usize..3), 1..400),
    ) {
        let mut buffers = buffers(switch);
        let node = 4;
        buffers.enter_exact(node);
        let first = buffers.pools[node as usize].first;
        let mut held: Vec<Place> = Vec::new();
        let mut through = 0;
        for (i, (port, class, size, leaves)) in steps.into_iter().enumerate() {
            let place = Place { node, ingress: first + port, class, size };
            let before = format!("{buffers:?}");
            if buffers.lets_through(place) {
                prop_assert_eq!(buffers.admit(place, 0, 0), Admit::Keep);
                prop_assert!(!buffers.release(place));
                prop_assert_eq!(before, format!("{buffers:?}"));
                through += 1;
            }
            if buffers.admit(place, 0, 0) != Admit::Drop {
                held.push(place);
            }
            // It fills, and empties, and fills again.
            let leave = if i / 100 % 2 == 0 { leaves / 2 } else { leaves + 1 };
            for _ in 0..leave.min(held.len()) {
                let place = held.swap_remove(size as usize % held.len());
                buffers.release(place);
            }
        }
        // All but ports with buffers of their own begin empty and let something through.
        prop_assert!(through > 0 || buffers.model == BufferModel::PerPort);
    }
}

/// A port's share of the pool doubles as in the HPCC reference simulator, which halves the port's rate until it is no more than
/// the hosts': otherwise its pauses come at other queues where that is no power of two.
#[test]
fn alpha_doubles_for_each_factor_begun() {
    let found = [(100, 100), (25, 100), (400, 100), (40, 25), (100, 40), (200, 40), (400, 25)]
        .map(|(rate, host): (u64, u64)| doublings_above(rate * 1_000_000_000, host * 1_000_000_000));
    assert_eq!(found, [0, 0, 2, 1, 2, 3, 4]);
}

/// ACKs in the control class (`host.ack_priority`) are never paused. They were, on paper: pauses were sent and counted that nobody heeds,
/// and what then had no headroom was told as a fault of a lossless class.
#[test]
fn the_control_class_pauses_nothing_and_takes_nothing_from_data() {
    for switch in ["buffer = '1MB'", "buffer = '150KB'\nmodel = 'per_port'"] {
        let mut buffers = buffers(switch);
        let node = 4;
        buffers.enter_exact(node);
        let first = buffers.pools[node as usize].first;
        let place = |class| Place { node, ingress: first, class, size: 1000 };
        let mut acks = 0;
        while buffers.admit(place(CONTROL), 0, 0) == Admit::Keep {
            acks += 1;
        }
        assert!(acks > 10 && buffers.admit(place(CONTROL), 0, 0) == Admit::Drop, "{switch}");
        // Data are told to pause in time for what the link still carries.
        let mut admitted = std::iter::from_fn(|| Some(buffers.admit(place(3), 0, 0)));
        assert!(
            admitted.by_ref().take(200).take_while(|a| *a != Admit::Drop).any(|a| a == Admit::KeepAndPause),
            "{switch}"
        );
        assert_eq!(buffers.admit(place(3), 0, 0), Admit::Keep, "{switch}: headroom");
    }
}
