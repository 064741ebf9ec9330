//! Reads memory that was freed. AddressSanitizer must report it.

fn main() {
    let value = Box::into_raw(Box::new(7u64));
    drop(unsafe { Box::from_raw(value) });
    // The defect.
    println!("{}", unsafe { std::ptr::read_volatile(value) });
}
