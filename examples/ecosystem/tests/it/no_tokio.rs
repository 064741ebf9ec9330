//! None of the examples starts a Tokio runtime: none is compiled in. What hyper and h2 take of tokio is its
//! traits and its channels; hyper-util's pool names its sockets, which without a runtime nobody can open.

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
    // Who asks for it is known, so the question was the right one.
    assert!(tree.lines().any(|line| line.starts_with("tokio feature \"sync\"")), "{tree}");
    assert!(!tree.lines().any(|line| line.starts_with("tokio feature \"rt")), "{tree}");
}
