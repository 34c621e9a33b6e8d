//! The random numbers of the HPCC reference simulator (quirk `reference_random`), in global order of events.
//!
//! Three sources (hpcc-ns3 facts, sections 4.9 and 4.13). Every congestion mark that is drawn and every PFC frame takes the
//! first number of a random stream of its own, the next in a fixed sequence of L'Ecuyer's `MRG32k3a` streams. PINT takes the
//! C library's `rand()`, never seeded: an additive feedback generator over 31 words. Losses on wires draw a number for every
//! packet that arrives, frames of PFC included: from one stream with an explicit number for all links, and from a copy of it for
//! each link to which the topology file gives an error rate.

const M1: u64 = 4_294_967_087;
const M2: u64 = 4_294_944_443;

type Matrix = [[u64; 3]; 3];
type Vector = [u64; 3];

/// One step of the first component: `x[n] = 1403580 x[n-2] - 810728 x[n-3]`.
const STEP1: Matrix = [[0, 1, 0], [0, 0, 1], [M1 - 810_728, 1_403_580, 0]];
/// One step of the second: `x[n] = 527612 x[n-1] - 1370589 x[n-3]`.
const STEP2: Matrix = [[0, 1, 0], [0, 0, 1], [M2 - 1_370_589, 0, 527_612]];

fn row_times(row: &Vector, v: &Vector, m: u64) -> u64 {
    (0..3).fold(0, |sum, i| (sum + row[i] * v[i] % m) % m)
}

fn apply(a: &Matrix, v: &Vector, m: u64) -> Vector {
    [0, 1, 2].map(|i| row_times(&a[i], v, m))
}

fn product(a: &Matrix, b: &Matrix, m: u64) -> Matrix {
    [0, 1, 2].map(|i| [0, 1, 2].map(|j| row_times(&a[i], &[b[0][j], b[1][j], b[2][j]], m)))
}

/// `a` to the power of 2^`doublings`.
fn squared(mut a: Matrix, doublings: u32, m: u64) -> Matrix {
    for _ in 0..doublings {
        a = product(&a, &a, m);
    }
    a
}

/// `a^n` applied to `v`.
fn jump(mut a: Matrix, mut n: u64, mut v: Vector, m: u64) -> Vector {
    while n > 0 {
        if n & 1 == 1 {
            v = apply(&a, &v, m);
        }
        a = product(&a, &a, m);
        n >>= 1;
    }
    v
}

/// The sequence of streams: each is 2^127 steps after the one before, and is entered 2^76 steps in.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    at: (Vector, Vector),
    next_stream: (Matrix, Matrix),
    first_substream: (Matrix, Matrix),
}

impl Streams {
    /// The sequence from stream `first` on.
    fn new(first: u64) -> Self {
        let next_stream = (squared(STEP1, 127, M1), squared(STEP2, 127, M2));
        Self {
            at: (jump(next_stream.0, first, [1; 3], M1), jump(next_stream.1, first, [1; 3], M2)),
            next_stream,
            first_substream: (squared(STEP1, 76, M1), squared(STEP2, 76, M2)),
        }
    }

    /// Goes past a stream without looking at it.
    fn skip(&mut self) {
        self.at = (apply(&self.next_stream.0, &self.at.0, M1), apply(&self.next_stream.1, &self.at.1, M2));
    }

    /// The generator of the next stream.
    fn generator(&self) -> Mrg32k3a {
        Mrg32k3a(apply(&self.first_substream.0, &self.at.0, M1), apply(&self.first_substream.1, &self.at.1, M2))
    }

    /// The first number of the next stream, in (0, 1).
    fn unit(&mut self) -> f64 {
        let mut generator = self.generator();
        self.skip();
        generator.unit()
    }
}

/// The generator itself.
#[derive(Clone, Debug)]
struct Mrg32k3a(Vector, Vector);

impl Mrg32k3a {
    /// The next number, in (0, 1).
    fn unit(&mut self) -> f64 {
        self.0 = apply(&STEP1, &self.0, M1);
        self.1 = apply(&STEP2, &self.1, M2);
        let (a, b) = (self.0[2], self.1[2]);
        let difference = if a > b { a - b } else { a + M1 - b };
        difference as f64 * 2.328_306_549_295_728e-10
    }
}

/// `rand()` of the GNU C library as it starts: 31 words from a linear generator seeded with 1, the first 310 sums thrown
/// away.
#[derive(Clone, Debug)]
pub(crate) struct CRand {
    words: [u32; 31],
    at: usize,
}

