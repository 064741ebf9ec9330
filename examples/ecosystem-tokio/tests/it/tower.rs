//! tower's Buffer, limits and timeout.

use crate::stdout;
use std::process::Command;

/// Four calls of forty wait for ever, one slot of four each. The timeouts free the slots again.
#[test]
fn the_limits_hold() {
    let output = Command::new(env!("CARGO_BIN_EXE_tower")).output().unwrap();
    let stdout = stdout(&output);
    let sum: u32 = (0..40).filter(|n| n % 10 != 9).map(|n| n * n).sum();
    let expected = format!(
        "{{\"answered\": 36, \"timed out\": 4}}, sum {sum}\n\
         at most 4 at a time: true\nwithin the rate: true\n"
    );
    assert_eq!(stdout, expected);
}
