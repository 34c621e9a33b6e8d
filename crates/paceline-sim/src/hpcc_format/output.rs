//! The files the reference writes: fct, pfc and qlen, byte for byte in its form.

use std::io::{self, Write};

use crate::graph::NodeId;
use crate::routing::ip_of;

/// A finished flow: a line of the fct file. Lines are in order of completion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FctLine {
    /// Sending host.
    pub src: NodeId,
    /// Receiving host.
    pub dst: NodeId,
    /// Source port number: 10000 and up per (src, dst) in order of start.
    pub sport: u16,
    /// Destination port number.
    pub dport: u16,
    /// Payload bytes.
    pub bytes: u64,
    /// Start in ns.
    pub start_ns: u64,
    /// Completion time in ns: from the start to the arrival of the last ACK.
    pub fct_ns: u64,
    /// Completion time in ns the flow would have alone, by the reference's formula.
    pub standalone_ns: u64,
}

/// Writes a line of the fct file.
pub fn write_fct(out: &mut impl Write, flow: &FctLine) -> io::Result<()> {
    let FctLine { src, dst, sport, dport, bytes, start_ns, fct_ns, standalone_ns } = *flow;
    let (sip, dip) = (ip_of(src, 0), ip_of(dst, 0));
    writeln!(out, "{sip:08x} {dip:08x} {sport} {dport} {bytes} {start_ns} {fct_ns} {standalone_ns}")
}

/// A pause or resume frame taking effect at the device that receives it: a line of the pfc file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PfcLine {
    /// When, in ns.
    pub time_ns: u64,
    /// Node that receives the frame.
    pub node: NodeId,
    /// Whether that node is a switch.
    pub switch: bool,
    /// Port it arrives at, numbered from 1 as in the reference (our port number plus 1).
    pub port: u32,
    /// Pause, or resume.
    pub pause: bool,
}

/// Writes a line of the pfc file.
pub fn write_pfc(out: &mut impl Write, frame: &PfcLine) -> io::Result<()> {
    let PfcLine { time_ns, node, switch, port, pause } = *frame;
    writeln!(out, "{time_ns} {node} {} {port} {}", u8::from(switch), u8::from(pause))
}

/// Writes a block of the qlen file: per switch port `(switch, port from 1, samples per 1000 bytes of queue)`.
///
/// The reference lists switches by id and ports by number. Counts are cumulative; zeros after the last sample seen are
/// not written, so that histograms of any fixed length will do.
pub fn write_qlen_block<'a>(
    out: &mut impl Write,
    time_ns: u64,
    ports: impl IntoIterator<Item = (NodeId, u32, &'a [u64])>,
) -> io::Result<()> {
    writeln!(out, "time: {time_ns}")?;
    for (switch, port, counts) in ports {
        write!(out, "{switch} {port}")?;
        let used = counts.iter().rposition(|&c| c > 0).map_or(0, |last| last + 1);
        for count in &counts[..used] {
            write!(out, " {count}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// The reference's lines of our case t1 (one 10 MB flow, HPCC).
    #[test]
    fn fct_line_is_the_reference_s() {
        let flow = FctLine {
            src: 0,
            dst: 1,
            sport: 10_000,
            dport: 100,
            bytes: 10_000_000,
            start_ns: 2_000_000_000,
            fct_ns: 921_013,
            standalone_ns: 842_560,
        };
        assert_eq!(text(|o| write_fct(o, &flow)), "0b000001 0b000101 10000 100 10000000 2000000000 921013 842560\n");
    }

    /// A pause at a host and the resume after it, as the reference wrote them (case t6).
    #[test]
    fn pfc_line_is_the_reference_s() {
        let pause = PfcLine { time_ns: 2_000_004_552, node: 4, switch: false, port: 1, pause: true };
        assert_eq!(text(|o| write_pfc(o, &pause)), "2000004552 4 0 1 1\n");
        let resume = PfcLine { switch: true, port: 3, pause: false, ..pause };
        assert_eq!(text(|o| write_pfc(o, &resume)), "2000004552 4 1 3 0\n");
    }

    /// The reference's whole qlen file of case t1.
    #[test]
    fn qlen_blocks_are_the_reference_s() {
        let mut late = [0u64; 12];
        late[0] = 100_001;
        let got = text(|o| {
            write_qlen_block(o, 2_000_000_000, [(2, 1, &[1u64, 0, 0][..]), (2, 2, &[1][..])])?;
            write_qlen_block(o, 2_010_000_000, [(2, 1, &late[..]), (2, 2, &late[..])])
        });
        assert_eq!(got, "time: 2000000000\n2 1 1\n2 2 1\ntime: 2010000000\n2 1 100001\n2 2 100001\n");
        let mut gap = [0u64; 5];
        gap[3] = 7;
        assert_eq!(
            text(|o| write_qlen_block(o, 5, [(9, 1, &gap[..]), (9, 2, &[][..])])),
            "time: 5\n9 1 0 0 0 7\n9 2\n"
        );
    }
}