impl CRand {
    fn new() -> Self {
        let mut words = [1u32; 31];
        for i in 1..31 {
            words[i] = (u64::from(words[i - 1]) * 16_807 % 2_147_483_647) as u32;
        }
        // The generator begins at its fourth word.
        let mut generator = Self { words, at: 3 };
        for _ in 0..310 {
            generator.next();
        }
        generator
    }

    /// The next 31 bits.
    pub(crate) fn next(&mut self) -> u32 {
        // The sum of the words 31 and 3 back.
        let sum = self.words[self.at].wrapping_add(self.words[(self.at + 28) % 31]);
        self.words[self.at] = sum;
        self.at = (self.at + 1) % 31;
        sum >> 1
    }
}

/// Number of the stream of losses: the fiftieth of those that are numbered explicitly.
const LOSSES: u64 = (1 << 63) + 50;

/// Losses on wires.
#[derive(Clone, Debug)]
struct Losses {
    common: Mrg32k3a,
    /// By link: its rate, and its own generator if it has one.
    links: Vec<(f64, Option<Mrg32k3a>)>,
}

/// All sources.
#[derive(Clone, Debug)]
pub(crate) struct ReferenceRandom {
    marks: Streams,
    pub(crate) rand: CRand,
    losses: Option<Losses>,
}

impl ReferenceRandom {
    /// At the start of a run with that many nodes.
    pub(crate) fn new(nodes: usize) -> Self {
        Self { marks: Streams::new(6 * nodes as u64 + 2), rand: CRand::new(), losses: None }
    }

    /// Packets are lost on wires: by link, its rate and whether it is the link's own. Before anything is drawn.
    pub(crate) fn lose(&mut self, links: &[(f64, bool)]) {
        let common = Streams::new(LOSSES).generator();
        let links = links.iter().map(|&(rate, own)| {
            if own {
                // The model of such a link takes two of the streams that are numbered as they are asked for.
                self.marks.skip();
                self.marks.skip();
            }
            (rate, own.then(|| common.clone()))
        });
        let links = links.collect();
        self.losses = Some(Losses { common, links });
    }

    /// A packet arrives over a link that loses some: whether it is lost.
    pub(crate) fn is_lost(&mut self, link: u32) -> bool {
        let Some(Losses { common, links }) = &mut self.losses else { return false };
        let (rate, own) = &mut links[link as usize];
        *rate > 0.0 && own.as_mut().unwrap_or(common).unit() < *rate
    }

    /// A mark is drawn: a number in (0, 1).
    #[cold]
    #[inline(never)]
    pub(crate) fn mark(&mut self) -> f64 {
        self.marks.unit()
    }

    /// A PFC frame is made: it takes a number and does nothing with it.
    #[cold]
    #[inline(never)]
    pub(crate) fn pfc_frame(&mut self) {
        self.marks.skip();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers every C program on GNU systems starts with.
    #[test]
    fn c_rand_starts_as_known() {
        let mut rand = CRand::new();
        let first: Vec<u32> = (0..5).map(|_| rand.next()).collect();
        assert_eq!(first, [1_804_289_383, 846_930_886, 1_681_692_777, 1_714_636_915, 1_957_747_793]);
    }

    /// L'Ecuyer's check: ten million numbers from the seed 12345 sum up to 5001090.95 (here a shorter one), and jumping
    /// equals stepping.
    #[test]
    fn jumping_equals_stepping() {
        let mut generator = Mrg32k3a([12_345; 3], [12_345; 3]);
        assert!((generator.unit() - 0.127_011_122_046_577).abs() < 1e-12);
        assert!((generator.unit() - 0.318_527_565_396_794).abs() < 1e-12);
        let start = Mrg32k3a([1, 2, 3], [4, 5, 6]);
        let mut stepped = start.clone();
        for _ in 0..1000 {
            stepped.unit();
        }
        assert_eq!(jump(STEP1, 1000, start.0, M1), stepped.0);
        assert_eq!(jump(STEP2, 1000, start.1, M2), stepped.1);
        assert_eq!(apply(&squared(STEP2, 10, M2), &start.1, M2), jump(STEP2, 1024, start.1, M2));
    }

    /// The published jump of 2^127 steps of the first component (L'Ecuyer et al., 2002), first row.
    #[test]
    fn streams_are_two_to_the_127_apart() {
        assert_eq!(squared(STEP1, 127, M1)[0], [2_427_906_178, 3_580_155_704, 949_770_784]);
        let mut all = Streams::new(5);
        let mut later = Streams::new(7);
        all.skip();
        all.skip();
        assert_eq!(all.unit().to_bits(), later.unit().to_bits());
    }
}
