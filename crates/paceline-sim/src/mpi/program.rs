//! What every rank does: operations and what each waits for.

use std::fmt;

use crate::InputError;

/// Any source, or any tag: GOAL's `-1`.
pub const ANY: u32 = u32::MAX;
/// Operations that a program may hold in memory, each about 40 bytes.
pub const MOST_STORED: u64 = 50_000_000;
/// Ranks of a program.
pub const MOST_RANKS: u32 = 1 << 20;
/// Operations that one rank may carry out: what the order numbers of its messages hold.
pub const MOST_OF_RANK: u64 = 1 << 30;
/// Operations that all ranks may carry out: what the numbers of messages hold.
pub const MOST_IN_ALL: u64 = u32::MAX as u64;

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpKind {
    /// Sends a message; over once its buffer may be used again.
    Send,
    /// Receives a message; over once it is there.
    Recv,
    /// Computes.
    Calc,
}

/// One operation of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Op {
    /// What it does.
    pub kind: OpKind,
    /// Processor of the rank that computes; a processor does one computation after the other.
    pub cpu: u8,
    /// NIC of a message, of those of its two hosts, counted round. Where no message of a program names another than 0, none names any.
    pub nic: u8,
    /// The other rank: receiver or source; [`ANY`] for any source.
    pub peer: u32,
    /// Tag; [`ANY`] for any, at receives.
    pub tag: u32,
    /// Bytes of a message, or length of a computation in ns.
    pub size: u64,
}

impl Op {
    /// A send of `bytes` to a rank.
    pub const fn send(to: u32, bytes: u64, tag: u32) -> Self {
        Self { kind: OpKind::Send, cpu: 0, nic: 0, peer: to, tag, size: bytes }
    }

    /// A receive of `bytes` from a rank or from [`ANY`].
    pub const fn recv(from: u32, bytes: u64, tag: u32) -> Self {
        Self { kind: OpKind::Recv, cpu: 0, nic: 0, peer: from, tag, size: bytes }
    }

    /// A computation of `ns`.
    pub const fn calc(ns: u64) -> Self {
        Self { kind: OpKind::Calc, cpu: 0, nic: 0, peer: 0, tag: 0, size: ns }
    }
}

/// As in GOAL, without label.
impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, side) = match self.kind {
            OpKind::Calc => {
                write!(f, "calc {}", self.size)?;
                return if self.cpu > 0 { write!(f, " cpu {}", self.cpu) } else { Ok(()) };
            }
            OpKind::Send => ("send", "to"),
            OpKind::Recv => ("recv", "from"),
        };
        let any = |x: u32| if x == ANY { "-1".to_string() } else { x.to_string() };
        write!(f, "{word} {}b {side} {} tag {}", self.size, any(self.peer), any(self.tag))?;
        if self.cpu > 0 {
            write!(f, " cpu {}", self.cpu)?;
        }
        if self.nic > 0 { write!(f, " nic {}", self.nic) } else { Ok(()) }
    }
}

/// That an operation waits for another of its block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Edge {
    /// The one waited for, by its place in the block.
    pub before: u32,
    /// The one that waits.
    pub after: u32,
    /// Waits for the start (GOAL's `irequires`), not for the end (`requires`).
    pub start: bool,
}

/// Operations of a rank in no order but that of their edges.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Block {
    ops: Box<[Op]>,
    /// Where the successors of each operation begin.
    first: Box<[u32]>,
    /// Successors: twice the place, plus 1 for one that waits for the start.
    next: Box<[u32]>,
}

impl Block {
    /// Puts operations and edges together.
    ///
    /// # Errors
    /// The place of an operation that waits, over others, for itself.
    ///
    /// # Panics
    /// An edge to an operation that there is not.
    pub fn new(ops: Vec<Op>, mut edges: Vec<Edge>) -> Result<Self, usize> {
        edges.sort_unstable();
        edges.dedup();
        let mut first = vec![0; ops.len() + 1];
        for edge in &edges {
            assert!((edge.after as usize) < ops.len(), "{edge:?} leaves its block");
            first[edge.before as usize + 1] += 1;
        }
        for i in 0..ops.len() {
            first[i + 1] += first[i];
        }
        let next = edges.iter().map(|e| e.after << 1 | u32::from(e.start)).collect();
        let block = Self { ops: ops.into(), first: first.into(), next };
        let mut waiting = Vec::new();
        block.count_waiting(&mut waiting);
        let mut free: Vec<usize> = (0..waiting.len()).filter(|i| waiting[*i] == 0).collect();
        while let Some(op) = free.pop() {
            for (after, _) in block.successors(op) {
                waiting[after] -= 1;
                if waiting[after] == 0 {
                    free.push(after);
                }
            }
        }
        waiting.iter().position(|n| *n > 0).map_or(Ok(block), Err)
    }

