//! Forgets an allocation. The leak check of AddressSanitizer must report it.

fn main() {
    // The defect: nothing points to the allocation any more.
    let value = std::hint::black_box(Box::into_raw(Box::new([7u64; 100])));
    println!("{}", unsafe { (*value)[0] });
}
