//! From GOAL text to a program.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::words::{Word, Words};
use crate::InputError;
use crate::mpi::program::{ANY, Block, Edge, MOST_RANKS, MOST_STORED, Op, OpKind, Program, RankProgram};

/// Largest file, bytes.
const MOST_TEXT: u64 = 256 << 20;
/// Largest message, bytes.
const MOST_BYTES: u64 = 1 << 40;
/// Longest computation, units: 1000 s of them in ns.
const MOST_UNITS: u64 = 1_000_000_000_000;

/// Reads a schedule; `file` names the text in errors. Every rank does everything in one block.
///
/// # Errors
/// Text that is not GOAL, a rank without block or with two, a label given twice or used above its line, a peer that is no
/// rank, a size above 1 TiB or 10^12 units, operations that wait for themselves, too many operations.
pub fn read(text: &str, file: &str) -> Result<Program, InputError> {
    read_for(text, file, &|_| Ok(()))
}

/// [`read`] for a network: `fits` refuses messages to other ranks, by their bytes, that it cannot carry.
///
/// # Errors
/// What [`read`] and `fits` refuse.
pub fn read_for(text: &str, file: &str, fits: &dyn Fn(u64) -> Result<(), InputError>) -> Result<Program, InputError> {
    let mut reader = Reader { words: Words::new(text, file), count: 0, stored: 0, fits };
    let mut blocks: BTreeMap<u32, (RankProgram, Box<[u32]>)> = BTreeMap::new();
    loop {
        match reader.words.take()? {
            Word::Line => {}
            Word::End => break,
            Word::Name("num_ranks") if reader.count == 0 => {
                reader.count = reader.number("ranks", 1, u64::from(MOST_RANKS))? as u32;
            }
            Word::Name("num_ranks") => {
                return Err(reader.words.bad("the number of ranks is given twice").value("num_ranks").allowed("once"));
            }
            Word::Name("rank") if reader.count == 0 => {
                return Err(reader.words.bad("the number of ranks must come first").value("rank").allowed("num_ranks"));
            }
            Word::Name("rank") => {
                let rank = reader.number("rank", 0, u64::from(reader.count) - 1)? as u32;
                if blocks.contains_key(&rank) {
                    return Err(reader.words.bad("the rank has two blocks").field("rank").value(rank).allowed("one"));
                }
                let (block, lines) = reader.block(rank)?;
                blocks.insert(rank, (RankProgram::flat(block), lines));
            }
            word => return Err(reader.unexpected(word, "`num_ranks N` or `rank N {`")),
        }
    }
    if reader.count == 0 {
        return Err(reader.words.bad("no number of ranks").allowed("num_ranks N at the beginning"));
    }
    if let Some(missing) = (0..reader.count).find(|r| !blocks.contains_key(r)) {
        return Err(reader
            .words
            .bad("the rank has no block")
            .field("rank")
            .value(missing)
            .allowed(format!("a block for each of the {} ranks", reader.count)));
    }
    let (ranks, lines) = blocks.into_values().unzip();
    Ok(Program::new(ranks).map_err(|e| e.file(file))?.read_from(file, lines))
}

/// Reads the schedule in a file.
///
/// # Errors
/// A file that cannot be read, is larger than 256 MiB or not UTF-8; what [`read`] refuses.
pub fn load(path: &Path) -> Result<Program, InputError> {
    let file = path.display().to_string();
    let fail = |why: String| InputError::new(why).file(&file).allowed("a readable file of up to 256 MiB");
    let bytes = crate::input::read(path, MOST_TEXT).map_err(fail)?;
    read(&crate::input::utf8(bytes, &file)?, &file)
}

struct Reader<'a> {
    words: Words<'a>,
    /// Ranks; 0 before they are known.
    count: u32,
    stored: u64,
    fits: &'a dyn Fn(u64) -> Result<(), InputError>,
}

impl<'a> Reader<'a> {
    fn unexpected(&self, word: Word<'_>, allowed: &str) -> InputError {
        self.words.bad("not expected here").value(word.show()).allowed(allowed)
    }

    /// A number that must come next.
    fn number(&mut self, what: &str, least: u64, most: u64) -> Result<u64, InputError> {
        let allowed = format!("a whole number, {least} to {most}");
        match self.words.take()? {
            Word::Number(text) => match text.parse() {
                Ok(n) if (least..=most).contains(&n) => Ok(n),
                _ => {
                    Err(self.words.bad("out of range").field(what).value(crate::spelling::clip(text)).allowed(allowed))
                }
            },
            word => Err(self.unexpected(word, &allowed).field(what)),
        }
    }

