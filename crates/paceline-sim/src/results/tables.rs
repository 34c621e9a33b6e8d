//! The CSV tables made from the network's counters: queues, links, pauses, series.

use std::io::{self, Write};

use crate::net::Net;
use crate::packet::NONE;
use crate::record::bin_range;

/// Files of a result folder besides summary, scenario and report.
pub const FILES: [&str; 12] = [
    "flows.bin",
    "flows.csv",
    "queries.bin",
    "queries.csv",
    "packets.bin",
    "packets.csv",
    "ranks.csv",
    "queues.csv",
    "links.csv",
    "pauses.csv",
    "saturation.csv",
    "series.csv",
];

/// Where a port is: node, port number, peer, tier of the link.
fn place(net: &Net, port: u32) -> (u32, u32, u32, String) {
    let node = net.ports[port as usize].node;
    let peer = net.ports[port as usize].peer;
    (node, port - net.first[node as usize], peer, tier(net, port))
}

/// `from->to` of a link direction.
pub fn tier(net: &Net, port: u32) -> String {
    net.tiers()[usize::from(net.port_tier[port as usize])].clone()
}

/// `queues.csv`: time by queue length, of all queues up to the end of the run or until the last is empty. Histograms kept per tier come as the sum
/// over the `ports` of the tier, at the node and port of the first of them.
pub fn queues(net: &mut Net, classes: &[u8], end: u64, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "node,port,peer,tier,class,rate_bps,bin_low_bytes,bin_high_bytes,time_ps,ports")?;
    if !net.levels.has_histograms() {
        return Ok(());
    }
    let end = net.queue_span(end);
    let switch_ports: Vec<u32> = (0..net.ports.len() as u32).filter(|p| net.ports[*p as usize].nic == NONE).collect();
    let mut rows: Vec<(u32, u64)> = Vec::new();
    for &port in &switch_ports {
        for &class in classes {
            net.note_queue(port, class, end);
        }
        let row = net.levels.row(port);
        // Rows per tier are few; rows per port are all different and ascending.
        let known = if rows.len() < 64 || net.levels.has_few_rows() {
            rows.iter_mut().find(|(first, _)| net.levels.row(*first) == row)
        } else {
            None
        };
        match known {
            Some((_, ports)) => *ports += 1,
            None => rows.push((port, 1)),
        }
    }
    for (port, ports) in rows {
        let (node, number, peer, tier) = place(net, port);
        let rate = net.graph.ports[port as usize].rate.0;
        for &class in classes {
            let bins = net.queue_time(port, class);
            let waiting: u64 = bins.clone().map(|(_, t)| t).sum();
            debug_assert!(waiting <= end * ports, "a queue waits no longer than there is time");
            for (bin, t) in std::iter::once((0, (end * ports).saturating_sub(waiting))).chain(bins) {
                let (low, high) = bin_range(bin);
                writeln!(out, "{node},{number},{peer},{tier},{class},{rate},{low},{high},{t},{ports}")?;
            }
        }
    }
    Ok(())
}

/// `links.csv`: what every link direction carried.
pub fn links(net: &Net, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "node,port,peer,tier,rate_bps,delay_ps,data_packets,control_packets,data_bytes,control_bytes,busy_ps,marks,\
         drops_buffer,drops_wire,drops_link_down,trims,drops_credit,drops_unscheduled,drops_control"
    )?;
    for port in 0..net.ports.len() as u32 {
        let (node, number, peer, tier) = place(net, port);
        let (p, info, c) =
            (&net.ports[port as usize], &net.graph.ports[port as usize], &net.port_counts[port as usize]);
        let data = p.tx_bytes - p.tx_control_bytes;
        let overhead = u64::from(net.scenario.framing.wire_overhead) * p.tx_packets;
        let busy = (u128::from(p.tx_bytes + overhead) * 8_000_000_000_000 / u128::from(info.rate.0)) as u64;
        writeln!(
            out,
            "{node},{number},{peer},{tier},{},{},{},{},{data},{},{busy},{},{},{},{},{},{},{},{}",
            info.rate.0,
            info.delay.0,
            p.tx_packets - p.tx_control,
            p.tx_control,
            p.tx_control_bytes,
            c.marks,
            c.drops_buffer,
            c.drops_wire,
            c.drops_link_down,
            c.trims,
            c.drops_credit,
            c.drops_unscheduled,
            c.drops_control
        )?;
    }
    Ok(())
}

