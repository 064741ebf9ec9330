//! No example starts a Tokio runtime, because the runtime is not compiled in. hyper and h2 use
//! tokio's traits and channels. hyper-util's pool names tokio's sockets, which cannot be opened
//! without a runtime.

use std::process::Command;

#[test]
fn tokios_runtime_is_not_compiled_in() {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--package",
            "gmp-ecosystem",
            "--edges",
            "all,features",
            "--invert",
            "tokio",
        ])
        .args(["--prefix", "none", "--locked", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let tree = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // A known feature is in the tree, so the query works.
    assert!(tree.lines().any(|line| line.starts_with("tokio feature \"sync\"")), "{tree}");
    assert!(!tree.lines().any(|line| line.starts_with("tokio feature \"rt")), "{tree}");
}
