//! What one connection leaves to the next to the same host (FreeBSD's host cache). Where entries live, and until when, is
//! the host's business.

use crate::units::Duration;

/// An entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheEntry {
    /// Smoothed round-trip time and its mean deviation.
    pub srtt: Duration,
    /// See `srtt`.
    pub rttvar: Duration,
    /// Slow-start threshold, bytes, if there was one below half of the socket buffer; in whole packets, their headers counted.
    pub ssthresh: Option<u64>,
    /// Congestion window, bytes.
    pub cwnd: u64,
}

/// Headers that FreeBSD counts with each packet of a threshold: IPv4 and TCP without options, bytes.
const HEADERS: u64 = 40;

impl CacheEntry {
    /// A slow-start threshold as the cache holds it: in packets, at least two, their headers with them.
    pub(super) fn whole_packets(bytes: u64, mss: u64) -> u64 {
        ((bytes + mss / 2) / mss).max(2) * (mss + HEADERS)
    }

    /// The entry after another connection has left `newer`: the mean of both.
    #[must_use]
    pub fn merged(self, newer: CacheEntry) -> CacheEntry {
        let mean = |a: u64, b: u64| u64::midpoint(a, b);
        CacheEntry {
            srtt: Duration(mean(self.srtt.0, newer.srtt.0)),
            rttvar: Duration(mean(self.rttvar.0, newer.rttvar.0)),
            ssthresh: match (self.ssthresh, newer.ssthresh) {
                (Some(a), Some(b)) => Some(mean(a, b)),
                (a, b) => b.or(a),
            },
            cwnd: mean(self.cwnd, newer.cwnd),
        }
    }
}
