//! The command line.

use std::path::PathBuf;

/// How to use it.
pub(crate) const USAGE: &str = "\
usage: gmp-bench [options]                  the table
       gmp-bench run CONTESTANT WORKLOAD    one cell, in this process
       gmp-bench serve CONTESTANT PROTOCOL  a server (http, mixed, redis) for a client of your own
       gmp-bench --instructions             instructions per operation, counted by valgrind

options:
  --only A,B      these workloads only
  --rounds N      how often each cell is measured (5)
  --quick         one round
  --html FILE     where the report with plots goes (target/gmp-bench.html)
  --json FILE     all figures of all rounds, for machines
  --list          the workloads and their units
";

/// What to measure and where to put it.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) only: Option<Vec<String>>,
    pub(crate) rounds: usize,
    pub(crate) html: PathBuf,
    pub(crate) json: Option<PathBuf>,
}

impl Options {
    /// Reads the command line, without the program's name.
    pub(crate) fn parse(args: &[String]) -> Result<Self, String> {
        let mut options =
            Self { only: None, rounds: 5, html: "target/gmp-bench.html".into(), json: None };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} needs a value"));
            match arg.as_str() {
                "--only" => {
                    options.only = Some(value()?.split(',').map(str::to_owned).collect());
                }
                "--rounds" => {
                    let text = value()?;
                    options.rounds = (text.parse().ok().filter(|n| *n > 0))
                        .ok_or(format!("--rounds {text}: not a number above zero"))?;
                }
                "--quick" => options.rounds = 1,
                "--html" => options.html = value()?.into(),
                "--json" => options.json = Some(value()?.into()),
                other => return Err(format!("unknown option {other}")),
            }
        }
        Ok(options)
    }

    /// Whether `workload` is to be measured.
    pub(crate) fn wants(&self, workload: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.iter().any(|name| name == workload))
    }
}