    /// Its operations.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// Who waits for an operation, and whether only for its start; in ascending order.
    pub fn successors(&self, op: usize) -> impl Iterator<Item = (usize, bool)> + '_ {
        let range = self.first[op] as usize..self.first[op + 1] as usize;
        self.next[range].iter().map(|n| ((n >> 1) as usize, n & 1 == 1))
    }

    /// How many others each operation waits for.
    pub(super) fn count_waiting(&self, waiting: &mut Vec<u32>) {
        waiting.clear();
        waiting.resize(self.ops.len(), 0);
        for n in &self.next {
            waiting[(n >> 1) as usize] += 1;
        }
    }
}

/// A block that a rank carries out again and again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Place of the block in [`RankProgram::blocks`].
    pub block: u32,
    /// How often.
    pub times: u32,
    /// Operations of the rank before this part.
    pub first: u32,
}

/// The program of one rank. The next block begins, or the same one again, when all operations of a block are over.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RankProgram {
    blocks: Vec<Block>,
    parts: Vec<Part>,
    count: u64,
}

impl RankProgram {
    /// A rank that does everything in one block, once.
    pub fn flat(block: Block) -> Self {
        let mut rank = Self::default();
        let block = rank.block(block);
        rank.repeat(block, 1);
        rank
    }

    /// Adds a block for use in parts.
    pub fn block(&mut self, block: Block) -> u32 {
        self.blocks.push(block);
        self.blocks.len() as u32 - 1
    }

    /// Goes on with a block, so many times.
    pub fn repeat(&mut self, block: u32, times: u32) {
        let len = self.blocks[block as usize].ops.len() as u64;
        if len > 0 && times > 0 {
            // A count that does not fit is refused by `Program::new`.
            self.parts.push(Part { block, times, first: self.count.min(MOST_OF_RANK) as u32 });
            self.count = self.count.saturating_add(len * u64::from(times));
        }
    }

    /// Its blocks.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// How many operations it carries out.
    pub fn operations(&self) -> u64 {
        self.count
    }

    /// What it carries out, in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Operations that it carries out.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How often a block follows another. In a schedule without blocks an empty computation takes the place of each: the next
    /// operations wait for it, and it for all before.
    pub fn joins(&self) -> u64 {
        self.parts.iter().map(|p| u64::from(p.times)).sum::<u64>().saturating_sub(1)
    }

    /// An operation by its number in the rank's run.
    fn op(&self, number: u32) -> &Op {
        let part = self.parts[self.parts.partition_point(|p| p.first <= number) - 1];
        let ops = &self.blocks[part.block as usize].ops;
        &ops[(number - part.first) as usize % ops.len()]
    }
}

/// What all ranks do.
#[derive(Clone, Debug)]
pub struct Program {
    ranks: Vec<RankProgram>,
    /// Number of the first operation of each rank among all.
    first: Vec<u32>,
    /// Messages name NICs.
    names_nics: bool,
    text: Option<Text>,
}

/// The text that a program was read from: its file, and the line of every operation of every rank.
#[derive(Clone, Debug)]
struct Text {
    file: String,
    lines: Vec<Box<[u32]>>,
}

/// Whatever text they were read from.
impl PartialEq for Program {
    fn eq(&self, other: &Self) -> bool {
        self.ranks == other.ranks
    }
}

impl Eq for Program {}

/// What a program adds up to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Operations carried out.
    pub operations: u64,
    /// Messages sent, to other ranks and to the same one.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Largest message, bytes.
    pub largest: u64,
    /// Longest computation of one rank in all, as if on one processor, units.
    pub longest_calc: u64,
}

/// A message that a rank sends to another one, again and again where its block is repeated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Send {
    /// The rank that sends.
    pub from: u32,
    /// The one that receives.
    pub to: u32,
    /// Length; an empty message has a byte.
    pub bytes: u64,
    /// How often.
    pub times: u64,
    /// The NIC it names, see [`Op::nic`].
    pub nic: Option<u8>,
}

impl Program {
    /// A program of these ranks.
    ///
    /// # Errors
    /// No ranks or too many, a peer that is none of them, a send with any tag, more operations than there are numbers for.
    pub fn new(ranks: Vec<RankProgram>) -> Result<Self, InputError> {
        if ranks.is_empty() || ranks.len() > MOST_RANKS as usize {
            return Err(InputError::new("no program has so many ranks")
                .field("ranks")
                .value(ranks.len())
                .allowed(format!("1 to {MOST_RANKS}")));
        }
        let mut first = Vec::with_capacity(ranks.len());
        let mut count = 0u64;
        let mut names_nics = false;
        for (number, rank) in ranks.iter().enumerate() {
            for op in rank.blocks.iter().flat_map(|b| b.ops.iter()) {
                names_nics |= op.kind == OpKind::Send && op.nic > 0;
                check_op(op, ranks.len()).map_err(|e| e.field(format!("rank {number}")).value(op))?;
            }
            first.push(count.min(MOST_IN_ALL) as u32);
            count = count.saturating_add(rank.count);
            if rank.count > MOST_OF_RANK || count > MOST_IN_ALL {
                return Err(InputError::new("the program carries out too many operations")
                    .field(format!("rank {number}"))
                    .value(rank.count)
                    .allowed(format!("{MOST_OF_RANK} of a rank and {MOST_IN_ALL} in all; ask for fewer iterations")));
            }
        }
        Ok(Self { ranks, first, names_nics, text: None })
    }

