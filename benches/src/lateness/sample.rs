//! The samples of one cell: when each event happened, and how late the goroutine ran.

/// The times of one event, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// When the event happened, after the start of the program.
    pub(crate) at: u64,
    /// The time from the event to the goroutine's first instruction.
    pub(crate) late: u64,
}

/// What a cell's process has printed. Each line is a word and one or two numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) samples: Vec<Sample>,
    /// The worst lateness of the control thread in ns. Go has no such thread.
    pub(crate) control: Option<u64>,
    /// The longest poll of the load in ns, if the process measured that.
    pub(crate) poll: Option<u64>,
    /// The units of work that hogs had done, each with its time in ns.
    pub(crate) work: Vec<(u64, u64)>,
}

impl Reading {
    /// Reads the output of a cell.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut reading = Self::default();
        for line in text.lines() {
            reading.accept(line).ok_or(format!("unexpected line `{line}`"))?;
        }
        Ok(reading)
    }

    fn accept(&mut self, line: &str) -> Option<()> {
        let mut words = line.split(' ');
        let word = words.next()?;
        let numbers: Vec<u64> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
        match (word, &numbers[..]) {
            ("sample", &[at, late]) => self.samples.push(Sample { at, late }),
            ("control", &[late]) => self.control = Some(late),
            ("poll", &[longest]) => self.poll = Some(longest),
            ("work", &[at, units]) => self.work.push((at, units)),
            _ => return None,
        }
        Some(())
    }
}

/// Percentiles of the lateness, in µs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Percentiles {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

impl Percentiles {
    /// The percentiles of the samples. Returns `None` if there are none.
    pub(crate) fn of<'a>(samples: impl IntoIterator<Item = &'a Sample>) -> Option<Self> {
        let mut late: Vec<u64> = samples.into_iter().map(|sample| sample.late).collect();
        late.sort_unstable();
        let max = *late.last()?;
        let micros = |nanos: u64| nanos as f64 / 1e3;
        let part = |part: f64| micros(late[rank(late.len(), part)]);
        Some(Self { p50: part(0.5), p99: part(0.99), max: micros(max) })
    }
}

/// The index of a percentile by the nearest rank: at least this part of the samples is not greater.
fn rank(len: usize, part: f64) -> usize {
    // The product of 0.99 and 100 is a little more than 99 in binary fractions.
    let rank = (len as f64 * part - 1e-9).ceil() as usize;
    rank.clamp(1, len) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(late: impl IntoIterator<Item = u64>) -> Vec<Sample> {
        late.into_iter().map(|late| Sample { at: 0, late: late * 1_000 }).collect()
    }

    #[test]
    fn percentiles_are_taken_by_the_nearest_rank() {
        let hundred = Percentiles::of(&samples((1..=100).rev())).unwrap();
        assert_eq!((hundred.p50, hundred.p99, hundred.max), (50.0, 99.0, 100.0));
        let three = Percentiles::of(&samples([5, 1, 9])).unwrap();
        assert_eq!((three.p50, three.p99, three.max), (5.0, 9.0, 9.0));
        let one = Percentiles::of(&samples([4])).unwrap();
        assert_eq!((one.p50, one.p99, one.max), (4.0, 4.0, 4.0));
        assert_eq!(Percentiles::of(&[]), None);
    }

    #[test]
    fn p99_of_a_thousand_leaves_out_the_ten_greatest() {
        let thousand = Percentiles::of(&samples(1..=1_000)).unwrap();
        assert_eq!((thousand.p50, thousand.p99, thousand.max), (500.0, 990.0, 1_000.0));
    }

    #[test]
    fn the_output_of_a_cell_is_read() {
        let reading = Reading::parse("sample 10 20\nsample 30 40\ncontrol 5\n").unwrap();
        let samples = vec![Sample { at: 10, late: 20 }, Sample { at: 30, late: 40 }];
        assert_eq!(reading, Reading { samples, control: Some(5), ..Reading::default() });
        let reading = Reading::parse("poll 7\nwork 1 2\nwork 3 4\n").unwrap();
        assert_eq!((reading.poll, &reading.work[..]), (Some(7), &[(1, 2), (3, 4)][..]));
    }

    #[test]
    fn an_unexpected_line_is_an_error_that_shows_it() {
        for line in ["sample 1", "sample 1 x", "other 1", "", "12.5"] {
            let text = format!("control 5\n{line}\n");
            assert!(Reading::parse(&text).unwrap_err().contains(&format!("`{line}`")), "{line}");
        }
    }
}
