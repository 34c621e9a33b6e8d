//! The result folder: what a run leaves on disk, readable at any moment.
//!
//! While a run goes, ended flows are written to `flows.bin`, a record of fixed width per flow at an offset given by its
//! id; the CSV files are made from it and from the network's counters at the end, or after a kill by [`restore`].

pub mod flow_file;
pub(crate) mod hold;
pub mod mpi;
pub mod packet_file;
pub mod query_file;
mod record_file;
pub mod tables;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use paceline_proto::transport::message::Counters as MessageCounters;
use serde::{Deserialize, Serialize};

pub use self::hold::Hold;
use crate::error::{InputError, RunError};
use crate::record::{Counters, Traffic};
use crate::scenario::{Scenario, Transport};

/// Version of the folder's layout.
pub const SCHEMA_VERSION: u32 = 1;

/// Status of a run that goes on, was killed, or broke off, which its diagnosis tells.
pub const RUNNING: &str = "running";

/// `summary.json`.
#[derive(Clone, Debug, Serialize, Deserialize, Default)]
pub struct Summary {
    /// Layout of the folder.
    pub schema_version: u32,
    /// Name of the scenario.
    pub name: String,
    /// Paceline's version.
    pub version: String,
    /// Git revision it was built from, where known.
    pub git: Option<String>,
    /// Seed.
    pub seed: u64,
    /// `running`, `completed`, `stopped`, `interrupted` or `stalled`.
    pub status: String,
    /// Which engine ran, and why.
    pub engine: EngineSummary,
    /// Simulated time, ps.
    pub simulated_ps: u64,
    /// Flow counts.
    pub flows: FlowCounts,
    /// Query counts, where there are connections with queries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queries: Option<QueryCounts>,
    /// Message-passing programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mpi: Vec<mpi::MpiRun>,
    /// Counters.
    pub counters: CounterSummary,
    /// What the schemes over TCP and UDP have sent, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traffic: Vec<SchemeTraffic>,
    /// Speed and memory of this run on this machine; not a simulated result.
    pub machine: Machine,
    /// Load by tier.
    pub load: Vec<TierLoad>,
    /// Groups with closed-loop traffic: their messages wait for one another, so that their load is carried and not offered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closed_loop: Vec<String>,
    /// How Homa has divided its priorities; null without Homa.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priorities: Option<Priorities>,
    /// Schemes with their parameters.
    pub schemes: Vec<serde_json::Value>,
    /// Names of the flow groups.
    pub groups: Vec<String>,
    /// Measuring window.
    pub measure: Measure,
    /// Hosts.
    pub hosts: usize,
    /// Switches.
    pub switches: usize,
    /// Links.
    pub links: usize,
    /// Links that fail, in the order of time, those drawn at random included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<LinkDown>,
    /// From one sample of `series.csv` to the next at the end of the run, ps; null without series.
    #[serde(default)]
    pub series_interval_ps: Option<u64>,
    /// Packets recorded one by one; null where none are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<PacketCounts>,
    /// What looks wrong.
    pub warnings: Vec<String>,
    /// Settings that changed nothing in this run, and why.
    pub without_effect: Vec<String>,
    /// Why it stalled, or broke off.
    pub diagnosis: Option<String>,
}

/// A time during which a link is down, by its two ports.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct LinkDown {
    /// Node at one end.
    pub node: u32,
    /// Its port.
    pub port: u32,
    /// Node at the other end.
    pub peer: u32,
    /// Its port.
    pub peer_port: u32,
    /// When it fails, ps.
    pub down_ps: u64,
    /// When it is back, ps; `None` for never.
    pub up_ps: Option<u64>,
}

/// Which engine ran.
#[derive(Clone, Debug, Serialize, Deserialize, Default)]
pub struct EngineSummary {
    /// `windowed` or `sequential`.
    pub kind: String,
    /// Why this one.
    pub why: String,
    /// Shortest time in which one node can affect another, ps; windows end so far apart, or up to 4 % less.
    pub lookahead_ps: u64,
    /// Threads used.
    pub threads: usize,
}