    /// The same, read from a file that has each operation of each rank in one of these lines.
    pub(super) fn read_from(self, file: &str, lines: Vec<Box<[u32]>>) -> Self {
        Self { text: Some(Text { file: file.to_string(), lines }), ..self }
    }

    /// File and line of an operation, by its number in its rank's run, where the program was read from one.
    pub(super) fn line(&self, rank: u32, number: u32) -> Option<String> {
        let Text { file, lines } = self.text.as_ref()?;
        Some(format!("{file}:{}", lines[rank as usize][number as usize]))
    }

    /// Number of ranks.
    pub fn len(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// Never: a program has ranks.
    pub fn is_empty(&self) -> bool {
        self.ranks.is_empty()
    }

    /// The ranks.
    pub fn ranks(&self) -> &[RankProgram] {
        &self.ranks
    }

    /// Number of a rank's first operation among those of all ranks.
    pub(super) fn first(&self, rank: u32) -> u32 {
        self.first[rank as usize]
    }

    /// The rank of an operation by its number among all, and the operation.
    pub(super) fn op(&self, number: u32) -> (u32, &Op) {
        // Ranks that do nothing share their first number with the next: the last one has it.
        let rank = self.first.partition_point(|f| *f <= number) - 1;
        (rank as u32, self.ranks[rank].op(number - self.first[rank]))
    }

    /// Whether some message names a NIC above 0.
    pub fn names_nics(&self) -> bool {
        self.names_nics
    }

    /// The NIC that a send names for its message, and what goes to and fro before it.
    pub(super) fn nic(&self, send: &Op) -> Option<u8> {
        self.names_nics.then_some(send.nic)
    }

    /// The messages between different ranks.
    pub fn sends(&self) -> impl Iterator<Item = Send> + '_ {
        let parts = self.ranks.iter().zip(0..).flat_map(|(rank, from)| rank.parts.iter().map(move |p| (rank, from, p)));
        parts.flat_map(move |(rank, from, part)| {
            let sends = rank.blocks[part.block as usize].ops.iter().filter(|op| op.kind == OpKind::Send);
            let times = u64::from(part.times);
            let send = move |op: &Op| Send { from, to: op.peer, bytes: op.size.max(1), times, nic: self.nic(op) };
            sends.map(send).filter(|s| s.from != s.to)
        })
    }

    /// Memory that the program takes, and a machine that runs it, bytes.
    pub fn memory(&self) -> usize {
        let blocks = self.ranks.iter().flat_map(|rank| &rank.blocks);
        let of_op = size_of::<Op>() + size_of::<u32>(); // with what it waits for
        blocks.map(|b| b.ops.len() * of_op + (b.first.len() + b.next.len()) * size_of::<u32>()).sum()
    }

    /// Operations, messages and bytes in all.
    pub fn totals(&self) -> Totals {
        let mut all = Totals::default();
        for rank in 0..self.len() {
            let own = self.totals_of(rank);
            all.operations += own.operations;
            all.messages += own.messages;
            all.bytes = all.bytes.saturating_add(own.bytes);
            all.largest = all.largest.max(own.largest);
            all.longest_calc = all.longest_calc.max(own.longest_calc);
        }
        all
    }

    /// The same of one rank.
    pub fn totals_of(&self, rank: u32) -> Totals {
        let rank = &self.ranks[rank as usize];
        let mut t = Totals::default();
        for part in &rank.parts {
            let times = u64::from(part.times);
            let ops = &rank.blocks[part.block as usize].ops;
            t.operations += ops.len() as u64 * times;
            for op in ops {
                let all = op.size.saturating_mul(times);
                match op.kind {
                    OpKind::Send => {
                        t.messages += times;
                        t.bytes = t.bytes.saturating_add(all);
                        t.largest = t.largest.max(op.size);
                    }
                    OpKind::Calc => t.longest_calc = t.longest_calc.saturating_add(all),
                    OpKind::Recv => {}
                }
            }
        }
        t
    }
}

fn check_op(op: &Op, ranks: usize) -> Result<(), InputError> {
    let any_source = op.kind == OpKind::Recv && op.peer == ANY;
    if op.kind != OpKind::Calc && !any_source && op.peer as usize >= ranks {
        return Err(InputError::new("no such rank").allowed(format!("ranks 0 to {}", ranks - 1)));
    }
    if op.kind == OpKind::Send && op.tag == ANY {
        return Err(InputError::new("a send with any tag").allowed(format!("a tag of 0 to {}", ANY - 1)));
    }
    Ok(())
}

/// Refuses a program of a generator before it is built.
///
/// # Errors
/// More stored operations than [`MOST_STORED`].
pub(super) fn check_size(stored: u64, field: &str, value: impl fmt::Display) -> Result<(), InputError> {
    if stored <= MOST_STORED {
        return Ok(());
    }
    Err(InputError::new(format!("one iteration of this program would hold about {stored} operations"))
        .field(field)
        .value(value)
        .allowed(format!("at most {MOST_STORED} operations in memory; take fewer ranks")))
}
