//! The reference's packet trace (`TRACE_OUTPUT_FILE`, there usually `mix.tr`): little endian, the rates of all ports, then a row of 56 bytes
//! for each thing that happens to a packet at a traced node. hpcc-ns3 facts, section 5; the fields of PFC frames by the simulator's source.
//!
//! *Not as there:* bytes that the reference leaves as memory had them are 0; ports ascend, where hash tables order them there.

use std::io::{self, Write};

use crate::graph::NodeId;

/// Writes what comes first: the rate of every port (node, number from 1, bit/s), and the window of all flows in bytes.
pub fn write_header(out: &mut impl Write, ports: &[(NodeId, u32, u64)], window: u64) -> io::Result<()> {
    out.write_all(&(ports.len() as u32).to_le_bytes())?;
    for (node, port, rate) in ports {
        out.write_all(&(*node as u16).to_le_bytes())?;
        out.write_all(&[*port as u8])?;
        out.write_all(&rate.to_le_bytes())?;
    }
    out.write_all(&(window as u32).to_le_bytes())
}

/// Something that happens to a packet at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceRow {
    /// When, in ns.
    pub time_ns: u64,
    /// Where; of larger networks than the reference's 65,536 nodes, as there, the lower bits.
    pub node: NodeId,
    /// Whether that is a switch.
    pub switch: bool,
    /// At which of its ports, numbered from 1.
    pub port: u32,
    /// The port's queue; 0 for what is received.
    pub queue: u8,
    /// Bytes in it, without this packet.
    pub waiting: u32,
    /// Address of the packet's sender.
    pub src_ip: u32,
    /// Address of its receiver.
    pub dst_ip: u32,
    /// Bytes of the frame.
    pub size: u16,
    /// 0 received, 1 joins the queue, 2 leaves it, 3 dropped.
    pub event: u8,
    /// ECN bits of its IP header: 3 for a packet that met congestion.
    pub ecn: u8,
    /// What it is.
    pub content: Content,
}

/// What a traced packet says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// Payload.
    Data {
        /// Port numbers, from and to.
        ports: [u16; 2],
        /// Its first byte.
        seq: u32,
        /// When it was sent, ns, where it carries that.
        stamp: u64,
        /// Class.
        class: u16,
        /// Payload bytes.
        payload: u16,
    },
    /// ACK, or NACK.
    Answer {
        /// A NACK.
        negative: bool,
        /// Port numbers, from and to.
        ports: [u16; 2],
        /// Bit 0: what it answers met congestion.
        flags: u16,
        /// Class.
        class: u16,
        /// The byte that is expected next.
        seq: u32,
        /// When what it answers was sent, ns, where that is carried.
        stamp: u64,
    },
    /// PFC.
    Pfc {
        /// Pause time as configured; 0 resumes.
        time: u32,
        /// Bytes that wait in the class, the other way.
        waiting: u32,
        /// Class concerned.
        class: u8,
    },
}

impl Content {
    /// The protocol number that the reference gives it.
    fn protocol(&self) -> u8 {
        match self {
            Content::Data { .. } => 0x11,
            Content::Answer { negative: false, .. } => 0xfc,
            Content::Answer { negative: true, .. } => 0xfd,
            Content::Pfc { .. } => 0xfe,
        }
    }

    /// The last 24 bytes of its row.
    fn bytes(&self) -> [u8; 24] {
        let mut bytes = [0; 24];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        match *self {
            Content::Data { ports, seq, stamp, class, payload } => {
                put(0, &ports[0].to_le_bytes());
                put(2, &ports[1].to_le_bytes());
                put(4, &seq.to_le_bytes());
                put(8, &stamp.to_le_bytes());
                put(16, &class.to_le_bytes());
                put(18, &payload.to_le_bytes());
            }
            Content::Answer { ports, flags, class, seq, stamp, .. } => {
                put(0, &ports[0].to_le_bytes());
                put(2, &ports[1].to_le_bytes());
                put(4, &flags.to_le_bytes());
                put(6, &class.to_le_bytes());
                put(8, &seq.to_le_bytes());
                put(16, &stamp.to_le_bytes());
            }
            Content::Pfc { time, waiting, class } => {
                put(0, &time.to_le_bytes());
                put(4, &waiting.to_le_bytes());
                put(8, &[class]);
            }
        }
        bytes
    }
}

/// Writes a row.
pub fn write_row(out: &mut impl Write, row: &TraceRow) -> io::Result<()> {
    let mut bytes = [0; 56];
    bytes[..8].copy_from_slice(&row.time_ns.to_le_bytes());
    bytes[8..10].copy_from_slice(&(row.node as u16).to_le_bytes());
    (bytes[10], bytes[11]) = (row.port as u8, row.queue);
    for (place, field) in [row.waiting, row.src_ip, row.dst_ip].into_iter().enumerate() {
        bytes[12 + 4 * place..16 + 4 * place].copy_from_slice(&field.to_le_bytes());
    }
    bytes[24..26].copy_from_slice(&row.size.to_le_bytes());
    bytes[26..30].copy_from_slice(&[row.content.protocol(), row.event, row.ecn, u8::from(row.switch)]);
    bytes[32..].copy_from_slice(&row.content.bytes());
    out.write_all(&bytes)
}