/// Flow counts.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, Default)]
pub struct FlowCounts {
    /// Flows that started.
    pub total: u64,
    /// Every byte acknowledged.
    pub finished: u64,
    /// Given up after the last retransmission timeout, or NACKs for as long.
    pub failed: u64,
    /// Started and neither.
    pub unfinished: u64,
}

/// Packets recorded one by one.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, Default)]
pub struct PacketCounts {
    /// Records of `packets.bin`.
    pub rows: u64,
    /// When there was no room for more, ps; null where there always was.
    pub full_ps: Option<u64>,
}

/// How Homa divides its priorities.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Priorities {
    /// Priorities in use.
    pub levels: u8,
    /// How many of them, from the highest, unscheduled packets have.
    pub unscheduled: u8,
    /// The longest messages, bytes, whose unscheduled packets have the first of these, the second and so on; the last has no limit.
    pub cutoffs_bytes: Vec<u64>,
}

impl Priorities {
    /// Of a scenario with Homa.
    pub fn of(scenario: &Scenario) -> Option<Self> {
        let homa =
            scenario.schemes.iter().find_map(|s| if let Transport::Homa(p) = &s.transport { Some(p) } else { None })?;
        let unscheduled = homa.cutoffs.unscheduled;
        let all = &homa.cutoffs.bounds[..usize::from(unscheduled) - 1];
        let known = all.iter().copied().filter(|bytes| *bytes != u64::MAX);
        Some(Self { levels: homa.levels, unscheduled, cutoffs_bytes: known.collect() })
    }
}

/// Query counts.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, Default)]
pub struct QueryCounts {
    /// Connections opened.
    pub connections: u64,
    /// Of these, given up after the last retransmission timeout.
    pub connections_failed: u64,
    /// Queries issued.
    pub issued: u64,
    /// Queries answered.
    pub answered: u64,
}

/// Counters, by the names of the folder.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, Default)]
#[allow(missing_docs, reason = "the names are those of record::Counters, which explains them")]
pub struct CounterSummary {
    pub events: u64,
    pub data_hops: u64,
    pub control_hops: u64,
    pub drops_buffer: u64,
    pub drops_wire: u64,
    pub drops_link_down: u64,
    pub lossless_drops: u64,
    pub marks: u64,
    pub notifications: u64,
    pub pause_frames: u64,
    pub resume_frames: u64,
    pub ties: u64,
    pub retransmitted_packets: u64,
    pub data_packets: u64,
    #[serde(default)]
    pub flowlets: u64,
    pub unscheduled_packets: u64,
    pub drops_unscheduled: u64,
    pub trimmed_packets: u64,
    pub returned_headers: u64,
    pub permits: u64,
    #[serde(default)]
    pub wasted_permits: u64,
    pub drops_credit: u64,
    pub probes: u64,
    pub timeouts: u64,
    #[serde(default)]
    pub fast_retransmits: u64,
    #[serde(default)]
    pub ignored_duplicates: u64,
    #[serde(default)]
    pub duplicate_packets: u64,
    #[serde(default)]
    pub discarded_packets: u64,
    #[serde(default)]
    pub ecn_reductions: u64,
    pub max_buffer_bytes: u64,
}

impl CounterSummary {
    /// From the engine's counters, its hops, its timeouts, what message transports have counted and the fullest switch seen.
    pub fn new(
        c: &Counters,
        (data_hops, control_hops): (u64, u64),
        timeouts: u64,
        messages: Option<MessageCounters>,
        max_buffer_bytes: u64,
    ) -> Self {
        let m = messages.unwrap_or_default();
        Self {
            events: c.events,
            data_hops,
            control_hops,
            drops_buffer: c.drops_buffer,
            drops_wire: c.drops_wire,
            drops_link_down: c.drops_link_down,
            lossless_drops: c.lossless_drops,
            marks: c.marks,
            notifications: c.notifications,
            pause_frames: c.pause_frames,
            resume_frames: c.resume_frames,
            ties: c.ties,
            retransmitted_packets: c.retransmitted,
            data_packets: c.data_made,
            flowlets: c.flowlets,
            unscheduled_packets: m.unscheduled,
            drops_unscheduled: c.drops_unscheduled,
            trimmed_packets: c.data_trimmed,
            returned_headers: c.returned,
            permits: m.permits,
            wasted_permits: m.wasted_permits,
            drops_credit: c.drops_credit + m.lost_credits,
            probes: m.probes,
            timeouts: timeouts + m.timeouts,
            fast_retransmits: m.fast_retransmits,
            ignored_duplicates: m.ignored_duplicates,
            duplicate_packets: m.duplicates,
            discarded_packets: c.data_discarded,
            ecn_reductions: m.ecn_reductions,
            max_buffer_bytes,
        }
    }
}

