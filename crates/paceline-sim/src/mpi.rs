//! Message-passing programs: from what ranks do to the messages that a network has to carry.
//!
//! A [`Program`] says for every rank which operations it has and what each waits for. It comes from a GOAL file ([`goal`]) or
//! from a generator ([`nas`], [`halo`], [`collective`]) that writes collectives out as messages ([`collectives`]). A [`Machine`] runs it: it is told
//! the time and which messages have arrived, and says which messages to send. It knows nothing of hosts, connections or packets.

pub mod builder;
pub mod collective;
pub mod collectives;
pub mod crossbar;
pub mod generate;
pub mod goal;
pub mod halo;
pub mod info;
pub mod machine;
pub mod nas;
pub mod program;
pub mod replay;
#[cfg(test)]
mod tests;

pub use builder::{Builder, Comm};
pub use collectives::Algorithms;
pub use crossbar::{Access, Crossbar, Load};
pub use generate::Generator;
pub use info::{Info, info};
pub use machine::{Act, Machine, MachineConfig, Message};
pub use program::{Block, Op, OpKind, Part, Program, RankProgram};
pub use replay::{Replay, replay};
