//! GOAL text: schedules of the Group Operation Assembly Language, as LogGOPSim and ATLAHS read them.
//!
//! Format (Hoefler, Siebert, Lumsdaine: Group Operation Assembly Language, ICPP 2009; LogGOPSim's converter):
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//!   l1: calc 1000 cpu 0              // time units, ns by LogGOPSim's custom
//!   l2: send 10b to 1 tag 5 nic 0
//!   l2 requires l1                   // begins after the end of l1; irequires: after its start
//! }
//! rank 1 {
//!   recv 10b from -1 tag -1          /* any source, any tag */
//! }
//! ```
//!
//! A statement ends with its line. Labels are optional, belong to their rank and must stand above the lines that use them; tag, cpu
//! and nic are 0 where left out. Unlike LogGOPSim's converter, [`read`] accepts comments wherever there may be a space, ranks in
//! any order, and `nic`, without effect, at computations; it refuses a label given twice, sends with tag -1 and operations that wait for themselves.

mod read;
mod words;
mod write;

pub use read::{load, read, read_for};
pub use write::write;