/// What a scheme has sent and what became of it; data packets only.
#[derive(Clone, Debug, Serialize, Deserialize, Default)]
#[allow(missing_docs, reason = "the names are those of record::Traffic, which explains them")]
pub struct SchemeTraffic {
    /// Its name.
    pub scheme: String,
    pub packets: u64,
    pub frame_bytes: u64,
    pub delivered_bytes: u64,
    pub dropped_packets: u64,
    pub dropped_bytes: u64,
}

impl SchemeTraffic {
    /// From what was counted.
    pub fn new(scheme: &str, t: &Traffic) -> Self {
        let Traffic { packets, frame_bytes, delivered_bytes, dropped_packets, dropped_bytes } = *t;
        let scheme = scheme.to_string();
        Self { scheme, packets, frame_bytes, delivered_bytes, dropped_packets, dropped_bytes }
    }
}

/// Speed and memory.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, Default)]
pub struct Machine {
    /// Seconds before the first event.
    pub setup_s: f64,
    /// Wall seconds of the event loop.
    pub run_s: f64,
    /// CPU seconds of the event loop.
    pub cpu_s: f64,
    /// Largest resident memory of the process, MiB.
    pub peak_rss_mib: f64,
    /// Link crossings per CPU second.
    pub hops_per_s: f64,
}

/// Load of one tier of links in one direction.
#[derive(Clone, Debug, Serialize, Deserialize, Default)]
pub struct TierLoad {
    /// `from->to`.
    pub tier: String,
    /// Of links between nodes of one tier, of which each direction is by itself: `to higher ids` or `to lower ids`.
    pub direction: Option<String>,
    /// Sum of the rates, bit/s.
    pub capacity_bps: u64,
    /// Frame bits of the flows that started and the messages on open connections, closed-loop traffic not counted, over capacity and
    /// the time in which they start.
    pub offered: f64,
    /// Frame bits sent with payload, over capacity and the simulated time.
    pub carried: f64,
}

/// Measuring window: flows that start in it count.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, Default)]
pub struct Measure {
    /// From here on, ps.
    pub warmup_ps: u64,
    /// Before here, ps.
    pub end_ps: Option<u64>,
}

/// A folder being filled, which nobody else may fill meanwhile.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    hold: Hold,
}

impl Folder {
    /// Creates the folder, or takes over that of an earlier run: its results go, other files in it stay.
    ///
    /// # Errors
    /// [`RunError::Input`] for a folder with files in it that is no result folder: those files are somebody's; and for one that
    /// another run is filling. [`RunError::Io`] when the folder cannot be made or changed.
    pub fn create(path: &Path) -> Result<Self, RunError> {
        fs::create_dir_all(path)?;
        let hold = Hold::take(path)?;
        if !is_ours(path)? {
            return Err(InputError::new("the folder holds other files and is no result folder")
                .field("out")
                .value(path.display())
                .allowed("a new or empty folder, or a result folder, whose results are replaced")
                .into());
        }
        // The page, which tells its figures from others, goes after them; the summary, by which the folder is known, goes last and is
        // then written first.
        remove_figures(path)?;
        for name in replaced_files() {
            remove(&path.join(&name))?;
            remove(&path.join(part_of(&name)))?;
        }
        remove(&path.join("summary.json"))?;
        Ok(Self { path: path.to_path_buf(), hold })
    }

