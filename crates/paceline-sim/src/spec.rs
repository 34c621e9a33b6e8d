//! The scenario schema: what a user may write, its defaults, ranges, units and sources, in one place.
//!
//! A scenario is TOML. [`parse`] reads it strictly: an unknown key, a wrong type, a value out of range or a missing key is
//! an [`InputError`] with line, field, value and what is allowed. The result is a [`Resolved`] scenario with every default
//! filled in, which [`Resolved::to_toml`] writes back. [`FIELDS`] is the table behind all of it; [`codegen`] prints the
//! Python classes, the JSON Schema and the parameter reference from it.

use std::collections::BTreeSet;

use crate::InputError;

pub mod codegen;
pub mod failure;
pub mod field;
pub mod host;
pub mod mpi;
pub mod run;
pub mod scheme;
pub mod switch;
pub mod tcp;
pub mod topology;
pub mod value;
pub mod workload;

mod catalogue;
mod check;
mod declare;
mod lint;
mod node;
mod section;
mod template;
#[cfg(test)]
mod tests;

use declare::section;
pub(crate) use node::MAX_TEXT;
use node::{At, Bad, Node};
use section::{check_keys, read_section};

use crate::spelling::clip;

pub use catalogue::{catalogue, explain, settings};
pub use field::FIELDS;
pub use lint::lint;
pub use template::{TEMPLATES, template};

section! {
    /// A scenario: network, schemes, workloads, and how the run goes.
    pub struct Spec {
        /// Version of this schema.
        schema: u32 = 1, in "[1, 1]", from "Paceline";
        /// Name of the scenario, for result folders and reports.
        name: value::Name = "unnamed", from "Paceline";
        /// Seed of every random stream.
        seed: u64 = 1, in "[0, 9223372036854775807]", from "Paceline";
        rows {
            /// Links that fail.
            failures: failure::Failure;
        }
        sections {
            /// Hosts, switches and links.
            topology: topology::Topology;
            /// Sizes on the wire.
            framing: host::Framing;
            /// Switches.
            switch: switch::Switch;
            /// Hosts and their NICs.
            host: host::Host;
            /// Choice among shortest paths.
            routing: host::Routing;
            /// When the run ends, which flows are measured, how it is computed.
            run: run::Run;
            /// What is recorded beside the flows.
            records: run::Records;
            /// Behaviours of the HPCC reference simulator, for comparisons with it.
            quirks: run::Quirks;
        }
        lists {
            /// What the hosts send; at least one.
            workloads: workload::Workload;
        }
        maps {
            /// Congestion control, by name; at least one. Names are 1 to 64 letters, digits, `-` and `_`.
            schemes: scheme::Scheme;
        }
    }
}

/// A checked scenario with every default filled in. It reads like its [`Spec`]; two are equal when their specs are.
#[derive(Clone, Debug)]
pub struct Resolved {
    spec: Spec,
    origin: Origin,
    followed: Vec<u64>,
}

impl PartialEq for Resolved {
    fn eq(&self, other: &Self) -> bool {
        self.spec == other.spec
    }
}

impl std::ops::Deref for Resolved {
    type Target = Spec;
    fn deref(&self) -> &Spec {
        &self.spec
    }
}

/// Where the values of a scenario came from.
#[derive(Clone, Debug)]
struct Origin {
    file: String,
    overrides: Vec<String>,
    root: Node,
}

impl Origin {
    fn place(&self, at: At, error: InputError) -> InputError {
        match at {
            At::Line(line) => error.file(&self.file).line(line as usize),
            At::Override(i) => {
                let text = self.overrides.get(i as usize).map_or("", String::as_str);
                error.file(format!("--set {}", clip(text)))
            }
        }
    }
}

impl Resolved {
    /// An error about a field (`workloads.0.sizes`) found after parsing, with file, line and value as far as they are
    /// known; add the value and what is allowed if you know better.
    pub fn error(&self, field: &str, problem: &str) -> InputError {
        let Bad(inner) = check::bad(&self.origin.root, field, problem);
        self.origin.place(inner.0, inner.1)
    }

    /// Whether all packets, but for those of the control class, are of one class.
    pub(crate) fn has_one_data_class(&self) -> bool {
        if self.schemes.iter().any(|(_, s)| s.cc.is_message_transport()) {
            return false;
        }
        let mut classes = BTreeSet::new();
        for workload in &self.workloads {
            classes.insert(workload.class);
            if let workload::WorkloadKind::Flows(flows) = &workload.kind {
                if flows.file.is_some() {
                    return false; // it may name classes of its own
                }
                classes.extend(flows.rows.iter().filter_map(|row| row.class));
            }
        }
        classes.len() == 1
    }

    /// Makes the names of input files absolute, so that the resolved scenario can be run from anywhere. They are relative
    /// to `base`.
    pub fn anchor(&mut self, base: &std::path::Path) {
        self.each_file(&mut |_, file| {
            let path = base.join(&file.0);
            file.0 = std::path::absolute(&path).unwrap_or(path).display().to_string();
        });
    }

    /// The input files, each with the field that names it.
    pub fn input_files(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        self.clone().each_file(&mut |field, file| found.push((field, file.0.clone())));
        found
    }