    /// The block of a rank, from `{` to `}`, and the lines of its operations.
    fn block(&mut self, rank: u32) -> Result<(Block, Box<[u32]>), InputError> {
        let mut word = self.words.take()?;
        while word == Word::Line {
            word = self.words.take()?;
        }
        if word != Word::Open {
            return Err(self.unexpected(word, "`{`"));
        }
        let begin = self.words.last_line;
        let mut ops: Vec<Op> = Vec::new();
        let mut lines: Vec<u32> = Vec::new();
        let mut edges: Vec<Edge> = Vec::new();
        // Looked up only, never walked through.
        let mut labels: HashMap<&'a str, u32> = HashMap::new();
        loop {
            let mut word = self.words.take()?;
            match word {
                Word::Line => continue,
                Word::Close => break,
                Word::End => {
                    let error = self.words.bad(format!("the block of rank {rank} does not end"));
                    return Err(error.line(begin).value("{").allowed("`}` at the end of a block"));
                }
                Word::Name("send" | "recv" | "calc") => {}
                Word::Name(label) => match self.words.take()? {
                    Word::Colon => {
                        if labels.insert(label, ops.len() as u32).is_some() {
                            let error = self.words.bad("the label is given twice").value(Word::Name(label).show());
                            return Err(error.allowed("each label once in a rank"));
                        }
                        word = self.words.take()?;
                    }
                    Word::Name(how @ ("requires" | "irequires")) => {
                        let after = self.label(&labels, Word::Name(label))?;
                        let other = self.words.take()?;
                        let before = self.label(&labels, other)?;
                        edges.push(Edge { before, after, start: how == "irequires" });
                        if self.end_of_line()? {
                            break;
                        }
                        continue;
                    }
                    word => return Err(self.unexpected(word, "`:`, `requires` or `irequires` after a label")),
                },
                word => return Err(self.unexpected(word, "an operation, a label or `}`")),
            }
            let (op, closed) = self.operation(word, rank)?;
            ops.push(op);
            lines.push(self.words.last_line as u32);
            self.stored += 1;
            if self.stored > MOST_STORED {
                return Err(self.words.bad(format!("more than {MOST_STORED} operations")).allowed("a smaller file"));
            }
            if closed {
                break;
            }
        }
        let block = Block::new(ops, edges).map_err(|at| {
            let error = self.words.bad("the operation waits, over others, for itself");
            let error = error.allowed("`requires` and `irequires` without circles");
            error.field(format!("rank {rank}")).line(lines[at] as usize)
        })?;
        Ok((block, lines.into()))
    }

    /// The operation of a label used.
    fn label(&self, labels: &HashMap<&str, u32>, word: Word<'_>) -> Result<u32, InputError> {
        let Word::Name(name) = word else { return Err(self.unexpected(word, "a label")) };
        labels.get(name).copied().ok_or_else(|| {
            self.words.bad("no such label above").value(word.show()).allowed("labels of operations of the same rank")
        })
    }

    /// The end of a statement; whether the block ends too.
    fn end_of_line(&mut self) -> Result<bool, InputError> {
        match self.words.take()? {
            Word::Line => Ok(false),
            Word::Close => Ok(true),
            word => Err(self.unexpected(word, "the end of the line")),
        }
    }

    /// An operation from its first word on, and whether its block ends with it.
    fn operation(&mut self, word: Word<'_>, rank: u32) -> Result<(Op, bool), InputError> {
        let mut op = match word {
            Word::Name("calc") => Op::calc(self.number("calc", 0, MOST_UNITS)?),
            Word::Name("send") => {
                let bytes = self.bytes("send", "to")?;
                let to = self.number("to", 0, u64::from(self.count) - 1)? as u32;
                if to != rank {
                    (self.fits)(bytes).map_err(|e| self.words.here(e).field("send"))?;
                }
                Op::send(to, bytes, 0)
            }
            Word::Name("recv") => {
                let bytes = self.bytes("recv", "from")?;
                Op::recv(self.number_or_any("from", u64::from(self.count) - 1)?, bytes, 0)
            }
            word => return Err(self.unexpected(word, "`send`, `recv` or `calc`")),
        };
        let mut given = [false; 3];
        loop {
            let word = self.words.take()?;
            let calc = op.kind == OpKind::Calc;
            let allowed =
                if calc { "`cpu`, `nic` or the end of the line" } else { "`tag`, `cpu`, `nic` or the end of the line" };
            let place = match word {
                Word::Line => return Ok((op, false)),
                Word::Close => return Ok((op, true)),
                Word::Name("tag") if !calc => 0,
                Word::Name("cpu") => 1,
                Word::Name("nic") => 2,
                word => return Err(self.unexpected(word, allowed)),
            };
            if std::mem::replace(&mut given[place], true) {
                return Err(self.words.bad("given twice").value(word.show()).allowed("once"));
            }
            match place {
                0 if op.kind == OpKind::Recv => op.tag = self.number_or_any("tag", u64::from(ANY) - 1)?,
                0 => op.tag = self.number("tag", 0, u64::from(ANY) - 1)? as u32,
                1 => op.cpu = self.number("cpu", 0, 255)? as u8,
                _ => {
                    let nic = self.number("nic", 0, 255)? as u8;
                    op.nic = if calc { 0 } else { nic };
                }
            }
        }
    }

    /// `<n>b to` or `<n>b from`.
    fn bytes(&mut self, what: &str, side: &str) -> Result<u64, InputError> {
        let bytes = self.number(what, 0, MOST_BYTES)?;
        match self.words.take()? {
            Word::Name("b") => {}
            word => return Err(self.unexpected(word, "`b` after the number of bytes").field(what)),
        }
        match self.words.take()? {
            Word::Name(name) if name == side => Ok(bytes),
            word => Err(self.unexpected(word, &format!("`{side}`")).field(what)),
        }
    }

    /// A number or `-1`.
    fn number_or_any(&mut self, what: &str, most: u64) -> Result<u32, InputError> {
        if self.words.take_if(Word::Any)? {
            return Ok(ANY);
        }
        self.number(what, 0, most)
            .map(|n| n as u32)
            .map_err(|e| InputError { allowed: e.allowed.map(|a| format!("{a}, or -1 for any")), ..e })
    }
}