    /// Gives up the folder but not yet the hold on it.
    pub fn into_hold(self) -> Hold {
        self.hold
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a whole file so that it is either the old or the new one, never half.
    ///
    /// # Errors
    /// A full disk, and a folder that has been removed since; one that is there in its place is another run's.
    pub fn replace(&self, name: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        if !self.hold.is_at(&self.path) {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the folder was removed during the run"));
        }
        replace(&self.path, name, write)
    }

    /// Writes `summary.json`.
    pub fn write_summary(&self, summary: &Summary) -> io::Result<()> {
        self.replace("summary.json", |out| {
            serde_json::to_writer_pretty(&mut *out, summary)?;
            out.write_all(b"\n")
        })
    }

    /// Keeps room on the disk for the summaries that follow this one, until it is dropped, as far as the disk has it: one that the
    /// tables have filled has to take what became of the run. The file that holds the room has no name, so that a kill leaves nothing.
    pub fn keep_room(&self, summary: &Summary) -> Option<File> {
        let path = self.path.join(part_of("summary.json"));
        let mut room = hold::take_part(&path).ok()?;
        fs::remove_file(&path).ok()?;
        let bytes = serde_json::to_vec_pretty(summary).map_or(0, |text| text.len()) + MORE_SUMMARY;
        room.write_all(&vec![0; bytes]).is_ok().then_some(room)
    }
}

/// Bytes by which a summary may grow in a run, as far as room is kept for that: counters, loads, warnings.
const MORE_SUMMARY: usize = 64 << 10;

/// What a run or a report leaves beside the tables.
const OTHER_FILES: [&str; 6] =
    ["scenario.toml", "report.html", "tables.md", "tables.tex", "timeline.json.gz", ALONE_FILE];
/// What each flow takes alone with its own transport.
pub const ALONE_FILE: &str = "alone.bin";

/// What a run replaces in a folder, but for its summary and figures: Python may have made a Parquet file of each table.
fn replaced_files() -> impl Iterator<Item = String> {
    let parquet = tables::FILES.into_iter().filter_map(|name| Some(format!("{}.parquet", name.strip_suffix(".csv")?)));
    tables::FILES.into_iter().chain(OTHER_FILES).map(String::from).chain(parquet)
}

/// Endings of the files that a report draws.
const FIGURES: [&str; 3] = ["png", "pdf", "svg"];

fn is_figure(path: &Path) -> bool {
    path.extension().is_some_and(|e| FIGURES.iter().any(|ending| e == *ending))
}

/// Removes the figures that a folder's page leads to, and those of which only a part was written. Others are somebody's, and so is what
/// a symbolic link leads to.
fn remove_figures(folder: &Path) -> io::Result<()> {
    let figures = folder.join("figures");
    if !fs::symlink_metadata(&figures).is_ok_and(|m| m.is_dir()) {
        return Ok(());
    }
    let page = crate::input::read(&folder.join("report.html"), MOST_PAGE).unwrap_or_default();
    let page = String::from_utf8_lossy(&page);
    let links = page.split("href=\"figures/").skip(1);
    let listed: BTreeSet<&str> = links.filter_map(|link| link.split('"').next()).collect();
    for entry in fs::read_dir(&figures)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let part = name.strip_prefix('.').and_then(|name| name.strip_suffix(".part"));
        let drawn = is_figure(Path::new(part.unwrap_or(&name))) && (part.is_some() || listed.contains(name.as_str()));
        if drawn && !entry.file_type()?.is_dir() {
            remove(&entry.path())?;
        }
    }
    // A folder with something else in it stays.
    let _ = fs::remove_dir(figures);
    Ok(())
}

/// Largest `report.html` that is read for its figures.
const MOST_PAGE: u64 = 256 << 20;

/// Whether a run into a folder replaces what is at this path in it.
pub(crate) fn is_replaced(inside: &Path) -> bool {
    let mut names = replaced_files().chain(["summary.json".to_string()]);
    names.any(|name| inside == Path::new(&name)) || inside.starts_with("figures") && is_figure(inside)
}

/// Whether a folder may be filled: it is empty, or a result folder, or one of a run killed before its first file.
fn is_ours(path: &Path) -> io::Result<bool> {
    if let Ok(text) = fs::read(path.join("summary.json")) {
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
        return Ok(value.get("schema_version").is_some());
    }
    for entry in fs::read_dir(path)? {
        if entry?.file_name() != *part_of("summary.json") {
            return Ok(false);
        }
    }
    Ok(true)
}

fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// The file that what will be `name` is written to, which a kill may leave behind.
pub(crate) fn part_of(name: &str) -> String {
    format!(".{name}.part")
}

/// Writes `name` in `folder` through a temporary file, of which one writer at a time has hold.
fn replace(folder: &Path, name: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let temporary = folder.join(part_of(name));
    let part = hold::take_part(&temporary)?;
    let result = (|| {
        let mut out = BufWriter::with_capacity(1 << 16, &part);
        write(&mut out)?;
        out.flush()?;
        fs::rename(&temporary, folder.join(name))
    })();
    if result.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    result
}

/// Largest `summary.json` that is read: some megabytes of warnings are thinkable.
const MOST_SUMMARY: u64 = 256 << 20;

/// The summary of a folder.
///
/// # Errors
/// A file that cannot be read or is not the summary of a run.
pub fn read_summary(folder: &Path) -> Result<Summary, InputError> {
    let path = folder.join("summary.json");
    let fail = |why: String| InputError::new(why).file(path.display().to_string()).allowed("the summary of a run");
    let text = crate::input::read(&path, MOST_SUMMARY).map_err(fail)?;
    serde_json::from_slice(&text).map_err(|e| fail(format!("is not as a run writes it: {e}")))
}

/// Makes `flows.csv`, `queries.csv` and `packets.csv` anew from what was written while the run went, as after a kill. Does nothing where
/// the CSV is there and no older.
///
/// # Errors
/// A folder that is not as a run leaves it, or a disk that does not take the tables.
pub fn restore(folder: &Path) -> Result<(), RunError> {
    let age = |name: &str| fs::metadata(folder.join(name)).and_then(|m| m.modified());
    let stale = |csv: &str, bin: &str| match (age(csv), age(bin)) {
        (Ok(csv), Ok(bin)) => csv < bin,
        _ => true,
    };
    let queries = folder.join("queries.bin").exists();
    if stale("flows.csv", "flows.bin") {
        let (schemes, groups) = names(&read_summary(folder)?);
        let bin = folder.join("flows.bin");
        replace(folder, "flows.csv", |out| flow_file::write_csv(&bin, &schemes, &groups, queries, out))?;
    }
    if folder.join("packets.bin").exists() && stale("packets.csv", "packets.bin") {
        let bin = folder.join("packets.bin");
        replace(folder, "packets.csv", |out| packet_file::write_csv(&bin, out))?;
    }
    if queries && stale("queries.csv", "queries.bin") {
        let (schemes, groups) = names(&read_summary(folder)?);
        let bin = folder.join("queries.bin");
        replace(folder, "queries.csv", |out| query_file::write_csv(&bin, &schemes, &groups, out))?;
    }
    Ok(())
}

/// Names of a run's schemes and groups.
fn names(summary: &Summary) -> (Vec<String>, Vec<String>) {
    let schemes = summary.schemes.iter().map(|s| s["name"].as_str().unwrap_or_default().to_string());
    (schemes.collect(), summary.groups.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables of a run whose folder somebody removed came into that of the run that was started in its place.
    #[test]
    fn a_run_does_not_write_into_the_folder_that_took_the_place_of_its_own() {
        let path = std::env::temp_dir().join(format!("paceline-hold-{}", std::process::id()));
        let first = Folder::create(&path).expect("a folder");
        first.write_summary(&Summary::default()).expect("written");
        fs::remove_dir_all(&path).expect("removed");
        assert!(first.write_summary(&Summary::default()).is_err());
        assert!(!path.exists(), "made again");
        let second = Folder::create(&path).expect("nobody holds the new one");
        let named =
            |name: &str| Summary { schema_version: SCHEMA_VERSION, name: name.to_string(), ..Summary::default() };
        second.write_summary(&named("second")).expect("written");
        let error = first.write_summary(&named("first")).expect_err("not its own");
        assert!(error.to_string().contains("removed during the run"), "{error}");
        assert_eq!(read_summary(&path).expect("a summary").name, "second");
        fs::remove_dir_all(&path).expect("removed");
    }
}