/// `pauses.csv`: the ports that were paused.
pub fn pauses(net: &Net, end: u64, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "node,port,peer,tier,class,pause_frames,resume_frames,paused_ps,paused_share")?;
    for port in 0..net.ports.len() as u32 {
        let Some(p) = net.pauses(port) else { continue };
        let (node, number, peer, tier) = place(net, port);
        for class in 0..8 {
            if p.pauses[class] == 0 && p.resumes[class] == 0 {
                continue;
            }
            let still = net.ports[port as usize].paused & (1 << class) != 0;
            let paused = p.time[class] + if still { end.saturating_sub(p.since[class]) } else { 0 };
            let share = paused as f64 / end.max(1) as f64;
            let (pauses, resumes) = (p.pauses[class], p.resumes[class]);
            writeln!(out, "{node},{number},{peer},{tier},{class},{pauses},{resumes},{paused},{share:.6}")?;
        }
    }
    Ok(())
}

/// `saturation.csv`: how far pauses had spread, by sample of the series; nothing but the head where nothing was paused.
pub fn saturation(net: &Net, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "time_ps,paused_links,paused_hosts,trees,depth,root,class,hosts,cycle")?;
    if net.series.waits.iter().all(Vec::is_empty) {
        return Ok(());
    }
    for (time, s) in net.spreads() {
        write!(out, "{time},{},{},{},{},", s.links, s.hosts, s.trees, s.depth)?;
        match s.root {
            Some(((port, class), hosts)) => {
                let (node, number, _, _) = place(net, port);
                write!(out, "{node}:{number},{class},{hosts}")?;
            }
            None => write!(out, ",0,0")?,
        }
        writeln!(out, ",{}", u8::from(s.cycle))?;
    }
    Ok(())
}

/// `series.csv`: flow counts, queues of the chosen and of the `busiest` ports with the largest mean queue, and the
/// followed flows over time.
pub fn series(net: &Net, chosen: &[u32], busiest: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "time_ps,kind,id,value")?;
    let s = &net.series;
    // Senders learn what has arrived from ACKs; where there are none, or not for all, it is counted where it arrives.
    let tells_received = net.messages.as_ref().is_some_and(|m| !m.is_tcp());
    let load = |i: usize| s.queues.iter().map(|q| u64::from(q[i])).sum::<u64>();
    let mut ports: Vec<usize> = (0..s.ports.len()).filter(|i| load(*i) > 0).collect();
    ports.sort_by_key(|i| (std::cmp::Reverse(load(*i)), *i));
    ports.truncate(busiest);
    ports.extend((0..s.ports.len()).filter(|i| chosen.contains(&s.ports[*i])));
    ports.sort_unstable();
    ports.dedup();
    for (i, time) in s.times.iter().enumerate() {
        writeln!(out, "{time},active_flows,,{}", s.active[i])?;
        writeln!(out, "{time},finished_flows,,{}", s.finished[i])?;
        for &p in &ports {
            let (node, number, _, _) = place(net, s.ports[p]);
            writeln!(out, "{time},queue_bytes,{node}:{number},{}", s.queues[i][p])?;
        }
        let received = s.received.get(i).into_iter().flatten();
        for ((state, id), received) in s.flows.get(i).into_iter().flatten().zip(&s.followed).zip(received) {
            let Some(state) = state else { continue };
            let window = state.window.filter(|w| *w != u64::MAX);
            let received = Some(*received).filter(|_| tells_received);
            let values = [
                ("rate_bps", state.rate),
                ("cwnd_bytes", window),
                ("acked_bytes", state.acknowledged),
                ("received_bytes", received),
            ];
            for (kind, value) in values.into_iter().filter_map(|(kind, value)| Some((kind, value?))) {
                writeln!(out, "{time},{kind},{id},{value}")?;
            }
        }
    }
    Ok(())
}
