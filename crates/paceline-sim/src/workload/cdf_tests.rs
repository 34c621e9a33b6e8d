//! Tests of [`super::Cdf`].

use proptest::prelude::*;

use super::*;

fn cdf(points: &[(u64, f64)], sampling: Sampling) -> Cdf {
    Cdf::new(points.to_vec(), sampling, None).unwrap()
}

#[test]
fn worked_quantiles() {
    let web = cdf(&[(0, 0.0), (10_000, 0.25), (20_000, 0.5), (30_000, 1.0)], Sampling::Interpolated);
    assert_eq!([0.0, 0.125, 0.25, 0.75].map(|u| web.quantile(u)), [1, 5_000, 10_000, 25_000]);
    assert_eq!(web.quantile(1.0 - f64::EPSILON / 2.0), 29_999);
    // A jump: a tenth of the flows have exactly 70 bytes.
    let jump = cdf(&[(70, 0.0), (70, 0.1), (170, 1.0)], Sampling::Interpolated);
    assert_eq!([0.0, 0.0999, 0.1, 0.55].map(|u| jump.quantile(u)), [70, 70, 70, 120]);
    let step = cdf(&[(50, 0.0), (60, 0.25), (1000, 1.0)], Sampling::Step);
    assert_eq!([0.0, 0.2499, 0.25, 0.99].map(|u| step.quantile(u)), [60, 60, 1000, 1000]);
    assert!((step.mean() - 765.0).abs() < 1e-9);
    // Sizes 1, 1, 2, 3 (size 0 becomes 1), each a quarter.
    assert!((cdf(&[(0, 0.0), (4, 1.0)], Sampling::Interpolated).mean() - 1.75).abs() < 1e-12);
    assert_eq!([0.0, 1.0, 2.0, f64::NAN].map(|u| step.quantile(u)), [60, 1000, 1000, 60]);
}

#[test]
fn percentile_axis_inverts_the_quantile() {
    let jump = cdf(&[(70, 0.0), (70, 0.1), (170, 1.0)], Sampling::Interpolated);
    for (bytes, share) in [(69, 0.0), (70, 0.1), (120, 0.55), (170, 1.0), (171, 1.0)] {
        assert!((jump.percentile_of(bytes) - share).abs() < 1e-12, "{bytes}");
    }
    let step = cdf(&[(50, 0.2), (60, 1.0)], Sampling::Step);
    for (bytes, share) in [(49, 0.0), (50, 0.2), (59, 0.2), (60, 1.0)] {
        assert!((step.percentile_of(bytes) - share).abs() < 1e-12, "{bytes}");
    }
}

#[test]
fn files_in_fractions_and_per_cent_agree() {
    let fraction = Cdf::parse("# sizes\n0 0\n\n1000 .25 # small\n5000,1\n", "f", Sampling::Step).unwrap();
    for text in ["0 0\n1000 25\n5000 100", "\u{feff}0 0%\r\n1000\t25%\r\n5000 100%\r\n"] {
        assert_eq!(Cdf::parse(text, "f", Sampling::Step).unwrap(), fraction);
    }
}