    fn each_file(&mut self, look: &mut dyn FnMut(String, &mut value::File)) {
        if let topology::TopologyKind::File(t) = &mut self.spec.topology.kind {
            look("topology.file".into(), &mut t.file);
        }
        for (i, workload) in self.spec.workloads.iter_mut().enumerate() {
            use workload::{Sizes, WorkloadKind};
            let sizes = match &mut workload.kind {
                WorkloadKind::Poisson(w) => &mut w.sizes,
                WorkloadKind::Incast(w) => &mut w.sizes,
                WorkloadKind::Permutation(w) => &mut w.sizes,
                WorkloadKind::AllToAll(w) => &mut w.sizes,
                WorkloadKind::Rpc(w) => &mut w.sizes,
                WorkloadKind::OnOff(w) => match &mut w.mode {
                    workload::OnOffMode::Flows(mode) => &mut mode.sizes,
                    workload::OnOffMode::Cbr(_) => continue,
                },
                WorkloadKind::Flows(w) => {
                    w.file.iter_mut().for_each(|file| look(format!("workloads.{i}.file"), file));
                    continue;
                }
                WorkloadKind::Mpi(w) => {
                    if let mpi::MpiProgram::Goal(goal) = &mut w.program {
                        look(format!("workloads.{i}.file"), &mut goal.file);
                    }
                    continue;
                }
                WorkloadKind::ScatterGather(_) => continue,
            };
            if let Sizes::File(f) = sizes {
                look(format!("workloads.{i}.sizes.file"), &mut f.file);
            }
        }
    }

    /// The schemes with their parameters: objects with `name`, `cc` and one member per parameter.
    pub fn scheme_values(&self) -> Vec<serde_json::Value> {
        let document: toml::Table = self.to_toml().parse().unwrap_or_default();
        let tables = document.get("schemes").and_then(toml::Value::as_table);
        let value = |name: &String| {
            let table = tables.and_then(|t| t.get(name)).and_then(|t| serde_json::to_value(t).ok());
            let mut object = serde_json::Map::from_iter([("name".to_string(), name.clone().into())]);
            if let Some(serde_json::Value::Object(parameters)) = table {
                object.extend(parameters);
            }
            serde_json::Value::Object(object)
        };
        self.spec.schemes.iter().map(|(name, _)| value(name)).collect()
    }

    /// Takes another seed.
    pub fn reseed(&mut self, seed: u64) {
        self.spec.seed = seed;
    }

    /// Follows the rates and windows of these flows as well, as the option `--follow-flow` asks.
    pub fn follow(&mut self, flows: &[u64]) {
        self.spec.records.series.flows.extend_from_slice(flows);
        self.followed.extend_from_slice(flows);
    }

    /// The option or setting that had a flow followed.
    pub(crate) fn follows_by(&self, flow: u64) -> String {
        if self.followed.contains(&flow) { format!("--follow-flow {flow}") } else { "records.series.flows".into() }
    }

    /// Index of a scheme by name.
    pub fn scheme_index(&self, name: &str) -> Option<usize> {
        self.spec.schemes.iter().position(|(n, _)| n == name)
    }

    /// The scenario as TOML, every default filled in. Parsing it gives an equal scenario.
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        section::write_section(&self.spec, "", "", &mut out);
        out
    }
}

/// Reads a scenario.
///
/// `file` names the text in errors. Each of `overrides` is `key=value` with a dotted key (`schemes.hpcc.eta=0.99`,
/// `workloads.0.load.value=0.5`); the value is a TOML literal or, failing that, a string.
///
/// # Errors
/// Text that is not TOML or longer than 8 MiB, an unknown key, a wrong type, a value out of range, a missing key, fields
/// that contradict each other; each names the line or the override.
#[allow(clippy::result_large_err, reason = "one error per run of the program")]
pub fn parse(text: &str, file: &str, overrides: &[String]) -> Result<Resolved, InputError> {
    let empty = Node::empty(At::Line(1));
    let mut origin = Origin { file: file.to_string(), overrides: overrides.to_vec(), root: empty };
    match read(text, &mut origin) {
        Ok(spec) => {
            let scenario = Resolved { spec, origin, followed: Vec::new() };
            // What leaves most to defaults becomes a few times as long.
            let resolved = if text.len() > MAX_TEXT / 16 { scenario.to_toml().len() } else { 0 };
            if resolved > MAX_TEXT {
                let error = InputError::new("the scenario is too long with all defaults written out").file(file);
                let allowed = format!("at most {MAX_TEXT} bytes; networks and flows may be files of their own");
                return Err(error.value(format!("{resolved} bytes")).allowed(allowed));
            }
            Ok(scenario)
        }
        Err(Bad(inner)) => Err(origin.place(inner.0, inner.1)),
    }
}

fn read(text: &str, origin: &mut Origin) -> node::Read<Spec> {
    let mut root = node::read(text)?;
    for (i, text) in origin.overrides.iter().enumerate() {
        node::set(&mut root, text, i as u32)?;
    }
    check_keys(&root, "", "")?;
    let mut spec: Spec = read_section(&root, String::new())?;
    check::check(&mut spec, &root)?;
    origin.root = root;
    Ok(spec)
}