#[test]
fn bad_files_name_line_value_and_remedy() {
    let cases = [
        ("0 0\n10 0.5\n5 1", "f:3: `5`: sizes must not fall; allowed: 10 or more"),
        (
            "0 0.5\n10 0.25\n5 1",
            "f:2: `0.25`: cumulative probabilities must not fall; allowed: not below the line before",
        ),
        ("0 0\n10 0.9\n", "f:2: `0.9`: the probabilities do not end at 1; allowed: 1, or 100 in per cent"),
        ("0 0\n10 99.5\n", "f:2: `99.5`: the probabilities do not end at 1; allowed: 1, or 100 in per cent"),
        ("0 -0.1\n10 1\n", "f:1: `-0.1`: not a probability; allowed: 0 to 1, or 0 to 100 in per cent"),
        ("0 0\n10 NaN\n", "f:2: cdf = NaN: not a probability; allowed: 0 to 1, or 0 to 100 in per cent"),
        ("-3 0\n10 1\n", "f:1: bytes = -3: not a size in bytes; allowed: a whole number from 0 to 1125899906842624"),
        ("0 0\n9999999999999999 1", "f:2: `9999999999999999`: size too big; allowed: 0 to 1125899906842624 bytes"),
        ("0 0\nhello world is\n", "f:2: `hello world is`: not a point; allowed: two numbers: bytes cdf"),
        ("10 1", "f:1: `1`: too few points; allowed: 2 or more"),
        ("", "f:1: `0`: too few points; allowed: 2 or more"),
        ("0 0%\n10 1", "f: only some probabilities carry a % sign; allowed: % behind all of them or none"),
    ];
    for (text, message) in cases {
        assert_eq!(Cdf::parse(text, "f", Sampling::Interpolated).unwrap_err().to_string(), message);
    }
    let big = " ".repeat(MAX_FILE as usize + 1);
    assert!(Cdf::parse(&big, "f", Sampling::Step).unwrap_err().to_string().contains("too big"));
    assert!(
        Cdf::read(Path::new("no/such/file"), Sampling::Step).unwrap_err().to_string().starts_with("no/such/file: ")
    );
}

/// Random valid points: sorted sizes, sorted probabilities ending at 1.
fn points() -> impl Strategy<Value = Vec<(u64, f64)>> {
    proptest::collection::vec((0u64..10_000_000, 0.0f64..=1.0), 2..40).prop_map(|list| {
        let (mut sizes, mut shares): (Vec<_>, Vec<_>) = list.into_iter().unzip();
        sizes.sort_unstable();
        shares.sort_by(f64::total_cmp);
        *shares.last_mut().unwrap() = 1.0;
        sizes.into_iter().zip(shares).collect()
    })
}

proptest! {
    #[test]
    fn quantiles_rise_and_stay_in_range(points in points(), step: bool, mut us in proptest::collection::vec(0.0f64..1.0, 50)) {
        let sampling = if step { Sampling::Step } else { Sampling::Interpolated };
        let (least, most) = (points[0].0.max(1), points[points.len() - 1].0.max(1));
        us.extend(points.iter().map(|p| p.1).filter(|p| *p < 1.0));
        us.sort_by(f64::total_cmp);
        let cdf = Cdf::new(points, sampling, None).unwrap();
        let sizes: Vec<u64> = us.iter().map(|u| cdf.quantile(*u)).collect();
        prop_assert!(sizes.is_sorted());
        prop_assert!(sizes.iter().all(|b| (least..=most).contains(b)));
        for (u, bytes) in us.iter().zip(sizes) {
            // The share of flows up to the size drawn (one byte is lost to rounding down).
            prop_assert!(cdf.percentile_of(bytes + 1) >= *u - 1e-9);
        }
    }

    /// The stated mean is that of the sizes drawn: the midpoint sum over N slices is off by at most range / N.
    #[test]
    fn mean_is_that_of_the_samples(points in points(), step: bool) {
        const N: u64 = 20_000;
        let sampling = if step { Sampling::Step } else { Sampling::Interpolated };
        let range = points[points.len() - 1].0 as f64 + 1.0;
        let cdf = Cdf::new(points, sampling, None).unwrap();
        let sum: u64 = (0..N).map(|k| cdf.quantile((k as f64 + 0.5) / N as f64)).sum();
        prop_assert!((sum as f64 / N as f64 - cdf.mean()).abs() <= range / N as f64 + 1e-6);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[-0-9a-z.%# ,\n\t]{0,80}") {
        if let Ok(cdf) = Cdf::parse(&text, "f", Sampling::Interpolated) {
            prop_assert!(cdf.quantile(0.5) >= 1 && cdf.mean() >= 1.0);
        }
    }
}
